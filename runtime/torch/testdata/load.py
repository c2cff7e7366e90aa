"""Trains a table with a class of a cell, and reads the results.

    python load.py PACKAGE TABLE PREDICTIONS

PREDICTIONS is where cmd/model writes what the model predicts for the table.
"""

import os
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
import torch
from torch import nn

import tandem


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.top = nn.Sequential(nn.LazyLinear(8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, embeddings, numbers):
        return self.top(torch.cat([*embeddings.values(), numbers], dim=1))


if __name__ == "__main__":
    _, package, table, predictions = sys.argv
    results = tandem.train(table, Net, mode="sync", epochs=1, validation=0, out=os.path.dirname(table) + "/out",
                           without=["importance", "prediction", "baseline"])
    assert results.modes == ["sync"], results
    assert results.runs["auc"][0] == results.curve["auc"][0], (results.runs, results.curve)
    model = results.model()
    subprocess.run([os.environ["TANDEM_HOME"] + "/model", "predict", str(model.folder), table, "--out", predictions],
                   check=True)
    want = np.loadtxt(predictions, skiprows=1)
    got = model.predict(table)[:, 0]
    worst = np.abs(got - want).max()
    assert worst < 1e-5 < np.ptp(want), (worst, np.ptp(want))

    rows = np.asarray(model.embeddings("site", ["s0", "s6", "never seen"]))
    assert len(rows) == 3 and rows[:2].any(1).all() and not rows[2].any(), rows
    with torch.no_grad():  # the first row of the table: site s0, price 0.5
        scale = model._columns["module"]["scaling"][0]
        numbers = torch.tensor([[(0.5 - scale[0]) / scale[1]]], dtype=torch.float32)
        alone = torch.sigmoid(model.module({"site": torch.tensor(rows[:1])}, numbers))
    assert abs(float(alone) - want[0]) < 1e-5, (alone, want[0])
    assert "network" not in sys.modules and type(model.module).__name__ == "Net", model.module

    # Ids of Parquet are values and no texts. A network that is built in needs another package.
    texts, identities = [], model._program.identities
    model._program.identities = lambda record, slot: texts.append(record["site"]) or identities(record, slot)
    model._columns["table"]["format"] = "parquet"
    model.embeddings("site", [np.float64(3), 3.0, np.int64(3), True, "3.0"])
    assert texts == ["3", "3", "3", "1", "3.0"], texts
    del model._columns["module"]
    model._network, sys.modules["onnxruntime"] = None, None
    try:
        model.predict(table)
        sys.exit("predicted without onnxruntime")
    except tandem.Error as e:
        assert "-m pip install onnxruntime" in str(e), e
    print("good")
