"""The bug museum: common mistakes, in working order.

None of them raises an error, and a network with one still trains. Each says what goes
wrong, what you would notice, and how to repair it in one line; the decorator names the property
of d2lmini.check that exposes it.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.attention import MultiHeadAttention, scaled_dot_product_attention
from d2lmini.layers import AddNorm
from d2lmini.masks import causal_mask, masked_softmax
from d2lmini.positions import PositionalEncoding, sinusoidal_table
from d2lmini.support.chapters import CHAPTERS
from d2lmini.transformer import DecoderBlock, EncoderStack, TransformerDecoder


@dataclass
class Exhibit:
    """One mistake: its title, the chapter that explains it, the property that exposes it."""

    title: str
    chapter: int
    exposed_by: str  # name of a property in d2lmini.check
    bug: Callable
    holds: bool = False  # whether the property holds where it should fail


MUSEUM: list[Exhibit] = []


def exhibit(title: str, chapter: str, exposed_by: str, holds: bool = False) -> Callable:
    """Add the decorated function or class to the museum."""

    def add(bug):
        MUSEUM.append(Exhibit(title, CHAPTERS[chapter].number, exposed_by, bug, holds))
        return bug

    return add


@exhibit("a mask with its meaning swapped", "masks", "padding_invariant")
def swapped_mask(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
):
    """Attention that takes True for "hide".

    Goes wrong: it attends only to what should be hidden, the padding or the future.
    Notice: real words change nothing, the padding does; if causal, the loss falls at once.
    Repair: pass the mask as it is; check what True means in each mask.
    """
    hidden = None if mask is None else ~mask
    return scaled_dot_product_attention(queries, keys, values, hidden)


@exhibit("padding masked on the query axis", "masks", "padding_invariant")
def padding_on_queries(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
):
    """Attention whose padding mask (batch, 1, 1, keys) is applied as (batch, 1, queries, 1).

    Goes wrong: outputs of padded positions are zero, but real ones still attend to padding.
    Notice: a sentence's output depends on how far its batch was padded.
    Repair: drop the transpose; padding must be hidden as a key.
    """
    rows = None if mask is None else mask.transpose(-2, -1)
    return scaled_dot_product_attention(queries, keys, values, rows)


@exhibit("no mask after the first layer", "masks", "padding_invariant")
class MaskedOnce(EncoderStack):
    """Encoder stack that hides the padding from its first block only.

    Goes wrong: after one block padded positions hold numbers like any other, and the
    second block attends to them.
    Notice: a sentence's output depends on how far its batch was padded, but only with two
    layers or more.
    Repair: pass the mask to every block.
    """

    def forward(self, X, mask=None):
        for block in self.blocks:
            X, mask = block(X, mask), None
        return X


@exhibit("-1e9 in float16", "masks", "finite_gradients")
def minus_1e9(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked softmax that adds -1e9 where the mask is False.

    Goes wrong: in float32 the scores of a fully masked row are rounded to multiples of 64, so it
    usually becomes uniform; in float16 -1e9 is -inf, and that row is NaN.
    Notice: NaN in half precision as soon as one row is fully masked.
    Repair: fill with -inf before the softmax; zero the rows without a key after it.
    """
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    return torch.softmax(scores, dim=-1)


