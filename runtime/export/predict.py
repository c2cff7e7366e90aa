"""Predict the rows of a CSV or Parquet file, whichever the training read, with a model that Tandem exported.

    python predict.py today.csv > predictions.csv
    python predict.py today.csv --torch > predictions.csv

Reads network.onnx, columns.json and rows.parquet or rows.safetensors beside itself; where columns differ in
the values of their rows, a file such as rows-dim-8.parquet for each length. Needs numpy; pyarrow for Parquet;
onnxruntime for the network, or torch and onnx with --torch. Of a module of PyTorch it reads network.py and
state_dict.pt instead of network.onnx, and needs torch alone.
"""
import argparse
import base64
import csv
import decimal
import gzip
import inspect
import json
import os
import pathlib
import re
import sys
import types
import unicodedata
import zlib

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit("predict.py: this Python has no numpy: install it, as by pip install numpy")

FOLDER = pathlib.Path(__file__).resolve().parent
WORD = (1 << 64) - 1
FLOAT_MAX = float(np.finfo(np.float32).max)
FIELD_MAX = (1 << 31) - 1  # bytes; the limit of module csv is 128 KiB otherwise


def mix(z):
    """Return the finalizer of SplitMix64 of a 64-bit number."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


def category(text):
    """Return the id of a text: 64-bit FNV-1a of its bytes, mixed."""
    h = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogateescape"):  # the bytes of the file, also if they are no UTF-8
        h = (h ^ byte) * 0x100000001B3 & WORD
    return mix(h)


def signs(slot, identity, bits):
    """Return the signs of the rows whose sum is the embedding of an id: one, or several under a
    hash-stack."""
    spacing = (1 << 64 - bits) - 1
    rounds, rows = slot["hash_stack_rounds"], slot["hash_stack_rows"]
    if rounds == 0:
        return [identity % spacing + slot["prefix"]]
    hashes = (mix(identity + (k + 1) * 0x9E3779B97F4A7C15 & WORD) for k in range(rounds))
    return [(k * rows + h % rows) % spacing + slot["prefix"] for k, h in enumerate(hashes)]


def tensors(path):
    """Return the signs and the embeddings of a file of safetensors, which stay on the disk."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))

    def array(name, kind):
        entry = header[name]
        if 0 in entry["shape"]:
            return np.empty(entry["shape"], kind)
        return np.memmap(path, kind, "r", 8 + length + entry["data_offsets"][0], tuple(entry["shape"]))

    return array("sign", "<u8"), array("embedding", "<f4")


class Rows:
    """The embedding rows of some values, by sign. A sign without a row, which training never saw, has
    zeros."""

    def __init__(self, name, dim):
        if (FOLDER / f"{name}.parquet").exists():
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(FOLDER / f"{name}.parquet").combine_chunks()
            keys = table["sign"].to_numpy()
            values = table["embedding"].combine_chunks().flatten().to_numpy()
        else:
            keys, values = tensors(FOLDER / f"{name}.safetensors")
        order = np.argsort(keys)
        self.keys, self.values = keys[order], values.reshape(-1, dim)[order]
        self.zeros = np.zeros(dim, np.float32)

    def row(self, sign):
        """Return a row; an id without one counts as zeros."""
        at = np.searchsorted(self.keys, np.uint64(sign))
        return self.values[at] if at < len(self.keys) and self.keys[at] == sign else self.zeros

    def pool(self, wanted, slot, weights=None):
        """Return the sum of rows, divided by their number or its root if the slot says so, or the maximum.

        With weights, each row is multiplied by its own, and their sum, or the root of that of their squares,
        takes the place of the number or its root."""
        if slot["max"]:
            return np.max([self.row(sign) for sign in wanted], axis=0) if wanted else self.zeros
        total = self.zeros.copy()
        if weights is not None:
            for sign, weight in zip(wanted, weights):
                total += np.float32(weight) * self.row(sign)
            return total * factor(slot, weights)
        for sign in wanted:
            total += self.row(sign)
        if slot["mean"]:
            return total / np.float32(max(len(wanted), 1))
        return total / np.float32(np.sqrt(max(len(wanted), 1))) if slot["sqrt_scaling"] else total


