"""PyTorch's side of the experiment "speed": needs torch and numpy, nothing else.

Reads requests, one JSON object a line, from standard input, and answers each with
one line on standard output, which is {"error": text} where something failed:

  {"do": "hello"}                 which PyTorch this is
  {"do": "open", "case": {...}}   build what a case trains, and warm it up
  {"do": "run", "steps": n}       train n steps of it: the seconds that they took
  {"do": "close"}                 let go of it

It does what a careful user of PyTorch does for speed on a CPU: optimizers are
fused where they can be, gradients are set to None, inputs are contiguous and in
memory, threads are as many as the case says. Sizes and values come from the
other side, so that both train the same.
"""

import json
import os
import platform
import re
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def values(case, name, dtype=np.float32):
    """The array that the other side has written under a name."""
    return torch.from_numpy(np.fromfile(case["files"][name], dtype=dtype))


def stack(width, widths):
    """Hidden layers, each with its ReLU, and the width of the last."""
    layers = []
    for out in widths:
        layers += [nn.Linear(width, out), nn.ReLU(inplace=True)]
        width = out
    return nn.Sequential(*layers), width


class FeedForward(nn.Module):
    """Embeddings and numbers side by side, hidden layers, a logit."""

    def __init__(self, net):
        super().__init__()
        self.top, width = stack(net["slots"] * net["dim"] + net["numeric"], net["top"])
        self.output = nn.Linear(width, 1)

    def forward(self, embeddings, numbers):
        return self.output(self.top(torch.cat([embeddings, numbers], 1))).squeeze(1)


