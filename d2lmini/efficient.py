"""Causal attention whose cost grows linearly with the length of the text."""

import torch
from torch.nn import functional as F

from d2lmini.support.arguments import check_arguments, check_self_attention


def windowed_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, window: int
) -> torch.Tensor:
    """Each query attends to window keys: the one at its own position and those just before.

    Shapes:
        queries, keys, values, result: (batch, heads, steps, head_size)
    Raises:
        TypeError, ValueError: see arguments.check_self_attention; window is less than 1.
    Source: Beltagy et al. 2020, section 3.1; chapter 16.
    """
    check_self_attention(queries, keys, values)
    check_arguments(window=window)
    steps, device = queries.shape[2], queries.device
    # Blocks as long as the window: a query sees only its own block and the one before.
    Q, K, V = (
        F.pad(X, (0, 0, 0, -steps % window)).unflatten(2, (-1, window))
        for X in (queries, keys, values)
    )  # (batch, heads, blocks, window, head_size)
    K, V = (torch.cat([X.roll(1, dims=2), X], dim=3) for X in (K, V))
    i = torch.arange(window, 2 * window, device=device)[:, None]
    j = torch.arange(2 * window, device=device)
    blocks = torch.arange(Q.shape[2], device=device)[:, None, None]
    mask = (j <= i) & (j > i - window) & ((blocks > 0) | (j >= window))
    # mask (blocks, window, 2 * window)
    output = F.scaled_dot_product_attention(Q, K, V, mask)
    return output.flatten(2, 3)[:, :, :steps]


def linear_attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Attention with weights f(q) · f(k) instead of exp(q · k), so that running sums suffice.

    Shapes:
        queries, keys, values, result: (batch, heads, steps, head_size)
    Raises:
        TypeError, ValueError: see arguments.check_self_attention.
    Source: Katharopoulos et al. 2020, section 3; chapter 16.
    """
    check_self_attention(queries, keys, values)
    Q, K = F.elu(queries) + 1, F.elu(keys) + 1  # f is always positive
    sums = (K[..., None] * values[..., None, :]).cumsum(dim=2)
    # sums: (batch, heads, steps, head_size, head_size)
    total = (Q * K.cumsum(dim=2)).sum(dim=-1, keepdim=True)  # (batch, heads, steps, 1)
    return (Q[..., None, :] @ sums)[..., 0, :] / total
