"""What usually makes the future leak, from which input moves which output."""

import torch
from torch import Tensor

from d2lmini.check.trying import (
    ERRORS,
    difference,
    largest,
    mode,
    other,
    outputs_of,
    rounding,
)
from d2lmini.masks import causal_mask


def usual_cause(block, X) -> str:
    """A sentence on a block in which the future leaks; empty if the causes look alike."""
    try:
        with mode(block, training=False):
            cause = _cause(block, X)
    except ERRORS:  # it may want a mask, or one of another shape
        return ""
    return f" Likely: {cause}." if cause else ""


def _cause(block, X) -> str:
    """The cause, in a few words."""
    steps = X.shape[1]
    seen = _reach(block, X, causal_mask(steps, device=X.device))
    if not seen[:-1].tril(-1).any():  # the last may see nothing, and so all
        return "an inverted mask"
    if not seen.triu(2).any():
        return "a mask that is off by one"
    alone = torch.eye(steps, dtype=torch.bool, device=X.device)  # each sees itself only
    if not _reach(block, X, alone).fill_diagonal_(False).any():
        return ""
    usual, masked = outputs_of(block, X, None), outputs_of(block, X, alone)
    if largest(difference(usual, masked)) <= rounding(usual):
        if _mixes_no_features(block, X, usual):
            return "a norm or a mean over the steps"
        return "a mask that is not used, or something beside it that mixes positions"
    turned = outputs_of(block, X.flip(1), None).flip(1)
    if largest(difference(usual, turned)) <= rounding(usual):
        return "a norm or a mean over the steps"
    return "heads that are cut or joined without a transpose"


def _reach(block, X, mask) -> Tensor:
    """Whether each output moves with each input, (steps, steps)."""
    before, columns = outputs_of(block, X, mask), []
    for key in range(X.shape[1]):
        changed = X.clone()
        changed[:, key] = other(X)[:, key]
        moved = difference(outputs_of(block, changed, mask), before)
        columns.append(moved.reshape(*moved.shape[:2], -1).amax((0, 2)))
    return torch.stack(columns, dim=1) > rounding(before)


def _mixes_no_features(block, X, usual) -> bool:
    """Whether one feature of the last step moves only the same feature of earlier ones."""
    if not X.is_floating_point() or usual.shape != X.shape:
        return False
    changed = X.clone()
    changed[:, -1, 0] = other(X)[:, -1, 0]
    moved = difference(outputs_of(block, changed, None), usual)[:, :-1]
    return largest(moved[..., 1:]) <= rounding(usual)
