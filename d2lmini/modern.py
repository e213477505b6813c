"""The building blocks of current language models, and a small model made of them.

Pre-norm, RMSNorm, rotary positions, grouped queries, SwiGLU.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention import scaled_dot_product_attention
from d2lmini.masks import causal_mask
from d2lmini.support.arguments import (
    check_arguments,
    check_at_most,
    check_divisible,
    check_floats,
    check_tokens,
)


class RMSNorm(nn.Module):
    """Divide each token by its root mean square; subtract no mean.

    Args:
        num_hiddens: width of a token.
        eps: added to the mean of the squares.
    Source: Zhang and Sennrich 2019; chapter 15.
    """

    def __init__(self, num_hiddens: int, eps: float = 1e-5):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens)
        self.weight = nn.Parameter(torch.ones(num_hiddens))
        self.eps = eps

    def forward(self, X: Tensor) -> Tensor:
        """Normalise X (..., num_hiddens)."""
        check_floats("X", X, ..., len(self.weight))
        mean_square = X.pow(2).mean(dim=-1, keepdim=True)
        return X * torch.rsqrt(mean_square + self.eps) * self.weight


def rotate(X: Tensor, start: int = 0) -> Tensor:
    """Rotary positions: turn features 2j and 2j + 1 by the position times their angle.

    Neighbours are pairs, as in the paper and in GPT-J. (Transformers' Llama pairs j with
    j + head_size / 2.)

    Args:
        start: position of the first token.
    Shapes:
        X, result: (batch, heads, steps, head_size), head_size even
    Raises:
        TypeError, ValueError: X has the wrong shape, head_size is odd, or start is negative.
    Source: Su et al. 2024; chapters 15 and 16.
    """
    check_floats("X", X, "batch", "heads", "steps", "head_size")
    check_arguments(head_size=X.shape[-1], start=start)
    num_steps, head_size = X.shape[-2:]
    speeds = 10000 ** -(torch.arange(0, head_size, 2, device=X.device) / head_size)
    steps = torch.arange(start, start + num_steps, device=X.device)
    angles = steps[:, None] * speeds  # (steps, pairs)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    x, y = X[..., 0::2], X[..., 1::2]  # (batch, heads, steps, pairs) each
    return torch.stack([x * cos - y * sin, x * sin + y * cos], dim=-1).flatten(-2)


class KVCache(NamedTuple):
    """Keys and values that an attention layer keeps for the next decoding step.

    Source: chapter 15.
    """

    K: Tensor  # already rotated, (batch, num_kv_heads, steps so far, head_size)
    V: Tensor


class GroupedQueryAttention(nn.Module):
    """Causal self-attention in which several query heads share keys and values.

    Queries and keys are rotated by their positions. With as many key heads as query heads this
    is multi-head attention; with one key head, multi-query attention.

    Args:
        num_hiddens: width.
        num_heads: number of query heads; must divide num_hiddens.
        num_kv_heads: number of key and value heads; must divide num_heads.
    Source: Ainslie et al. 2023; chapter 15.
    """

    def __init__(self, num_hiddens: int, num_heads: int, num_kv_heads: int):
        super().__init__()
        check_divisible(num_hiddens=num_hiddens, num_heads=num_heads)
        check_divisible(num_heads=num_heads, num_kv_heads=num_kv_heads)
        check_arguments(head_size=num_hiddens // num_heads)
        self.num_hiddens = num_hiddens
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        kv_hiddens = num_hiddens // num_heads * num_kv_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)
        self.W_k = nn.Linear(num_hiddens, kv_hiddens, bias=False)
        self.W_v = nn.Linear(num_hiddens, kv_hiddens, bias=False)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=False)

    def forward(
        self, X: Tensor, cache: KVCache | None = None
    ) -> tuple[Tensor, KVCache]:
        """Attend, and also return the cache for the next decoding step.

        Shapes:
            X: (batch, steps, num_hiddens): the whole text, or what follows the cache
        """
        check_floats("X", X, "batch", "steps", self.num_hiddens)
        start = 0 if cache is None else cache.K.shape[2]
        Q = rotate(self.split_heads(self.W_q(X), self.num_heads), start)
        K = rotate(self.split_heads(self.W_k(X), self.num_kv_heads), start)
        V = self.split_heads(self.W_v(X), self.num_kv_heads)
        if cache is not None:
            K = torch.cat([cache.K, K], dim=2)  # (batch, heads, all steps, head_size)
            V = torch.cat([cache.V, V], dim=2)
        # query heads per key head
        shared = self.num_heads // self.num_kv_heads
        keys, values = (part.repeat_interleave(shared, dim=1) for part in (K, V))
        mask = causal_mask(X.shape[1], K.shape[2], X.device)
        output, _ = scaled_dot_product_attention(Q, keys, values, mask)
        return self.W_o(output.transpose(1, 2).flatten(2)), KVCache(K, V)

    @staticmethod
    def split_heads(X: Tensor, num_heads: int) -> Tensor:
        """(batch, steps, features) -> (batch, heads, steps, head_size)."""
        return X.unflatten(2, (num_heads, -1)).transpose(1, 2)


class SwiGLU(nn.Module):
    """A position-wise FFN whose hidden units are products: silu(W_gate x) · W_up x.

    Args:
        num_hiddens: width of the input and the output.
        ffn_num_hiddens: width of the hidden layer.
    Source: Shazeer 2020; chapter 15.
    """

    def __init__(self, num_hiddens: int, ffn_num_hiddens: int):
        super().__init__()
        check_arguments(num_hiddens=num_hiddens, ffn_num_hiddens=ffn_num_hiddens)
        self.num_hiddens = num_hiddens
        self.W_gate = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.W_up = nn.Linear(num_hiddens, ffn_num_hiddens, bias=False)
        self.W_down = nn.Linear(ffn_num_hiddens, num_hiddens, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        """Transform X (..., num_hiddens)."""
        check_floats("X", X, ..., self.num_hiddens)
        return self.W_down(F.silu(self.W_gate(X)) * self.W_up(X))


class ModernBlock(nn.Module):
    """Attention, then the FFN, each after a norm and with its own residual connection (pre-norm).

    Args:
        num_hiddens: width.
        ffn_num_hiddens: width inside the FFN.
        num_heads: number of query heads; must divide num_hiddens.
        num_kv_heads: number of key and value heads; must divide num_heads.
    Source: Touvron et al. 2023; chapter 15.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, num_kv_heads: int
    ):
        super().__init__()
        self.norm1 = RMSNorm(num_hiddens)
        self.attention = GroupedQueryAttention(num_hiddens, num_heads, num_kv_heads)
        self.norm2 = RMSNorm(num_hiddens)
        self.ffn = SwiGLU(num_hiddens, ffn_num_hiddens)

    def forward(
        self, X: Tensor, cache: KVCache | None = None
    ) -> tuple[Tensor, KVCache]:
        """Apply the block to X (batch, steps, num_hiddens); also return the new cache."""
        attended, cache = self.attention(self.norm1(X), cache)
        X = X + attended
        return X + self.ffn(self.norm2(X)), cache


