"""train starts a training."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import os
import pathlib
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Union

from tandem._programs import Error, run
from tandem._results import Results, load


def train(job: Union[str, os.PathLike, Dict[str, Any], None] = None, module: Union[type, str, None] = None, *,
          out: Union[str, os.PathLike, None] = None, say: Optional[Callable[[str], None]] = print,
          **flags: Any) -> Results:
    """Train a job and return its results.

    job is a job file, a table (.csv, .csv.gz, .csv.zst or .parquet), whose columns are inferred, a dictionary
    with what a job file has, or None for the census data that come with Tandem.

    module is the dense network: a subclass of torch.nn.Module, or "net.py:Net". Of a class, Tandem runs the
    text of its file or, in a notebook, the imports, functions, classes and constants of its cell, after
    "import torch" and "from torch import nn". None: the job says which.

    out is the folder of the results, which must not exist; None: one in results, named for the time.

    say gets every line that the training prints as it goes on; None: they are not printed.

    Further arguments are the flags of go run ./cmd/train --help, with _ for -: label="clicked", epochs=3,
    mode=["sync", "hybrid"], checkpoint_every="30s", processes=True.

    An Error has what the training could not do. A KeyboardInterrupt, as by the button of a notebook, saves the
    model and ends the training.
    """
    with tempfile.TemporaryDirectory(prefix="tandem-") as folder:
        arguments = _job(job, folder)
        if module is not None:
            arguments += ["--model", module if isinstance(module, str) else _module(module, folder)]
        out = pathlib.Path(out) if out is not None else _new_folder()
        arguments += ["--out", str(out)]
        for name, value in flags.items():
            arguments += _flag(name.replace("_", "-"), value)
        run("train", arguments, say)
    return load(out)


def _job(job: Any, folder: str) -> List[str]:
    """Return the arguments that name a job."""
    if job is None:
        return []
    if isinstance(job, dict):
        path = os.path.join(folder, "job.yaml")
        with open(path, "w") as file:
            json.dump(_placed(job), file)  # JSON is YAML
        return ["--file", path]
    name = os.fspath(job)
    table = name.endswith((".csv", ".csv.gz", ".csv.zst", ".parquet"))
    return ["--data" if table else "--file", name]


def _placed(job: Dict[str, Any]) -> Dict[str, Any]:
    """Return a job whose relative paths start at the working directory, and not at the file's folder."""
    job = dict(job)
    for part, key in (("data", "path"), ("model", "file")):
        own = job.get(part)
        if isinstance(own, dict) and isinstance(own.get(key), str) and "://" not in own[key]:
            if not (part == "data" and "TANDEM_DATA" in os.environ):
                job[part] = {**own, key: os.path.abspath(own[key])}
    return job


def _new_folder() -> pathlib.Path:
    results = pathlib.Path("results")
    results.mkdir(exist_ok=True)
    return results / time.strftime("%Y%m%d-%H%M%S-notebook")


def _flag(name: str, value: Any) -> List[str]:
    if value is None or value is False:
        return [] if value is None else [f"--{name}=false"]
    if value is True:
        return [f"--{name}"]
    return [f"--{name}", ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]


def _module(module: type, folder: str) -> str:
    """Return FILE:CLASS for a class."""
    name = module.__qualname__
    if "." in name:
        raise Error(f"{name} is a class within another, or within a function: define it at the top of a file "
                    "or of a cell")
    try:
        file = module.forward.__code__.co_filename  # a class of a notebook has no file, but its functions do
    except AttributeError:
        raise Error(f"{name} has no forward(self, embeddings, numbers) of its own: give the class one")
    if os.path.isfile(file) and module.__module__ != "__main__" or not linecache.getlines(file):
        return f"{inspect.getsourcefile(module)}:{name}"
    path = os.path.join(folder, "net.py")
    with open(path, "w") as out:
        out.write(definitions("".join(linecache.getlines(file))))
    return f"{path}:{name}"


def definitions(text: str) -> str:
    """Return what a cell or a script defines, without what it does."""
    text = "".join("\n" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines(True))
    defines = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    kept = ["import torch", "from torch import nn"]
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import) and node.names[0].name == "tandem":
            continue
        if isinstance(node, defines) or isinstance(node, ast.Assign) and _constant(node.value):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            kept.append("\n".join(lines[first - 1 : node.end_lineno]))
    return "\n\n".join(kept) + "\n"


def _constant(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
        return True
    except ValueError:
        return False
