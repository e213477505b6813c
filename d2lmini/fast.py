"""Attention with PyTorch's own kernel: the same numbers, in memory that grows with the length."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.arguments import (
    check_attention,
    check_mask,
    check_modules,
    check_sequences,
)
from d2lmini.attention import MultiHeadAttention


def fast_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """The output of attention.scaled_dot_product_attention, without its weights.

    The kernel goes through the keys in blocks, and never holds a row of scores for each query.

    Args, Shapes, Raises: as attention.scaled_dot_product_attention.
    Returns:
        The output (batch, heads, queries, head_size).
    Source: Dao et al. 2022.
    """
    check_attention(queries, keys, values, dropout)
    shape = *queries.shape[:-1], keys.shape[-2]  # of scores that nobody computes
    check_mask(mask, torch.empty(shape, dtype=queries.dtype, device="meta"))
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout)


class FastMultiHeadAttention(MultiHeadAttention):
    """MultiHeadAttention by fast_attention; its weights are still computed when asked for."""

    def attend(self, queries, K, V, mask=None):
        """Attend to keys and values that are projected already."""
        check_sequences(self.num_hiddens, queries=queries)
        Q = self.split_heads(self.W_q(queries))
        output = fast_attention(Q, K, V, mask, self.dropout if self.training else 0.0)
        self.last_pass = Q.detach(), K.detach(), mask
        return self.W_o(
            output.transpose(1, 2).flatten(2)
        )  # (batch, queries, num_hiddens)


def use_fast_attention(net: nn.Module) -> None:
    """Let every MultiHeadAttention of net compute with fast_attention, with the weights it has."""
    check_modules(net=net)
    for parent in [*net.modules()]:
        for name, child in parent.named_children():
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
