"""Gives a module the state_dicts of files, and prints what comes of each: a line for each file.

    python states.py PACKAGES NET FOLDER

PACKAGES has tandem_worker, NET is net.py, FOLDER is empty.
"""

import importlib.util
import json
import os
import sys

import torch


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.insert(0, sys.argv[1])
from tandem_worker import main as worker

net = load(sys.argv[2])
SLOTS = [{"name": name, "dim": 4, "ids": 0, "width": 4} for name in ("user", "item")]


def made(name, seed):
    config = {"file": sys.argv[2], "source": open(sys.argv[2]).read(), "class": name, "arguments": {},
              "slots": SLOTS, "width": 8, "numbers": ["price"], "labels": ["click"], "limit": 60}
    w = worker.Worker(config, None, None)
    w.make_module(seed)
    return w


def say(name, file):
    w = made(name, 2)
    try:
        w.load_state(file)
    except worker.Refused as e:
        print(str(e).replace(folder, ""))
        return
    print(" ".join(str(float(value.double().sum())) for value in w.module.state_dict().values()))


def safetensors(state, file):
    """Writes a file of safetensors."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for key, value in state.items():
        part = value.numpy().tobytes()
        kind = {torch.float32: "F32", torch.int64: "I64"}[value.dtype]
        header[key] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    open(file, "wb").write(len(text).to_bytes(8, "little") + text + data)


folder = sys.argv[3] + "/"
state = made("Net", 1).module.state_dict()
state["top.1.running_mean"].add_(0.5)
print(" ".join(str(float(value.double().sum())) for value in state.values()))
torch.save(state, folder + "own.pt")
safetensors(state, folder + "own.safetensors")
torch.save({"state_dict": state}, folder + "wrapped.pt")
torch.save(torch.nn.Linear(2, 1), folder + "whole.pt")
torch.save({**{"module." + n: v for n, v in state.items() if n > "top.1"}, "top.0.weight": state["top.0.weight"]},
           folder + "names.pt")
torch.save({**state, "top.3.bias": torch.zeros(2)}, folder + "shape.pt")
torch.save({n: v.half() if n == "top.0.bias" else v for n, v in state.items()}, folder + "half.pt")
torch.save({**state, "top.0.bias": state["top.0.bias"].to_sparse()}, folder + "sparse.pt")
torch.save({**state, "top.1.running_mean": state["top.1.running_mean"] / 0}, folder + "infinite.pt")
text = b"[7]"
open(folder + "number.safetensors", "wb").write(len(text).to_bytes(8, "little") + text)
open(folder + "cut.safetensors", "wb").write(open(folder + "own.safetensors", "rb").read()[:500])
for file in ("own.pt", "own.safetensors", "wrapped.pt", "whole.pt", "names.pt", "shape.pt", "half.pt",
             "sparse.pt", "infinite.pt", "number.safetensors", "cut.safetensors", "absent.pt"):
    say("Net", folder + file)
now, torch.__version__ = torch.__version__, "2.5.1+cpu"
say("Net", folder + "own.pt")
say("Net", folder + "own.safetensors")
torch.__version__ = now
other = made("Fixed", 1)
torch.save(other.module.state_dict(), folder + "fixed.pt")
say("Fixed", folder + "fixed.pt")
other.module.scale.add_(1)
torch.save(other.module.state_dict(), folder + "changed.pt")
say("Fixed", folder + "changed.pt")

# What begins with a state_dict and is saved is that state_dict, for a module of plain PyTorch.
w = made("Net", 2)
w.areas[1] = torch.zeros(w.size)
running = w.init({"seed": 2, "area": 1, "file": folder + "own.pt"})["running"]
w.make_module(3)
w.save({"area": 1, "running": running, "file": folder + "saved.pt"})
plain = net.Net()
plain.load_state_dict(torch.load(folder + "saved.pt", weights_only=True))
print("same" if all(map(torch.equal, plain.state_dict().values(), state.values())) else "others")
