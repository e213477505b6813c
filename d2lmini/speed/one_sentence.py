"""Greedy search for one sentence, without the overhead of modules and checks."""

import math

import torch
from torch.nn import functional as F

from d2lmini.generation import Hypothesis
from d2lmini.support.arguments import check_tokens
from d2lmini.support.net_arguments import check_search


@torch.inference_mode()
def fast_greedy_search(net, src, src_valid_lens, bos, eos, num_steps):
    """generation.greedy_search in eval mode, several times as fast for a small network.

    There a matrix product takes less time than calling a module and checking its arguments.
    Here arguments are checked once, layers become plain functions, padding is cut off, which
    saves the mask, and keys and values are written to preallocated tensors.

    Args:
        net: an EncoderDecoder of a TransformerEncoder and a TransformerDecoder.
    Shapes, Returns, Raises: as for generation.greedy_search.
    Source: the page "Making it fast".
    """
    check_search(net, src, bos, eos, num_steps)
    length = src.shape[1] if src_valid_lens is None else src_valid_lens.item()
    src = src[0, :length]  # (steps,)
    X = _embedding(net.encoder.embedding)(src, start=0)  # (steps, width)
    for block in net.encoder.stack.blocks:
        X = _encoder_block(block)(X)
    steps = [_decoder_step(block, X, num_steps) for block in net.decoder.stack.blocks]
    embed, output = _embedding(net.decoder.embedding), _linear(net.decoder.output)
    tokens, total = [bos], 0.0
    while len(tokens) <= num_steps and tokens[-1] != eos:
        now = len(tokens) - 1
        X = embed(src.new_tensor(tokens[-1:]), now)  # (1, width)
        for step in steps:
            X = step(X, now)
        log_prob, token = output(X)[0].log_softmax(dim=-1).max(dim=-1)
        tokens.append(token.item())
        total += log_prob.item()
    return Hypothesis(tokens, total)


def _encoder_block(block):
    """An EncoderBlock as a function of a sentence (steps, width) without padding."""
    project, attend = _attention(block.attention)
    addnorm1, addnorm2 = _addnorm(block.addnorm1), _addnorm(block.addnorm2)
    transform = _position_wise(block.ffn)

    def compute(X):
        Y = addnorm1(X, attend(X, *project(X)))
        return addnorm2(Y, transform(Y))

    return compute


def _decoder_step(block, memory, num_steps):
    """A DecoderBlock as a function of the vector (1, width) at position now."""
    project, attend = _attention(block.self_attention)
    project_memory, attend_memory = _attention(block.cross_attention)
    addnorm1, addnorm2, addnorm3 = (
        _addnorm(layer) for layer in (block.addnorm1, block.addnorm2, block.addnorm3)
    )
    transform, memory_kv = _position_wise(block.ffn), project_memory(memory)
    size = block.self_attention.num_hiddens // block.self_attention.num_heads
    room = memory.new_empty(2, 1, block.self_attention.num_heads, num_steps, size)
    K, V = room  # (1, heads, num_steps, head_size)

    def compute(X, now):
        K[:, :, now : now + 1], V[:, :, now : now + 1] = project(X)
        Y = addnorm1(X, attend(X, K[:, :, : now + 1], V[:, :, : now + 1]))
        Z = addnorm2(Y, attend_memory(Y, *memory_kv))
        return addnorm3(Z, transform(Z))

    return compute


def _attention(layer):
    """A MultiHeadAttention as two functions: keys and values of X, and X attending to them."""
    W_q, W_k, W_v, W_o = map(_linear, (layer.W_q, layer.W_k, layer.W_v, layer.W_o))
    width, num_heads = layer.num_hiddens, layer.num_heads
    split = 1, -1, num_heads, width // num_heads

    def project(X):
        return W_k(X).view(split).transpose(1, 2), W_v(X).view(split).transpose(1, 2)

    def attend(X, K, V):
        Q = W_q(X).view(split).transpose(1, 2)  # (1, heads, steps, head_size)
        heads = F.scaled_dot_product_attention(Q, K, V)
        return W_o(heads.transpose(1, 2).reshape(-1, width))

    return project, attend


def _addnorm(layer):
    """An AddNorm as a function."""
    norm = layer.norm
    scale = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda X, Y: torch.layer_norm(X + Y, *scale)


def _position_wise(ffn):
    """A PositionWiseFFN as a function."""
    dense1, dense2 = _linear(ffn.dense1), _linear(ffn.dense2)
    return lambda X: dense2(dense1(X).relu())


def _linear(layer):
    """An nn.Linear as a function."""
    weight, bias = layer.weight, layer.bias
    return lambda X: F.linear(X, weight, bias)


def _embedding(layer):
    """A TokenEmbedding as a function of tokens (steps,), the first at position start."""
    table, P = layer.embedding.weight, layer.positions.P
    vocab_size, width = table.shape

    def embed(tokens, start):
        check_tokens(tokens[None], vocab_size)
        X = F.embedding(tokens, table)
        return X * math.sqrt(width) + P[start : start + len(tokens)]

    return embed