def factor(slot, weights):
    """Return what a sum of rows with weights is multiplied by: infinity if there is nothing to divide by."""
    if not weights or not (slot["mean"] or slot["sqrt_scaling"]):
        return np.float32(1)
    by = sum(weights) if slot["mean"] else sum(w * w for w in weights) ** 0.5
    with np.errstate(over="ignore"):
        return np.float32(1 / by if by > 0 else np.inf)


def all_rows(columns):
    """Return the Rows of every length that the slots have."""
    dims = sorted({slot["dim"] for slot in columns["slots"]})
    return {dim: Rows("rows" if len(dims) == 1 else f"rows-dim-{dim}", dim) for dim in dims}


def values_of(field, slot):
    """Return the texts of a field: a text, or a list of them."""
    if isinstance(field, list) or not slot["separator"]:
        return field if isinstance(field, list) else [field]
    return [text.strip() for text in field.split(slot["separator"])] if field else []


def identities(record, slot):
    """Return the ids of a record in a slot, and their weights or None."""
    texts, weights = values_of(record[slot["name"]], slot), None
    if slot["weights"]:
        weights = values_of(record[slot["weights"]], slot)
    if slot["weight_separator"]:
        pairs = [text.rpartition(slot["weight_separator"]) for text in texts]
        texts = [text.strip() if between else weight for text, between, weight in pairs]
        weights = [weight.strip() if between else "1" for _, between, weight in pairs]
    if weights is not None:
        weights = checked(weights, len(texts), slot)
    return [category(whole(text) if slot["whole"] else text) for text in texts], weights


def checked(texts, ids, slot):
    """Return the weights of a number of ids, of which a mean needs some above 0."""
    try:
        weights = [float(text) for text in texts if text.isascii() and "_" not in text]
    except ValueError:
        weights = []
    if len(texts) != ids or len(weights) != ids or not all(abs(weight) <= FLOAT_MAX for weight in weights):
        sys.exit(f"column {slot['name']}: the weights of {ids} ids are {texts}")
    weights = [float(np.float32(weight)) for weight in weights]
    if slot["mean"] and any(weight < 0 for weight in weights):
        sys.exit(f"column {slot['name']}: a mean needs weights of at least 0, and they are {texts}")
    if np.isinf(factor(slot, weights * max(slot["hash_stack_rounds"], 1))):
        sys.exit(f"column {slot['name']}: the rows cannot be divided by the sum of their weights: {texts}")
    return weights


def interval(value, edges):
    """Return the number of edges that are not above a number, or one more than all for a missing number."""
    value = float(np.float32(value))
    return len(edges) + 1 if value != value else sum(edge <= value for edge in edges)


def derive(slot, known, numbers):
    """Return the ids of a derived slot, given those of the slots before it and the numbers of a record."""
    ids = [0]
    for column in slot["derived"]:
        name, edges = column["column"], column.get("edges")
        own = [interval(numbers[name], edges)] if edges else known[name]
        ids = [mix(before ^ identity) for before in ids for identity in own]
    return ids


class Means:
    """A number for each id of a slot, and 0 for all others."""

    def __init__(self, mean):
        entries = np.frombuffer(base64.b64decode(mean["values"]), [("id", ">u8"), ("value", ">f4")])
        self.slot, self.values = mean["slot"], dict(zip(entries["id"].tolist(), entries["value"].tolist()))

    def number(self, known):
        """Return the mean of the numbers of a record's ids in the slot."""
        numbers = [self.values.get(identity, 0.0) for identity in known[self.slot]]
        return sum(numbers) / max(len(numbers), 1)


def embed(identities, weights, slot, rows, bits):
    """Return the part of a sample's embeddings that its ids in a slot give, with their weights or None."""
    each, rows = [signs(slot, identity, bits) for identity in identities], rows[slot["dim"]]
    if slot["fixed_size"] == 0:  # the rows of a sample are pooled
        if weights is not None:  # of every row of an id
            weights = [weight for weight, own in zip(weights, each) for _ in own]
        return rows.pool([sign for own in each for sign in own], slot, weights)
    out = np.zeros((slot["fixed_size"], len(rows.zeros) + 1), np.float32)  # a row and its mask, for each id
    for k, own in enumerate(each[: slot["fixed_size"]]):
        out[k, :-1], out[k, -1] = rows.pool(own, slot), 1
    return out.ravel()


