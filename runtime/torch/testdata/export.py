"""Writes examples as ONNX, and compares onnxruntime with the module: export.py PACKAGES EXAMPLES FOLDER.

Without onnxruntime, onnx or onnxscript it prints what is missing.
"""

import sys

sys.path.insert(0, sys.argv[1])
try:
    import onnx
    import onnxruntime
    import onnxscript
except ImportError as e:
    sys.exit(print(e) or 0)
import torch
from tandem_worker.worker import Worker

for file, name, arguments, slots, labels, numbers, units in (
    ("tower.py", "Tower", {}, {"user": 0, "item": 0}, ["click"], ["price", "age"], []),
    ("dlrm.py", "DLRM", {"dim": 4}, {"user": 0, "item": 0}, ["click"], ["price", "age"], [[3.0, 2.0]]),
    ("din.py", "DIN", {}, {"history": 3, "item": 0}, ["click"], [], []),
    ("multitask.py", "MultiTask", {"labels": ["a", "b"]}, {"user": 0}, ["a", "b"], ["price", "age"], []),
    ("two_tower.py", "TwoTower", {}, {"user": 0, "item": 0}, ["click"], ["price", "age"], []),
):
    path = sys.argv[2] + "/" + file
    shapes = [{"name": n, "dim": 4, "ids": ids, "width": 5 * ids or 4} for n, ids in slots.items()]
    w = Worker({"file": path, "source": open(path).read(), "class": name, "arguments": arguments, "slots": shapes,
                "width": sum(s["width"] for s in shapes), "numbers": numbers, "labels": labels}, None, None)
    w.areas[1] = torch.cat([p.detach().reshape(-1) + 0.01 for p in w.parameters])
    running = [0.25 + i / 100 for i in range(2 * sum(m.num_features for m in w.norms))]
    target = sys.argv[3] + "/" + name + ".onnx"
    answer = w.onnx({"area": 1, "running": running, "scaling": [[1, 2], [0.5, 3]][: len(numbers)], "units": units,
                     "file": target})
    assert answer == {"left_out": ""}, (name, answer)
    graph = onnx.load(target).graph  # says nothing of the files that it was made of
    assert not any(node.metadata_props for node in graph.node), graph.node[0].metadata_props
    assert b".py" not in open(target, "rb").read(), target
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    assert [o.name for o in session.get_outputs()] == ["prediction"], session.get_outputs()
    for samples in (1, 7):
        x, n, _ = w.trial_samples(samples)
        inputs = {"embeddings": x.numpy()}
        if numbers:
            n[0, 0] = float("nan")
            inputs["numbers"] = n.numpy()
            n = torch.where(n.isnan(), torch.zeros_like(n), (n - torch.tensor([1, 0.5])) / torch.tensor([2.0, 3.0]))
        with torch.no_grad():
            want = w.run(x, n, None, False)
        want = want * 2 + 3 if units else want.sigmoid()
        (got,) = session.run(None, inputs)
        assert got.shape == want.shape and abs(got - want.numpy()).max() < 1e-5, (name, samples, got, want)
    w.set_training(True)
    w.train_once(4)  # it can go on

# What PyTorch cannot write is a line.
broken = w.onnx({"area": 1, "running": [], "scaling": [], "units": [], "file": sys.argv[3] + "/absent/a.onnx"})
assert broken["left_out"] and "\n" not in broken["left_out"], broken
source = """import torch

class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, embeddings, numbers):
        y = self.layer(embeddings["user"])
        return y if y.sum() > 0 else 2 * y
"""
w = Worker({"file": "branches.py", "source": source, "class": "Branches", "arguments": {}, "width": 4,
            "slots": [{"name": "user", "dim": 4, "ids": 0, "width": 4}], "numbers": [], "labels": ["click"]}, None, None)
w.areas[1] = torch.cat([p.detach().reshape(-1) for p in w.parameters])
broken = w.onnx({"area": 1, "running": [], "scaling": [], "units": [], "file": sys.argv[3] + "/b.onnx"})
assert "data-dependent" in broken["left_out"] and "\x1b" not in broken["left_out"], broken
print("good")
