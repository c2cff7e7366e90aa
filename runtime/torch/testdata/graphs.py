"""Tries what a graph refuses: graphs.py PACKAGES FILE TARGET."""

import os
import sys

sys.path.insert(0, sys.argv[1])
from tandem_worker import graph
from tandem_worker.worker import Worker

if not graph.possible():
    print("no onnx")
    print("good")
    sys.exit()

import onnx_ir

path, target = sys.argv[2:]


def worker(name):
    return Worker({"file": path, "source": open(path).read(), "class": name, "arguments": {}, "width": 4,
                   "slots": [{"name": "user", "dim": 4, "ids": 0, "width": 4}], "numbers": [],
                   "labels": ["click"]}, None, None)


answer = worker("Branching").graph({"file": target})
assert "data-dependent" in answer["left_out"] and "\n" not in answer["left_out"], answer
assert not os.path.exists(target)

# A graph whose values are not those of the module is found.
kept = graph.attach


def other(model, tensors):
    kept(model, {name: onnx_ir.tensor(2 * t.numpy(), name=name) for name, t in tensors.items()})


graph.attach = other
answer = worker("Plain").graph({"file": target})
assert answer["left_out"] == "ValueError: the graph predicts something else than the module", answer
assert not os.path.exists(target)
graph.attach = kept

# So is one that has a value where it should have a reference.
places, calls = graph.places, []


def fewer(worker):
    calls.append(worker)
    return {name: p for name, p in places(worker).items() if len(calls) > 1 or not name.endswith("bias")}


graph.places = fewer
answer = worker("Plain").graph({"file": target})
assert answer["left_out"] == "ValueError: the graph predicts something else than the module", answer
graph.places = places
assert worker("Plain").graph({"file": target}) == {"left_out": ""}
assert os.path.exists(target)
print("good")
