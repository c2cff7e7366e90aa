"""Tries the Python package with a program train that prints its arguments and the module, without torch.

    python package.py PACKAGE FOLDER
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import tandem

folder = pathlib.Path(sys.argv[2])
os.chdir(folder)
os.environ["TANDEM_HOME"] = str(folder)
os.environ.pop("TANDEM_DATA", None)
train = folder / "train"
train.write_text(f"""#!{sys.executable}
import json, os, signal, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if given.get("--mode") == "long":
    def end(*_):
        os.write(2, b"train: saved\\n")
        if "--stubborn" not in sys.argv:
            os._exit(1)
    signal.signal(signal.SIGINT, end)
    os.write(2, b"%d\\n" % os.getpid())
    while True:
        signal.pause()
print("train: step 1 of 2", file=sys.stderr, flush=True)
if given.get("--mode") == "none":
    sys.exit("train: error: --mode: no mode none\\ntrain: hint: name one")
if "--model" in given:
    sys.stderr.write(open(given["--model"].rpartition(":")[0]).read())
if "--file" in given and os.path.exists(given["--file"]):
    sys.stderr.write(open(given["--file"], encoding="utf-8").read())
os.makedirs(given["--out"])
runs = [{{"mode": "sync", "auc": 0.75, "arguments": sys.argv[1:], "path": os.environ["PYTHONPATH"], "curve": [{{"step": 2, "auc": 0.75}}]}}]
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
      ["--data", "clicks.csv", "--model", f"{__file__}:Net", "--out", f"{folder}/first", "--epochs", "3", "--mode",
       "sync,hybrid", "--checkpoint-every", "30s", "--json=false"])
check(said[0], "train: step 1 of 2")
check(results.result["runs"][0]["path"].split(os.pathsep)[-1], os.path.dirname(os.path.abspath(__file__)))
for name, flag in {"clicks.tsv": "--data", "clicks": "--data", "job.yml": "--file"}.items():
    named = tandem.train(pathlib.Path(name), say=None)
    check(named.result["runs"][0]["arguments"][:2], [flag, name])
    check((named.folder.parent, named.folder.is_absolute()), (folder / "results", True))
check(results.modes, ["sync"])
failed(lambda: tandem.train(mode="none", out="none", say=None), "train: error: --mode: no mode none\ntrain: hint:")
failed(lambda: tandem.load("none"), "there is no none")
failed(results.model, "first has no model of sync; it has sync")


# The training ends with what goes wrong in say, and with Ctrl-C, which it may outlive to save its model.
def interrupts(stubborn, *errors):
    left, lines = list(errors), []

    def say(line):
        lines.append(line)
        if left:
            raise left.pop(0)

    try:
        tandem.train(out="long", say=say, mode="long", stubborn=stubborn)
    except BaseException as e:
        check((type(e), left), (type(errors[-1]), []))
        try:
            os.kill(int(lines[0]), 0)
            sys.exit("the training goes on")
        except ProcessLookupError:
            return lines, str(e)


check(interrupts(None, KeyboardInterrupt())[1].splitlines()[-1], "train: saved")
interrupts(None, ValueError("no place to print"))
check(interrupts(True, KeyboardInterrupt(), KeyboardInterrupt())[0][1:], ["train: saved"])

# A dictionary is a job, whose paths start here.
said.clear()
tandem.train({"data": {"kind": "csv", "path": "x.csv"}, "model": {"kind": "torch", "file": "net.py"}}, out="second",
             say=said.append)
check(said[-1], f'{{"data": {{"kind": "csv", "path": "{os.getcwd()}/x.csv"}}, '
      f'"model": {{"kind": "torch", "file": "{os.getcwd()}/net.py"}}}}')

said.clear()
tandem.train({"data": {"kind": "csv", "path": pathlib.Path("x.csv"), "csv": {"label": "\U0001f600"}}}, out="emoji",
             say=said.append)
check(json.loads(said[-1])["data"], {"kind": "csv", "path": f"{os.getcwd()}/x.csv", "csv": {"label": "\U0001f600"}})
if "\U0001f600" not in said[-1]:
    sys.exit(f"{said[-1]}: YAML does not read pairs of surrogates")


class Number:
    """A number of numpy."""

    def tolist(self):
        return 8


said.clear()
tandem.train({"model": {"embedding-dim": Number()}}, out="number", say=said.append)
check(json.loads(said[-1]), {"model": {"embedding-dim": 8}})
failed(lambda: tandem.train({"model": {"kind": {1}}}), "the job has {1}, a set; want texts, numbers")
failed(lambda: tandem.train(None, Number()), "the module is a Number; want a class")

# A class of a cell: what the cell defines, and not what it does.
cell = """%matplotlib inline
from __future__ import annotations
import math
import tandem
WIDTHS = [8, 4]
RATE: float = 0.5; print("\f")
scale = math.sqrt(2)
def double(x):
    return 2 * x
@final
class Net:
    @quiet()
    def forward(self, embeddings, numbers):
        return double(numbers)
print(WIDTHS)
"""
linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(True), "<cell 1>")
names = {"__name__": "__main__", "final": lambda c: c,
         "quiet": contextlib.contextmanager(lambda: (yield))}  # as torch.no_grad, it wraps in its own file
exec(compile(cell.replace("%matplotlib inline", ""), "<cell 1>", "exec"), names)
said.clear()
tandem.train(None, names["Net"], out="third", say=said.append)
check([line for line in said[1:] if line],
      ["from __future__ import annotations", "import torch", "from torch import nn", "import math", "WIDTHS = [8, 4]",
       "RATE: float = 0.5", "def double(x):", "    return 2 * x", "@final", "class Net:", "    @quiet()", "    def forward(self, embeddings, numbers):",
       "        return double(numbers)"])


# A class whose forward is of another file is in this one.
class Inheriting(names["Net"]):
    pass


said.clear()
tandem.train(None, Inheriting, out="fourth", say=said.append)
check([line for line in said if line.startswith("class ")][-1], "class Inheriting(names[\"Net\"]):")
failed(lambda: tandem.train(None, type("Made", (Inheriting,), {"__module__": "__main__"})), "where Made is defined")


def local():
    class Inner(names["Net"]):
        pass

    tandem.train(None, Inner)


failed(local, "Inner is a class within another, or within a function")
os.environ["TANDEM_HOME"] = "/nowhere"
failed(lambda: tandem.train(), "there is neither a program train nor cmd/train in /nowhere")
kept = __import__("tandem._train")._train.definitions("import os as system, tandem, sys\nimport tandem\n")
assert kept.endswith("import os as system, sys\n") and "tandem" not in kept, kept
print("good")
