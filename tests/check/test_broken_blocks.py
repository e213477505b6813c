"""The properties tried on blocks with one mistake each, and on right blocks of all kinds.

Nearly all mistakes must fall to a property (matches, which needs a right block beside, does not
count), and no right block may be accused.
"""

import copy
import functools
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from d2lmini import (
    AddNorm,
    DecoderBlock,
    DecoderStack,
    EncoderBlock,
    EncoderStack,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionalEncoding,
    PositionWiseFFN,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    check,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from d2lmini.transformer import DecoderCache

BATCH, STEPS, WIDTH, HEADS, VOCABULARY = 3, 5, 8, 2, 7
LENS = torch.tensor([STEPS, 3, 1])
SIZES = WIDTH, 16, HEADS


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


X = normal(BATCH, STEPS, WIDTH)
IDS = torch.randint(
    VOCABULARY, (BATCH, STEPS), generator=torch.Generator().manual_seed(1)
)
# one for all: a block is called with any batch
MEMORY = normal(1, STEPS, WIDTH, seed=2)
PADDING, CAUSAL = padding_mask(LENS, STEPS), causal_mask(STEPS)


# Which properties fit. Each kind yields results until somebody has seen enough.


class AsBlock(nn.Module):
    """A module that wants other arguments, called as block(X, mask)."""

    def __init__(self, module, call):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, X, mask=None):
        return self.call(self.module, X, mask)


def dtype_of(block):
    parameters = block.parameters() if isinstance(block, nn.Module) else iter(())
    return next((p.dtype for p in parameters if p.is_floating_point()), torch.float32)


def in_half(block):
    return copy.deepcopy(block).half() if isinstance(block, nn.Module) else block


def common(block, X, lens=LENS, half=True):
    """What holds for any block: nothing from the future, the padding or the other sentences."""
    yield check.causal(block, X)
    yield check.causal(block, X[:1])
    yield check.padding_invariant(block, X, lens)
    yield check.padding_invariant(block, X[1:2], lens[1:2])
    yield check.batch_independent(block, X)
    yield check.batch_independent(block, X, PADDING)
    yield check.finite_gradients(block, X)
    if half and X.dtype == torch.float32:
        yield check.finite_gradients(in_half(block), X.half())
    if isinstance(block, nn.Module):
        yield check.every_parameter_trained(block, X)


def pointwise(block):
    """Each position on its own."""
    given = X.to(dtype_of(block))
    yield from common(block, given)
    yield check.causal(lambda X, mask: block(X.flip(1)).flip(1), given)
    yield check.permutation_equivariant(block, given)
    yield check.repetition_invariant(block, given)


def encoder(block):
    """Reads all positions that the mask allows, and does not know their order."""
    given = X.to(dtype_of(block))
    yield from common(block, given)
    yield check.permutation_equivariant(block, given)
    yield check.repetition_invariant(block, given, LENS)
    yield check.repetition_invariant(block, given[:1], LENS[1:2])
    for mask in (None, PADDING, CAUSAL):
        yield check.sees_what_it_may(block, given, mask)


def attention(layer):
    """layer(queries, keys, values, mask) -> (output, weights)."""
    dtype = dtype_of(layer)
    given = X.to(dtype), normal(BATCH, 4, WIDTH, seed=3).to(dtype)
    for mask in (None, padding_mask(torch.tensor([4, 2, 1]), 4)):
        found = given[0], given[1], given[1]
        yield check.weights_explain_output(layer, *found, mask)
    yield check.weights_explain_output(layer, given[0], given[0], given[0], CAUSAL)
    yield check.weights_explain_output(layer, *(given[0][:1],) * 3, PADDING[1:2])
    yield from encoder(AsBlock(layer, lambda layer, X, mask: layer(X, X, X, mask)[0]))


def of_memory(decoder, target):
    """A decoder as a block of the memory: each output is all that the target gives."""

    def call(decoder, memory, mask):
        mine = target[:1].expand(len(memory), *target.shape[1:])
        output = decoder(mine, memory, mask)[0].flatten(1)[:, None]
        return output.expand(-1, memory.shape[1], -1)

    return AsBlock(decoder, call)


def of_target(decoder):
    def call(decoder, X, mask):
        return decoder(X, MEMORY.to(dtype_of(decoder)).expand(len(X), -1, -1))[0]

    return AsBlock(decoder, call)


def any_decoder(decoder, target):
    dtype = dtype_of(decoder)
    memory = normal(BATCH, STEPS, WIDTH, seed=2).to(dtype)
    for mask in (None, PADDING):
        yield check.incremental(decoder, target, memory, mask)
        yield check.incremental(decoder, target, memory, mask, at_once=2)
    yield check.incremental(decoder, target[:1], memory[:1], PADDING[1:2])
    block = of_target(decoder)
    yield check.causal(block, target)
    yield check.causal(block, target[:1])
    yield check.batch_independent(block, target)
    yield check.finite_gradients(block, target)
    yield check.every_parameter_trained(block, target)
    yield check.sees_what_it_may(block, target, CAUSAL)
    block = of_memory(decoder, target)
    yield check.padding_invariant(block, memory, LENS)
    yield check.batch_independent(block, memory, PADDING)
    yield check.permutation_equivariant(block, memory)
    yield check.finite_gradients(block, memory)
    yield check.every_parameter_trained(block, memory)
    for mask in (None, PADDING):
        yield check.sees_what_it_may(block, memory, mask)


def decoder(block):
    """Takes vectors, and adds no positions."""
    target = X.to(dtype_of(block))
    yield from any_decoder(block, target)
    yield check.repetition_invariant(of_target(block), target)


def must_fail(found):
    """A block that is told the order must not be indifferent to it."""
    said = f"{found.name} must not hold"
    return check.Result(said, not found, 0.0, found.sentence)


def whole_decoder(decoder):
    """Takes token ids."""
    yield from any_decoder(decoder, IDS)
    # The last output sees all: exchanging what it sees must make a difference.
    memory = MEMORY.to(dtype_of(decoder)).expand(BATCH, -1, -1)
    with torch.no_grad():
        orders = IDS, torch.cat([IDS[:, :-1].flip(1), IDS[:, -1:]], 1)
        first, second = (
            copy.deepcopy(decoder).eval()(ids, memory)[0][:, -1] for ids in orders
        )
    yield check.Result("knows the order", not torch.equal(first, second), 0.0, "")


def whole_encoder(net):
    """Takes token ids and lengths, and adds positions."""

    def call(net, tokens, mask):
        return net(tokens, None if mask is None else mask.flatten(1).sum(1))

    block = AsBlock(net, call)
    yield check.padding_invariant(block, IDS, LENS)
    yield check.padding_invariant(block, IDS[:2], torch.tensor([4, 2]))
    yield check.batch_independent(block, IDS)
    yield check.batch_independent(block, IDS, PADDING)
    yield check.finite_gradients(block, IDS)
    yield check.every_parameter_trained(block, IDS)
    for mask in (None, PADDING):
        yield check.sees_what_it_may(block, IDS, mask)
    yield must_fail(check.permutation_equivariant(block, IDS))


