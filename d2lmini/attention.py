"""Scaled dot-product attention and its multi-head form."""

import math

from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.masks import masked_softmax
from d2lmini.support.arguments import (
    check_arguments,
    check_attention,
    check_divisible,
    check_floats,
    check_last_pass,
)


def scaled_dot_product_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """softmax(Q Kᵀ / sqrt(head_size)) V.

    In float16 a score above 65,504 overflows to infinity, and its row becomes NaN;
    speed.attention accumulates in float32 and stays finite.

    Args:
        mask: boolean, True = may attend; None = attend to everything.
        dropout: probability of dropping a weight.
    Shapes:
        queries: (batch, heads, queries, head_size)
        keys, values: (batch, heads, keys, head_size)
        mask: broadcastable to (batch, heads, queries, keys)
    Returns:
        The output (batch, heads, queries, head_size) and the weights before dropout
        (batch, heads, queries, keys).
    Raises:
        TypeError, ValueError: see arguments.check_mask and check_attention.
    Source: Vaswani et al. 2017, equation 1; chapter 4.
    """
    check_attention(queries, keys, values, dropout)
    queries = queries / math.sqrt(queries.shape[-1])
    scores = queries @ keys.transpose(-2, -1)  # (batch, heads, queries, keys)
    weights = masked_softmax(scores, mask)
    used = F.dropout(weights, dropout) if dropout else weights
    return used @ values, weights  # (batch, heads, queries, head_size)


class MultiHeadAttention(nn.Module):
    """num_heads attentions in parallel, each on its own projection of all features.

    After a forward pass, attention_weights returns its weights before dropout, (batch, heads,
    queries, keys). They are recomputed from the queries and keys, not stored: for a long
    sequence they are by far the largest tensor of the pass.

    Args:
        num_hiddens: width of queries, keys, values and output.
        num_heads: must divide num_hiddens.
        dropout: probability of dropping a weight in training.
        bias: whether the four projections have one.
    Raises:
        TypeError, ValueError: num_heads does not divide num_hiddens, or a shape is wrong.
    Source: Vaswani et al. 2017, section 3.2.2; chapter 5.
    """

    def __init__(
        self, num_hiddens: int, num_heads: int, dropout: float, bias: bool = False
    ):
        super().__init__()
        check_divisible(num_hiddens=num_hiddens, num_heads=num_heads)
        check_arguments(dropout=dropout, bias=bias)
        self.num_hiddens, self.num_heads, self.dropout = num_hiddens, num_heads, dropout
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.last_pass = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None,
        projected: bool = False,
    ) -> Tensor:  # fmt: skip
        """Attend to the keys, and return a weighted mean of the values for each query.

        Args:
            mask: boolean, True = may attend; None = attend to everything.
            projected: whether keys and values are already projected, by project.
        Shapes:
            queries, result: (batch, queries, num_hiddens)
            keys, values: (batch, keys, num_hiddens); if projected, as project returns them
            mask: broadcastable to (batch, heads, queries, keys)
        """
        check_floats("queries", queries, "batch", "steps", self.num_hiddens)
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        dropout = self.dropout if self.training else 0.0
        output, _ = scaled_dot_product_attention(Q, K, V, mask, dropout)
        self.last_pass = Q.detach(), K.detach(), mask  # enough for attention_weights
        output = output.transpose(1, 2).flatten(2)  # (batch, queries, num_hiddens)
        return self.W_o(output)

    def project(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Project keys and values for each head; a decoder caches them while it decodes.

        Shapes:
            keys, values: (batch, keys, num_hiddens)
        Returns:
            K and V, each (batch, heads, keys, head_size).
        """
        check_floats("keys", keys, "batch", "steps", self.num_hiddens)
        check_floats("values", values, *keys.shape)
        return self.split_heads(self.W_k(keys)), self.split_heads(self.W_v(values))

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last pass, (batch, heads, queries, keys); recomputed on each access.

        Raises:
            ValueError: there has been no pass yet.
        """
        check_last_pass(self.last_pass)
        Q, K, mask = self.last_pass
        return scaled_dot_product_attention(Q, K, K, mask)[1]  # K stands in for V

    def __getstate__(self):  # for torch.save and copy.deepcopy
        """State to save or copy: everything but the last pass."""
        return self.__dict__ | {"last_pass": None}

    def split_heads(self, X: Tensor) -> Tensor:
        """(batch, steps, num_hiddens) -> (batch, heads, steps, head_size)."""
        X = X.unflatten(2, (self.num_heads, -1))  # (batch, steps, heads, head_size)
        return X.transpose(1, 2)  # (batch, heads, steps, head_size)
