"""An attention layer, called in one way, and its examinations; see examinations.py."""

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.check.stacks import (
    idle_third,
    lost_layers,
    lost_weights,
    without_gradient,
)
from d2lmini.check.trying import ERRORS, call, difference, largest, mode, rounding
from d2lmini.check.whole_models import FAILS, HOLDS, UNTRIED, WARNS

BATCH, HEADS, QUERIES, KEYS = 3, 2, 5, 7  # all different, so that no axis fits another


class Attention:
    """The layer, called in one way: queries, keys, values, and a mask, True = may attend.

    A module is given (batch, steps, num_hiddens), a function (batch, heads, steps, num_hiddens).
    """

    def __init__(self, layer, num_hiddens, mask_means):
        self.layer, self.hides = layer, mask_means == "block"
        generator = torch.Generator().manual_seed(0)
        lead = (BATCH,) if self.is_module else (BATCH, HEADS)
        p = next(layer.parameters(), None) if self.is_module else None
        like = torch.zeros(()) if p is None else p.detach()
        self.inputs = tuple(
            torch.randn(*lead, n, num_hiddens, generator=generator).to(like)
            for n in (QUERIES, KEYS, KEYS)
        )
        mask = torch.rand(BATCH, QUERIES, KEYS, generator=generator) < 0.5
        mask[:, torch.arange(QUERIES), torch.arange(QUERIES)] = True  # no empty row
        mask[:, :, -1] = False  # and none full
        self.mask = mask.to(like.device)
        self.form = self._form()

    @property
    def is_module(self):
        return isinstance(self.layer, nn.Module)

    def _form(self):
        """The first shape of the mask with which the output has the right shape."""
        errors = []
        due = self.inputs[0].shape
        for form in ("(batch, 1, queries, keys)", "(batch, queries, keys)"):
            self.form = form
            try:
                shape = self(*self.inputs, self.mask).shape
                if shape == due:
                    return form
                errors.append(f"with a mask {form}: {tuple(shape)}")
            except ERRORS as error:
                errors.append(f"with a mask {form}: {str(error).partition(chr(10))[0]}")
        raise ValueError(
            f"layer(queries, keys, values, mask) must return {tuple(due)} for "
            f"num_hiddens ({due[-1]}); " + "; ".join(errors)
        )

    def read(self, queries, keys, values, mask) -> Tensor:
        """The output, in the shape of the queries."""
        given = None
        if mask is not None:
            given = mask[:, None] if self.form.count(",") == 3 else mask
            given = ~given if self.hides else given
        if isinstance(self.layer, nn.MultiheadAttention):
            # True blocks there, and each head has a mask of its own
            if mask is not None:
                given = (~mask).repeat_interleave(self.layer.num_heads, 0)
            inputs = queries, keys, values
            if not self.layer.batch_first:
                inputs = (tensor.transpose(0, 1) for tensor in inputs)
            output, _ = self.layer(*inputs, attn_mask=given, need_weights=False)
            return output if self.layer.batch_first else output.transpose(0, 1)
        output = self.layer(queries, keys, values, given)
        output = output[0] if isinstance(output, tuple | list) else output
        if not isinstance(output, Tensor):
            kind = type(output).__name__
            raise TypeError(f"layer must return a torch.Tensor, got a {kind}")
        return output

    def __call__(self, *given) -> Tensor:
        with mode(self.layer, training=False):
            return call(self.read, *given)

    def moved(self, queries=None, keys=None, values=None, mask=None):
        """Where the outputs move if some inputs are others, (batch, queries)."""
        usual, new = (*self.inputs, self.mask), (queries, keys, values, mask)
        given = [u if n is None else n for u, n in zip(usual, new, strict=True)]
        before, after = self(*self.inputs, self.mask), self(*given)
        by_entry = difference(before, after) > rounding(before)
        return by_entry.transpose(1, -2).flatten(2).any(-1)


def _others(tensor, place):
    """A copy with other entries at some steps."""
    changed = tensor.clone()
    changed[..., place, :] = 1 - 2 * changed[..., place, :]
    return changed


def eval_mode(subject):
    """Two calls on the same input agree."""
    with mode(subject.layer, training=False), torch.no_grad():
        first, second = (subject.read(*subject.inputs, subject.mask) for _ in range(2))
    size = largest(difference(first.nan_to_num(), second.nan_to_num()))
    if size > rounding(first):
        sentence = f"Two calls on the same input differ by {size:.2g} in eval mode."
        cause = "F.dropout without training=self.training, or weights made anew"
        return FAILS, sentence, cause, "museum, 10"
    return HOLDS, "Two calls on the same input agree."


