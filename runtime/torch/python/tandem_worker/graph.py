"""A module as a graph of ONNX without values, which are those of any checkpoint of its training."""

import importlib.util

from .export import attempt, translated

TOLERANCE = 1e-4  # of logits of made-up samples, which are around 1


def possible():
    """Reports whether there is what translates a module."""
    return all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript"))


def write(worker, file):
    """Writes a module as ONNX, from embeddings and standardised numbers to logits. Parameters and statistics
    of batch norm are tensors whose data are elsewhere: in the file that is called parameters, or running, in
    the order of Tandem. It changes the values of the module. It returns why it cannot, or ""."""
    def save():
        import onnx_ir

        model = translated(worker, logits(worker), "logits", False).model
        values = detach(worker, model)
        change(worker)
        attach(model, {name: onnx_ir.tensor(v.detach().numpy(), name=name)
                       for name, (v, *_) in values.items()})
        compare(worker, onnx_ir.to_proto(model))
        attach(model, {
            name: onnx_ir.ExternalTensor(place, 4 * at, 4 * v.numel(), onnx_ir.DataType.FLOAT, name=name,
                                         shape=onnx_ir.Shape(v.shape))
            for name, (v, place, at) in values.items()})
        with open(file, "wb") as out:
            out.write(onnx_ir.to_proto(model).SerializeToString())

    return attempt(save)


def logits(worker):
    """Returns a module with the inputs and the output of a graph."""
    class Logits(worker.torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = worker.module

        def forward(self, embeddings, numbers=None):
            return worker.run(embeddings, embeddings[:, :0] if numbers is None else numbers, None, False)

    return Logits().eval()


def places(worker):
    """Returns of every parameter and statistic, by its name in a graph, its tensor, the vector that it is in,
    and where it begins there."""
    found = {f"module.{name}": (p, "parameters", lo)
             for name, p, (lo, _) in zip(worker.names, worker.parameters, worker.places)}
    at = 0
    names = {id(m): name for name, m in worker.module.named_modules()}
    for m in worker.norms:
        for kind in ("running_mean", "running_var"):
            value = getattr(m, kind)
            found[f"module.{names[id(m)]}.{kind}"] = (value, "running", at)
            at += value.numel()
    return found


def detach(worker, model):
    """Takes the values out of a graph, and folds what does not depend on them. It returns the places of those
    that the graph uses."""
    import onnx_ir
    from onnxscript import optimizer

    graph, own = model.graph, places(worker)
    values = {name: own[name] for name in graph.initializers if name in own}
    inputs = len(graph.inputs)
    for name in values:  # as inputs they are not folded
        value = graph.initializers.pop(name)
        value.const_value = None
        graph.inputs.append(value)
    optimizer.optimize(model)
    for name, value in graph.initializers.items():  # copies: tensors of the module change later
        value.const_value = onnx_ir.tensor(value.const_value.numpy().copy(), name=name)
    given = list(graph.inputs[inputs:])
    del graph.inputs[inputs:]
    for value in given:
        graph.initializers[value.name] = value
    return values


def attach(model, tensors):
    for name, tensor in tensors.items():
        model.graph.initializers[name].const_value = tensor


def change(worker):
    """Gives parameters and statistics other values, so that a graph that has kept the old ones is found."""
    torch = worker.torch
    draw = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for value, place, _ in places(worker).values():
            drawn = torch.rand(value.shape, generator=draw)
            value.copy_(0.5 + drawn if place == "running" else value + 0.1 * (drawn - 0.5))


def compare(worker, proto):
    """Raises an error unless the evaluator of ONNX, which computes what its specification says, predicts with
    the graph what the module does."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(proto)
    for samples in (1, 5):
        embeddings, numbers, _ = worker.trial_samples(samples)
        inputs = {"embeddings": embeddings.numpy(), "numbers": numbers.numpy()}
        (got,) = evaluator.run(None, {i.name: inputs[i.name] for i in proto.graph.input})
        with worker.torch.no_grad():
            want = worker.run(embeddings, numbers, None, False).numpy()
        if got.shape != want.shape or not abs(got - want).max() <= TOLERANCE * (1 + abs(want).max()):
            raise ValueError("the graph predicts something else than the module")
