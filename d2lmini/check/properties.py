"""Properties of any correct block, whatever its internals: on which inputs an output depends.

A property takes a block, called as block(X, mask) with X of shape (batch, steps, ...), and
returns a Result. Chapters and tests call properties through d2lmini.check, and exercises are
graded with them. comparisons.py and gradients.py contain more.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from d2lmini.check.leaks import usual_cause
from d2lmini.check.trying import (
    ERRORS,
    Result,
    a_property,
    check_tried,
    difference,
    drawn_like,
    draws,
    largest,
    mode,
    modes,
    moved_a_little,
    other,
    outputs_of,
    raised,
    rounding,
)
from d2lmini.masks import causal_mask, padding_mask
from d2lmini.support.arguments import (
    check_at_most,
    check_floats,
    check_integers,
    check_mask,
)

DRAWS_ALWAYS = (
    "The block draws random numbers in eval mode, too, so that a sentence alone, or with more "
    "padding, cannot be compared."
)


def as_block(attention: Callable) -> Callable:
    """Turn attention(queries, keys, values, mask) -> (output, weights) into a block.

    Source: chapter 4.
    """

    def block(X, mask=None):
        X = X[:, None]  # (batch, heads = 1, steps, features)
        return attention(X, X, X, mask)[0][:, 0]

    return block


@a_property
def causal(block: Callable, X: Tensor, strict: bool = False) -> Result:
    """Check that no output depends on a later position of X, under a causal mask.

    Args:
        strict: whether output t must not depend on position t either, as when it predicts
            token t.
    Source: chapter 2.
    """
    check_tried(X, block=block)
    steps = X.shape[1]
    if steps < 2 and not strict:
        raise ValueError(f"X {tuple(X.shape)} must have at least 2 steps")
    mask, first_hidden = causal_mask(steps, device=X.device), 0 if strict else 1
    worst, limit, where, found = 0.0, 0.0, "", ""
    for words in modes(block):
        before = outputs_of(block, X, mask)
        limit = max(limit, rounding(before))
        for t in range(steps - first_hidden):
            changed = X.clone()
            changed[:, t + first_hidden :] = other(X)[:, t + first_hidden :]
            moved = difference(outputs_of(block, changed, mask), before)[:, : t + 1]
            if (size := largest(moved)) > worst:
                worst = size
                where = f"{'from' if strict else 'after'} position {t}"
                found = f"changed the output there or before by {worst:.2g}{words}"
    if worst > limit:
        sentence = (
            f"Changing X {where} {found}: the future leaks.{usual_cause(block, X)}"
        )
        return Result("causal", False, worst, sentence)
    return Result("causal", True, worst, "No output depends on the future.")


@a_property
def padding_invariant(block: Callable, X: Tensor, valid_lens: Tensor) -> Result:
    """Check that neither the contents nor the length of the padding affects a real position.

    Nor may it matter whether the padded sequence is alone or in a batch.

    Shapes:
        valid_lens: (batch,)
    Raises:
        ValueError: there is no padding.
    Source: chapter 2.
    """
    check_tried(X, block=block)
    check_integers("valid_lens", valid_lens, len(X))
    check_at_most("valid_lens", valid_lens, "num_steps", X.shape[1])
    batch, steps = X.shape[:2]
    valid_lens = valid_lens.to(X.device)
    mask = padding_mask(valid_lens, steps)
    real = mask[:, 0, 0]  # (batch, steps)
    if real.all():
        raise ValueError(f"valid_lens ({valid_lens.tolist()}) must leave some padding")
    is_real = real.view(batch, steps, *[1] * (X.dim() - 2))
    changed = torch.where(is_real, X, other(X))
    longer = torch.cat([changed, other(X)[:, :1]], dim=1)  # one more padded position
    longer_mask = padding_mask(valid_lens, steps + 1)
    worst, limit, found = 0.0, 0.0, ""
    for _ in modes(block):
        before = outputs_of(block, X, mask)
        limit = max(limit, rounding(before[real]))
        outputs = {"Changing the padding changed": outputs_of(block, changed, mask)}
        if (
            X.is_floating_point()
        ):  # a softmax before the mask overflows only if scores are large
            far = torch.where(is_real, X, 100 * other(X))
            outputs["Large numbers in the padding changed"] = outputs_of(
                block, far, mask
            )
        # Dropout draws different numbers for another shape; eval mode decides.
        if not (drawing := draws(block, X, mask)):
            doing = "With one more padded position"
            try:
                more = outputs_of(block, longer, longer_mask)
                doing = "With one sentence alone"
                alone = [
                    outputs_of(block, X[i : i + 1], mask[i : i + 1])
                    for i in range(batch)
                ]
            except ERRORS as error:
                return raised("padding_invariant", doing, error)
            outputs["More padding changed"] = more[:, :steps]
            outputs["Without the rest of its batch,"] = torch.cat(alone)
        for what, output in outputs.items():
            size = largest(difference(output, before)[real.cpu()])
            if size > worst and not (what.startswith("Large") and worst > limit):
                worst, found = size, what
    if worst > limit:
        if found.startswith("Without"):
            sentence = f"{found} the output of a padded sentence moves by {worst:.2g}."
        else:
            sentence = f"{found} the output of a real token by {worst:.2g}."
        return Result("padding_invariant", False, worst, sentence)
    if drawing:
        return Result("padding_invariant", False, float("inf"), DRAWS_ALWAYS)
    return Result("padding_invariant", True, worst, "The padding has no influence.")


@a_property
def batch_independent(block: Callable, X: Tensor, mask: Tensor | None = None) -> Result:
    """Check that a sequence has the same output alone and in any batch.

    Args:
        mask: the mask for the block; None = call it without one.
    Raises:
        ValueError: there is only one sequence.
    Source: chapter 3.
    """
    check_tried(X, block=block)
    if len(X) < 2:
        raise ValueError(f"X must contain at least 2 sequences, got {len(X)}")
    all_masks = () if mask is None else (mask,)
    worst, limit, found = 0.0, 0.0, ""
    for words in modes(block):
        together, drawing = (
            outputs_of(block, X, *all_masks),
            draws(block, X, *all_masks),
        )
        limit = max(limit, rounding(together))
        for i in range(len(X)):
            others = other(X)
            others[i] = X[i]
            outputs = {
                "Changing the other sentences in the batch": outputs_of(
                    block, others, *all_masks
                )[i]
            }
            if not drawing:  # else dropout differs between batches; eval mode decides
                one_mask = [m[i : i + 1] if _one_each(m, X) else m for m in all_masks]
                try:
                    alone = outputs_of(block, X[i : i + 1], *one_mask)
                except ERRORS as error:
                    return raised("batch_independent", "With one sentence alone", error)
                outputs["Taking the other sentences out of the batch"] = alone[0]
            for what, output in outputs.items():
                if (size := largest(difference(output, together[i]))) > worst:
                    worst, found = size, f"{what} changed this one's output{words}"
    if worst > limit:
        sentence = f"{found} by {worst:.2g}."
        return Result("batch_independent", False, worst, sentence)
    if drawing:
        return Result("batch_independent", False, float("inf"), DRAWS_ALWAYS)
    return Result("batch_independent", True, worst, "Sequences do not see each other.")


@a_property
def permutation_equivariant(block: Callable, X: Tensor) -> Result:
    """Check that permuting positions of X permutes the outputs, and does nothing else.

    Source: chapter 3.
    """
    check_tried(X, block=block)
    positions = torch.arange(X.shape[1], device=X.device)
    swapped = torch.cat([positions[:2].flip(0), positions[2:]])
    worst = 0.0
    with mode(block, training=False):
        Y = outputs_of(block, X)
        # A swap and a rotation generate all permutations.
        for order in (swapped, positions.roll(1)):
            moved = difference(outputs_of(block, X[:, order]), Y[:, order])
            worst = max(worst, largest(moved))
    if worst > rounding(Y):
        sentence = (
            f"Permuting the input does not permute the output in the same way: "
            f"they differ by {worst:.2g}."
        )
        return Result("permutation_equivariant", False, worst, sentence)
    sentence = "Permuting the input permutes the output in the same way."
    return Result("permutation_equivariant", True, worst, sentence)


@a_property
def repetition_invariant(
    block: Callable, X: Tensor, valid_lens: Tensor | None = None
) -> Result:
    """Check that a repeated token gives the output of a single one, without positions.

    The mean of equal values is that value, however many there are, provided that the weights
    sum to 1 and the token may attend to itself.

    Args:
        valid_lens: if given, also try padding after the repeated token.
    Source: chapter 2.
    """
    check_tried(X, block=block)
    token = X[:, :1]
    steps = max(X.shape[1], 2)
    repeated = token.expand(-1, steps, *token.shape[2:]).contiguous()
    worst = 0.0
    with mode(block, training=False):
        try:
            alone = outputs_of(block, token)
            moved = difference(
                outputs_of(block, repeated), alone.expand(-1, steps, *alone.shape[2:])
            )
            worst = largest(moved)
            if valid_lens is not None:
                valid_lens = valid_lens.to(X.device).clamp(max=steps)
                mask = padding_mask(valid_lens, steps)
                real = mask[:, 0, 0]
                output = outputs_of(block, repeated, mask)
                moved = difference(output, alone.expand(-1, steps, *alone.shape[2:]))
                worst = max(worst, largest(moved[real.cpu()]))
        except ERRORS as error:
            doing = "With the token alone, or repeated,"
            return raised("repetition_invariant", doing, error)
    if worst > rounding(alone):
        sentence = f"Repeating a token changed its output by {worst:.2g}."
        return Result("repetition_invariant", False, worst, sentence)
    sentence = "A repeated token gives the output of a single one."
    return Result("repetition_invariant", True, worst, sentence)


@a_property
def sees_what_it_may(block: Callable, X: Tensor, mask: Tensor | None = None) -> Result:
    """Check that every output at a real position depends on all positions that the mask allows.

    The counterpart of causal and padding_invariant, which a block that sees too little passes.

    Args:
        mask: broadcastable to (batch, heads, steps, steps); None = everything is visible.
    Source: chapter 2.
    """
    check_tried(X, block=block)
    batch, steps = X.shape[:2]
    allowed = torch.ones(batch, 1, steps, steps, dtype=torch.bool, device=X.device)
    if mask is not None:
        allowed = allowed & mask
    allowed = allowed.any(1).cpu()  # (batch, queries, keys): for some head
    real = allowed.any(1)  # (batch, steps): positions that no query may see are padding
    due = allowed & real[:, :, None]
    seen = _seen(block, X, mask)
    if (due & ~seen).any():  # a branch may start at 0 on purpose
        seen |= _seen(moved_a_little(block), X, mask)
    if missed := (due & ~seen).nonzero().tolist():
        _, query, key = missed[0]
        sentence = f"The output at position {query} does not depend on position {key}."
        return Result("sees_what_it_may", False, float(len(missed)), sentence)
    sentence = "Every output depends on all that it may see."
    return Result("sees_what_it_may", True, 0.0, sentence)


def _seen(block, X, mask) -> Tensor:
    """Whether each output moves with each position of X, (batch, steps, steps)."""
    batch, steps = X.shape[:2]
    seen = torch.zeros(batch, steps, steps, dtype=torch.bool)
    with mode(block, training=False):
        for given in _large_and_small(X):
            before = outputs_of(block, given, mask)
            for key in range(steps):
                for contents in (other(given), drawn_like(given, seed=1)):
                    changed = given.clone()
                    changed[:, key] = contents[:, key]
                    moved = difference(outputs_of(block, changed, mask), before)
                    seen[:, :, key] |= moved.reshape(batch, steps, -1).any(-1)
    return seen


def rows_sum_to_one(
    softmax: Callable, scores: Tensor, mask: Tensor | None = None
) -> Result:
    """Check that rows of softmax(scores, mask) sum to 1, or 0 if all is masked.

    Masked weights are 0, scores are not modified, and weights have their shape and dtype.

    Source: chapter 2.
    """
    check_tried(softmax=softmax)
    check_floats("scores", scores, ...)
    check_mask(mask, scores.shape)
    given = scores.clone()
    weights = softmax(given, None if mask is None else mask.clone())
    if not isinstance(weights, Tensor):
        sentence = f"softmax returned a {type(weights).__name__}, not weights."
        return Result("rows_sum_to_one", False, float("inf"), sentence)
    if (changed := largest(difference(given, scores))) > 0:
        sentence = f"The scores passed in were changed by up to {changed:.2g}."
        return Result("rows_sum_to_one", False, changed, sentence)
    if (weights.shape, weights.dtype) != (scores.shape, scores.dtype):
        sentence = (
            f"The weights are {tuple(weights.shape)}, {weights.dtype}, "
            f"but the scores {tuple(scores.shape)}, {scores.dtype}."
        )
        return Result("rows_sum_to_one", False, float("inf"), sentence)
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    due = allowed.any(-1).to(weights.dtype)
    worst = largest(difference(weights.sum(-1), due))
    if worst > rounding(weights):
        sentence = f"The sum of a row is off by {worst:.2g}."
        return Result("rows_sum_to_one", False, worst, sentence)
    if (leak := largest(weights[~allowed])) > 0:
        sentence = f"A masked entry has weight {leak:.2g} instead of 0."
        return Result("rows_sum_to_one", False, leak, sentence)
    if (least := weights.amin().item() if weights.numel() else 0.0) < 0:
        sentence = f"A weight is negative: {least:.2g}."
        return Result("rows_sum_to_one", False, -least, sentence)
    sentence = "Rows sum to 1 where anything may be attended to, masked weights are 0."
    return Result("rows_sum_to_one", True, worst, sentence)


def _one_each(mask, X):
    """Whether the mask has a row for each sequence of X."""
    return mask.dim() > 2 and len(mask) == len(X)


def _large_and_small(X):
    """Yield X, and X scaled to at most 1, so that no softmax weight rounds to 0."""
    yield X
    if X.is_floating_point() and (size := largest(X)) > 1:
        yield X / size