def positions(layer):
    """layer(X, start) tells the order, and step by step the same as at once."""
    given = X.to(dtype_of(layer))
    block = AsBlock(layer, lambda layer, X, mask: layer(X))
    yield from common(block, given, half=False)
    yield must_fail(check.permutation_equivariant(block, given))

    class Steps(nn.Module):
        def forward(self, X, memory, mask, start):
            output = layer(X, start or 0)
            return output, (start or 0) + X.shape[1]

    layer.eval()
    yield check.incremental(Steps(), given, given)


def softmax(function):
    scores = normal(2, 1, 3, 4, seed=4)
    masks = (
        None,
        padding_mask(torch.tensor([4, 2]), 4),
        padding_mask(torch.tensor([0, 1]), 4),
    )
    for mask in (*masks, causal_mask(3, 4)):
        yield check.rows_sum_to_one(function, scores, mask)
        yield check.rows_sum_to_one(function, 30 * scores, mask)
        yield check.rows_sum_to_one(function, scores.half(), mask)
    yield check.rows_sum_to_one(function, scores[:1], masks[2][1:])
    yield from encoder(
        lambda X, mask=None: (
            function((X @ X.mT)[:, None] / math.sqrt(WIDTH), mask)[:, 0] @ X
        )
    )


def first_failure(kind, block):
    """The first property that a block fails, None if all hold."""
    return next((found for found in kind(block) if not found), None)


BROKEN = {}


def broken(kind, name):
    """A function that makes a block with one mistake."""

    def add(make):
        assert name not in BROKEN
        BROKEN[name] = kind, make
        return make

    return add


# 1. Attention with a mistake, as it is, with heads, and in an encoder block.


def my_attention(
    before=lambda mask, scores: mask,
    change=lambda scores: scores,
    softmax=masked_softmax,
    after=lambda weights: weights,
    mix=lambda weights, values: weights @ values,
    told=lambda weights: weights,
):
    """Scaled dot-product attention, one part of which may be replaced."""

    def attention(queries, keys, values, mask=None, dropout=0.0):
        scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
        mask = before(mask, scores)
        weights = after(softmax(change(scores), mask))
        return mix(weights, values), told(weights)

    return attention


def full(mask, scores):
    """The mask in the shape of the scores."""
    if mask is None:
        return torch.ones_like(scores, dtype=torch.bool)
    return mask.expand(scores.shape)


def hide(which):
    """A mask with more cells hidden: which(queries, keys) says where."""

    def before(mask, scores):
        q, k = (torch.arange(size) for size in scores.shape[-2:])
        return full(mask, scores) & ~which(q[:, None], k)

    return before


def last_hidden(mask, scores):
    """valid_lens - 1."""
    mask = full(mask, scores)
    visible_after = mask.flip(-1).cumsum(-1).flip(-1) - mask.int()
    return mask & (visible_after > 0)


def softmax_over(axis):
    def function(scores, mask=None):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e4)
        return torch.softmax(scores, axis)

    return function


def soft(value):
    def function(scores, mask=None):
        if mask is not None:
            scores = scores.masked_fill(~mask, value)
        return scores.softmax(-1)

    return function


def masked_after(scores, mask=None):
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def masked_before_exp(scores, mask=None):
    return (scores if mask is None else scores * mask).softmax(-1)


def nan_softmax(scores, mask=None):
    return soft(-torch.inf)(scores, mask)


def sigmoid(scores, mask=None):
    weights = scores.sigmoid()
    return weights if mask is None else weights * mask


def quiet(scores, mask=None):
    """softmax1: a 1 is added to the denominator."""
    weights = masked_softmax(scores, mask)
    return weights * 0.8


def add_mask(scores, mask=None):
    return (scores if mask is None else scores + mask).softmax(-1)


def over_all(scores, mask=None):
    """One softmax over queries and keys together."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    return scores.flatten(-2).softmax(-1).view(scores.shape)


ATTENTIONS = {
    "mask ignored": my_attention(before=lambda mask, s: None),
    "mask swapped": my_attention(before=lambda mask, s: None if mask is None else ~mask),
    "mask on the queries": my_attention(
        before=lambda mask, s: mask if mask is None or s.shape[-1] != s.shape[-2] else mask.mT
    ),
    "mask of the first sentence for all": my_attention(
        before=lambda mask, s: None if mask is None else mask[:1]
    ),
    "mask ignored for batch 1": my_attention(
        before=lambda mask, s: mask if len(s) > 1 else None
    ),
    "mask ignored for larger batches": my_attention(
        before=lambda mask, s: mask if len(s) == 1 else None
    ),
    "mask one step late": my_attention(
        before=lambda mask, s: None if mask is None else mask.roll(1, -1)
    ),
    "own position hidden": my_attention(before=hide(lambda q, k: q == k)),
    "valid_lens - 1": my_attention(before=last_hidden),
    "first key hidden": my_attention(before=hide(lambda q, k: k == 0)),
    "previous key hidden": my_attention(before=hide(lambda q, k: k == q - 1)),
    "window of two": my_attention(before=hide(lambda q, k: q - k > 1)),
    "always causal": my_attention(before=hide(lambda q, k: k > q)),
    "one key too many": my_attention(
        before=lambda mask, s: full(mask, s) | full(mask, s).roll(1, -1)
    ),
    "soft mask -5": my_attention(softmax=soft(-5.0)),
    "-1e9 in float16": my_attention(softmax=lambda s, m=None: (
        s if m is None else s + (~m).to(s.dtype) * -1e9).softmax(-1)),
    "NaN where all is masked": my_attention(softmax=nan_softmax),
    "mask after softmax": my_attention(softmax=masked_after),
    "mask times scores": my_attention(softmax=masked_before_exp),
    "mask added to scores": my_attention(softmax=add_mask),
    "softmax over queries": my_attention(softmax=softmax_over(-2)),
    "softmax over heads": my_attention(softmax=softmax_over(1)),
    "softmax over the batch": my_attention(softmax=softmax_over(0)),
    "softmax over everything": my_attention(softmax=over_all),
    "sigmoid": my_attention(softmax=sigmoid),
    "weights sum to 0.8": my_attention(softmax=quiet),
    "mean over keys taken twice": my_attention(after=lambda w: w / w.shape[-1]),
    "scale by the number of keys": my_attention(change=lambda s: s / s.shape[-1]),
    "scores centred over the batch": my_attention(change=lambda s: s - s.mean(0) + s.mean()),
    "largest score over all": my_attention(change=lambda s: s / s.abs().max()),
    "queries detached": my_attention(change=lambda s: s.detach()),
    "values detached": my_attention(mix=lambda w, v: w @ v.detach()),
    "weights detached": my_attention(after=lambda w: w.detach()),
    "always float32": my_attention(mix=lambda w, v: (w @ v).float()),
    "float64 inside and outside": my_attention(mix=lambda w, v: w.double() @ v.double()),
    "dropout in eval mode": my_attention(after=lambda w: F.dropout(w, 0.5)),
    "values one step late": my_attention(mix=lambda w, v: w @ v.roll(1, -2)),
    "values of the next sentence": my_attention(mix=lambda w, v: w @ v.roll(1, 0)),
    "last value missing": my_attention(mix=lambda w, v: w[..., :-1] @ v[..., :-1, :]),
    "weights transposed": my_attention(
        mix=lambda w, v: w.mT @ v if w.shape[-1] == w.shape[-2] else w @ v
    ),
}  # fmt: skip

TOLD_WRONGLY = {
    "told without the mask": lambda q, k, v, mask=None, dropout=0.0: (
        scaled_dot_product_attention(q, k, v, mask)[0],
        scaled_dot_product_attention(q, k, v)[1],
    ),
    "told without the scale": lambda q, k, v, mask=None, dropout=0.0: (
        scaled_dot_product_attention(q, k, v, mask)[0],
        masked_softmax(q @ k.mT, mask),
    ),
    "told transposed": my_attention(told=lambda w: w.mT),
    "told uniform": my_attention(told=lambda w: torch.ones_like(w) / w.shape[-1]),
    "told of the next sentence": my_attention(told=lambda w: w.roll(1, 0)),
    "told in reverse order": my_attention(told=lambda w: w.flip(-1)),
    "told as logarithms": my_attention(told=lambda w: w.log()),
    "told rounded": my_attention(told=lambda w: w.round(decimals=1)),
}


class Heads(MultiHeadAttention):
    """Multi-head attention with any attention inside."""

    def __init__(self, function=scaled_dot_product_attention):
        super().__init__(WIDTH, HEADS, 0.0)
        self.function = function

    def forward(self, queries, keys, values, mask=None, projected=False):
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        output, weights = self.function(Q, K, V, mask)
        self.weights = None if weights is None else weights.detach()
        return self.W_o(output.transpose(1, 2).flatten(2))

    @property
    def attention_weights(self):
        return self.weights


class Telling(nn.Module):
    """A multi-head attention that returns its weights, too."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, queries, keys, values, mask=None):
        output = self.layer(queries, keys, values, mask)
        return output, self.layer.attention_weights


