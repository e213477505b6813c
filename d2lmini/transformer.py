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
    """Self-attention, then the position-wise network, each with add & norm.

    Args:
        num_hiddens: width of the block.
        ffn_num_hiddens: width inside the position-wise network.
        num_heads: must divide num_hiddens.
        dropout: probability, on attention weights and on each branch.
    Shapes:
        X: (batch, steps, num_hiddens), and so the result
        mask: broadcastable to (batch, heads, steps, steps), True = may attend
    Source: Vaswani et al. 2017, section 3.1; chapter 7.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, dropout):
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm2 = AddNorm(num_hiddens, dropout)

    def forward(self, X, mask=None):
        check_floats("X", X, "batch", "steps", self.addnorm1.num_hiddens)
        Y = self.addnorm1(X, self.attention(X, X, X, mask))
        return self.addnorm2(Y, self.ffn(Y))


class DecoderCache(NamedTuple):
    """Projected keys and values that a decoder block keeps for its next step.

    Source: chapter 7.
    """

    K: Tensor  # of the target so far, (batch, heads, steps, head_size)
    V: Tensor
    memory_K: Tensor  # (batch, heads, source steps, head_size)
    memory_V: Tensor


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the encoder's output, position-wise network.

    Args: as EncoderBlock.
    Shapes:
        X: (batch, steps, num_hiddens): all steps of the target, or those that follow the cache
        memory: (batch, source steps, num_hiddens), the encoder's output
        memory_mask: broadcastable to (batch, heads, steps, source steps), True = may attend
    Returns:
        The output, of the shape of X, and the DecoderCache for the next step.
    Source: Vaswani et al. 2017, section 3.1; chapter 7.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, dropout):
        super().__init__()
        self.self_attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1 = AddNorm(num_hiddens, dropout)
        self.cross_attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm2 = AddNorm(num_hiddens, dropout)
        self.ffn = PositionWiseFFN(num_hiddens, ffn_num_hiddens)
        self.addnorm3 = AddNorm(num_hiddens, dropout)

    def forward(self, X, memory, memory_mask=None, cache=None):
        check_floats("X", X, "batch", "steps", self.addnorm1.num_hiddens)
        check_floats("memory", memory, len(X), "steps", X.shape[2])
        K, V = self.self_attention.project(X, X)  # (batch, heads, steps, head_size)
        if cache is None:
            memory_K, memory_V = self.cross_attention.project(memory, memory)
        else:
            K = torch.cat(
                [cache.K, K], dim=2
            )  # (batch, heads, past + steps, head_size)
            V = torch.cat([cache.V, V], dim=2)
            memory_K, memory_V = cache.memory_K, cache.memory_V
        mask = causal_mask(X.shape[1], K.shape[2], X.device)
        Y = self.addnorm1(X, self.self_attention(X, K, V, mask, projected=True))
        read = self.cross_attention(Y, memory_K, memory_V, memory_mask, projected=True)
        Z = self.addnorm2(Y, read)
        return self.addnorm3(Z, self.ffn(Z)), DecoderCache(K, V, memory_K, memory_V)


class EncoderStack(nn.Module):
    """num_layers encoder blocks; takes any embedding of width num_hiddens.

    Args, Shapes: as EncoderBlock, and num_layers.
    Source: Vaswani et al. 2017, section 3.1; chapter 7.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout):
        super().__init__()
        check_arguments(num_layers=num_layers)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        self.blocks = nn.ModuleList(EncoderBlock(*sizes) for _ in range(num_layers))

    def forward(self, X, mask=None):
        for block in self.blocks:
            X = block(X, mask)
        return X


class DecoderStack(nn.Module):
    """num_layers decoder blocks; takes any embedding of width num_hiddens.

    Args, Shapes: as DecoderBlock, and num_layers. caches: one a block, None at the first step.
    Source: Vaswani et al. 2017, section 3.1; chapter 7.
    """

    def __init__(self, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout):
        super().__init__()
        check_arguments(num_layers=num_layers)
        sizes = num_hiddens, ffn_num_hiddens, num_heads, dropout
        self.blocks = nn.ModuleList(DecoderBlock(*sizes) for _ in range(num_layers))

    def forward(self, X, memory, memory_mask=None, caches=None):
        new_caches = []
        for i, block in enumerate(self.blocks):
            cache = None if caches is None else caches[i]
            X, cache = block(X, memory, memory_mask, cache)
            new_caches.append(cache)
        return X, new_caches


