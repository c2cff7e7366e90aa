"""Tries the Python package with a program train that prints its arguments and the module, without torch.

    python package.py PACKAGE
"""

import linecache
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import tandem

folder = pathlib.Path(tempfile.mkdtemp())
os.chdir(folder)
os.environ["TANDEM_HOME"] = str(folder)
os.environ.pop("TANDEM_DATA", None)
train = folder / "train"
train.write_text(f"""#!{sys.executable}
import json, os, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("train: step 1 of 2", file=sys.stderr, flush=True)
if given.get("--mode") == "none":
    sys.exit("train: error: --mode: no mode none\\ntrain: hint: name one")
if "--model" in given:
    sys.stderr.write(open(given["--model"].rpartition(":")[0]).read())
if "--file" in given:
    sys.stderr.write(open(given["--file"]).read())
os.makedirs(given["--out"])
runs = [{{"mode": "sync", "auc": 0.75, "arguments": sys.argv[1:], "curve": [{{"step": 2, "auc": 0.75}}]}}]
json.dump({{"runs": runs, "baselines": None}}, open(given["--out"] + "/result.json", "w"))
""")
train.chmod(0o755)


def check(got, want):
    if got != want:
        sys.exit(f"got {got!r}, want {want!r}")


def failed(call, *words):
    try:
        call()
    except tandem.Error as e:
        if any(word not in str(e) for word in words):
            sys.exit(f"{e}; want {words}")
        return
    sys.exit(f"no error; want {words}")


# Flags and lines.
said = []
results = tandem.train("clicks.csv", "net.py:Net".replace("net.py", __file__), out="first", say=said.append, epochs=3,
                       mode=["sync", "hybrid"], checkpoint_every="30s", json=False)
check(results.result["runs"][0]["arguments"],
      ["--data", "clicks.csv", "--model", f"{__file__}:Net", "--out", "first", "--epochs", "3", "--mode",
       "sync,hybrid", "--checkpoint-every", "30s", "--json=false"])
check(said[0], "train: step 1 of 2")
check(results.modes, ["sync"])
failed(lambda: tandem.train(mode="none", out="none", say=None), "train: error: --mode: no mode none\ntrain: hint:")
failed(lambda: tandem.load("none"), "there is no none")
failed(results.model, "first has no model of sync; it has sync")

# A dictionary is a job, whose paths start here.
said.clear()
tandem.train({"data": {"kind": "csv", "path": "x.csv"}, "model": {"kind": "torch", "file": "net.py"}}, out="second",
             say=said.append)
check(said[-1], f'{{"data": {{"kind": "csv", "path": "{os.getcwd()}/x.csv"}}, '
      f'"model": {{"kind": "torch", "file": "{os.getcwd()}/net.py"}}}}')

# A class of a cell: what the cell defines, and not what it does.
cell = """%matplotlib inline
import math
import tandem
WIDTHS = [8, 4]
scale = math.sqrt(2)
def double(x):
    return 2 * x
class Net:
    def forward(self, embeddings, numbers):
        return double(numbers)
print(WIDTHS)
"""
linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(True), "<cell 1>")
names = {"__name__": "__main__"}
exec(compile(cell.replace("%matplotlib inline", ""), "<cell 1>", "exec"), names)
said.clear()
tandem.train(None, names["Net"], out="third", say=said.append)
check([line for line in said[1:] if line],
      ["import torch", "from torch import nn", "import math", "WIDTHS = [8, 4]", "def double(x):", "    return 2 * x",
       "class Net:", "    def forward(self, embeddings, numbers):", "        return double(numbers)"])


def local():
    class Inner(names["Net"]):
        pass

    tandem.train(None, Inner)


failed(local, "Inner is a class within another, or within a function")
os.environ["TANDEM_HOME"] = "/nowhere"
failed(lambda: tandem.train(), "there is neither a program train nor cmd/train in /nowhere")
print("good")
