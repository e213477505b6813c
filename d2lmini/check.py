"""Checks of a block's properties, and of a reader's answers to the exercises.

A property takes a block, called as block(X, mask) with X of shape (batch, steps, ...), and
returns a Result. Chapters, tests and exercises call the same ones.
"""

import textwrap
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from d2lmini.grading import exercise, hint, report
from d2lmini.masks import causal_mask, padding_mask

__all__ = [
    "Result",
    "as_block",
    "batch_independent",
    "causal",
    "every_parameter_trained",
    "exercise",
    "finite_gradients",
    "hint",
    "matches",
    "padding_invariant",
    "permutation_equivariant",
    "report",
    "rows_sum_to_one",
]

TOLERANCE = 1e-5  # what rounding in float32 may change


@dataclass
class Result:
    """What a property found; true if it holds.

    Args:
        name: of the property.
        holds: the verdict.
        deviation: the largest deviation from what the property asks for.
        sentence: what was found, in words.
    Source: chapter 2.
    """

    name: str
    holds: bool
    deviation: float
    sentence: str

    def __bool__(self):
        return self.holds

    def __repr__(self):
        verdict = "holds" if self.holds else "FAILS"
        text = f"{self.name}: {verdict}. {self.sentence}"
        return textwrap.fill(text, 88, subsequent_indent="    ")  # the width of a page


def as_block(attention: Callable) -> Callable:
    """A function attention(queries, keys, values, mask) -> (output, weights), as a block.

    Source: chapter 4.
    """

    def block(X, mask=None):
        X = X[:, None]  # (batch, heads = 1, steps, features)
        return attention(X, X, X, mask)[0][:, 0]

    return block


def causal(block: Callable, X: Tensor, strict: bool = False) -> Result:
    """No output depends on a later position of X; the mask given is the causal one.

    Args:
        strict: whether output t must not depend on position t either, as the prediction
            of token t.
    Source: chapter 2.
    """
    steps = X.shape[1]
    mask, first_hidden = causal_mask(steps, device=X.device), 0 if strict else 1
    worst, where, found = 0.0, "", ""
    for mode in _modes(block):
        before = _call(block, X, mask)
        for t in range(steps - first_hidden):
            changed = X.clone()
            changed[:, t + first_hidden :] = _other(X)[:, t + first_hidden :]
            difference = _difference(_call(block, changed, mask), before)[:, : t + 1]
            if (largest := _largest(difference)) > worst:
                worst = largest
                where = f"{'from' if strict else 'after'} position {t}"
                found = f"changed the output there or before by {worst:.2g}{mode}"
    if worst > TOLERANCE:
        sentence = f"Changing X {where} {found}: the future leaks."
        return Result("causal", False, worst, sentence)
    return Result("causal", True, worst, "No output depends on the future.")


def padding_invariant(block: Callable, X: Tensor, valid_lens: Tensor) -> Result:
    """What stands in the padding of X changes no output at a real position.

    Shapes:
        valid_lens: (batch,)
    Source: chapter 2.
    """
    mask = padding_mask(valid_lens, X.shape[1])
    real = mask[:, 0, 0]  # (batch, steps)
    changed = X.clone()
    changed[~real] = _other(X)[~real]
    worst = 0.0
    for _ in _modes(block):
        difference = _difference(_call(block, changed, mask), _call(block, X, mask))
        worst = max(worst, _largest(difference[real]))
    if worst > TOLERANCE:
        sentence = f"Other padding changed the output of a real token by {worst:.2g}."
        return Result("padding_invariant", False, worst, sentence)
    return Result("padding_invariant", True, worst, "The padding has no influence.")


def batch_independent(block: Callable, X: Tensor) -> Result:
    """A sequence gives the same output alone as among others.

    Source: chapter 3.
    """
    worst = 0.0
    for mode in _modes(block):
        if mode == IN_TRAINING and _draws(block, X):
            continue  # dropout differs between the two calls; eval tells
        together = _call(block, X)
        for i in range(len(X)):
            worst = max(
                worst, _largest(_difference(_call(block, X[i : i + 1])[0], together[i]))
            )
    if worst > TOLERANCE:
        sentence = (
            f"A sequence alone and in a batch gave outputs that differ by {worst:.2g}."
        )
        return Result("batch_independent", False, worst, sentence)
    return Result("batch_independent", True, worst, "Sequences do not see each other.")


def permutation_equivariant(block: Callable, X: Tensor) -> Result:
    """Exchanging positions of X exchanges the outputs, and does nothing else.

    Source: chapter 3.
    """
    positions = torch.arange(X.shape[1])
    swapped = torch.cat([positions[:2].flip(0), positions[2:]])
    worst = 0.0
    with _mode(block, training=False):
        Y = _call(block, X)
        # All permutations are made of these two, a swap and a rotation.
        for order in (swapped, positions.roll(1)):
            worst = max(
                worst, _largest(_difference(_call(block, X[:, order]), Y[:, order]))
            )
    if worst > TOLERANCE:
        sentence = f"Another order changed what a position gives by {worst:.2g}."
        return Result("permutation_equivariant", False, worst, sentence)
    sentence = "The order of the positions makes no difference."
    return Result("permutation_equivariant", True, worst, sentence)