@exhibit("a mask that overwrites the scores", "masks", "rows_sum_to_one")
def overwriting_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked softmax that writes -1e6 into its argument.

    Goes wrong: the caller's scores now hold -1e6; a fully masked row becomes uniform.
    Notice: a plot of the raw scores shows the mask.
    Repair: masked_fill, without the underscore, returns a new tensor.
    """
    if mask is not None:
        scores.masked_fill_(~mask, -1e6)
    return torch.softmax(scores, dim=-1)


@exhibit("softmax over the wrong axis", "attention", "rows_sum_to_one")
def softmax_over_queries(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked softmax that normalises the columns.

    Goes wrong: the queries compete for each key, instead of the keys for each query.
    Notice: the weights of one query do not sum to 1.
    Repair: dim=-1.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-2)


@exhibit("no division by the square root of the head size", "attention", "matches")
def unscaled(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None):
    """Attention without the division by sqrt(head_size).

    Goes wrong: wide heads start nearly one-hot, and each step moves their scores further.
    Notice: weights near 0 and 1 at the first training step, the more so the wider the heads.
    Repair: divide the queries by math.sqrt(queries.shape[-1]).
    """
    weights = masked_softmax(queries @ keys.transpose(-2, -1), mask)
    return weights @ values, weights


@exhibit("positions added on the batch axis", "positions", "batch_independent")
class PositionsOnBatch(nn.Module):
    """Positional encoding written for (steps, batch, d), given (batch, steps, d).

    Goes wrong: all positions of a sentence get the same vector, that of its place in the batch.
    Notice: word order is invisible, and a sentence's output depends on its place in the batch.
    Repair: X + self.P[: X.shape[1]].
    """

    def __init__(self, num_hiddens, max_len=1000):
        super().__init__()
        self.register_buffer(
            "P", sinusoidal_table(max_len, num_hiddens), persistent=False
        )

    def forward(self, X, mask=None):
        return X + self.P[: X.shape[0], None]  # (batch, 1, num_hiddens)


@exhibit("heads split before projecting", "heads", "matches")
class SplitThenProject(MultiHeadAttention):
    """Multi-head attention whose heads each get a slice of the features, not a projection of all.

    Goes wrong: a head cannot read the features of another slice.
    Notice: fewer parameters than expected; a gradient of 0 from a head to most inputs.
    Repair: project first, self.split_heads(self.W_k(keys)), with matrices of full width.
    """

    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__(num_hiddens, num_heads, dropout, bias)
        size = num_hiddens // num_heads
        self.W_q, self.W_k, self.W_v = (nn.Linear(size, size, bias) for _ in range(3))

    def project(self, keys, values):
        return self.W_k(self.split_heads(keys)), self.W_v(self.split_heads(values))

    def forward(self, queries, keys, values, mask=None, projected=False):
        Q = self.W_q(self.split_heads(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        output, _ = scaled_dot_product_attention(Q, K, V, mask)
        self.last_pass = Q.detach(), K.detach(), mask
        return self.W_o(output.transpose(1, 2).flatten(2))


@exhibit("an output matrix created in forward", "heads", "every_parameter_trained")
class FreshOutput(MultiHeadAttention):
    """Multi-head attention that creates its output layer at each call.

    Goes wrong: W_o is a new random matrix each time; it is not a parameter and is never trained.
    Notice: two calls on the same input differ, even in eval mode.
    Repair: create the layer once, in __init__, as self.W_o.
    """

    def __init__(self, num_hiddens, num_heads, dropout, bias=False):
        super().__init__(num_hiddens, num_heads, dropout, bias)
        del self.W_o

    def forward(self, queries, keys, values, mask=None, projected=False):
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        output, _ = scaled_dot_product_attention(Q, K, V, mask)
        self.last_pass = Q.detach(), K.detach(), mask
        output = output.transpose(1, 2).flatten(2)  # (batch, queries, num_hiddens)
        return nn.Linear(output.shape[-1], output.shape[-1]).to(output.device)(output)


@exhibit("layer normalisation over steps and features", "addnorm", "causal")
class NormOverSteps(AddNorm):
    """Add & norm that normalises each sequence as a whole.

    Goes wrong: a token affects its neighbours, even earlier ones; the layer works for one
    length only.
    Notice: an error at the first sentence of a different length.
    Repair: nn.LayerNorm(num_hiddens).
    """

    def __init__(self, num_steps, num_hiddens, dropout):
        super().__init__(num_hiddens, dropout)
        self.norm = nn.LayerNorm((num_steps, num_hiddens))


@exhibit(
    "batch normalisation in place of layer normalisation",
    "addnorm",
    "batch_independent",
)
class BatchNormed(AddNorm):
    """Add & norm that normalises each feature over batch and positions.

    Goes wrong: sentences and their padding affect each other in training.
    Notice: the loss of a sentence depends on which others are in its batch.
    Repair: nn.LayerNorm(num_hiddens), and no transpose.
    """

    def __init__(self, num_hiddens, dropout):
        super().__init__(num_hiddens, dropout)
        self.norm = nn.BatchNorm1d(num_hiddens)

    def forward(self, X, Y):
        total = X + self.dropout(Y)
        # features second, and back
        return self.norm(total.transpose(1, 2)).transpose(1, 2)


@exhibit("a target that is not shifted", "training", "causal")
def not_shifted(tgt: Tensor, bos: int) -> Tensor:
    """The decoder's input in training, without the shift by one position.

    Goes wrong: the decoder reads the very token it has to predict.
    Notice: a loss near zero, and worthless translations.
    Repair: shift_right(tgt, bos).
    """
    return tgt


@exhibit("a causal mask in training mode only", "transformer", "causal")
class CausalInTraining(DecoderBlock):
    """Decoder block that hides the future only if self.training.

    Goes wrong: in eval mode, with more than one position at a time, the future leaks.
    Notice: the same sentences have a different loss in eval mode, even without dropout.
    Repair: apply the mask in every mode.
    """

    def forward(self, X, memory, memory_mask=None, cache=None):
        mask = causal_mask(X.shape[1], device=X.device) if self.training else None
        Y = self.addnorm1(X, self.self_attention(X, X, X, mask))
        Z = self.addnorm2(Y, self.cross_attention(Y, memory, memory, memory_mask))
        return self.addnorm3(Z, self.ffn(Z)), None


@exhibit("a loss averaged over the padding", "training", "matches")
def loss_over_padding(logits: Tensor, tgt: Tensor, valid_lens: Tensor) -> Tensor:
    """Cross-entropy that divides by all positions, including padding.

    Goes wrong: the loss depends on how far the batch was padded.
    Notice: a network that knows nothing has a loss below log(vocab_size).
    Repair: divide the sum by valid_lens.sum().
    """
    losses = F.cross_entropy(logits.transpose(1, 2), tgt, reduction="none")
    real = torch.arange(tgt.shape[1], device=tgt.device) < valid_lens[:, None]
    return (losses * real).mean()


@exhibit("positions that start again at 0", "transformer", "incremental")
class PositionsFromZero(TransformerDecoder):
    """Decoder with a cache that embeds every new token as if it were the first.

    Goes wrong: in decoding, every token is placed at position 0; in training, each gets its
    own position.
    Notice: the first token is right; loss and translations may look right as well, so test it.
    Repair: self.embedding(tokens, start), with the number of tokens in the cache as start.
    """

    def forward(self, tokens, memory, memory_mask=None, caches=None):
        X = self.embedding(tokens)  # start is missing
        X, caches = self.stack(X, memory, memory_mask, caches)
        return self.output(X), caches


@exhibit("positions that are thrown away", "positions", "matches")
class PositionsDropped(PositionalEncoding):
    """Positional encoding whose sum nobody keeps.

    Goes wrong: add returns a new tensor; X is handed on as it came, and order is invisible.
    Notice: reversing the source leaves the translation as it was.
    Repair: X = X + self.P[start : start + X.shape[1]].
    """

    def forward(self, X, start=0):
        X.add(self.P[start : start + X.shape[1]])
        return self.dropout(X)


@exhibit("one layer, N times", "transformer", "matches")
class OneLayer(EncoderStack):
    """Encoder stack that lists a single block num_layers times.

    Goes wrong: there is one set of parameters for all layers, where nobody meant to share them.
    Notice: the number of parameters does not grow with num_layers.
    Repair: create a block for each layer, in a comprehension.
    """

    def __init__(self, *sizes, **named_sizes):
        super().__init__(*sizes, **named_sizes)
        self.blocks = nn.ModuleList([self.blocks[0]] * len(self.blocks))


@exhibit("layers that begin as copies", "transformer", "matches", holds=True)
class ClonedLayers(EncoderStack):
    """Encoder stack whose blocks are deep copies of the first.

    Goes wrong: all layers start from the same parameters, as those of nn.TransformerEncoder do.
    Notice: before training, any two layers give the same output for the same input.
    Repair: create a block for each layer, in a comprehension.
    """

    def __init__(self, *sizes, **named_sizes):
        super().__init__(*sizes, **named_sizes)
        self.blocks = nn.ModuleList(deepcopy(self.blocks[0]) for _ in self.blocks)
