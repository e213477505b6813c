"""The Transformer: blocks, stacks, encoder, decoder, and the two together."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from d2lmini.attention import MultiHeadAttention
from d2lmini.layers import AddNorm, PositionWiseFFN
from d2lmini.masks import causal_mask, padding_mask
from d2lmini.positions import PositionalEncoding
from d2lmini.support.arguments import (
    check_arguments,
    check_floats,
    check_lens,
    check_tokens,
)


class EncoderBlock(nn.Module):
    """Self-attention, then the position-wise FFN, each with add & norm.

    Args:
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        dropout: probability, on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3.1; chapter 8.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, dropout: float
    ):
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout)

    def forward(self, X: Tensor, mask: Tensor | None = None) -> Tensor:
        """X, result: (batch, steps, num_hiddens); mask: fits (batch, heads, steps, steps)."""
        check_floats("X", X, "batch", "steps", self.addnorm1.num_hiddens)
        Y = self.addnorm1(X, self.attention(X, X, X, mask))
        return self.addnorm2(Y, self.ffn(Y))


class DecoderCache(NamedTuple):
    """Projected keys and values that a decoder block keeps. Source: chapter 8."""

    K: Tensor  # of the target so far, (batch, heads, steps, head_size)
    V: Tensor
    memory_K: Tensor  # (batch, heads, source steps, head_size)
    memory_V: Tensor


