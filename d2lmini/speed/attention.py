"""Attention with PyTorch's own kernel, and dropout with fewer random numbers."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention import MultiHeadAttention
from d2lmini.masks import masked_softmax
from d2lmini.support.arguments import (
    check_arguments,
    check_attention,
    check_floats,
    check_kind,
    check_mask,
)

NARROW, SHORT = 32, 12  # width and keys up to which narrow_attention is faster


def fast_dropout(X: Tensor, probability: float) -> Tensor:
    """F.dropout, but on the CPU with one 64-bit random number for four elements.

    There dropout spends most of its time on random numbers, one for each element. Here 16 bits
    decide on each, so the probability is rounded to a multiple of 1 / 65536.

    Args:
        probability: of zeroing an element; the others are divided by 1 - probability.
    Raises:
        TypeError, ValueError: X is not a tensor, or probability lies outside [0, 1].
    Source: Srivastava et al. 2014; the page "Making it fast".
    """
    check_kind("X", X, Tensor, "a torch.Tensor")
    check_arguments(probability=probability)
    return drop(X, probability)


def drop(X, probability):
    """fast_dropout without argument checks."""
    if not X.is_cpu or probability in (0, 1):
        return F.dropout(X, probability)
    size = X.numel()
    draws = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[:size].view(X.shape)  # -32768 to 32767, uniform
    kept = numbers >= round(probability * 2**16) - 2**15
    return X * kept.to(X.dtype).mul_(1 / (1 - probability))


def fast_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The output of attention.scaled_dot_product_attention, without its weights.

    The kernel processes the keys in blocks and never holds all scores at once. On the CPU no
    kernel supports dropout: with it, weights are computed as in chapter 4 or, for short sentences
    in a narrow network, by narrow_attention.

    Args, Shapes, Raises: as for attention.scaled_dot_product_attention.
    Returns:
        The output (batch, heads, queries, head_size).
    Source: Dao et al. 2022.
    """
    check_attention(queries, keys, values, dropout)
    check_mask(mask, (*queries.shape[:-1], keys.shape[-2]))
    return fastest_attention(queries, keys, values, mask, dropout)


def fastest_attention(queries, keys, values, mask, dropout):
    """fast_attention without checks; its method depends on device, dropout and sizes."""
    if dropout == 0 or not queries.is_cpu:
        output = F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
        if mask is None or queries.is_cpu:
            return output
        # In float16 on CUDA, a query that may attend to nothing got a mean of the values.
        return torch.where(mask.any(dim=-1, keepdim=True), output, 0.0)
    width = queries.shape[1] * queries.shape[3]
    if width <= NARROW and keys.shape[2] <= SHORT:
        return narrow_attention(queries, keys, values, mask, dropout)
    scores = queries / math.sqrt(queries.shape[-1]) @ keys.mT
    return drop(masked_softmax(scores, mask), dropout) @ values


def narrow_attention(queries, keys, values, mask, dropout):
    """fast_attention with one matrix product per sentence instead of one per head.

    Each query is widened to the layer's width, with zeros outside the columns of its head, so
    its product with a whole key is that of its head alone. This takes num_heads times as many
    multiplications, but for small products the cost per call dominates. Scores have keys in rows,
    since PyTorch's softmax is slow on short rows and fast on columns.
    """
    num_heads, head_size = queries.shape[1], queries.shape[3]
    wide = (queries / math.sqrt(head_size)).permute(0, 2, 3, 1)
    wide = wide.diag_embed(dim1=1, dim2=3)  # (batch, heads, queries, heads, head_size)
    Q = wide.flatten(3).flatten(1, 2)  # (batch, heads * queries, width)
    # (batch, keys, width)
    K, V = (X.transpose(1, 2).flatten(2) for X in (keys, values))
    if mask is None:
        scores = K @ Q.mT  # (batch, keys, heads * queries)
    else:
        mask = mask[(None,) * (4 - mask.dim())]  # four axes, some perhaps of size 1
        far_below = torch.finfo(Q.dtype).min / 2  # all scores, yet finite
        bias = ((~mask).to(Q.dtype) * far_below).movedim(3, 1)
        if bias.shape[3] > 1:  # (batch, keys, heads, queries)
            bias = bias.expand(-1, -1, num_heads, -1)
        scores = torch.baddbmm(bias.flatten(2), K, Q.mT)
    weights = drop(scores.softmax(dim=1), dropout)
    output = (weights.mT @ V).view(wide.shape)
    output = output.diagonal(dim1=1, dim2=3)  # (batch, queries, head_size, heads)
    output = output.permute(0, 3, 1, 2)  # (batch, heads, queries, head_size)
    if mask is not None and not (allowed := mask.any(dim=3, keepdim=True)).all():
        output = output * allowed  # a query that may attend to nothing gets 0
    return output


class FastMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention using fast_attention; weights are still computed on access."""

    def forward(self, queries, keys, values, mask=None, projected=False):
        """Attend like MultiHeadAttention.forward."""
        check_floats("queries", queries, "batch", "steps", self.num_hiddens)
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        check_mask(mask, (*Q.shape[:-1], K.shape[2]))
        dropout = self.dropout if self.training else 0.0
        output = fastest_attention(Q, K, V, mask, dropout)
        self.last_pass = Q.detach(), K.detach(), mask
        output = output.transpose(1, 2).flatten(2)  # (batch, queries, num_hiddens)
        return self.W_o(output)


class FastDropout(nn.Dropout):
    """nn.Dropout using fast_dropout."""

    def forward(self, X):
        return drop(X, self.p) if self.training else X


def use_fast_layers(net: nn.Module) -> None:
    """Make every MultiHeadAttention and nn.Dropout of net fast, in place; weights are kept."""
    check_arguments(net=net)
    fast = {MultiHeadAttention: FastMultiHeadAttention, nn.Dropout: FastDropout}
    for module in net.modules():
        # The fast layers have the same attributes; only their forward differs.
        module.__class__ = fast.get(type(module), type(module))
