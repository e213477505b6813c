"""Compare a value with the expected one, and show values to readers."""

import math
import numbers
import re
import reprlib

import numpy as np
import torch
from torch import nn


class Short(reprlib.Repr):
    """Abbreviates long or deep values; shows small tensors as lists, others by shape."""

    def __init__(self):
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 12
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 5, 80, 80, 40

    def repr_float(self, value, level):
        return str(float(f"{value:.6g}"))

    def repr_instance(self, value, level):
        if isinstance(value, nn.Module):
            return f"{type(value).__name__}(...)"
        if not isinstance(value, torch.Tensor):
            return re.sub(r" at 0x\w+", "", super().repr_instance(value, level))
        unusual = value.is_meta or value.is_quantized or value.layout != torch.strided
        if value.numel() > 24 or unusual:
            return f"tensor of shape {tuple(value.shape)}"
        if value.is_floating_point():
            value = value.detach().double().mul(1e4).round().div(1e4)
        return str(value.tolist())


def difference(got, due, tolerance):
    """Describe in one line how got is wrong; empty if it is right."""
    if problem := form_problem(got, due):
        return problem
    if isinstance(due, torch.Tensor):
        return _tensor_difference(got, due, tolerance)
    got = _plain(got)
    if isinstance(due, tuple | list):
        for i, (g, d) in enumerate(zip(got, due, strict=True), 1):
            if problem := difference(g, d, tolerance):
                return f"Value {i} of {len(due)}: {problem}"
        return ""
    if isinstance(due, numbers.Real) and not isinstance(due, bool):
        (got,) = got if isinstance(got, list) else (got,)
        try:
            same = math.isclose(got, due, rel_tol=tolerance, abs_tol=tolerance)
        except OverflowError:  # an integer too large for a float
            same = False
        same = same or (got != got and due != due)  # both NaN
        return "" if same else "The number differs."
    if isinstance(due, str):
        got, due = got.strip().lower(), due.lower()
    return "" if got == due else f"{short(got)} is not right."


def form_problem(got, due):
    """Describe how the type or shape of got is wrong, ignoring its numbers; empty if right."""
    if isinstance(due, torch.Tensor):
        return _tensor_form_problem(got, due)
    is_tensor = isinstance(got, torch.Tensor) and got.dim() > 0
    if is_tensor and _holds_tensors(due):
        return f"Expected {len(due)} tensors, got one of shape {tuple(got.shape)}."
    if is_tensor and isinstance(due, bool):
        return f"Expected bool, got a tensor of shape {tuple(got.shape)}."
    got = _plain(got)
    if isinstance(due, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(due):
            number = f"{len(due)} value{'s' * (len(due) != 1)} in a list"
            return f"Expected {number}, got {short(got)}."
        for i, (g, d) in enumerate(zip(got, due, strict=True), 1):
            if problem := form_problem(g, d):
                return f"Value {i} of {len(due)}: {problem}"
        return ""
    if isinstance(due, numbers.Real) and not isinstance(due, bool):
        if isinstance(got, list) and len(got) == 1:
            (got,) = got
        if not isinstance(got, numbers.Real) or isinstance(got, bool):
            return f"Expected a number, got {type(got).__name__} {short(got)}."
    elif type(got) is not type(due):
        return f"Expected {type(due).__name__}, got {type(got).__name__} {short(got)}."
    return ""


def _holds_tensors(due):
    """Whether several tensors are expected."""
    return isinstance(due, tuple | list) and any(
        isinstance(d, torch.Tensor) for d in due
    )


def _plain(value):
    """Convert PyTorch and NumPy numbers to Python's own."""
    if isinstance(value, torch.Tensor):
        has_numbers = value.layout == torch.strided and not value.is_meta
        return value.tolist() if has_numbers else value
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def kind_of(value) -> str:
    """What kind of value this is, in a few words; one from another process says so itself."""
    if isinstance(value, np.ndarray):
        return "a numpy array"
    if not isinstance(value, torch.Tensor):
        return getattr(value, "kind", type(value).__name__)
    if value.layout != torch.strided:
        return f"a tensor of layout {value.layout}"
    return f"a tensor of {value.dtype}"


def _tensor_form_problem(got, due):
    """Like form_problem, for a tensor."""
    if not isinstance(got, torch.Tensor):
        kind = kind_of(got)
        due = "an ordinary tensor" if kind.startswith("a tensor") else "a torch.Tensor"
        return f"Expected {due}, got {kind}."
    if got.layout != torch.strided or got.is_complex() or got.is_quantized:
        return f"Expected an ordinary tensor, got {kind_of(got)}."
    if got.device != due.device:
        rule = f"The arguments are on {due.device}: make new tensors on their device"
        return f"Expected a tensor on {due.device}, got one on {got.device}. {rule}."
    if got.shape != due.shape:
        return f"Expected shape {tuple(due.shape)}, got {tuple(got.shape)}."
    finer = due.is_floating_point() and got.dtype == torch.float64  # not a mistake
    if got.dtype != due.dtype and not finer:
        return f"Expected dtype {due.dtype}, got {got.dtype}."
    return ""


def _tensor_difference(got, due, tolerance):
    """Like difference, for a tensor of the right form."""
    if got.isnan().any() and not due.isnan().any():
        return f"{int(got.isnan().sum())} of {got.numel()} numbers are NaN."
    close = torch.isclose(
        got.double(), due.double(), tolerance, tolerance, equal_nan=True
    )
    if close.all():
        return ""
    first = tuple((~close).nonzero()[0].tolist())
    where = f", first at {list(first)}" if first else ""
    return f"The numbers differ{where}: {short(got[first])} instead of {short(due[first])}."


def short(value):
    """Show a value in at most a few lines."""
    try:
        text = Short().repr(value)
    except ValueError:  # an integer too long for Python to print
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= 300 else text[:297] + "..."


def picture(mask: torch.Tensor) -> str:
    """Draw a mask as text: a line per query, ■ if it may attend to the key and · if not.

    Args:
        mask: boolean (..., queries, keys); masks along leading axes are drawn one below the other,
            separated by an empty line.
    Raises:
        ValueError: mask is not such a tensor.
    Source: the page of puzzles, after chapter 7.
    """
    is_mask = isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
    if not is_mask or mask.dim() < 2:
        rule = "must be a boolean tensor with the axes (..., queries, keys)"
        raise ValueError(f"mask ({short(mask)}) {rule}")
    squares = mask.reshape(-1, *mask.shape[-2:]).tolist()
    return "\n\n".join(
        "\n".join(
            " ".join("■" if allowed else "·" for allowed in row) for row in square
        )
        for square in squares
    )


def can_be_drawn(value):
    """Whether a value is a mask small enough for a picture."""
    is_mask = isinstance(value, torch.Tensor) and value.dtype == torch.bool
    small = is_mask and value.dim() > 1 and 0 < value.numel() <= 150
    return small and value.layout == torch.strided


def unchanged(now, before):
    """Whether tensors, lists and modules among the arguments are unchanged."""
    if isinstance(before, torch.Tensor):
        return torch.equal(now, before)
    if isinstance(before, nn.Module):
        pairs = zip(
            now.state_dict().values(), before.state_dict().values(), strict=True
        )
        return all(torch.equal(*pair) for pair in pairs)
    if isinstance(before, tuple | list):
        return len(now) == len(before) and all(map(unchanged, now, before))
    if isinstance(before, int | float | str):
        return now == before
    return True