class TokenEmbedding(nn.Module):
    """Token ids to vectors: embedding times sqrt(num_hiddens), plus the positional encoding.

    Args:
        vocab_size: number of tokens; ids lie in [0, vocab_size).
        num_hiddens: width, even.
        dropout: probability, after the positions are added.
    Shapes:
        tokens: (batch, steps), integers
        result: (batch, steps, num_hiddens)
    Raises:
        TypeError, ValueError: see arguments.check_tokens; an id lies outside the vocabulary.
    Source: Vaswani et al. 2017, section 3.4; chapter 7.
    """

    def __init__(self, vocab_size, num_hiddens, dropout):
        super().__init__()
        check_arguments(vocab_size=vocab_size, num_hiddens=num_hiddens)
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        # After the scaling below an embedding has mean square 1; the positions it meets, a half.
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(num_hiddens))
        self.positions = PositionalEncoding(num_hiddens, dropout)

    def forward(self, tokens, start=0):
        """Embed tokens, the first of which is at position start of its sequence."""
        vocab_size, num_hiddens = self.embedding.weight.shape
        check_tokens(tokens, vocab_size)
        # (batch, steps, num_hiddens)
        X = self.embedding(tokens) * math.sqrt(num_hiddens)
        return self.positions(X, start)


class TransformerEncoder(nn.Module):
    """Embedding, positions and a stack of encoder blocks.

    Args: vocab_size, the number of source tokens; the others as EncoderStack.
    Shapes:
        tokens: (batch, steps), integers
        valid_lens: (batch,), the number of real tokens of each row; None = all
        result: (batch, steps, num_hiddens)
    Source: Vaswani et al. 2017, section 3; chapter 7.
    """

    def __init__(
        self, vocab_size, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
    ):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, num_hiddens, dropout)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )

    def forward(self, tokens, valid_lens=None):
        check_lens(valid_lens, tokens)
        mask = padding_mask(valid_lens, tokens.shape[1])
        return self.stack(self.embedding(tokens), mask)

    @property
    def attention_weights(self):
        """Weights of the last pass, (layers, batch, heads, steps, steps)."""
        return torch.stack(
            [block.attention.attention_weights for block in self.stack.blocks]
        )


class TransformerDecoder(nn.Module):
    """Embedding, positions, a stack of decoder blocks, and the output layer.

    Args: vocab_size, the number of target tokens; the others as DecoderStack.
    Shapes:
        tokens: (batch, steps), integers: the whole target, or the steps that follow the caches
        memory: (batch, source steps, num_hiddens), the encoder's output
        memory_mask: broadcastable to (batch, heads, steps, source steps), True = may attend
    Returns:
        Logits (batch, steps, vocab_size), and the caches for the next step.
    Source: Vaswani et al. 2017, section 3; chapter 7.
    """

    def __init__(
        self, vocab_size, num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
    ):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, num_hiddens, dropout)
        self.stack = DecoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, dropout
        )
        self.output = nn.Linear(num_hiddens, vocab_size)

    def forward(self, tokens, memory, memory_mask=None, caches=None):
        start = 0 if caches is None else cached_steps(caches)
        X = self.embedding(tokens, start)
        X, caches = self.stack(X, memory, memory_mask, caches)
        return self.output(X), caches  # (batch, steps, vocab_size)

    @property
    def attention_weights(self):
        """Self- and cross-attention of the last pass, (layers, batch, heads, queries, keys)."""
        blocks = self.stack.blocks
        return (
            torch.stack([block.self_attention.attention_weights for block in blocks]),
            torch.stack([block.cross_attention.attention_weights for block in blocks]),
        )


def cached_steps(caches: list) -> int:
    """Number of target steps that the decoder's caches hold."""
    return caches[0].K.shape[2]  # (batch, heads, steps, head_size)


class EncoderDecoder(nn.Module):
    """An encoder and a decoder, from source and target tokens to logits.

    Args:
        encoder: called with (src, src_valid_lens).
        decoder: called with (tgt, memory, memory_mask).
    Shapes:
        src: (batch, source steps); tgt: (batch, steps)
        src_valid_lens: (batch,), the number of real tokens of each source; None = all
    Returns:
        Logits (batch, steps, vocab_size): row i scores the token that follows tgt[:, i].
    Source: Vaswani et al. 2017, section 3; chapter 7.
    """

    def __init__(self, encoder, decoder):
        super().__init__()
        check_arguments(encoder=encoder, decoder=decoder)
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src, tgt, src_valid_lens=None):
        memory = self.encoder(src, src_valid_lens)
        memory_mask = padding_mask(src_valid_lens, src.shape[1])
        logits, _ = self.decoder(tgt, memory, memory_mask)
        return logits