class DLRM(nn.Module):
    """As the code of its authors: bottom, dot products of all pairs, top. Pairs are
    chosen by one index, which backward is faster than their two."""

    def __init__(self, net):
        super().__init__()
        self.dim, vectors = net["dim"], net["slots"] + 1
        self.bottom, _ = stack(net["numeric"], net["bottom"] + [self.dim])
        self.top, width = stack(self.dim + vectors * (vectors - 1) // 2, net["top"])
        self.output = nn.Linear(width, 1)
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        self.pairs = rows * vectors + columns

    def forward(self, embeddings, numbers):
        bottom = self.bottom(numbers)
        vectors = torch.cat([bottom, embeddings], 1).view(len(numbers), -1, self.dim)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.output(self.top(torch.cat([bottom, products], 1))).squeeze(1)


def network(case):
    """The network of a case, with the parameters of the other side if it gives any."""
    net = {"feed-forward": FeedForward, "dlrm": DLRM}[case["net"]["kind"]](case["net"])
    if "params" in case["files"]:
        given = values(case, "params")
        count = sum(p.numel() for p in net.parameters())
        if count != len(given):
            raise ValueError(f"the network has {count} parameters here and {len(given)} there")
        at = 0
        with torch.no_grad():
            for p in net.parameters():
                p.copy_(given[at : at + p.numel()].view_as(p))
                at += p.numel()
    return net


def adam(net):
    """Adam as its authors set it, all parameters in one kernel where this PyTorch can."""
    try:
        return torch.optim.Adam(net.parameters(), lr=0.001, fused=True)
    except (TypeError, RuntimeError):
        return torch.optim.Adam(net.parameters(), lr=0.001)


class Dense:
    """Forward, backward and optimizer of a network, with the gradient of its input."""

    def __init__(self, case):
        samples = case["batch"]
        self.net = network(case)
        self.optimizer = adam(self.net)
        self.embeddings = values(case, "embeddings").view(samples, -1).requires_grad_()
        self.numbers = values(case, "numbers").view(samples, -1)
        self.labels = values(case, "labels")

    def step(self):
        self.embeddings.grad = None
        self.optimizer.zero_grad(set_to_none=True)
        self.last = F.binary_cross_entropy_with_logits(self.net(self.embeddings, self.numbers), self.labels)
        self.last.backward()
        self.optimizer.step()

    def check(self):
        return self.last.item()


class Sparse:
    """Lookup, backward and Adagrad of embedding rows: one table for all slots, rows
    as the gradients of one id, which beats a table a slot and EmbeddingBag here."""

    def __init__(self, case):
        rows, samples = case["rows"], case["batch"]
        slots, each, dim = rows["slots"], rows["each"], rows["dim"]
        ids = values(case, "ids", np.int64).view(-1, slots, samples)
        ids += torch.arange(slots).view(1, slots, 1) * each
        self.ids = ids.transpose(1, 2).contiguous()  # samples × slots of every batch
        self.grads = values(case, "grads").view(samples, slots, dim)
        # zero_ writes every page; torch.zeros would leave them to the system.
        self.table = nn.Embedding(slots * each, dim, sparse=True, _weight=torch.empty(slots * each, dim).zero_())
        self.optimizer = torch.optim.Adagrad(self.table.parameters(), lr=0.01, initial_accumulator_value=0.01)
        # The other side divides by the samples, as a mean loss does.
        self.grads /= samples
        self.steps = 0

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.pooled = self.table(self.ids[self.steps % len(self.ids)])
        self.pooled.backward(self.grads)
        self.optimizer.step()
        self.steps += 1

    def check(self):
        return self.pooled.abs().mean(dtype=torch.float64).item()


class Train:
    """A training from data to model; a step is a whole one, of a fresh model. The
    table has the ids that occur, and no others."""

    def __init__(self, case):
        self.case, slots, numeric = case, case["net"]["slots"], case["net"]["numeric"]
        self.parts = {}
        for part in "train", "test":
            self.parts[part] = (
                values(case, part + " ids", np.int64).view(-1, slots),
                values(case, part + " numbers").view(-1, numeric),
                values(case, part + " labels"),
            )

    def step(self):
        case, (ids, numbers, labels) = self.case, self.parts["train"]
        count, dim, size = case["corpus"]["ids"], case["net"]["dim"], case["batch"]
        self.net = network(case)
        rows = torch.empty(count, dim).uniform_(-0.01, 0.01)
        self.table = nn.Embedding(count, dim, sparse=True, _weight=rows)
        dense = adam(self.net)
        sparse = torch.optim.Adagrad(self.table.parameters(), lr=0.01, initial_accumulator_value=0.01)
        begin = time.perf_counter()
        for _ in range(case["corpus"]["epochs"]):
            order = torch.randperm(len(labels))
            for at in range(0, len(labels), size):
                chosen = order[at : at + size]
                dense.zero_grad(set_to_none=True)
                sparse.zero_grad(set_to_none=True)
                logits = self.logits(ids[chosen], numbers[chosen])
                F.binary_cross_entropy_with_logits(logits, labels[chosen]).backward()
                dense.step()
                sparse.step()
        return time.perf_counter() - begin

    def logits(self, ids, numbers):
        return self.net(self.table(ids).view(len(ids), -1), numbers)

    def check(self):
        ids, numbers, labels = self.parts["test"]
        with torch.no_grad():
            return F.binary_cross_entropy_with_logits(self.logits(ids, numbers), labels).item()


KINDS = {"dense": Dense, "sparse": Sparse, "train": Train}


class Peer:
    """What has been opened, and the requests."""

    def __init__(self):
        self.case = None

    def hello(self, _):
        built = torch.__config__.show()
        blas = re.search(r"BLAS_INFO=(\w+)", built)
        capability = re.search(r"CPU capability usage: (\S+)", built)
        return {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "blas": blas.group(1) if blas else "unknown BLAS",
            "capability": capability.group(1) if capability else "unknown",
            "fused": bool(adam(nn.Linear(1, 1)).defaults.get("fused")),
            "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
        }

    def open(self, request):
        case = request["case"]
        torch.set_num_threads(case["threads"])
        self.case = None  # gives its memory back first
        self.case = KINDS[case["kind"]](case)
        for _ in range(request["warm_ups"]):
            self.case.step()
        return {"check": self.case.check()}

    def run(self, request):
        begin, own = time.perf_counter(), 0.0
        for _ in range(request["steps"]):
            # A step that prepares something says how long the rest took.
            own += self.case.step() or 0.0
        return {"seconds": own or time.perf_counter() - begin}

    def close(self, _):
        self.case = None
        return {}


def main():
    # Libraries that print must not disturb the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_interop_threads(1)
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(peer, request["do"])(request)
        except (RuntimeError, MemoryError, ValueError, KeyError) as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
