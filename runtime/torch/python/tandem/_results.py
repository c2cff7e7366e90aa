"""load reads what a training has written."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import pathlib
import shutil
import sys
import tempfile
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from tandem._programs import Error, run

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch

    Frame = Union[pd.DataFrame, Dict[str, np.ndarray]]


def load(folder: Union[str, os.PathLike]) -> Results:
    """Return the results that a training has written to a folder."""
    return Results(folder)


class Results:
    """The results of a training.

    A frame is a pandas.DataFrame or, where there is no pandas, a dictionary of numpy arrays by column.
    """

    folder: pathlib.Path
    """where the results are; report.html there shows them"""
    result: Dict[str, Any]
    """result.json, which docs/commands.md describes"""

    def __init__(self, folder: Union[str, os.PathLike]):
        self.folder = pathlib.Path(folder)
        path = self.folder / "result.json"
        if not path.is_file():
            raise Error(f"there is no {path}: name the results of a training that has come to its end")
        self.result = json.loads(path.read_text("utf-8"))

    def __repr__(self) -> str:
        return f"tandem.load({str(self.folder)!r}): {', '.join(self.modes)}"

    @property
    def modes(self) -> List[str]:
        """The modes that were trained."""
        return list(dict.fromkeys(run["mode"] for run in self.result["runs"]))

    @property
    def runs(self) -> Frame:
        """A frame with a row for every training, baselines at the end: mode, auc, log_loss, and so on."""
        rows = [*self.result["runs"], *(self.result.get("baselines") or [])]
        names = dict.fromkeys(n for row in rows for n, v in row.items() if not isinstance(v, (dict, list)))
        return _frame({name: [row.get(name) for row in rows] for name in names})

    @property
    def curve(self) -> Frame:
        """A frame of the evaluations during training, and after it where there was none: curve.csv."""
        path = self.folder / "curve.csv"
        if path.is_file():
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            return _frame({name: [_number(row[name]) for row in rows] for name in (rows[0] if rows else ())})
        points = [dict(mode=run["mode"], **p) for run in self.result["runs"] for p in run.get("curve") or []]
        names = dict.fromkeys(name for point in points for name in point)
        return _frame({name: [point.get(name) for point in points] for name in names})

    def model(self, mode: Optional[str] = None) -> Model:
        """Return the model of a mode; None: of the first that was trained."""
        mode = mode or self.modes[0]
        for run in self.result["runs"]:
            if run["mode"] == mode and run.get("model"):
                return Model(self.folder / run["model"])
        raise Error(f"{self.folder} has no model of {mode}; it has {', '.join(self.modes)}")


class Model:
    """A trained model, exported to a folder that lives as long as the object."""

    def __init__(self, folder: Union[str, os.PathLike]):
        self.folder = pathlib.Path(folder)
        parent = tempfile.mkdtemp(prefix="tandem-")
        self._end = weakref.finalize(self, shutil.rmtree, parent, ignore_errors=True)
        exported = pathlib.Path(parent, "exported")
        run("model", ["export", str(self.folder), "--out", str(exported), "--rows", "safetensors"])
        if not (exported / "predict.py").is_file():
            raise Error(f"{self.folder} was trained on data that are neither csv nor parquet, and only "
                        "Tandem knows their ids")
        spec = importlib.util.spec_from_file_location("tandem_predict", exported / "predict.py")
        self._program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._program)
        self._columns = json.loads((exported / "columns.json").read_text("utf-8"))
        self._rows = self._program.all_rows(self._columns)
        self._network: Any = None

    def __repr__(self) -> str:
        rows = ", ".join(f"{len(rows.keys)} rows of {dim} values" for dim, rows in self._rows.items())
        return f"tandem.Model({str(self.folder)!r}): {rows}"

    @property
    def slots(self) -> List[str]:
        """The names of the slots."""
        return [slot["name"] for slot in self._columns["slots"]]

    def embeddings(self, slot: str, ids: Iterable[Any]) -> Frame:
        """Return the embeddings of ids of a slot: a DataFrame by id or, without pandas, an array, ids ×
        values.

        The ids are as in the table. One that the training has never seen has zeros.
        """
        import numpy as np

        found = [s for s in self._columns["slots"] if s["name"] == slot]
        if not found or "derived" in found[0]:
            others = ", ".join(s["name"] for s in self._columns["slots"] if "derived" not in s)
            raise Error(f"there is no slot {slot} of one column; there are {others}")
        alone = {"separator": "", "weights": "", "weight_separator": ""}  # an id, as nothing but itself
        ids, one, program = list(ids), {**found[0], **alone}, self._program
        rows = self._rows[one["dim"]]
        values = np.zeros((len(ids), one["dim"]), np.float32)
        text = program.parquet_text if self._columns["table"]["format"] == "parquet" else str
        for i, given in enumerate(ids):
            record = {one["name"]: text(getattr(given, "item", lambda: given)())}
            (identity,), _ = program.identities(record, one)
            values[i] = rows.pool(program.signs(one, identity, self._columns["prefix_bits"]),
                                  {"max": False, "mean": False, "sqrt_scaling": False})
        pandas = _pandas()
        return values if pandas is None else pandas.DataFrame(values, index=pandas.Index(ids, name=slot))

    @property
    def module(self) -> torch.nn.Module:
        """The module of PyTorch with its trained weights, in evaluation mode."""
        if "module" not in self._columns:
            raise Error(f"the network of {self.folder} is built in, and no module of PyTorch")
        return self._predictor().module

    def predict(self, table: Union[str, os.PathLike]) -> np.ndarray:
        """Return the predictions for the rows of a table, rows × labels, computed here: by PyTorch if the
        network is a module, else by onnxruntime. Parquet files need pyarrow.

        They are those of go run ./cmd/model predict, which is faster, to 1e-5.
        """
        import numpy as np

        try:
            predict = self._predictor()
            parts = [predict(inputs) for inputs in self._program.batches(os.fspath(table), self._columns,
                                                                         self._rows)]
        except SystemExit as e:
            raise Error(str(e)) from None
        except ModuleNotFoundError as e:
            raise Error(f"predict needs a package: {sys.executable} -m pip install {e.name}") from None
        return np.concatenate(parts) if parts else np.zeros((0, len(self._columns["labels"])), np.float32)

    def _predictor(self) -> Any:
        if self._network is None:
            self._network = self._program.network(self._columns)
        return self._network


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _frame(columns: Dict[str, List[Any]]) -> Frame:
    pandas = _pandas()
    if pandas is not None:
        return pandas.DataFrame(columns)
    import numpy as np

    return {name: np.array(values) for name, values in columns.items()}


def _number(text: str) -> Union[float, str]:
    try:
        return float(text)
    except ValueError:
        return text
