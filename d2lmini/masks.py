"""Who may attend to whom. A mask is boolean: True = may attend."""

import torch


def padding_mask(valid_lens: torch.Tensor, num_steps: int) -> torch.Tensor:
    """Keys that hold a real token, for a batch of padded sequences.

    Args:
        valid_lens: number of real tokens of each sequence, integers in [0, num_steps].
        num_steps: padded length, in tokens.
    Shapes:
        valid_lens: (batch,)
    Returns:
        Boolean (batch, 1, 1, num_steps); it broadcasts over heads and queries.
    Raises:
        TypeError: valid_lens does not hold integers.
        ValueError: valid_lens is not one-dimensional or leaves [0, num_steps].
    Source: chapter 2.
    """
    if (
        valid_lens.is_floating_point()
        or valid_lens.is_complex()
        or valid_lens.dtype == torch.bool
    ):
        raise TypeError(f"valid_lens must hold integers, got {valid_lens.dtype}")
    if valid_lens.dim() != 1:
        raise ValueError(
            f"valid_lens must have shape (batch,), got {tuple(valid_lens.shape)}"
        )
    if ((valid_lens < 0) | (valid_lens > num_steps)).any():
        raise ValueError(
            f"valid_lens ({valid_lens.tolist()}) must lie between 0 and num_steps ({num_steps})"
        )
    steps = torch.arange(num_steps, device=valid_lens.device)
    mask = steps < valid_lens[:, None]  # (batch, steps)
    return mask[:, None, None, :]  # (batch, heads = 1, queries = 1, keys)


def causal_mask(num_queries: int, num_keys: int | None = None, device=None) -> torch.Tensor:
    """No position may attend to a later one.

    With more keys than queries, the queries are the last positions of the sequence:
    this is what one step of incremental decoding needs.

    Args:
        num_queries: number of query positions.
        num_keys: number of key positions, at least num_queries; num_queries when None.
        device: where the mask is made.
    Returns:
        Boolean (num_queries, num_keys).
    Raises:
        ValueError: there are fewer keys than queries.
    Source: Vaswani et al. 2017, section 3.2.3; chapter 2.
    """
    num_keys = num_queries if num_keys is None else num_keys
    offset = num_keys - num_queries
    if offset < 0:
        raise ValueError(
            f"num_keys ({num_keys}) must be at least num_queries ({num_queries}): "
            "a query may always attend to its own position"
        )
    everything = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device)
    return everything.tril(offset)


def check_mask(mask: torch.Tensor, shape: tuple) -> None:
    """Raise TypeError unless mask is boolean, ValueError unless it broadcasts to shape."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, torch.Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a boolean tensor, True = may attend; got {got}")
    padded = (1,) * (len(shape) - mask.dim()) + tuple(mask.shape)
    if len(padded) > len(shape) or any(
        m not in (1, s) for m, s in zip(padded, shape, strict=True)
    ):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not broadcast to the scores' shape "
            f"{tuple(shape)}: each size must be 1 or equal, aligned at the right"
        )


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the last axis; masked entries get exactly 0, also where all are masked.

    Args:
        scores: real numbers, any floating dtype; not changed.
        mask: boolean, True = may attend; None = attend to everything.
    Shapes:
        scores: (..., queries, keys)
        mask: broadcastable to scores
    Returns:
        Weights of the shape of scores; each row sums to 1, or to 0 if all of it is masked.
    Raises:
        TypeError, ValueError: see check_mask.
    Source: Vaswani et al. 2017, section 3.2.3; chapter 2.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    check_mask(mask, scores.shape)
    blocked = ~mask
    weights = torch.softmax(scores.masked_fill(blocked, float("-inf")), dim=-1)
    # A row that is blocked throughout is 0 / 0 = NaN at this point.
    return weights.masked_fill(blocked, 0.0)