class LanguageModel(nn.Module):
    """A decoder-only Transformer that scores each token that could follow a text.

    The output layer reuses the embedding (tied weights).

    Args:
        vocab_size: number of tokens.
        num_hiddens: width.
        ffn_num_hiddens: width inside the FFN.
        num_heads: number of query heads; must divide num_hiddens.
        num_kv_heads: number of key and value heads; must divide num_heads.
        num_layers: number of blocks.
        max_len: maximum text length in tokens, as in training.
    Source: Radford et al. 2019; chapter 15.
    """

    def __init__(
        self, vocab_size: int, num_hiddens: int, ffn_num_hiddens: int, num_heads: int,
        num_kv_heads: int, num_layers: int, max_len: int,
    ):  # fmt: skip
        super().__init__()
        check_arguments(vocab_size=vocab_size, num_hiddens=num_hiddens)
        check_arguments(num_layers=num_layers, max_len=max_len)
        self.max_len = max_len
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        # With tied weights, logits are products with these rows: length 1 keeps them small.
        nn.init.normal_(self.embedding.weight, std=num_hiddens**-0.5)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, num_kv_heads
        self.blocks = nn.ModuleList(ModernBlock(*sizes) for _ in range(num_layers))
        self.norm = RMSNorm(num_hiddens)

    def forward(
        self, tokens: Tensor, caches: list[KVCache] | None = None
    ) -> tuple[Tensor, list[KVCache]]:
        """Logits (batch, steps, vocab_size), and the caches for the next decoding step.

        Shapes:
            tokens: (batch, steps), integers: the whole text, or what follows the caches
        """
        check_tokens(tokens, self.embedding.num_embeddings)
        past = 0 if caches is None else caches[0].K.shape[2]
        check_at_most("text length", past + tokens.shape[1], "max_len", self.max_len)
        X = self.embedding(tokens)  # (batch, steps, num_hiddens)
        new_caches = []
        for i, block in enumerate(self.blocks):
            X, cache = block(X, None if caches is None else caches[i])
            new_caches.append(cache)
        return F.linear(self.norm(X), self.embedding.weight), new_caches