def matches(
    block: Callable, reference: Callable, *inputs, tolerance: float = TOLERANCE
) -> Result:
    """block(*inputs) equals reference(*inputs).

    Source: chapter 4.
    """
    ours, theirs = block(*inputs), reference(*inputs)
    if ours.shape != theirs.shape:
        shapes = f"{tuple(ours.shape)} instead of {tuple(theirs.shape)}"
        return Result("matches", False, float("inf"), f"The output has shape {shapes}.")
    worst = _largest(_difference(ours, theirs))
    if worst > tolerance:
        return Result("matches", False, worst, f"Outputs differ by up to {worst:.2g}.")
    return Result("matches", True, worst, f"Outputs are equal to {tolerance:g}.")


def finite_gradients(block: Callable, X: Tensor) -> Result:
    """Outputs and gradients are finite although the first sequence is nothing but padding.

    Args:
        X: of the floating dtype in question.
    Source: chapter 2.
    """
    steps = X.shape[1]
    lens = torch.full((len(X),), steps, device=X.device)
    lens[0] = 0
    X = X.detach().clone().requires_grad_()
    tensors = [X, *(block.parameters() if isinstance(block, nn.Module) else ())]
    try:
        output = block(X, padding_mask(lens, steps))
        gradients = torch.autograd.grad(output.sum(), tensors, allow_unused=True)
    except RuntimeError as error:
        sentence = f"In {X.dtype} it raised: {error}."
        return Result("finite_gradients", False, float("inf"), sentence)
    bad = sum(int((~t.isfinite()).sum()) for t in (output, *gradients) if t is not None)
    if bad:
        sentence = f"In {X.dtype}, {bad} numbers of output and gradients are not finite."
        return Result("finite_gradients", False, float("inf"), sentence)
    return Result(
        "finite_gradients", True, 0.0, f"Output and gradients are finite in {X.dtype}."
    )


def every_parameter_trained(
    block: nn.Module, X: Tensor, mask: Tensor | None = None
) -> Result:
    """Every parameter gets a gradient, and nothing is computed with numbers that are no parameters.

    The second half is tested by two calls in eval mode: a matrix that is made anew in
    each call is no parameter, and the calls differ.
    Source: chapter 7.
    """
    name = "every_parameter_trained"
    with _mode(block, training=False):
        first, second = block(X, mask), block(X, mask)
    worst = _largest(_difference(first, second))
    if worst > TOLERANCE:
        sentence = (
            f"Two calls on the same X differ by {worst:.2g}: something is drawn anew."
        )
        return Result(name, False, worst, sentence)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        direction = torch.randn_like(first)  # a plain sum is constant after a normalisation
    parameters = dict(block.named_parameters())
    loss = (first * direction).sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    idle = [
        key
        for key, gradient in zip(parameters, gradients, strict=True)
        if gradient is None or not gradient.any()
    ]
    if idle:
        return Result(
            name, False, float(len(idle)), f"No gradient reaches {', '.join(idle)}."
        )
    return Result(name, True, 0.0, f"All {len(parameters)} parameters get a gradient.")


def rows_sum_to_one(
    softmax: Callable, scores: Tensor, mask: Tensor | None = None
) -> Result:
    """softmax(scores, mask): rows sum to 1, or 0 if all is masked; masked weights are 0.

    Source: chapter 2.
    """
    weights = softmax(scores, mask)
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & mask
    due = allowed.any(-1).to(weights.dtype)
    worst = _largest(_difference(weights.sum(-1), due))
    if worst > TOLERANCE:
        sentence = f"The sum of a row is off by {worst:.2g}."
        return Result("rows_sum_to_one", False, worst, sentence)
    if (leak := _largest(weights[~allowed])) > 0:
        sentence = f"A masked entry has weight {leak:.2g} instead of 0."
        return Result("rows_sum_to_one", False, leak, sentence)
    sentence = "Rows sum to 1 where anything may be attended to, masked weights are 0."
    return Result("rows_sum_to_one", True, worst, sentence)


IN_TRAINING, IN_EVAL = " in training mode", " in eval mode"


@contextmanager
def _mode(block, training):
    """The block in training or in eval mode, and as it was before afterwards."""
    if not isinstance(block, nn.Module):
        yield
        return
    before = [(module, module.training) for module in block.modules()]
    block.train(training)
    try:
        yield
    finally:
        for module, was_training in before:
            module.training = was_training


def _modes(block):
    """Go through training and eval mode, if the block has them."""
    if not isinstance(block, nn.Module):
        yield ""
        return
    for mode in (IN_TRAINING, IN_EVAL):
        with _mode(block, mode == IN_TRAINING):
            yield mode


def _call(block, *inputs):
    """The output of a call that starts from a fixed seed, so that dropout repeats itself."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        return block(*inputs)


def _draws(block, X):
    """Whether the block draws random numbers, as dropout does."""
    with torch.random.fork_rng(), torch.no_grad():
        before = torch.get_rng_state()
        block(X)
        return not torch.equal(before, torch.get_rng_state())


def _other(X):
    """Other contents of the same kind: the numbers of X in another order, as ids stay ids."""
    order = torch.randperm(X.numel(), generator=torch.Generator().manual_seed(1))
    return X.flatten()[order.to(X.device)].view_as(X)


def _difference(A, B):
    """Absolute difference; NaN in one of them only counts as infinite."""
    difference = (A.float() - B.float()).abs()
    return difference.nan_to_num(nan=float("inf"))


def _largest(tensor):
    """The largest element, 0 if there is none."""
    return tensor.abs().max().item() if tensor.numel() else 0.0