def in_one_head(function):
    def layer(queries, keys, values, mask=None):
        output, weights = function(
            queries[:, None], keys[:, None], values[:, None], mask
        )
        return output[:, 0], weights

    return layer


def in_block(function):
    block = EncoderBlock(*SIZES, 0.0)
    block.attention = Heads(function)
    return block


for name, function in ATTENTIONS.items():
    if "detached" not in name:  # a function has no parameters to train
        broken(attention, f"attention: {name}")(lambda f=function: in_one_head(f))
    if "float64" in name:  # a matrix in float32 would refuse it
        continue
    broken(attention, f"heads: {name}")(lambda f=function: Telling(Heads(f)))
    broken(encoder, f"block: {name}")(lambda f=function: in_block(f))
for name, function in TOLD_WRONGLY.items():
    broken(attention, f"attention: {name}")(lambda f=function: in_one_head(f))
    broken(attention, f"heads: {name}")(lambda f=function: Telling(Heads(f)))
broken(attention, "attention: not scaled")(
    lambda: in_one_head(my_attention(change=lambda s: s * math.sqrt(WIDTH)))
)

# 2. Multi-head attention with a mistake around the attention.


class MixedHeads(MultiHeadAttention):
    """Heads cut out of the memory, not out of the features."""

    def split_heads(self, X):
        return X.view(len(X), self.num_heads, X.shape[1], -1)


class MergedWrongly(MultiHeadAttention):
    def forward(self, queries, keys, values, mask=None, projected=False):
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        output, _ = scaled_dot_product_attention(Q, K, V, mask)
        self.last_pass = Q.detach(), K.detach(), mask
        return self.W_o(output.reshape(len(queries), -1, WIDTH))


class KeysAsValues(MultiHeadAttention):
    def project(self, keys, values):
        K = self.split_heads(self.W_k(keys))
        return K, K


class NoOutputMatrix(MultiHeadAttention):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.W_o.forward = lambda X: X


class OldWeights(MultiHeadAttention):
    """attention_weights of the first pass for ever."""

    def forward(self, queries, keys, values, mask=None, projected=False):
        before = self.last_pass
        output = super().forward(queries, keys, values, mask, projected)
        if before is not None and before[0].shape == self.last_pass[0].shape:
            self.last_pass = before
        return output


class MeanWeights(MultiHeadAttention):
    @property
    def attention_weights(self):
        weights = super().attention_weights
        return weights.mean(1, keepdim=True).expand_as(weights)


class MaskForgotten(MultiHeadAttention):
    @property
    def attention_weights(self):
        Q, K, _ = self.last_pass
        return scaled_dot_product_attention(Q, K, K)[1]


class QueriesForKeys(MultiHeadAttention):
    @property
    def attention_weights(self):
        Q, K, mask = self.last_pass
        return scaled_dot_product_attention(K, Q, K, mask)[1] if K.shape == Q.shape else (
            super().attention_weights)  # fmt: skip


for layer in (MixedHeads, MergedWrongly, KeysAsValues, NoOutputMatrix, OldWeights, MeanWeights,
              MaskForgotten, QueriesForKeys):  # fmt: skip
    broken(attention, layer.__name__)(
        lambda make=layer: Telling(make(WIDTH, HEADS, 0.0))
    )