def whole(text):
    """Return the text of a whole number without a fraction of zeros, any other text as it is."""
    match = re.fullmatch(r"(-?[0-9]+)\.0*", text)
    return match[1] if match else text


def joined(digits, separators):
    """Return digits without one of the separators between groups of three; None: there are other groups."""
    found = [c for c in digits if c in separators]
    groups = digits.split(found[0]) if found else [digits]
    if len(groups) > 1 and not (re.fullmatch(r"[+-]*[1-9][0-9]{0,2}", groups[0])
                                and all(re.fullmatch(r"[0-9]{3}", group) for group in groups[1:])):
        return None
    return "".join(groups)


def bare(text):
    """Return a number without currency or percent sign, brackets for a minus, and apostrophes in it."""
    negative = text.startswith("(") and text.endswith(")")
    if negative:
        text = text[1:-1].strip()
    while text and (text[0] in "-\u2212" and not negative or unicodedata.category(text[0]) == "Sc"):
        negative = negative or text[0] in "-\u2212"
        text = text[1:].lstrip()
    if text and (text[-1] == "%" or unicodedata.category(text[-1]) == "Sc"):
        text = text[:-1].rstrip()
    digits, rest = re.fullmatch(r"([^.,]*)(.*)", text, re.DOTALL).groups()
    digits = joined(digits, "'\u2019") or digits
    return ("-" if negative else "") + digits + rest


def parsed(text, name, table):
    """Return a number in the style of its column, or None if it is none."""
    digits, fraction, separators = text, "", ""
    if name in table["decimal_comma"]:
        digits, comma, fraction = text.partition(",")
        fraction, separators = ("." if comma else "") + fraction, ". \u00a0\u202f"
    elif name in table["thousands"]:
        digits, fraction = re.fullmatch(r"([^.eE]*)(.*)", text, re.DOTALL).groups()
        separators = ","
    digits = joined(digits, separators)
    if digits is None or not (digits + fraction).isascii() or "_" in text:
        return None
    try:
        return float(digits + fraction)
    except ValueError:
        return None


def number(record, name, table):
    """Return a numeric field of a record, NaN if it is missing."""
    field = record[name]
    if field == "" and table["empty_number"] is not None:
        return table["empty_number"]
    if field in table["missing"]:
        return np.nan
    for form in (str, bare):
        value = parsed(form(field), name, table)
        if value is not None and abs(value) <= FLOAT_MAX:  # false for NaN, too
            return value
    sys.exit(f"column {name}: {field!r} is not a {'' if value is None else 'finite 32-bit '}number")


