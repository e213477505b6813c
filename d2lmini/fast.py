"""Attention with PyTorch's own kernel, and dropout with fewer random numbers."""

import functools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.arguments import (
    check_attention,
    check_kind,
    check_mask,
    check_modules,
    check_probability,
    check_sequences,
)
from d2lmini.attention import MultiHeadAttention
from d2lmini.masks import masked_softmax

NARROW, SHORT = 32, 16  # width and keys up to which narrow_attention is the faster one


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
    check_probability("probability", probability)
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
    shape = *queries.shape[:-1], keys.shape[-2]  # of scores that nobody computes
    check_mask(mask, torch.empty(shape, dtype=queries.dtype, device="meta"))
    if dropout == 0 or not queries.is_cpu:
        return F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
    width = queries.shape[1] * queries.shape[3]
    if width <= NARROW and keys.shape[2] <= SHORT:
        return narrow_attention(queries, keys, values, mask, dropout)
    scores = queries / math.sqrt(queries.shape[-1]) @ keys.mT
    return fast_dropout(masked_softmax(scores, mask), dropout) @ values


def narrow_attention(queries, keys, values, mask, dropout):
    """fast_attention with one matrix product a sentence in place of one for each of its heads.

    Each query becomes as wide as the layer, with zeros outside the columns of its head: its
    products with whole keys are those of its head alone. That is heads times the
    multiplications, but small matrices cost by the piece. The scores have their keys in rows,
    since PyTorch's softmax is slow on short rows and quick on columns.
    """
    num_heads, num_queries, head_size = queries.shape[1:]
    Q, K, V = (X.transpose(1, 2).flatten(2) for X in (queries, keys, values))
    own = own_columns(num_heads, head_size, Q.dtype)
    Q = (Q[:, None] * own).flatten(1, 2)  # (batch, heads * queries, width)
    if mask is None:
        scores = K @ Q.mT  # (batch, keys, heads * queries)
    else:
        mask = mask[(None,) * (4 - mask.dim())]  # four axes, and some may have size 1
        far_below = torch.finfo(Q.dtype).min / 2  # all scores, and yet finite
        bias = ((~mask).to(Q.dtype) * far_below).movedim(3, 1)
        if bias.shape[3] > 1:  # (batch, keys, heads, queries)
            bias = bias.expand(-1, -1, num_heads, -1)
        scores = torch.baddbmm(bias.flatten(2), K, Q.mT)
    weights = fast_dropout(scores.softmax(dim=1), dropout)
    output = (weights.mT @ V).view(-1, num_heads, num_queries, num_heads, head_size)
    output = output.diagonal(dim1=1, dim2=3)  # (batch, queries, head_size, heads)
    output = output.permute(0, 3, 1, 2)  # (batch, heads, queries, head_size)
    return output if mask is None else output * mask.any(dim=3, keepdim=True)


@functools.cache
def own_columns(num_heads, head_size, dtype):
    """1 / sqrt(head_size) in the columns of each head, else 0; (heads, 1, width)."""
    own = torch.eye(num_heads, dtype=dtype).repeat_interleave(head_size, dim=1)
    return own[:, None] / math.sqrt(head_size)


class FastMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention by fast_attention; its weights are still computed when asked for."""

    def attend(self, queries, K, V, mask=None):
        """Attend to keys and values that are projected already."""
        check_sequences(self.num_hiddens, queries=queries)
        Q = self.split_heads(self.W_q(queries))
        output = fast_attention(Q, K, V, mask, self.dropout if self.training else 0.0)
        self.last_pass = Q.detach(), K.detach(), mask
        output = output.transpose(1, 2).flatten(2)  # (batch, queries, num_hiddens)
        return self.W_o(output)


class FastDropout(nn.Dropout):
    """nn.Dropout by fast_dropout."""

    def forward(self, X):
        return fast_dropout(X, self.p) if self.training else X


def use_fast_layers(net: nn.Module) -> None:
    """Let every MultiHeadAttention and nn.Dropout of net compute fast, with the weights it has."""
    check_modules(net=net)
    for parent in [*net.modules()]:
        for name, child in parent.named_children():
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p).train(child.training))
            if type(child) is MultiHeadAttention:
                fast = FastMultiHeadAttention(
                    child.num_hiddens, child.num_heads, child.dropout
                )
                fast.W_q, fast.W_k, fast.W_v, fast.W_o = (
                    child.W_q,
                    child.W_k,
                    child.W_v,
                    child.W_o,
                )
                fast.train(child.training)
                setattr(parent, name, fast)
