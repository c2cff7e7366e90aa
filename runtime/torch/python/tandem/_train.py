"""train starts a training."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import linecache
import os
import pathlib
import re
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

from tandem._programs import Error, run
from tandem._results import Results, load


def train(job: Union[str, os.PathLike, Dict[str, Any], None] = None, module: Union[type, str, None] = None, *,
          out: Union[str, os.PathLike, None] = None, say: Optional[Callable[[str], None]] = print,
          **flags: Any) -> Results:
    """Train a job and return its results.

    job is a job file (.yaml, .yml or .json), a table of any other name, whose columns are inferred, a
    dictionary with what a job file has, or None for the census data that come with Tandem.

    module is the dense network: a subclass of torch.nn.Module, or "net.py:Net". Of a class, Tandem runs the
    text of its file or, in a notebook, the imports, functions, classes and constants of its cell, after
    "import torch" and "from torch import nn". None: the job says which.

    out is the folder of the results, which must not exist; None: one in results, named for the time.

    say gets every line that the training prints as it goes on; None: they are not printed.

    Further arguments are the flags of go run ./cmd/train --help, with _ for -: label="clicked", epochs=3,
    mode=["sync", "hybrid"], checkpoint_every="30s", processes=True.

    An Error has what the training could not do. A KeyboardInterrupt, as by the button of a notebook, saves
    the model and ends the training.
    """
    with tempfile.TemporaryDirectory(prefix="tandem-") as folder:
        arguments = _job(job, folder)
        if module is not None:
            arguments += ["--model", module if isinstance(module, str) else _module(module, folder)]
        out = pathlib.Path(out).absolute() if out is not None else _new_folder()
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
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_placed(job), file, ensure_ascii=False, default=_plain)  # JSON is YAML
        return ["--file", path]
    name = os.fspath(job)
    return ["--file" if name.endswith((".yaml", ".yml", ".json")) else "--data", name]


def _plain(value: Any) -> Any:
    """Return a value of a job that JSON does not know: a path, or a number or an array of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise Error(f"the job has {value!r}, a {type(value).__name__}; want texts, numbers, lists and "
                "dictionaries")


def _placed(job: Dict[str, Any]) -> Dict[str, Any]:
    """Return a job whose relative paths start at the working directory, and not at the file's folder."""
    job = dict(job)
    for part, key in (("data", "path"), ("model", "file")):
        own = job.get(part)
        path = own.get(key) if isinstance(own, dict) else None
        if isinstance(path, (str, os.PathLike)) and "://" not in str(path):
            if not (part == "data" and "TANDEM_DATA" in os.environ):
                job[part] = {**own, key: os.path.abspath(path)}
    return job


def _new_folder() -> pathlib.Path:
    results = pathlib.Path("results").resolve()
    results.mkdir(exist_ok=True)
    name = time.strftime("%Y%m%d-%H%M%S-notebook")
    names = itertools.chain([name], (f"{name}-{i}" for i in itertools.count(2)))
    return next(folder for folder in map(results.joinpath, names) if not folder.exists())


def _flag(name: str, value: Any) -> List[str]:
    if value is None or value is False:
        return [] if value is None else [f"--{name}=false"]
    if value is True:
        return [f"--{name}"]
    return [f"--{name}", ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]


def _module(module: type, folder: str) -> str:
    """Return FILE:CLASS for a class."""
    if not isinstance(module, type):
        raise Error(f"the module is a {type(module).__name__}; want a class, which is made in every "
                    "process of the training, or FILE:CLASS")
    name = module.__qualname__
    if "." in name:
        raise Error(f"{name} is a class within another, or within a function: define it at the top of a file "
                    "or of a cell")
    if module.__module__ != "__main__":
        try:
            return f"{inspect.getsourcefile(module)}:{name}"
        except TypeError:
            raise Error(f"{name} has no file: write it to one, and name FILE:CLASS")
    for file in _files(module):
        kept = definitions("".join(linecache.getlines(file)))
        if any(isinstance(node, ast.ClassDef) and node.name == name for node in ast.parse(kept).body):
            path = os.path.join(folder, "net.py")
            with open(path, "w", encoding="utf-8") as out:
                out.write(kept)
            return f"{path}:{name}"
    raise Error(f"where {name} is defined is not known: write it to a file, and name FILE:CLASS")


def _files(module: type) -> Iterator[str]:
    """Return the files in which a class of a script or of a cell may be defined: those of its functions, as a
    class of a cell has none, and the script."""
    for part in vars(module).values():
        function = inspect.unwrap(getattr(part, "__func__", part))
        if inspect.isfunction(function):
            yield function.__code__.co_filename
    script = getattr(sys.modules["__main__"], "__file__", None)
    if script:
        yield script


def definitions(text: str) -> str:
    """Return what a cell or a script defines, without what it does."""
    try:
        nodes = ast.parse(text).body
    except SyntaxError:  # commands of IPython
        text = re.sub(r"(?m)^[ \t]*[%!].*", "", text)
        nodes = ast.parse(text).body
    futures, kept = [], ["import torch", "from torch import nn"]
    for node in nodes:
        lines = [f"@{_text(text, d)}" for d in getattr(node, "decorator_list", [])] + [_text(text, node)]
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            futures += lines
        elif isinstance(node, ast.Import):
            others = [n for n in node.names if n.name != "tandem"]  # which need not be installed there
            kept += ["import " + ", ".join(_named(n) for n in others)] if others else []
        elif _defines(node):
            kept.append("\n".join(lines))
    return "\n\n".join(futures + kept) + "\n"


def _named(part: ast.alias) -> str:
    return f"{part.name} as {part.asname}" if part.asname else part.name


def _text(text: str, node: ast.AST) -> str:
    return ast.get_source_segment(text, node) or ""


def _defines(node: ast.stmt) -> bool:
    """Report whether a statement defines something that a class may use."""
    if isinstance(node, ast.ImportFrom):
        return node.module != "tandem"
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return node.value is not None and _constant(node.value)
    return isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))


def _constant(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
        return True
    except ValueError:
        return False
