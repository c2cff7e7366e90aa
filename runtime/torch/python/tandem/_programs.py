"""Tandem's programs: where they are, and what they print."""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Callable, List, Optional

LINES_KEPT = 50  # of what a program prints, for the message of an error


class Error(Exception):
    """What a program of Tandem could not do, in its own words."""


def home() -> pathlib.Path:
    """Return the folder of Tandem's programs, or of their source."""
    named = os.environ.get("TANDEM_HOME")
    if named:
        return pathlib.Path(named)
    beside = pathlib.Path(__file__).resolve().parent  # in the source, if it was installed with pip install -e
    here = pathlib.Path.cwd().resolve()
    for folder in (here, *here.parents, *beside.parents):
        text = folder / "go.mod"
        if text.is_file() and text.read_text().startswith("module tandem\n"):
            return folder
    raise Error("where is Tandem? Set TANDEM_HOME to its folder, the one with go.mod, or to a folder with "
                "its programs train and model")


def program(name: str) -> str:
    """Return the path of a program, which is built if there is only its source."""
    folder = home()
    if (folder / name).is_file():
        return str(folder / name)
    if not (folder / "cmd" / name).is_dir():
        raise Error(f"there is neither a program {name} nor cmd/{name} in {folder}, which TANDEM_HOME names")
    return built(folder, name)


@functools.lru_cache(maxsize=None)
def built(folder: pathlib.Path, name: str) -> str:
    """Return the path of a program that is built from its source."""
    if shutil.which("go") is None:
        raise Error("there is no go: install Go from https://go.dev/dl, or set TANDEM_HOME to a folder with "
                    "the programs train and model")
    target = tempfile.mkdtemp(prefix="tandem-")
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    path = os.path.join(target, name)
    done = subprocess.run(["go", "build", "-o", path, f"./cmd/{name}"], cwd=folder, stderr=subprocess.PIPE,
                          text=True)
    if done.returncode:
        raise Error(f"go build ./cmd/{name}: {done.stderr.strip()}")
    return path


def run(name: str, arguments: List[str], say: Optional[Callable[[str], None]] = None) -> None:
    """Run a program to its end, and pass on the lines that it prints, as they come.

    Ctrl-C, or the button that interrupts a notebook, asks the program to end, which a training does after it
    has saved its model.
    """
    path = [p for p in (os.environ.get("PYTHONPATH"), beside()) if p]
    environment = {"TANDEM_PYTHON": sys.executable, **os.environ, "PYTHONPATH": os.pathsep.join(path)}
    started = subprocess.Popen([program(name), *arguments], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)
    kept: List[str] = []
    interrupted, failed, ended = False, False, None
    try:
        while ended is None:
            try:
                line = started.stderr.readline()
                if not line:
                    ended = started.wait()
                    continue
                kept = [*kept[1 - LINES_KEPT:], line.rstrip("\n")]
                failed = failed or line.startswith(f"{name}: error: ")
                if say and not failed:  # the Error has the rest
                    say(kept[-1])
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                started.send_signal(signal.SIGINT)
    finally:
        if started.poll() is None:  # it must not outlive what went wrong here
            started.kill()
            started.wait()
        started.stderr.close()
    if ended == 0:
        return
    if interrupted:
        raise KeyboardInterrupt("\n".join(kept[-2:]))
    at = [i for i, line in enumerate(kept) if line.startswith(f"{name}: error: ")]
    raise Error("\n".join(kept[at[-1]:] if at else kept))


def beside() -> str:
    """Return the folder of the script or of the notebook, from which a class of it may import."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    return os.path.dirname(os.path.abspath(script)) if script else os.getcwd()