class DecoderBlock(nn.Module):
    """Causal self-attention, cross-attention and position-wise FFN, each with add & norm.

    Args:
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        dropout: probability, on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3.1; chapter 8.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, dropout: float
    ):
        super().__init__()
        self.self_attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.cross_attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def forward(
        self, X: Tensor, memory: Tensor, memory_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> tuple[Tensor, DecoderCache]:  # fmt: skip
        """Apply the block, and also return the cache for the next decoding step.

        Shapes:
            X: (batch, steps, num_hiddens): the whole target, or what follows the cache
            memory: (batch, source steps, num_hiddens); its mask: (batch, 1, 1, source steps)
        """
        check_floats("X", X, "batch", "steps", self.addnorm1.num_hiddens)
        check_floats("memory", memory, len(X), "steps", X.shape[2])
        K, V = self.self_attention.project(X, X)  # (batch, heads, steps, head_size)
        if cache is None:
            memory_K, memory_V = self.cross_attention.project(memory, memory)
        else:
            K = torch.cat([cache.K, K], dim=2)  # (batch, heads, all steps, head_size)
            V = torch.cat([cache.V, V], dim=2)
            memory_K, memory_V = cache.memory_K, cache.memory_V
        mask = causal_mask(X.shape[1], K.shape[2], X.device)
        Y = self.addnorm1(X, self.self_attention(X, K, V, mask, projected=True))
        read = self.cross_attention(Y, memory_K, memory_V, memory_mask, projected=True)
        Z = self.addnorm2(Y, read)
        return self.addnorm3(Z, self.ffn(Z)), DecoderCache(K, V, memory_K, memory_V)


class EncoderStack(nn.Module):
    """num_layers encoder blocks; takes any embedding of width num_hiddens.

    Args:
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        num_layers: number of blocks; dropout: on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3.1; chapter 8.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, num_layers: int,
        dropout: float):  # fmt: skip
        super().__init__()
        check_arguments(num_layers=num_layers)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(num_layers))

    def forward(self, X: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply the blocks in turn; X (batch, steps, num_hiddens), mask as for EncoderBlock."""
        for block in self.blocks:
            X = block(X, mask)
        return X


class DecoderStack(nn.Module):
    """num_layers decoder blocks; takes any embedding of width num_hiddens.

    Args:
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        num_layers: number of blocks; dropout: on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3.1; chapter 8.
    """

    def __init__(
        self, num_hiddens: int, ffn_num_hiddens: int, num_heads: int, num_layers: int,
        dropout: float):  # fmt: skip
        super().__init__()
        check_arguments(num_layers=num_layers)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        self.blocks = nn.ModuleList(DecoderBlock(*sizes) for _ in range(num_layers))

    def forward(
        self, X: Tensor, memory: Tensor, memory_mask: Tensor | None = None,
        caches: list[DecoderCache] | None = None,
    ) -> tuple[Tensor, list[DecoderCache]]:  # fmt: skip
        """Apply the blocks in turn; X (batch, steps, num_hiddens), one cache per block."""
        new_caches = []
        for i, block in enumerate(self.blocks):
            cache = None if caches is None else caches[i]
            X, cache = block(X, memory, memory_mask, cache)
            new_caches.append(cache)
        return X, new_caches


class TokenEmbedding(nn.Module):
    """Map token ids to vectors: embedding times sqrt(num_hiddens), plus the positional encoding.

    Args:
        vocab_size: number of tokens; ids lie in [0, vocab_size).
        num_hiddens: width, even.
        dropout: probability, after the positions are added.
    Source: Vaswani et al. 2017, section 3.4; chapter 8.
    """

    def __init__(self, vocab_size: int, num_hiddens: int, dropout: float):
        super().__init__()
        check_arguments(vocab_size=vocab_size, num_hiddens=num_hiddens)
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        # After the scaling below, embeddings have mean square 1, positional encodings 1/2.
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(num_hiddens))
        self.positions = PositionalEncoding(num_hiddens, dropout)

    def forward(self, tokens: Tensor, start: int = 0) -> Tensor:
        """Map ids (batch, steps), the first at position start, to (batch, steps, num_hiddens)."""
        vocab_size, num_hiddens = self.embedding.weight.shape
        check_tokens(tokens, vocab_size)
        # (batch, steps, num_hiddens)
        X = self.embedding(tokens) * math.sqrt(num_hiddens)
        return self.positions(X, start)


class TransformerEncoder(nn.Module):
    """Embedding, positions and a stack of encoder blocks.

    Args:
        vocab_size: number of source tokens.
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        num_layers: number of blocks; dropout: on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3; chapter 8.
    """

    def __init__(
        self, vocab_size: int, num_hiddens: int, ffn_num_hiddens: int, num_heads: int,
        num_layers: int, dropout: float):  # fmt: skip
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, num_hiddens, dropout)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )

    def forward(self, tokens: Tensor, valid_lens: Tensor | None = None) -> Tensor:
        """Map ids (batch, steps) to (batch, steps, num_hiddens).

        Args:
            valid_lens: (batch,), the number of real tokens in each row; None = all.
        """
        check_lens(valid_lens, tokens)
        mask = padding_mask(valid_lens, tokens.shape[1])
        return self.stack(self.embedding(tokens), mask)

    @property
    def attention_weights(self) -> Tensor:
        """Weights of the last pass, (layers, batch, heads, steps, steps)."""
        weights = [block.attention.attention_weights for block in self.stack.blocks]
        return torch.stack(weights)


class TransformerDecoder(nn.Module):
    """Embedding, positions, a stack of decoder blocks, and the output layer.

    Args:
        vocab_size: number of target tokens.
        num_hiddens: width, divisible by num_heads; ffn_num_hiddens: width inside the FFN.
        num_layers: number of blocks; dropout: on attention weights and on each branch.
    Source: Vaswani et al. 2017, section 3; chapter 8.
    """

    def __init__(
        self, vocab_size: int, num_hiddens: int, ffn_num_hiddens: int, num_heads: int,
        num_layers: int, dropout: float):  # fmt: skip
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, num_hiddens, dropout)
        self.stack = DecoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )
        self.output = nn.Linear(num_hiddens, vocab_size)

    def forward(
        self, tokens: Tensor, memory: Tensor, memory_mask: Tensor | None = None,
        caches: list[DecoderCache] | None = None,
    ) -> tuple[Tensor, list[DecoderCache]]:  # fmt: skip
        """Logits (batch, steps, vocab_size), and the caches for the next decoding step.

        Shapes:
            tokens: (batch, steps), integers: the whole target, or what follows the caches
            memory, memory_mask: as for DecoderBlock
        """
        start = 0 if caches is None else cached_steps(caches)
        X = self.embedding(tokens, start)
        X, caches = self.stack(X, memory, memory_mask, caches)
        return self.output(X), caches  # (batch, steps, vocab_size)

    @property
    def attention_weights(self) -> tuple[Tensor, Tensor]:
        """Self- and cross-attention of the last pass, (layers, batch, heads, queries, keys)."""
        blocks = self.stack.blocks
        own = [block.self_attention.attention_weights for block in blocks]
        cross = [block.cross_attention.attention_weights for block in blocks]
        return torch.stack(own), torch.stack(cross)


def cached_steps(caches: list[DecoderCache]) -> int:
    """Number of target positions in the decoder's caches."""
    return caches[0].K.shape[2]  # (batch, heads, steps, head_size)


class EncoderDecoder(nn.Module):
    """An encoder and a decoder, from source and target tokens to logits.

    Args:
        encoder: called with (src, src_valid_lens).
        decoder: called with (tgt, memory, memory_mask).
    Source: Vaswani et al. 2017, section 3; chapter 8.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        check_arguments(encoder=encoder, decoder=decoder)
        self.encoder = encoder
        self.decoder = decoder

    def forward(
        self, src: Tensor, tgt: Tensor, src_valid_lens: Tensor | None = None
    ) -> Tensor:
        """Logits (batch, steps, vocab_size): row i scores the token that follows tgt[:, i].

        Shapes:
            src: (batch, source steps); tgt: (batch, steps)
            src_valid_lens: (batch,), the number of real tokens in each source; None = all
        """
        memory = self.encoder(src, src_valid_lens)
        memory_mask = padding_mask(src_valid_lens, src.shape[1])
        logits, _ = self.decoder(tgt, memory, memory_mask)
        return logits