def mask(subject):
    """A hidden key moves nothing, and one that may be seen does."""
    _, keys, values = subject.inputs
    moves = torch.stack(
        [
            subject.moved(keys=_others(keys, k), values=_others(values, k))
            for k in range(KEYS)
        ],
        dim=-1,
    ).to(subject.mask.device)  # (batch, queries, keys)
    leaks, blind = moves & ~subject.mask, ~moves & subject.mask
    if not leaks.any() and not blind.any():
        return HOLDS, "Each query hears of the keys that it may see, and of no other."
    if leaks.any():
        row, query, key = leaks.nonzero()[0].tolist()
        sentence = f"Key {key}, hidden from query {query} of sequence {row}, moves it."
    else:
        row, query, key = blind.nonzero()[0].tolist()
        sentence = f"Key {key}, which query {query} of sequence {row} may see, does not move it."
    if torch.equal(moves, ~subject.mask):
        cause = 'an inverted mask, or one that means the opposite (mask_means="block")'
    elif torch.equal(moves, subject.mask[:1].expand_as(moves)):
        cause = "one sequence's mask for the whole batch"
    elif moves.all():
        cause = "a mask that is not used, is added as ones, or comes after the softmax"
    elif not moves.any():
        cause = "an output that is lost, or values that are not read"
    else:
        cause = "a mask that is shifted, transposed or meets the wrong axis"
    return FAILS, sentence, cause, "chapter 2"


def queries(subject):
    """Each output depends on its own query, and on no other."""
    open_to_all = copy.copy(subject)
    open_to_all.mask = torch.ones_like(subject.mask)
    others = (_others(subject.inputs[0], q) for q in range(QUERIES))
    moves = torch.stack([open_to_all.moved(queries=X) for X in others], dim=-1)
    # moves: (batch, outputs, queries)
    own = torch.eye(QUERIES, dtype=torch.bool).to(moves.device)
    if (moves & ~own).any():
        _, row, query = (moves & ~own).nonzero()[0].tolist()
        sentence = f"Query {query} moves the output of query {row}."
        causes = {
            "a norm or a mean over the steps": mean(subject)[0] == HOLDS,
            "heads that are not transposed back before they are joined": not moves.all(),
            "a softmax over the queries": True,
        }
        cause = next(cause for cause, is_likely in causes.items() if is_likely)
        return FAILS, sentence, cause, "chapter 5"
    if not moves.any():
        sentence = "The queries do not matter."
        cause = "scores of the keys with themselves, or an output that is lost"
        return FAILS, sentence, cause, "chapter 1"
    return HOLDS, "Each output depends on its own query, and on no other."


def roles(subject):
    """Keys choose and values are fetched: either alone moves the outputs."""
    for name, at in (("keys", 1), ("values", 2)):
        changed = subject.inputs[at].flip(-1)
        if not subject.moved(**{name: changed}).any():
            sentence = f"The {name} do not matter."
            cause = "keys used as values, values used as keys, or one of them lost"
            return FAILS, sentence, cause, "chapter 1"
    return HOLDS, "Keys and values matter, each by itself."


def mean(subject):
    """If all values are equal, so are the outputs: weights sum to one in each row."""
    layer = subject.layer
    if isinstance(layer, nn.MultiheadAttention) and (
        layer.add_zero_attn or layer.bias_k is not None
    ):
        return UNTRIED, "The layer adds a key of its own, whose value is another."
    queries, keys, values = subject.inputs
    same = values[:1, ..., :1, :].expand_as(values)
    output = subject(queries, keys, same, subject.mask)
    first = output[:1, ..., :1, :].expand_as(output)
    size = largest(difference(output, first))
    if size <= rounding(output):
        return HOLDS, "Where all values are equal, all outputs are."
    added = output - queries  # a layer may add its queries
    if largest(difference(added, added[:1, ..., :1, :].expand_as(added))) <= rounding(
        output
    ):
        return HOLDS, "Where all values are equal, what is added to the queries is."
    sentence = f"All values are equal, and outputs differ by {size:.2g}."
    cause = "a softmax over the wrong axis, none at all, or a mask that comes after it"
    return FAILS, sentence, cause, "chapter 1, Query, key, value; museum, 3"