def opened(path):
    """Return the text of a file, plain or compressed by gzip."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return (gzip.open if zipped else open)(path, "rt", newline="", encoding="utf-8-sig",
                                           errors="surrogateescape")


def records(path, table, wanted):
    """Return the records of a CSV file, which has the wanted columns, as dictionaries."""
    with opened(path) as file:
        lines = (line for line in file if not (table["comment"] and line.startswith(table["comment"])))
        csv.field_size_limit(FIELD_MAX)
        reader = csv.reader(lines, delimiter=table["delimiter"], skipinitialspace=True)
        names = table["columns"] or [name.strip() for name in next(reader, [])]
        for name in wanted:
            if name not in names:
                sys.exit(f"{path}: no column {name!r}: the file has {names}")
        for record in reader:
            if record and len(record) != len(names):
                sys.exit(f"{path}:{reader.line_num}: {len(record)} fields, want {len(names)}")
            if record:
                yield dict(zip(names, (field.strip() for field in record)))


def parquet_text(value):
    """Return a value of a Parquet file as the text that its id and its number follow from."""
    if isinstance(value, list):
        return [parquet_text(element) for element in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if value != value:
        return "NaN"
    if isinstance(value, float) and value.is_integer():
        return f"{decimal.Decimal(repr(value)):.0f}"  # zeros behind the digits that tell it from others
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)


def parquet_records(path, wanted):
    """Return the records of a Parquet file, which has the wanted columns, as dictionaries."""
    import pyarrow
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    names = file.schema_arrow.names
    for name in wanted:
        if name not in names:
            sys.exit(f"{path}: no column {name!r}: the file has {names}")
        if pyarrow.types.is_temporal(file.schema_arrow.field(name).type):
            sys.exit(f"{path}: column {name} has times, which this program does not read")
    lists = [name for name in wanted if pyarrow.types.is_nested(file.schema_arrow.field(name).type)]
    for part in file.iter_batches(1024, columns=wanted):
        for record in part.to_pylist():
            record.update((name, []) for name in lists if record[name] is None)
            yield {name: parquet_text(value) for name, value in record.items()}


def rows_of(path, columns):
    """Return the records of a file of the format that the model was trained on."""
    slots = [slot for slot in columns["slots"] if "derived" not in slot]
    wanted = [slot["name"] for slot in slots] + columns["numbers"]
    wanted += [slot["weights"] for slot in slots if slot["weights"]]
    if pathlib.Path(path).is_fifo():  # its beginning could not be read again
        sys.exit(f"{path}: a pipe, and this program reads files")
    with open(path, "rb") as file:
        found = "parquet" if file.read(4) == b"PAR1" else "csv"
    table = columns["table"]
    if found != table["format"]:
        sys.exit(f"{path}: a {found} file; the model was trained on {table['format']}")
    if found == "csv":
        return records(path, table, wanted)
    if "NaN" not in table["missing"] and "nan" in map(str.lower, table["missing"]):
        table["missing"].append("NaN")
    return parquet_records(path, wanted)


def batches(path, columns, rows, size=1024):
    """Return the inputs of the network for some records at a time."""
    embeddings, numbers = [], []
    means = [Means(mean) for mean in columns.get("means", [])]

    def inputs():
        both = {"embeddings": embeddings, "numbers": numbers}
        return {name: np.array(values, np.float32) for name, values in both.items() if len(values[0])}

    for record in rows_of(path, columns):
        values = {name: number(record, name, columns["table"]) for name in columns["numbers"]}
        known, parts = {}, []
        for slot in columns["slots"]:
            if "derived" in slot:
                ids, weights = derive(slot, known, values), None
            else:
                ids, weights = identities(record, slot)
            known[slot["name"]] = ids
            parts.append(embed(ids, weights, slot, rows, columns["prefix_bits"]))
        embeddings.append(np.concatenate(parts) if parts else [])
        numbers.append(list(values.values()) + [mean.number(known) for mean in means])
        if len(numbers) == size:
            yield inputs()
            embeddings.clear(), numbers.clear()
    if numbers:
        yield inputs()


def with_onnxruntime(path):
    """Return a function from the inputs of a network to its predictions."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(["prediction"], inputs)[0]


def with_torch(path):
    """Return the same in PyTorch, whose functions have the meaning of the operators."""
    import onnx
    import torch
    from onnx import numpy_helper

    types = {1: torch.float32, 11: torch.float64}
    operators = {
        "Add": torch.add,
        "BatchNormalization": lambda x, weight, bias, mean, variance, epsilon: torch.nn.functional.batch_norm(
            x, mean, variance, weight, bias, eps=epsilon),
        "Cast": lambda x, to: x.to(types[to]),
        "Concat": lambda *x, axis: torch.cat(x, axis),
        "Div": torch.div,
        "Gather": lambda x, which, axis: x.index_select(axis, which),
        "Gemm": lambda x, weight, bias=None, transB=1: torch.nn.functional.linear(x, weight, bias),
        "IsNaN": torch.isnan,
        "MatMul": torch.matmul,
        "Mul": torch.mul,
        "ReduceSum": lambda x, axes, keepdims: x.sum(axes.tolist(), keepdim=bool(keepdims)),
        "Relu": torch.relu,
        "Reshape": lambda x, shape: x.reshape(shape.tolist()),
        "Sigmoid": torch.sigmoid,
        "Sub": torch.sub,
        "Transpose": lambda x, perm: x.permute(perm),
        "Where": torch.where,
    }
    graph = onnx.load(str(path)).graph
    constants = {c.name: torch.tensor(numpy_helper.to_array(c)) for c in graph.initializer}

    def predict(inputs):
        known = dict(constants, **{name: torch.from_numpy(values) for name, values in inputs.items()})
        for node in graph.node:
            settings = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            known[node.output[0]] = operators[node.op_type](*(known[name] for name in node.input), **settings)
        return known["prediction"].numpy()

    return predict


