"""What is wrong with a value, compared with the one that is due; and how values are shown."""

import math
import numbers

import numpy as np
import torch
from torch import nn


def difference(got, due, tolerance):
    """What is wrong with got, in one line; empty if nothing."""
    if isinstance(due, torch.Tensor):
        return _tensor_difference(got, due, tolerance)
    if isinstance(got, torch.Tensor | np.ndarray):  # where numbers are due
        got = got.tolist()
    if isinstance(due, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(due):
            number = f"{len(due)} value{'s' * (len(due) != 1)} in a list"
            return f"Expected {number}, got {short(got)}."
        for i, (g, d) in enumerate(zip(got, due, strict=True), 1):
            if problem := difference(g, d, tolerance):
                return f"Value {i} of {len(due)}: {problem}"
        return ""
    if isinstance(due, numbers.Real) and not isinstance(due, bool):
        if isinstance(got, list) and len(got) == 1:
            (got,) = got
        if not isinstance(got, numbers.Real) or isinstance(got, bool):
            return f"Expected a number, got {type(got).__name__} {short(got)}."
        same = math.isclose(got, due, rel_tol=tolerance, abs_tol=tolerance)
        return "" if same else "The number differs."
    if type(got) is not type(due):
        return f"Expected {type(due).__name__}, got {type(got).__name__} {short(got)}."
    if isinstance(due, str):
        got, due = got.strip().lower(), due.lower()
    return "" if got == due else f"{short(got)} is not right."


def _tensor_difference(got, due, tolerance):
    """As difference, for a tensor."""
    if not isinstance(got, torch.Tensor):
        kind = "a numpy array" if isinstance(got, np.ndarray) else f"{type(got).__name__}"
        return f"Expected a torch.Tensor, got {kind}."
    if got.shape != due.shape:
        return f"Expected shape {tuple(due.shape)}, got {tuple(got.shape)}."
    if got.dtype != due.dtype:
        return f"Expected dtype {due.dtype}, got {got.dtype}."
    if got.isnan().any() and not due.isnan().any():
        return f"{int(got.isnan().sum())} of {got.numel()} numbers are NaN."
    close = torch.isclose(got.double(), due.double(), tolerance, tolerance, equal_nan=True)
    if close.all():
        return ""
    first = tuple((~close).nonzero()[0].tolist())
    where = f", first at {list(first)}" if first else ""
    return f"The numbers differ{where}: {short(got[first])} is not {short(due[first])}."


def short(value):
    """A value in at most a few lines: large tensors by their shape."""
    if isinstance(value, torch.Tensor):
        if value.numel() > 12:
            return f"tensor of shape {tuple(value.shape)}"
        rounded = (
            value.detach().double().mul(1e4).round().div(1e4)
            if value.is_floating_point()
            else value
        )
        return str(rounded.tolist())
    if isinstance(value, tuple | list):
        inside = ", ".join(short(v) for v in value)
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    text = f"{type(value).__name__}(...)" if isinstance(value, nn.Module) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def unchanged(now, before):
    """Whether tensors, lists and modules among the arguments are what they were."""
    if isinstance(before, torch.Tensor):
        return torch.equal(now, before)
    if isinstance(before, nn.Module):
        pairs = zip(now.state_dict().values(), before.state_dict().values(), strict=True)
        return all(torch.equal(*pair) for pair in pairs)
    if isinstance(before, tuple | list):
        return len(now) == len(before) and all(map(unchanged, now, before))
    return True