def first_half(shape):
    mask = torch.zeros(shape)
    mask[: shape[0] // 2] = 1.0
    return mask


class WeightDetached(nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.weight = linear.weight

    def forward(self, X):
        return F.linear(X, self.weight.detach())


class InputDetached(WeightDetached):
    def forward(self, X):
        return F.linear(X.detach(), self.weight)


def heads_with(change):
    layer = MultiHeadAttention(WIDTH, HEADS, 0.0)
    change(layer)
    return Telling(layer)


@broken(attention, "a dead head")
def dead_head():
    def only_first(q, k, v, mask=None, dropout=0.0):
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        return output * torch.tensor([1.0, 0.0]).view(2, 1, 1).to(output), weights

    return Telling(Heads(only_first))


@broken(encoder, "a dead head in a block")
def dead_head_in_block():
    return in_block(
        lambda q, k, v, mask=None, dropout=0.0: (
            F.pad(
                scaled_dot_product_attention(q, k, v, mask)[0][:, :1],
                (0, 0, 0, 0, 0, 1),
            ),
            None,
        )
    )


@broken(attention, "the first head copied into the second")
def copied_head():
    def first_twice(q, k, v, mask=None, dropout=0.0):
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        return output[:, :1].expand_as(output), weights[:, :1].expand_as(weights)

    return Telling(Heads(first_twice))


for matrix in ("W_q", "W_k", "W_v", "W_o"):

    @broken(attention, f"half of {matrix} frozen by a mask on its gradient")
    def half_frozen(matrix=matrix):
        def freeze(layer):
            weight = getattr(layer, matrix).weight
            weight.register_hook(lambda gradient: gradient * first_half(weight.shape))

        return heads_with(freeze)

    @broken(attention, f"gradient of {matrix} halved")
    def halved(matrix=matrix):
        return heads_with(
            lambda layer: getattr(layer, matrix).weight.register_hook(lambda g: g / 2)
        )

    @broken(attention, f"{matrix} detached")
    def detached(matrix=matrix):
        return heads_with(
            lambda layer: setattr(layer, matrix, WeightDetached(getattr(layer, matrix)))
        )

    @broken(attention, f"input of {matrix} detached")
    def input_detached(matrix=matrix):
        return heads_with(
            lambda layer: setattr(layer, matrix, InputDetached(getattr(layer, matrix)))
        )


# 3. Around the attention: add & norm, the network, blocks and stacks.


def through_addnorm(layer, X, mask=None):
    return layer(X, X.roll(1, -1))


class OtherNorm(AddNorm):
    """Add & norm with any normalisation, a function of the sum."""

    def __init__(self, function):
        super().__init__(WIDTH, 0.0)
        self.function = function

    def forward(self, X, Y):
        return self.function(self, X, Y)


def over(*axes):
    def function(self, X, Y):
        total = X + Y
        mean = total.mean(axes, keepdim=True)
        total = (total - mean) / (
            total.var(axes, keepdim=True, correction=0) + 1e-5
        ).sqrt()
        return total * self.norm.weight + self.norm.bias

    return function


NORMS = {
    "over the steps": over(1),
    "over steps and features": over(1, 2),
    "over the batch": over(0),
    "over the batch and the steps": over(0, 1),
    "over everything": over(0, 1, 2),
    "scale forgotten": lambda self, X, Y: F.layer_norm(X + Y, [WIDTH]) + self.norm.bias,
    "shift forgotten": lambda self, X, Y: F.layer_norm(X + Y, [WIDTH], self.norm.weight),
    "X detached": lambda self, X, Y: self.norm(X.detach() + Y),
    "Y detached": lambda self, X, Y: self.norm(X + Y.detach()),
    "mean detached": lambda self, X, Y: self.norm(
        X + Y - (X + Y).mean(-1, keepdim=True).detach()) + (X + Y).square().detach(),
    "float32 outside": lambda self, X, Y: self.norm(X + Y).float(),
    "dropout in eval mode": lambda self, X, Y: self.norm(X + F.dropout(Y, 0.5)),
    "writes into X": lambda self, X, Y: self.norm(X.add_(Y)),
    "neighbour added": lambda self, X, Y: self.norm(X + Y.roll(1, 1)),
    "another sentence added": lambda self, X, Y: self.norm(X + Y.flip(0)),
    "mean of the batch subtracted": lambda self, X, Y: self.norm(X + Y - Y.mean(0)),
    "1 divided by the variance, NaN": lambda self, X, Y: self.norm(X + Y) / (X - X).sum(),
}  # fmt: skip
for name, function in NORMS.items():
    broken(pointwise, f"add & norm: {name}")(
        lambda f=function: AsBlock(OtherNorm(f), through_addnorm)
    )


def frozen_unit(self, X):
    hidden = self.relu(self.dense1(X))
    return self.dense2(torch.cat([hidden[..., :8], hidden[..., 8:].detach()], -1))


NETWORKS = {
    "relu forgotten, second layer idle": lambda self, X: self.dense1(X)[..., :WIDTH],
    "first layer idle": lambda self, X: self.dense2(F.pad(X, (0, WIDTH))),
    "half of the hidden layer detached": frozen_unit,
    "half of the hidden layer dead": lambda self, X: self.dense2(
        self.relu(self.dense1(X)) * (torch.arange(16) < 8).to(X)
    ),
    "steps and features exchanged": lambda self, X: self.dense2(
        self.relu(self.dense1(X.reshape(X.shape[0], WIDTH, -1).mT))
    ),
    "mean over the steps added": lambda self, X: self.dense2(
        self.relu(self.dense1(X + X.mean(1, keepdim=True)))
    ),
    "window of two": lambda self, X: self.dense2(
        self.relu(self.dense1(X + F.pad(X, (0, 0, 1, 0))[:, :-1]))
    ),
    "sentences mixed": lambda self, X: self.dense2(
        self.relu(self.dense1(X + X.flip(0)))
    ),
    "bias of the second layer forgotten": lambda self, X: F.linear(
        self.relu(self.dense1(X)), self.dense2.weight
    ),
    "weights without gradient": lambda self, X: self.dense2(
        F.relu(F.linear(X, self.dense1.weight.detach(), self.dense1.bias))
    ),
    "always float32": lambda self, X: self.dense2(self.relu(self.dense1(X))).float(),
    "weights drawn anew": lambda self, X: self.dense2(
        self.relu(self.dense1(X)) * (1 + torch.rand(16).to(X))
    ),
    "a formula: gelu for relu": lambda self, X: self.dense2(F.gelu(self.dense1(X))),
}


class Network(PositionWiseFFN):
    def __init__(self, function):
        super().__init__(WIDTH, 16)
        self.function = function

    def forward(self, X, mask=None):
        return self.function(self, X)


for name, function in NETWORKS.items():
    broken(pointwise, f"network: {name}")(lambda f=function: Network(f))


class Block(EncoderBlock):
    def __init__(self, function):
        super().__init__(*SIZES, 0.0)
        self.function = function

    def forward(self, X, mask=None):
        return self.function(self, X, mask)


def plain(self, X, mask):
    return self.addnorm1(X, self.attention(X, X, X, mask))


def second(self, Y, given=None):
    return self.addnorm2(Y if given is None else given, self.ffn(Y))


BLOCKS = {
    "mask forgotten": lambda self, X, mask: second(self, plain(self, X, None)),
    "mask in training only": lambda self, X, mask: second(
        self, plain(self, X, mask if self.training else None)
    ),
    "mask in eval only": lambda self, X, mask: second(
        self, plain(self, X, None if self.training else mask)
    ),
    "mask for larger batches only": lambda self, X, mask: second(
        self, plain(self, X, mask if len(X) > 1 else None)
    ),
    "no network": plain,
    "network skipped by dropout 1": lambda self, X, mask: self.addnorm2(
        plain(self, X, mask), 0 * self.ffn(X)
    ),
    "first norm twice": lambda self, X, mask: self.addnorm1(
        plain(self, X, mask), self.ffn(plain(self, X, mask))
    ),
    "residual detached": lambda self, X, mask: second(
        self, self.addnorm1(X.detach(), self.attention(X, X, X, mask))
    ),
    "attention detached": lambda self, X, mask: second(
        self, self.addnorm1(X, self.attention(X, X, X, mask).detach())
    ),
    "keys of another sentence": lambda self, X, mask: second(
        self, self.addnorm1(X, self.attention(X, X.flip(0), X.flip(0), mask))
    ),
    "queries reversed": lambda self, X, mask: second(
        self, self.addnorm1(X, self.attention(X.flip(1), X, X, mask))
    ),
    "mean of the sentence added": lambda self, X, mask: second(
        self, plain(self, X, mask) + X.mean(1, keepdim=True)
    ),
    "no attention": lambda self, X, mask: second(self, self.addnorm1(X, X)),
    "noise in eval mode": lambda self, X, mask: second(
        self, plain(self, X, mask) + 0.1 * torch.randn_like(X)
    ),
    "output float32": lambda self, X, mask: second(self, plain(self, X, mask)).float(),
    "a formula: second residual from X": lambda self, X, mask: second(
        self, plain(self, X, mask), X
    ),
    "a formula: no residual": lambda self, X, mask: second(
        self, self.addnorm1(0 * X, self.attention(X, X, X, mask))
    ),
}
for name, function in BLOCKS.items():
    broken(encoder, f"encoder block: {name}")(lambda f=function: Block(f))


class Stack(EncoderStack):
    def __init__(self, function):
        super().__init__(*SIZES, 2, 0.0)
        self.function = function

    def forward(self, X, mask=None):
        return self.function(self.blocks, X, mask)


STACKS = {
    "mask in the first block only": lambda b, X, mask: b[1](b[0](X, mask)),
    "mask in the second block only": lambda b, X, mask: b[1](b[0](X), mask),
    "first block twice": lambda b, X, mask: b[0](b[0](X, mask), mask),
    "second block only": lambda b, X, mask: b[1](X, mask),
    "gradient stops between the blocks": lambda b, X, mask: b[1](
        b[0](X, mask).detach(), mask
    ),
    "block of the batch's own": lambda b, X, mask: b[1](b[0](X, mask) * len(X), mask),
    "half of the input's gradient": lambda b, X, mask: b[1](
        b[0]((X + X.detach()) / 2, mask), mask
    ),
}
for name, function in STACKS.items():
    broken(encoder, f"stack: {name}")(lambda f=function: Stack(f))

# 4. Masked softmax on its own.

SOFTMAXES = {
    "over the queries": softmax_over(-2),
    "over everything": over_all,
    "mask ignored": lambda scores, mask=None: scores.softmax(-1),
    "-1e9": soft(-1e4),
    "soft mask": soft(-5.0),
    "mask added": add_mask,
    "mask multiplied": masked_before_exp,
    "mask after": masked_after,
    "mask swapped": lambda s, mask=None: masked_softmax(
        s, None if mask is None else ~mask
    ),
    "NaN where all is masked": nan_softmax,
    "sigmoid": sigmoid,
    "sum 0.8": quiet,
    "overflow": lambda s, mask=None: (
        masked_after(s.exp().log(), mask)
        if mask is None
        else (s.exp() * mask) / (s.exp() * mask).sum(-1, keepdim=True).clamp(min=1e-3)
    ),
    "result float32": lambda s, mask=None: masked_softmax(s, mask).float(),
    "writes into the scores": lambda s, mask=None: masked_softmax(
        s if mask is None else s.masked_fill_(~mask, -1e4), mask
    ),
    "mask ignored for batch 1": lambda s, mask=None: masked_softmax(
        s, mask if len(s) > 1 else None
    ),
    "negative weights": lambda s, mask=None: (
        2 * masked_softmax(s, mask) - masked_softmax(-s, mask)
    ),
    "last key hidden": lambda s, mask=None: masked_softmax(s, last_hidden(mask, s)),
}
for name, function in SOFTMAXES.items():
    broken(softmax, f"softmax: {name}")(lambda f=function: f)

# 5. Positions.


class Positions(PositionalEncoding):
    def __init__(self, function):
        super().__init__(WIDTH, 0.0, 20)
        self.function = function

    def forward(self, X, start=0):
        return self.function(self, X, start, X.shape[1])


POSITIONS = {
    "on the batch axis": lambda s, X, start, n: X + s.P[: len(X), None],
    "start ignored": lambda s, X, start, n: X + s.P[:n],
    "start counted twice": lambda s, X, start, n: X + s.P[2 * start : 2 * start + n],
    "the same for all steps": lambda s, X, start, n: X + s.P[start],
    "none": lambda s, X, start, n: X,
    "counted from the end": lambda s, X, start, n: X + s.P[:n].flip(0),
    "scaled by the length": lambda s, X, start, n: X + s.P[start : start + n] / n,
    "drawn anew": lambda s, X, start, n: X + torch.randn(n, WIDTH),
    "float64": lambda s, X, start, n: X + s.P[start : start + n].double(),
    "one per sentence": lambda s, X, start, n: X + s.P[5 : 5 + len(X), None] + s.P[:n],
    "gradient stopped": lambda s, X, start, n: X.detach() + s.P[start : start + n],
    "a formula: sines for cosines": lambda s, X, start, n: (
        X + s.P[start : start + n].roll(1, 1)
    ),
}
for name, function in POSITIONS.items():
    broken(positions, f"positions: {name}")(lambda f=function: Positions(f))

# 6. Decoder blocks: masks, memory and cache.


class Decoder(DecoderBlock):
    """The book's block, one part of which may be replaced."""

    def __init__(self, mask=None, cache=None, keys=None, memory=None, memory_mask=None,
                 query=None):  # fmt: skip
        super().__init__(*SIZES, 0.0)
        self.parts = mask, cache, keys, memory, memory_mask, query

    def forward(self, X, memory, memory_mask=None, cache=None):
        own_mask, own_cache, keys, own_memory, own_memory_mask, query = self.parts
        K, V = self.self_attention.project(X, X)
        if cache is None:
            source = memory if own_memory is None else own_memory(memory)
            memory_kv = self.cross_attention.project(source, source)
        else:
            memory_kv = cache.memory_K, cache.memory_V
            if keys is None:
                K = torch.cat([cache.K, K], dim=2)
                V = torch.cat([cache.V, V], dim=2)
            else:
                K, V = keys(cache.K, cache.V, K, V)
        mask = (own_mask or causal_mask)(X.shape[1], K.shape[2])
        if isinstance(mask, tuple):  # in training and in eval mode
            mask = mask[0 if self.training else 1]
        if own_memory_mask is not None:
            memory_mask = own_memory_mask(self, X, memory_mask)
        Y = self.addnorm1(X, self.self_attention(X, K, V, mask, projected=True))
        asked = Y if query is None else query(X, Y)
        Z = self.addnorm2(
            Y, self.cross_attention(asked, *memory_kv, memory_mask, projected=True)
        )
        kept = DecoderCache(K, V, *memory_kv)
        if own_cache is not None:
            kept = own_cache(cache, kept, X)
        return self.addnorm3(Z, self.ffn(Z)), kept


def ones(q, k):
    return torch.ones(q, k, dtype=torch.bool)


DECODERS = {
    "no causal mask": {"mask": ones},
    "causal mask without the offset": {"mask": lambda q, k: ones(q, k).tril()},
    "offset too large": {"mask": lambda q, k: ones(q, k).tril(k - q + 1)},
    "own position hidden": {"mask": lambda q, k: ones(q, k).tril(k - q - 1)},
    "upper triangle": {"mask": lambda q, k: ones(q, k).triu(k - q)},
    "window of two": {"mask": lambda q, k: causal_mask(q, k) & ones(q, k).triu(k - q - 1)},
    "causal in training only": {"mask": lambda q, k: (causal_mask(q, k), ones(q, k))},
    "causal in eval only": {"mask": lambda q, k: (ones(q, k), causal_mask(q, k))},
    "no mask once there is a cache": {
        "mask": lambda q, k: causal_mask(q, k) if q == k else ones(q, k)
    },
    "first position hidden": {
        "mask": lambda q, k: causal_mask(q, k) & (torch.arange(k) > 0)
    },
    "cache not extended": {"cache": lambda old, new, X: old or new},
    "cache of the last step only": {
        "cache": lambda old, new, X: new._replace(K=new.K[:, :, -1:], V=new.V[:, :, -1:])
    },
    "cache forgotten": {"cache": lambda old, new, X: None},
    "cache of inputs that are not projected": {
        "cache": lambda old, new, X: new._replace(K=torch.zeros_like(new.K))
    },
    "new keys before the old ones": {
        "keys": lambda a, b, K, V: (torch.cat([K, a], 2), torch.cat([V, b], 2))
    },
    "keys not extended, values are": {
        "keys": lambda a, b, K, V: (torch.cat([a, a[:, :, : K.shape[2]]], 2), torch.cat([b, V], 2))
    },
    "values in the wrong order": {
        "keys": lambda a, b, K, V: (torch.cat([a, K], 2), torch.cat([V, b], 2))
    },
    "keys added": {"keys": lambda a, b, K, V: (a[:, :, -1:] + K, b[:, :, -1:] + V)},
    "cache shared by the sentences": {
        "keys": lambda a, b, K, V: (
            torch.cat([a[:1].expand_as(a), K], 2), torch.cat([b[:1].expand_as(b), V], 2))
    },
    "memory's keys exchanged with values": {
        "cache": lambda old, new, X: new._replace(
            memory_K=new.memory_V, memory_V=new.memory_K)
    },
    "memory's mask forgotten": {"memory_mask": lambda s, X, mask: None},
    "memory's mask in training only": {
        "memory_mask": lambda s, X, mask: mask if s.training else None
    },
    "memory's mask with batches only": {
        "memory_mask": lambda s, X, mask: mask if len(X) > 1 else None
    },
    "memory's mask swapped": {
        "memory_mask": lambda s, X, mask: None if mask is None else ~mask
    },
    "memory's mask one too short": {
        "memory_mask": lambda s, X, mask: None if mask is None else mask & mask.roll(-1, -1)
    },
    "memory's mask forgotten with a cache": {
        "memory_mask": lambda s, X, mask: mask if X.shape[1] > 1 else None
    },
    "memory's last position not read": {
        "memory": lambda M: torch.cat([M[:, :-1], M[:, -2:-1]], 1)
    },
    "memory of the next sentence": {"memory": lambda M: M.roll(1, 0)},
    "memory's mean": {"memory": lambda M: M - M.mean(1, keepdim=True)},
    "memory detached": {"memory": lambda M: M.detach()},
    "memory causal": {
        "memory_mask": lambda s, X, mask: causal_mask(X.shape[1], STEPS)
        if X.shape[1] <= STEPS else mask
    },
    "memory asked by the whole target": {
        "query": lambda X, Y: Y + X.mean(1, keepdim=True)
    },
    "memory not asked": {"memory": lambda M: torch.zeros_like(M)},
    "question detached": {"query": lambda X, Y: Y.detach()},
    "question of the first position for all": {
        "query": lambda X, Y: Y[:, :1].expand_as(Y)
    },
}  # fmt: skip
for name, parts in DECODERS.items():
    broken(decoder, f"decoder block: {name}")(lambda parts=parts: Decoder(**parts))


class TwoBlocks(DecoderStack):
    def __init__(self, change):
        super().__init__(*SIZES, 2, 0.0)
        self.change = change

    def forward(self, X, memory, memory_mask=None, caches=None):
        X, caches = super().forward(X, memory, memory_mask, caches)
        return X, self.change(caches)


CACHES = {
    "caches exchanged": lambda caches: caches[::-1],
    "the first block's cache for all": lambda caches: [caches[0]] * 2,
    "cache of the first block only": lambda caches: [caches[0], None],
    "caches lost": lambda caches: None,
}
for name, change in CACHES.items():
    broken(decoder, f"decoder stack: {name}")(lambda f=change: TwoBlocks(f))

# 7. Encoder and decoder with their embeddings.


class Encoder(TransformerEncoder):
    def __init__(self, function):
        super().__init__(VOCABULARY, *SIZES, 1, 0.0)
        self.function = function

    def forward(self, tokens, valid_lens=None):
        return self.function(self, tokens, valid_lens)


def encode(net, tokens, lens, embed=None):
    mask = None if lens is None else padding_mask(lens, tokens.shape[1])
    return net.stack((embed or net.embedding)(tokens), mask)


ENCODERS = {
    "lengths ignored": lambda net, t, lens: encode(net, t, None),
    "valid_lens - 1": lambda net, t, lens: encode(
        net, t, None if lens is None else (lens - 1).clamp(min=0)
    ),
    "valid_lens + 1": lambda net, t, lens: encode(
        net, t, None if lens is None else (lens + 1).clamp(max=t.shape[1])
    ),
    "the longest length for all": lambda net, t, lens: encode(
        net, t, None if lens is None else lens.max().expand(len(t))
    ),
    "the shortest length for all": lambda net, t, lens: encode(
        net, t, None if lens is None else lens.clamp(min=1).min().expand(len(t))
    ),
    "lengths of the next sentence": lambda net, t, lens: encode(
        net, t, None if lens is None else lens.roll(1)
    ),
    "lengths ignored for batch 1": lambda net, t, lens: encode(
        net, t, lens if len(t) > 1 else None
    ),
    "lengths in training only": lambda net, t, lens: encode(
        net, t, lens if net.training else None
    ),
    "no positions": lambda net, t, lens: encode(net, t, lens, net.embedding.embedding),
    "embedding detached": lambda net, t, lens: encode(
        net, t, lens, lambda t: net.embedding(t).detach()
    ),
    "stack skipped": lambda net, t, lens: net.embedding(t),
    "positions counted from the end": lambda net, t, lens: encode(
        net, t.flip(1), None if lens is None else lens
    ).flip(1),
    "ids of the next sentence": lambda net, t, lens: encode(net, t.roll(1, 0), lens),
    "last token cut off": lambda net, t, lens: encode(
        net, torch.cat([t[:, :-1], 0 * t[:, -1:]], 1), lens
    ),
}
for name, function in ENCODERS.items():
    broken(whole_encoder, f"encoder: {name}")(lambda f=function: Encoder(f))


class Net(TransformerDecoder):
    def __init__(self, start=None, change=None, output=None):
        super().__init__(VOCABULARY, *SIZES, 1, 0.0)
        self.parts = start, change, output

    def forward(self, tokens, memory, memory_mask=None, caches=None):
        start, change, output = self.parts
        past = 0 if caches is None else caches[0].K.shape[2]
        X = self.embedding(tokens, past if start is None else start(past, tokens))
        X, caches = self.stack(X, memory, memory_mask, caches)
        X = X if output is None else output(X)
        return self.output(X), caches if change is None else change(caches)


NETS = {
    "positions start again at 0": {"start": lambda past, t: 0},
    "positions one too late": {"start": lambda past, t: past + 1 if past else 0},
    "positions by the step's length": {
        "start": lambda past, t: t.shape[1] if past else 0
    },
    "positions stop at 1": {"start": lambda past, t: min(past, 1)},
    "caches lost": {"change": lambda caches: None},
    "output detached": {"output": lambda X: X.detach()},
    "output of all steps": {"output": lambda X: X + X.mean(1, keepdim=True)},
    "output of the sentences mixed": {"output": lambda X: X + X.mean(0)},
    "output shifted by one": {"output": lambda X: X.roll(1, 1)},
    "output of half the width": {
        "output": lambda X: X * (torch.arange(WIDTH) < WIDTH // 2)
    },
    "output with noise": {"output": lambda X: X + 0.1 * torch.rand_like(X)},
}
for name, parts in NETS.items():
    broken(whole_decoder, f"decoder: {name}")(lambda parts=parts: Net(**parts))


def test_nearly_all_broken_blocks_fall_to_a_property(capsys):
    fallen = {}
    for name, (kind, make) in BROKEN.items():
        torch.manual_seed(0)
        fallen[name] = first_failure(kind, make())
    survivors = [name for name, found in fallen.items() if found is None]
    to = [found.name for found in fallen.values() if found is not None]
    with capsys.disabled():
        print(f"\n{len(fallen)} broken blocks, {len(survivors)} survivors: {survivors}")
        print({found: to.count(found) for found in sorted(set(to))})
    assert len(fallen) >= 140
    assert len(survivors) <= 0.05 * len(fallen)


# Right blocks: the book's own, PyTorch's, and others.


class Rotary(nn.Module):
    """Self-attention that turns queries and keys by their position; its tables are buffers."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        angles = torch.arange(50)[:, None] / 10 ** torch.arange(WIDTH // 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.register_buffer("scale", torch.tensor(WIDTH**-0.5))

    def turn(self, X):
        cos, sin = (table[: X.shape[1]] for table in (self.cos, self.sin))
        a, b = X.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, X, mask=None):
        Q, K, V = self.project(X).chunk(3, -1)
        scores = self.turn(Q) @ self.turn(K).mT * self.scale
        return (masked_softmax(scores[:, None], mask) @ V[:, None])[:, 0]


class Scaled(nn.Module):
    """A block with a buffer that changes nothing but its size, and a running mean of nothing."""

    def __init__(self, block):
        super().__init__()
        self.block = block
        self.register_buffer("scale", torch.tensor(0.5))
        self.register_buffer("calls", torch.zeros(3, dtype=torch.long))

    def forward(self, X, mask=None):
        self.calls += 1
        return self.block(X, mask) * self.scale


def torch_mask(mask, X, heads=HEADS):
    """Our mask in the form of PyTorch: (batch * heads, steps, steps), True = hidden."""
    if mask is None:
        return None
    full = torch.broadcast_to(mask, (len(X), heads, X.shape[1], X.shape[1]))
    return ~full.flatten(0, 1)


def torch_attention(dropout, bias):
    layer = nn.MultiheadAttention(WIDTH, HEADS, dropout, bias, batch_first=True)
    return AsBlock(layer, lambda layer, X, mask: layer(
        X, X, X, attn_mask=torch_mask(mask, X), need_weights=False)[0])  # fmt: skip


class TellingTorch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, queries, keys, values, mask=None):
        mask = None if mask is None else ~torch.broadcast_to(
            mask, (len(queries), HEADS, queries.shape[1], keys.shape[1])).flatten(0, 1)  # fmt: skip
        return self.layer(
            queries, keys, values, attn_mask=mask, average_attn_weights=False
        )


def torch_encoder(dropout, norm_first=False):
    layer = nn.TransformerEncoderLayer(
        *(WIDTH, HEADS, 16, dropout), batch_first=True, norm_first=norm_first
    )
    return AsBlock(layer, lambda layer, X, mask: layer(X, src_mask=torch_mask(mask, X)))


def torch_decoder(dropout):
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 16, dropout, batch_first=True)

    def call(layer, X, mask):
        hidden = ~causal_mask(X.shape[1])
        return layer(X, MEMORY.to(X.dtype).expand(len(X), -1, -1), tgt_mask=hidden)

    return AsBlock(layer, call)


def frozen(block, *endings):
    for name, parameter in block.named_parameters():
        parameter.requires_grad_(not name.endswith(endings))
    return block


def encoder_like(block, X, lens):
    """As encoder, for any X and without the gradients of a row that is masked throughout."""
    mask = padding_mask(lens, X.shape[1])
    yield check.causal(block, X)
    if X.shape[1] > 1:
        yield check.padding_invariant(block, X, lens)
    if len(X) > 1:
        yield check.batch_independent(block, X)
        yield check.batch_independent(block, X, mask)
        yield check.batch_independent(block, X, causal_mask(X.shape[1]))
    yield check.permutation_equivariant(block, X)
    yield check.repetition_invariant(block, X, lens)
    for one in (None, mask, causal_mask(X.shape[1])):
        yield check.sees_what_it_may(block, X, one)
    if isinstance(block, nn.Module):
        yield check.every_parameter_trained(block, X)
        yield check.every_parameter_trained(block, X, mask)
    yield check.matches(block, block, X)


def decoder_like(block, X, lens):
    yield check.causal(block, X)
    if len(X) > 1:
        yield check.batch_independent(block, X)
    yield check.repetition_invariant(block, X)
    yield check.sees_what_it_may(block, X, causal_mask(X.shape[1]))
    yield check.finite_gradients(block, X)
    yield check.every_parameter_trained(block, X)


def knows_order(block, X, lens):
    yield check.causal(block, X)
    yield check.padding_invariant(block, X, lens) if X.shape[1] > 1 else True
    if len(X) > 1:
        yield check.batch_independent(block, X)
    yield check.finite_gradients(block, X)
    yield check.every_parameter_trained(block, X)
    yield check.sees_what_it_may(block, X)


def own_finite(kind):
    """With the gradients of a row that is masked throughout, which PyTorch makes NaN."""

    def both(block, X, lens):
        yield from kind(block, X, lens)
        yield check.finite_gradients(block, X)

    return both


def make_book_block():
    return EncoderBlock(*SIZES, 0.0)


def self_attention(bias=False, dropout=0.0):
    layer = MultiHeadAttention(WIDTH, HEADS, dropout, bias)
    return AsBlock(layer, lambda layer, X, mask: layer(X, X, X, mask))


def scaled_dot_product(X, mask=None):
    return check.as_block(scaled_dot_product_attention)(X, mask)


RIGHT = {
    "attention": (own_finite(encoder_like), lambda: scaled_dot_product),
    "attention with dropout": (
        own_finite(encoder_like),
        lambda: AsBlock(
            nn.Linear(WIDTH, WIDTH),
            lambda layer, X, mask: F.dropout(
                scaled_dot_product(layer(X), mask), 0.01, layer.training
            ),
        ),
    ),
    "heads": (own_finite(encoder_like), self_attention),
    "heads with bias and dropout": (own_finite(encoder_like), lambda: self_attention(True, 0.3)),
    "encoder block": (own_finite(encoder_like), make_book_block),
    "encoder block with dropout": (own_finite(encoder_like), lambda: EncoderBlock(*SIZES, 0.3)),
    "encoder block, partly frozen": (
        own_finite(encoder_like), lambda: frozen(make_book_block(), "W_q.weight", "bias")),
    "encoder block, frozen": (own_finite(encoder_like), lambda: frozen(make_book_block(), "")),
    "encoder block with buffers": (own_finite(encoder_like), lambda: Scaled(make_book_block())),
    "encoder stack": (own_finite(encoder_like), lambda: EncoderStack(*SIZES, 2, 0.1)),
    "decoder block": (decoder_like, lambda: of_target(DecoderBlock(*SIZES, 0.1))),
    "decoder stack": (decoder_like, lambda: of_target(DecoderStack(*SIZES, 2, 0.1))),
    "rotary attention": (knows_order, Rotary),
    "attention of PyTorch": (encoder_like, lambda: torch_attention(0.0, True)),
    "attention of PyTorch with dropout": (encoder_like, lambda: torch_attention(0.2, False)),
    "attention of PyTorch, frozen": (
        encoder_like, lambda: frozen(torch_attention(0.0, True), "in_proj_weight")),
    "encoder layer of PyTorch": (encoder_like, lambda: torch_encoder(0.0)),
    "encoder layer of PyTorch with dropout": (encoder_like, lambda: torch_encoder(0.1)),
    "encoder layer of PyTorch, norm first": (encoder_like, lambda: torch_encoder(0.1, True)),
    "decoder layer of PyTorch": (decoder_like, lambda: torch_decoder(0.1)),
}  # fmt: skip

FEW = torch.tensor([4, 2])
INPUTS = {
    "float32": (X, LENS),
    "float16": (X.half(), LENS),
    "bfloat16": (X.bfloat16(), LENS),
    "float64": (X.double(), LENS),
    "large": (30 * X, LENS),
    "batch 1": (X[:1], torch.tensor([3])),
    "one token": (X[:, :1], torch.tensor([1, 1, 1])),
    "batch 1, one token": (X[:1, :1], torch.tensor([1])),
    "batch 1, one token, float16": (X[:1, :1].half(), torch.tensor([1])),
    "one token, bfloat16": (X[:, :1].bfloat16(), torch.tensor([1, 1, 1])),
}
OTHERS = {
    "positions": (positions, lambda: PositionalEncoding(WIDTH, 0.1)),
    "learned positions": (positions, lambda: LearnedPositionalEncoding(WIDTH, 0.1)),
    "add & norm": (pointwise, lambda: AsBlock(AddNorm(WIDTH, 0.1), through_addnorm)),
    "network": (pointwise, lambda: AsBlock(
        PositionWiseFFN(WIDTH, 16), lambda layer, X, mask: layer(X))),
    "linear layer of PyTorch": (pointwise, lambda: AsBlock(
        nn.Linear(WIDTH, WIDTH), lambda layer, X, mask: layer(X))),
    "softmax": (softmax, lambda: masked_softmax),
    "attention that tells": (attention, lambda: in_one_head(scaled_dot_product_attention)),
    "heads that tell": (attention, lambda: Telling(MultiHeadAttention(WIDTH, HEADS, 0.1))),
    "decoder block": (decoder, lambda: DecoderBlock(*SIZES, 0.1)),
    "decoder block, own copy": (decoder, Decoder),
    "decoder block, frozen": (
        decoder, lambda: frozen(DecoderBlock(*SIZES, 0.1), "W_k.weight")),
    "decoder block in float64": (decoder, lambda: DecoderBlock(*SIZES, 0.1).double()),
    "decoder stack": (decoder, lambda: DecoderStack(*SIZES, 2, 0.1)),
    "encoder with embedding": (
        whole_encoder, lambda: TransformerEncoder(VOCABULARY, *SIZES, 2, 0.1)),
    "encoder of a larger vocabulary": (
        whole_encoder, lambda: TransformerEncoder(50, *SIZES, 1, 0.1)),
    "decoder with embedding": (
        whole_decoder, lambda: TransformerDecoder(VOCABULARY, *SIZES, 2, 0.1)),
    "decoder with a frozen embedding": (
        whole_decoder,
        lambda: frozen(TransformerDecoder(VOCABULARY, *SIZES, 1, 0.1), "embedding.weight")),
    "decoder in float16": (
        whole_decoder, lambda: TransformerDecoder(VOCABULARY, *SIZES, 1, 0.1).half()),
    "decoder in bfloat16": (
        whole_decoder, lambda: TransformerDecoder(VOCABULARY, *SIZES, 1, 0.1).bfloat16()),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_no_property_accuses_a_right_block(name):
    kind, make = RIGHT[name]
    for given, (X, lens) in INPUTS.items():
        torch.manual_seed(0)
        block = make()
        if isinstance(block, nn.Module):
            block.to(X.dtype)
        tried = functools.partial(kind, X=X, lens=lens)
        assert first_failure(tried, block) is None, given


@pytest.mark.parametrize("name", OTHERS)
def test_no_property_accuses_other_right_blocks(name):
    kind, make = OTHERS[name]
    torch.manual_seed(0)
    assert first_failure(kind, make()) is None


def test_the_attention_of_pytorch_tells_its_weights():
    for mask in (None, padding_mask(LENS, STEPS), causal_mask(STEPS)):
        assert check.weights_explain_output(TellingTorch(), X, X, X, mask)
