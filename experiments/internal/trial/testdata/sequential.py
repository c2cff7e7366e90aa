"""Trains a feed-forward network over embedding rows with PyTorch, for pytorch_test.go.

    python3 sequential.py FOLDER…

A FOLDER has case.json and the arrays that it describes, little-endian: ids (int64,
samples × slots, numbered from 0 over all slots), numbers (float32, samples ×
columns), labels (float32), each for the training rows in the order of training and
for the test rows, and params, the initial dense parameters (float32). Embedding rows
begin with values of its own. Prints the logits of the test rows as a line of JSON for
every folder.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def array(folder, name, dtype, width):
    values = np.fromfile(folder / name, dtype=dtype)
    return torch.from_numpy(values.reshape(-1, width) if width else values)


def part(folder, case, name):
    return (
        array(folder, name + "-ids", np.int64, case["slots"]),
        array(folder, name + "-numbers", np.float32, case["numbers"]),
        array(folder, name + "-labels", np.float32, 0),
    )


def network(case, params):
    layers, width = [], case["slots"] * case["dim"] + case["numbers"]
    for out in case["top"]:
        layers += [nn.Linear(width, out), nn.ReLU()]
        width = out
    net, at = nn.Sequential(*layers, nn.Linear(width, 1)), 0
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(params[at : at + p.numel()].view_as(p))
            at += p.numel()
    if at != len(params):
        raise SystemExit(f"the network has {at} parameters, but Tandem's has {len(params)}")
    return net


def train(case, params, ids, numbers, labels):
    net = network(case, params)
    table = nn.Embedding(case["ids"], case["dim"], sparse=True)
    nn.init.uniform_(table.weight, -case["init"], case["init"])
    dense = torch.optim.Adam(net.parameters(), lr=case["dense_rate"])
    rows = torch.optim.Adagrad(
        table.parameters(), lr=case["row_rate"], initial_accumulator_value=case["accumulator"]
    )
    at = 0
    for size in case["steps"]:
        chosen = slice(at, at + size)
        at += size
        dense.zero_grad(set_to_none=True)
        rows.zero_grad(set_to_none=True)
        x = torch.cat([table(ids[chosen]).flatten(1), numbers[chosen]], 1)
        F.binary_cross_entropy_with_logits(net(x).squeeze(1), labels[chosen]).backward()
        dense.step()
        rows.step()
    return net, table


for seed, name in enumerate(sys.argv[1:]):
    folder = pathlib.Path(name)
    case = json.loads((folder / "case.json").read_text())
    torch.manual_seed(seed)
    net, table = train(case, array(folder, "params", np.float32, 0), *part(folder, case, "train"))
    ids, numbers, _ = part(folder, case, "test")
    with torch.no_grad():
        logits = net(torch.cat([table(ids).flatten(1), numbers], 1)).squeeze(1)
    print(json.dumps(logits.tolist()), flush=True)