class Module:
    """A module of PyTorch with its trained weights, as a function from inputs to predictions."""

    def __init__(self, columns):
        import torch

        self.torch, self.columns, own = torch, columns, columns["module"]
        source = types.ModuleType(f"network of {FOLDER}")  # a name of its own in whichever process
        source.__file__ = str(FOLDER / "network.py")
        sys.modules[source.__name__] = source
        exec(compile((FOLDER / "network.py").read_text("utf-8"), source.__file__, "exec"), vars(source))
        self.module = getattr(source, own["class"])(**own["arguments"])
        self.module.load_state_dict(torch.load(FOLDER / "state_dict.pt", weights_only=True))
        self.module.eval()
        takes_labels = "labels" in inspect.signature(self.module.forward).parameters
        self.labels = {"labels": None} if takes_labels else {}

    def arguments(self, inputs):
        """Return what forward gets: embeddings by slot, and standardised numbers."""
        by_slot, at = {}, 0
        embeddings = self.torch.from_numpy(inputs["embeddings"])
        for slot in self.columns["slots"]:
            ids, dim = slot["fixed_size"], slot["dim"]
            width = ids * (dim + 1) if ids else dim
            part = embeddings[:, at : at + width]
            if ids:
                rows = part.reshape(-1, ids, dim + 1)
                part = rows[..., :-1], rows[..., -1] > 0
            by_slot[slot["name"]] = part
            at += width
        scaling = np.array(self.columns["module"]["scaling"], np.float64).reshape(-1, 2)
        numbers = inputs.get("numbers", np.empty((len(embeddings), 0), np.float32))
        scaled = ((numbers.astype(np.float64) - scaling[:, 0]) / scaling[:, 1]).astype(np.float32)
        return by_slot, self.torch.from_numpy(np.where(np.isnan(numbers), np.float32(0), scaled))

    def __call__(self, inputs):
        with self.torch.no_grad():
            out = self.module(*self.arguments(inputs), **self.labels)
        names = self.columns["labels"]
        logits = [out[name] for name in names] if isinstance(out, dict) else [out]
        logits = self.torch.stack([one.reshape(-1) for one in logits], dim=1)
        if "units" in self.columns["module"]:
            center, scale = self.torch.tensor(self.columns["module"]["units"]).T
            return (center + scale * logits).numpy()
        return self.torch.sigmoid(logits).numpy()


def network(columns, torch=False):
    """Return a function from inputs to predictions."""
    if "module" in columns:
        return Module(columns)
    return (with_torch if torch else with_onnxruntime)(FOLDER / "network.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="CSV file, plain or gzip, or Parquet file, with the columns of the "
                        "training data")
    parser.add_argument("--torch", action="store_true", help="compute in PyTorch instead of onnxruntime")
    arguments = parser.parse_args()
    columns = json.loads((FOLDER / "columns.json").read_text())
    predict = network(columns, arguments.torch)
    names = ["prediction"] + [f"prediction_{i + 2}" for i in range(len(columns["labels"]) - 1)]
    print(",".join(names))
    for inputs in batches(arguments.file, columns, all_rows(columns)):
        for row in predict(inputs):
            print(",".join(repr(float(value)) for value in row))


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the predictions has enough, as head has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModuleNotFoundError as error:
        others = " (--torch computes in PyTorch instead)" if error.name == "onnxruntime" else ""
        sys.exit(f"{pathlib.Path(__file__).name}: this Python has no {error.name}: install it, as by "
                 f"pip install {error.name}{others}")
    except (OSError, EOFError, zlib.error, csv.Error) as error:  # of files
        sys.exit(f"{pathlib.Path(__file__).name}: {error}")
