"""The dense part of a trained module as ONNX."""

import contextlib
import io
import logging
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
    torch = worker.torch
    embeddings, numbers, _ = worker.trial_samples(4)
    inputs = {"embeddings": embeddings}
    if numbers.shape[1]:
        inputs["numbers"] = numbers
    worker.set_training(False)
    for name in "torch.onnx", "torch.export":  # they print much about which a user can do nothing
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        rows = torch.export.Dim("rows")
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                predictions(worker, scaling, units), tuple(inputs.values()), file, dynamo=True, verbose=False,
                input_names=list(inputs), output_names=["prediction"], external_data=False,
                dynamic_shapes=[{0: rows}] * len(inputs))
    except Exception as e:  # of many kinds, and of many lines
        line = next(iter(str(e).strip().splitlines()), "")
        return f"{type(e).__name__}: {line}"
    return ""