def batch(subject):
    """A sequence has the same output in any company."""
    company = [torch.cat([t[:1], 1 - 2 * t[1:]]) for t in subject.inputs]
    masks = torch.cat([subject.mask[:1], subject.mask[1:].flip(0)])
    if subject.moved(*company, masks)[0].any():
        sentence = "Other sequences in the batch move this one's output."
        cause = "batch and steps exchanged (batch_first), or a mask that meets the wrong axis"
        return FAILS, sentence, cause, "chapter 2; museum, 8"
    alone = subject(*(t[:1] for t in subject.inputs), subject.mask[:1])
    size = largest(difference(alone, subject(*subject.inputs, subject.mask)[:1]))
    if size > rounding(alone):
        sentence = f"Alone, a sequence has outputs that differ by {size:.2g}."
        return FAILS, sentence, "a view that mixes axes", "museum, 8"
    return HOLDS, "A sequence has the same output alone and in any batch."


def order(subject):
    """Keys in another order, with their values and masks, give the same."""
    _, keys, values = subject.inputs
    moved = subject.moved(
        keys=keys.flip(-2), values=values.flip(-2), mask=subject.mask.flip(-1)
    )
    if not moved.any():
        return HOLDS, "Keys may come in any order."
    sentence = "With keys, values and mask reversed together, outputs differ."
    cause = "positions inside the layer, on purpose or not, or axes that are mixed"
    return WARNS, sentence, cause, "chapter 3"


def nothing_to_see(subject):
    """A query that may see no key gets a finite output."""
    empty = subject.mask.clone()
    empty[0, 0] = False
    output = subject(*subject.inputs, empty)
    if output.isfinite().all():
        return HOLDS, "A query that may see no key gets a finite output."
    sentence = "A query that may see no key gets an output that is not finite."
    cause = "-inf in a whole row, as in PyTorch's own layers: no row may be empty"
    return WARNS, sentence, cause, "chapter 2; museum, 4"


def formula(subject):
    """A function is softmax(Q K' / sqrt(d)) V."""
    if subject.is_module:
        return UNTRIED, "A module has weights of its own; only functions are compared."
    Q, K, V = subject.inputs
    output = subject(Q, K, V, subject.mask)
    d, hidden = Q.shape[-1], ~subject.mask[:, None]
    others = {
        "": (Q, K, V, math.sqrt(d)),
        "scores that are not divided by the root of d": (Q, K, V, 1),
        "scores divided by d in place of its root": (Q, K, V, d),
        "keys and values exchanged": (Q, V, K, math.sqrt(d)),
        "scores divided by the root of the number of keys": (Q, K, V, math.sqrt(KEYS)),
    }
    for cause, (queries, keys, values, scale) in others.items():
        scores = (queries @ keys.mT / scale).masked_fill(hidden, float("-inf"))
        due = scores.softmax(-1) @ values
        if largest(difference(output, due)) <= rounding(due):
            if not cause:
                return HOLDS, "It is softmax(QKᵀ / √d) V."
            break
    else:
        cause = "another similarity, on purpose or not"
        due = F.scaled_dot_product_attention(Q, K, V, subject.mask[:, None])
        size = largest(difference(output, due))
        sentence = f"It differs from softmax(QKᵀ / √d) V by {size:.2g}."
        return WARNS, sentence, cause, "chapter 4"
    return FAILS, "It is not softmax(QKᵀ / √d) V.", cause, "chapter 4"


def parameters(subject):
    """Each parameter that may be trained gets a gradient, and no other weights are used."""
    if not subject.is_module:
        return UNTRIED, "A function has no parameters."
    if found := lost_layers(subject.layer):
        return found
    named = {n: p for n, p in subject.layer.named_parameters() if p.requires_grad}
    with mode(subject.layer, training=False):
        output = subject.read(*subject.inputs, subject.mask)
    if not named or not output.requires_grad:
        return UNTRIED, "No parameter asks for a gradient."
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(output.shape, generator=generator).to(output)
    if found := lost_weights(output, subject.layer.parameters()):
        return found
    grads = torch.autograd.grad(
        (output * weights).sum(), [*named.values()], allow_unused=True
    )
    idle = [name for (name, p), grad in zip(named.items(), grads, strict=True)
            if without_gradient(p, grad)]  # fmt: skip
    for (name, p), grad in zip(named.items(), grads, strict=True):
        if not idle and grad is not None and (said := idle_third(name, p, grad)):
            cause = "queries, keys or values that are not used"
            return FAILS, said, cause, "chapter 8, What one batch does not show"
    if not idle:
        return HOLDS, f"All {len(named)} parameters get a gradient."
    sentence = f"{len(idle)} of {len(named)} parameters get no gradient: {', '.join(idle[:3])}."
    cause = "a part that is built and not used, detached, or multiplied by zero"
    return FAILS, sentence, cause, "chapter 8, What one batch does not show"


OF_ATTENTION = (
    eval_mode, mask, queries, roles, mean, batch, order, nothing_to_see, formula, parameters,
)  # fmt: skip
