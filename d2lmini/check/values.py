"""Values as JSON, in which another process reports what an answer returned.

Not as a pickle: loading one runs whatever its writer wants.
"""

import base64
import math

import numpy as np
import torch
from torch import Tensor, nn

from d2lmini.check.answers import kind_of, short

DEEPEST = 20  # a list in a list in a list ...
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
    )
}  # fmt: skip


class Other:
    """A placeholder for a value that no exercise asks for; its text shows the value."""

    def __init__(self, text: str, kind: str = "something else"):
        self.text, self.kind = text, kind

    def __repr__(self):
        return self.text


def to_json(value, depth: int = 0):
    """Convert a value for from_json; anything unusual becomes a text that describes it."""
    if value is None or type(value) in (bool, str) or isinstance(value, float):
        return value
    if type(value) is int:
        return value if abs(value) < 10**300 else {"other": "a very large whole number"}
    is_tuple = hasattr(value, "_fields") or isinstance(value, torch.Size)  # of any name
    kind = tuple if is_tuple else type(value)
    if kind in (list, tuple) and depth < DEEPEST:
        return {kind.__name__: [to_json(part, depth + 1) for part in value]}
    if isinstance(value, np.generic):
        return to_json(value.item(), depth + 1)
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        return {"array": to_json(torch.tensor(value.tolist()), depth + 1)}
    if isinstance(value, nn.Module):
        state = {name: to_json(part) for name, part in value.state_dict().items()}
        return {"module": short(value), "state": state}
    name = str(value.dtype).removeprefix("torch.") if isinstance(value, Tensor) else ""
    if name in DTYPES and value.layout == torch.strided and value.device.type == "cpu":
        plain = value.detach().contiguous().reshape(-1).view(torch.uint8)
        data = base64.b64encode(plain.numpy().tobytes()).decode()
        return {"tensor": data, "dtype": name, "shape": list(value.shape)}
    return {"other": short(value), "kind": kind_of(value)}


def from_json(said):
    """Restore a value.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: to_json did not write this.
    """
    if not isinstance(said, dict):
        if isinstance(said, list):
            raise TypeError("a list must be marked as one")
        return said
    if "tensor" in said:
        dtype = DTYPES[said["dtype"]]
        shape = [int(size) for size in said["shape"]]
        data = bytearray(base64.b64decode(said["tensor"], validate=True))
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(data)} bytes do not fit shape {tuple(shape)}")
        if not data:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(data, dtype=dtype).reshape(shape)
    if "array" in said:
        return from_json(said["array"]).numpy()
    for kind in (list, tuple):
        if kind.__name__ in said:
            return kind(from_json(part) for part in said[kind.__name__])
    text = said["module"] if "module" in said else said["other"]
    kind = said.get("kind", "a module" if "module" in said else "something else")
    return Other(str(text)[:300], str(kind)[:80])
