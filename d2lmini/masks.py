"""Who may attend to whom. A mask is boolean: True = may attend."""

import torch
from torch import Tensor

from d2lmini.support.arguments import (
    check_at_most,
    check_floats,
    check_integers,
    check_mask,
)


def padding_mask(valid_lens: Tensor | None, num_steps: int) -> Tensor | None:
    """Mark the keys that hold a real token, in a batch of padded sequences.

    Args:
        valid_lens: number of real tokens in each sequence, integers in [0, num_steps]; None =
            no padding.
        num_steps: padded length, in tokens.
    Shapes:
        valid_lens: (batch,)
    Returns:
        Boolean (batch, 1, 1, num_steps), which broadcasts over heads and queries; or None =
        attend to everything.
    Raises:
        TypeError: valid_lens does not hold integers, or num_steps is not an integer.
        ValueError: valid_lens is not one-dimensional, or not within [0, num_steps].
    Source: chapter 2.
    """
    if valid_lens is None:
        return None
    check_integers("valid_lens", valid_lens, "batch")
    check_at_most("valid_lens", valid_lens, "num_steps", num_steps)
    steps = torch.arange(num_steps, device=valid_lens.device)
    mask = steps < valid_lens[:, None]  # (batch, steps)
    return mask[:, None, None, :]  # (batch, heads = 1, queries = 1, keys)


def causal_mask(
    num_queries: int,
    num_keys: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Let no position attend to a later one.

    With more keys than queries, the queries are the last positions of the sequence, as when
    decoding with a cache.

    Args:
        num_queries: number of query positions.
        num_keys: number of key positions, at least num_queries; num_queries when None.
        device: where to create the mask.
    Returns:
        Boolean (num_queries, num_keys).
    Raises:
        TypeError, ValueError: a count is not a whole number, or there are fewer keys than queries.
    Source: Vaswani et al. 2017, section 3.2.3; chapter 2.
    """
    num_keys = num_queries if num_keys is None else num_keys
    check_at_most("num_queries", num_queries, "num_keys", num_keys)
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(num_keys - num_queries)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the last axis; masked entries get exactly 0, even if all are masked.

    Args:
        scores: real numbers, any floating dtype; not changed.
        mask: boolean, True = may attend; None = attend to everything.
    Shapes:
        scores: (..., queries, keys)
        mask: broadcastable to scores
    Returns:
        Weights of the same shape as scores; each row sums to 1, or to 0 if fully masked.
    Raises:
        TypeError, ValueError: see arguments.check_mask.
    Source: Vaswani et al. 2017, section 3.2.3; chapter 2.
    """
    check_floats("scores", scores, ...)
    check_mask(mask, scores.shape)
    if mask is None:
        return torch.softmax(scores, dim=-1)
    weights = torch.softmax(torch.where(mask, scores, float("-inf")), dim=-1)
    # A fully masked row is 0 / 0 = NaN at this point.
    return torch.where(mask, weights, 0.0)
