"""Sentences for the user, and the Python and the torch that are old enough to need one."""

import sys

PYTHON_MIN = (3, 8)  # of that torch; an older one reads these files as far as the sentence that says so
TORCH_MIN = (2, 1)  # post_accumulate_grad hooks


class Refused(Exception):
    """A sentence for the user, about a module that cannot be trained."""


def import_torch():
    if sys.version_info < PYTHON_MIN:
        raise Refused(
            f"{sys.executable} is Python {sys.version.split()[0]}: set TANDEM_PYTHON to "
            f"{PYTHON_MIN[0]}.{PYTHON_MIN[1]} or newer, with torch"
        )
    try:
        import torch
    except ImportError as e:
        raise Refused(
            f"{sys.executable} cannot import torch ({e}): install it with {sys.executable} -m pip install "
            "torch, or set TANDEM_PYTHON to a Python that has it"
        )
    if version_of(torch) < TORCH_MIN:
        raise Refused(
            f"torch {torch.__version__} is too old: install {TORCH_MIN[0]}.{TORCH_MIN[1]} or newer"
        )
    return torch


def version_of(torch):
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
