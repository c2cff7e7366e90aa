"""Files with a state_dict."""

import json

from .refused import Refused, version_of

SAFE_LOAD_MIN = (2, 6)  # before, a file could run code in spite of weights_only: CVE-2025-32434


def read_state(torch, file):
    """Returns the state_dict of a file that torch.save or safetensors has written."""
    advice = "write one with torch.save(net.state_dict(), FILE)"
    try:
        if file.endswith(".safetensors"):
            return read_safetensors(torch, file)
        if version_of(torch) < SAFE_LOAD_MIN:
            raise Refused(f"{file}: torch.load of torch {torch.__version__} may run what a file says: "
                          f"install {SAFE_LOAD_MIN[0]}.{SAFE_LOAD_MIN[1]} or newer, or write a file of "
                          ".safetensors")
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Refused:
        raise
    except OSError as e:
        raise Refused(f"{file}: {e.strerror}")
    except Exception:  # of any kind, and of many lines
        raise Refused(f"{file} is no file that torch.load(FILE, weights_only=True) reads: {advice}")
    if not isinstance(state, dict):
        raise Refused(f"{file} has a {type(state).__name__} and no state_dict: {advice}")
    others = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if others:
        raise Refused(f"{file} has no state_dict, as its {others[0]} is no tensor: {advice}")
    for name, value in state.items():
        if value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            raise Refused(f"{file}: {name} is sparse, quantized or without values: {advice}")
    return state


def read_safetensors(torch, file):
    """Returns the tensors of a file of safetensors: a header in JSON, and then their bytes."""
    types = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
             "BOOL": torch.bool}
    with open(file, "rb") as f:
        data = bytearray(f.read())
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
        if not isinstance(header, dict):
            raise ValueError("a header that is no object")
        header.pop("__metadata__", None)
        state = {}
        for name, entry in header.items():
            (lo, hi), kind = entry["data_offsets"], types[entry["dtype"]]
            part = data[8 + length + lo : 8 + length + hi]
            state[name] = (torch.frombuffer(part, dtype=kind) if part else torch.empty(0, dtype=kind)).view(
                entry["shape"])
        return state
    except (ValueError, KeyError, TypeError, RuntimeError) as e:
        raise Refused(f"{file} is no file of safetensors: {type(e).__name__}: {e}")


def listed(names):
    """Returns the first names of a list."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + rest


def kind(value):
    return f"{value.dtype} of shape {tuple(value.shape)}"
