"""PyTorch's side of the experiment "modules": the training loop that a user of PyTorch writes, around the
module that Tandem trains, too. It follows networks.py of package pytorch, of which it uses values and adam.

Reads requests from standard input, one JSON object per line, and responds to each with one line on standard
output, which is {"error": text} if the request failed:

  {"do": "hello"}                                describe this PyTorch
  {"do": "open", "case": {...}, "files": {...}}  read the rows and the module of a case
  {"do": "train", "threads": n}                  train a new model; return seconds and loss on the test rows
  {"do": "pass", "threads": n, "steps": n}       forward and backward passes of the module alone; seconds

The table has only the ids that occur. One nn.EmbeddingBag for all slots with sparse gradients is faster than
one for each slot. The optimizers are Adagrad and Adam, fused if this PyTorch can.
"""

import json
import os
import platform
import sys
import time
import types

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def module(case):
    """Returns a new network of the case."""
    source = types.ModuleType("source")
    exec(case["source"], vars(source))
    return getattr(source, case["class"])(**case["arguments"])


class Training:
    """The rows of a case, and a model that is new for each training."""

    def __init__(self, case):
        self.case, self.slots, self.dim = case, case["slots"], case["dim"]
        self.parts = {}
        for part in "train", "test":
            self.parts[part] = (
                values(case, part + " ids", np.int64).view(-1, len(self.slots)),
                values(case, part + " numbers").view(-1, case["numbers"]),
                values(case, part + " labels"),
            )

    def train(self):
        """Returns seconds of a training, and its loss on the test rows."""
        size, labels = self.case["batch"], self.parts["train"][2]
        torch.manual_seed(1)
        self.net = module(self.case)
        rows = torch.empty(self.case["ids"], self.dim).uniform_(-0.01, 0.01)
        self.table = nn.EmbeddingBag(*rows.shape, mode="sum", sparse=True, _weight=rows)
        optimizers = [
            adam(self.net),
            torch.optim.Adagrad(self.table.parameters(), lr=0.01, initial_accumulator_value=0.01),
        ]
        begin = time.perf_counter()
        order = torch.randperm(len(labels))
        for at in range(0, len(labels), size):
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=True)
            self.loss("train", order[at : at + size]).backward()
            for optimizer in optimizers:
                optimizer.step()
        seconds = time.perf_counter() - begin
        with torch.no_grad():
            loss = self.loss("test", torch.arange(len(self.parts["test"][2]))).item()
        return {"seconds": seconds, "loss": loss}

    def loss(self, part, chosen):
        ids, numbers, labels = (of[chosen] for of in self.parts[part])
        bags = self.table(ids.flatten(), torch.arange(ids.numel()))
        logits = self.net(self.by_slot(bags.view(len(chosen), -1)), numbers)
        return F.binary_cross_entropy_with_logits(logits.squeeze(1), labels)

    def by_slot(self, embeddings):
        return dict(zip(self.slots, embeddings.split(self.dim, dim=1)))

    def passes(self, steps):
        """Returns seconds of forward and backward passes over the same samples."""
        size = self.case["batch"]
        net = module(self.case)
        embeddings = torch.rand(size, len(self.slots) * self.dim).requires_grad_()
        numbers, labels = torch.rand(size, self.case["numbers"]), torch.zeros(size)
        begin = time.perf_counter()
        for _ in range(steps):
            embeddings.grad = None
            net.zero_grad(set_to_none=True)
            logits = net(self.by_slot(embeddings), numbers).squeeze(1)
            F.binary_cross_entropy_with_logits(logits, labels).backward()
        return {"seconds": time.perf_counter() - begin}


def hello():
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "fused": bool(adam(nn.Linear(1, 1)).defaults.get("fused")),
    }


def main():
    # Libraries that print must not disturb the responses.
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_interop_threads(1)
    training = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "hello":
                response = hello()
            elif request["do"] == "open":
                training, response = Training({**request["case"], "files": request["files"]}), {}
            else:
                torch.set_num_threads(request["threads"])
                response = training.train() if request["do"] == "train" else training.passes(request["steps"])
        except (RuntimeError, MemoryError, ValueError, KeyError) as problem:
            response = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(response), file=responses, flush=True)


main()
