"""Lets the optimizers of torch.optim take steps whose state Tandem keeps, and compares them with plain ones.

    python optimizers.py FOLDER NET
"""

import os
import sys

import torch
from torch import optim

sys.path.insert(0, sys.argv[1])
from tandem_worker import worker

SLOTS = [{"name": name, "dim": 4, "ids": 0, "width": 4} for name in ("user", "item")]
config = {"file": sys.argv[2], "source": open(sys.argv[2]).read(), "class": "Net", "arguments": {}, "slots": SLOTS,
          "width": 8, "numbers": ["price"], "labels": ["click"], "limit": 60}
w = worker.Worker(config, None, None)
n = w.size


def groups(parameters):
    return optim.AdamW([{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1, "lr": 0.1},
                        {"params": [p for p in parameters if p.dim() <= 1]}], lr=0.01)


class Doubled(optim.SGD):
    """Has a state of another type."""

    def __init__(self, parameters):
        super().__init__(parameters, 0.1)

    def step(self):
        for p in self.param_groups[0]["params"]:
            self.state[p] = {"sum": p.detach().double()}


class Slower(optim.SGD):
    """Counts its steps in an attribute, in a group, or in a part of one of these."""

    def __init__(self, parameters, count):
        super().__init__(parameters, 0.1)
        self.count, self.n, self.parts = count, 0, [{"n": torch.zeros(1)}]
        self.param_groups[0]["k"] = 0

    def step(self):
        if self.param_groups[0]["params"][0].grad.any():  # as Prodigy, which waits for a gradient
            self.count(self)
        super().step()


def count_attribute(own):
    own.n += 1


def count_group(own):
    own.param_groups[0]["k"] += 1


def count_part(own):
    own.parts[0]["n"] += 1


def count_state(own):
    own.state["n"] = {"n": 1 + own.state.get("n", {"n": 0})["n"]}


STEPS, BREAK = 6, 3
for make in (
    lambda p: optim.SGD(p, 0.1),
    lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.5),
    groups,
    lambda p: optim.Adam(p, 0.1, amsgrad=True),
    lambda p: optim.Adagrad(p, 0.1, initial_accumulator_value=0.1),
    lambda p: optim.RMSprop(p, 0.1, momentum=0.9, centered=True),
    lambda p: optim.Adadelta(p),
    lambda p: optim.Adamax(p),
    lambda p: optim.NAdam(p),
    lambda p: optim.RAdam(p),
    lambda p: optim.Rprop(p),
):
    own = worker.Optimizer(w, make)
    draw = torch.Generator().manual_seed(1)
    area = torch.full(((2 + len(own.entries)) * n,), float("nan"))
    area[:n] = initial = torch.rand(n, generator=draw)
    plain = [torch.nn.Parameter(area[lo:hi].view(p.shape).clone()) for (lo, hi), p in zip(w.places, w.parameters)]
    other = make(plain)
    rates = [group["lr"] for group in other.param_groups]
    for step in range(STEPS):
        if step == BREAK:  # it goes on with what is in the area alone
            own, area = worker.Optimizer(w, make), area.clone()
        area[n : 2 * n] = torch.rand(n, generator=draw) - 0.5
        for (lo, hi), p in zip(w.places, plain):
            p.grad = area[n + lo : n + hi].view(p.shape).clone()
        for group, rate in zip(other.param_groups, rates):
            group["lr"] = rate / (1 + step)
        own.step(area, 1 / (1 + step))
        other.step()
    worst = max(float((area[lo:hi] - p.detach().reshape(-1)).abs().max()) for (lo, hi), p in zip(w.places, plain))
    if not worst < 1e-6 or torch.equal(area[:n], initial):
        sys.exit(f"{own.own}: parameters differ by {worst}")

refused = {
    "returned a int; want a torch.optim.Optimizer of its parameters": lambda p: 7,
    "the optimizer has 1 parameters; want each of the 6 that the function gets": lambda p: optim.SGD(p[:1], 0.1),
    "LBFGS cannot take a step alone": lambda p: optim.LBFGS(p),
    "has not the shape of its parameter and is no number, or is not float32": Doubled,
    "a step of Slower changes self.n, which is no state of a parameter": lambda p: Slower(p, count_attribute),
    "changes k of group 0": lambda p: Slower(p, count_group),
    "changes self.parts": lambda p: Slower(p, count_part),
    "changes state['n']": lambda p: Slower(p, count_state),
}
if hasattr(optim, "Adafactor"):  # since torch 2.5
    refused["of Adafactor has not the shape of its parameter"] = lambda p: optim.Adafactor(p)
for words, make in refused.items():
    try:
        worker.Optimizer(w, make)
        sys.exit(f"no error; want {words}")
    except worker.Refused as e:
        if words not in str(e):
            sys.exit(f"{e}; want {words}")

config["source"] += """
import functools
optimizer = functools.partial(torch.optim.AdamW, lr=0.1)
"""
try:
    worker.Worker(config, None, None)
    sys.exit("no error of a partial")
except worker.Refused as e:
    if "net.py: optimizer is a partial; want a function: def optimizer(parameters)" not in str(e):
        sys.exit(str(e))
print("good")
