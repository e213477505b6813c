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

NARROW, SHORT = 32, 12  # width and keys up to which narrow_attention is the faster one


def fast_dropout(X: Tensor, probability: float) -> Tensor:
    """F.dropout, on the CPU with one random number of 64 bits for four elements.

    There most of the time of a dropout goes into random numbers, one for each element. Here 16
    bits decide about each, so its probability is rounded to a multiple of 1 / 65536.

    Args:
        probability: with which an element becomes 0; the others are divided by what remains.
    Raises:
        TypeError, ValueError: X is no tensor, or probability lies outside [0, 1].
    Source: Srivastava et al. 2014; chapter 13.
    """
    check_kind("X", X, Tensor, "a torch.Tensor")
    check_arguments(probability=probability)
    return drop(X, probability)


def drop(X, probability):
    """fast_dropout of what has been checked."""
    if not X.is_cpu or probability in (0, 1):
        return F.dropout(X, probability)
    size = X.numel()
    draws = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    numbers = draws.view(torch.int16)[:size].view(X.shape)  # -32768 to 32767, evenly
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

    The kernel goes through the keys in blocks, and never holds a row of scores for each query.
    On the CPU none drops weights: with dropout, they are computed there as in a chapter, or, for
    short sentences in a narrow net, by narrow_attention.

    Args, Shapes, Raises: as attention.scaled_dot_product_attention.
    Returns:
        The output (batch, heads, queries, head_size).
    Source: Dao et al. 2022.
    """
    check_attention(queries, keys, values, dropout)
    check_mask(mask, (*queries.shape[:-1], keys.shape[-2]))
    return fastest_attention(queries, keys, values, mask, dropout)


def fastest_attention(queries, keys, values, mask, dropout):
    """fast_attention of what has been checked: its way depends on device, dropout and sizes."""
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
    """fast_attention with one matrix product a sentence in place of one for each of its heads.

    Each query becomes as wide as the layer, with zeros outside the columns of its head: its
    products with whole keys are those of its head alone. That is heads times the
    multiplications, but small matrices cost by the piece. The scores have their keys in rows,
    since PyTorch's softmax is slow on short rows and quick on columns.
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
        mask = mask[(None,) * (4 - mask.dim())]  # four axes, and some may have size 1
        far_below = torch.finfo(Q.dtype).min / 2  # all scores, and yet finite
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
    """MultiHeadAttention by fast_attention; its weights are still computed when asked for."""

    def forward(self, queries, keys, values, mask=None, projected=False):
        """Attend, as MultiHeadAttention.forward does."""
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
    """nn.Dropout by fast_dropout."""

    def forward(self, X):
        return drop(X, self.p) if self.training else X


def use_fast_layers(net: nn.Module) -> None:
    """Let every MultiHeadAttention and nn.Dropout of net compute fast, with the weights it has."""
    check_arguments(net=net)
    fast = {MultiHeadAttention: FastMultiHeadAttention, nn.Dropout: FastDropout}
    for module in net.modules():
        # The fast layers hold what these hold; only what they compute with it differs.
        module.__class__ = fast.get(type(module), type(module))
