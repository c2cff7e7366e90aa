"""The dense part of a trained module as ONNX."""

import contextlib
import io
import logging
import re
import sys
import warnings


def predictions(worker, scaling, units):
    """Returns a module with the inputs and the output of ONNX files of built-in networks: embeddings, numbers
    as in the data, and predictions. Numbers are standardised in double precision; a missing one is 0 then."""
    torch = worker.torch

    class Predictions(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = worker.module
            for name, pairs in (("scaling", scaling), ("units", units)):
                columns = torch.tensor(pairs, dtype=torch.float64).reshape(-1, 2)
                self.register_buffer(name, columns, persistent=False)

        def forward(self, embeddings, numbers=None):
            if numbers is None:
                standard = embeddings[:, :0]
            else:
                mean, deviation = self.scaling.unbind(1)
                standard = ((numbers.double() - mean) / deviation).float()
                standard = torch.where(numbers.isnan(), torch.zeros_like(standard), standard)
            out = worker.run(embeddings, standard, None, False)
            if not len(units):
                return out.sigmoid()
            center, scale = self.units.float().unbind(1)
            return out * scale + center

    return Predictions().eval()


def write(worker, scaling, units, file):
    """Writes a module with its values as ONNX, for any number of rows. It returns why not, or ""."""
    def save():
        model = translated(worker, predictions(worker, scaling, units), "prediction", True)
        model.save(file, external_data=False)

    return attempt(save)


def translated(worker, module, output, optimize):
    """Returns a module with the inputs of the user's, and one output, as an ONNX program."""
    torch = worker.torch
    embeddings, numbers, _ = worker.trial_samples(4)
    inputs = {"embeddings": embeddings}
    if numbers.shape[1]:
        inputs["numbers"] = numbers
    worker.set_training(False)
    rows = torch.export.Dim("rows")
    with torch.no_grad():
        program = torch.onnx.export(
            module, tuple(inputs.values()), dynamo=True, verbose=False, input_names=list(inputs),
            output_names=[output], dynamic_shapes=[{0: rows}] * len(inputs), optimize=optimize)
    without_places(program.model)
    return program


def attempt(work):
    """Does what PyTorch may not be able to, without what it prints. It returns why it cannot, or ""."""
    quiet = io.StringIO()  # it prints much about which a user can do nothing
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), \
                contextlib.redirect_stderr(quiet):
            warnings.simplefilter("ignore")
            work()
    except ModuleNotFoundError as e:
        return f"{e}; {sys.executable} -m pip install onnx onnxscript installs it"
    except Exception as e:  # of many kinds, and of many lines
        while e.__cause__ is not None:  # the first of them says why
            e = e.__cause__
        line = next(iter(str(e).strip().splitlines()), "")
        return re.sub(r"\x1b\[[0-9;]*m", "", f"{type(e).__name__}: {line}")
    finally:
        logging.disable(logging.NOTSET)
    return ""


def without_places(model):
    """Removes from an ONNX model in which lines of which files its nodes were made."""
    for graph in [model.graph, *(f for f in model.functions.values())]:
        graph.metadata_props.clear()
        for value in graph.inputs:
            value.metadata_props.clear()
        for node in graph.all_nodes():
            node.metadata_props.clear()
            for value in node.outputs:
                value.metadata_props.clear()
