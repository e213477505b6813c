"""What holds for any right block, whatever is inside it.

A property takes a block, called as block(X, mask) with X of shape (batch, steps, ...), and
returns a Result. Chapters and tests call them by way of d2lmini.check, and exercises are graded
with them.
"""

import textwrap
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from d2lmini.masks import causal_mask, padding_mask

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
    """Neither what stands in the padding of X nor its length changes an output at a real position.

    Shapes:
        valid_lens: (batch,)
    Raises:
        ValueError: there is no padding.
    Source: chapter 2.
    """
    steps = X.shape[1]
    mask = padding_mask(valid_lens, steps)
    real = mask[:, 0, 0]  # (batch, steps)
    if real.all():
        raise ValueError(f"valid_lens ({valid_lens.tolist()}) must leave some padding")
    changed = X.clone()
    changed[~real] = _other(X)[~real]
    longer = torch.cat([changed, _other(X)[:, :1]], dim=1)  # one more step of padding
    worst, found = 0.0, ""
    for _ in _modes(block):
        before = _call(block, X, mask)
        outputs = {"Other": _call(block, changed, mask)}
        if not _draws(
            block, X, mask
        ):  # else dropout differs between the two lengths; eval tells
            longer_mask = padding_mask(valid_lens, steps + 1)
            try:
                outputs["More"] = _call(block, longer, longer_mask)[:, :steps]
            except (RuntimeError, ValueError) as error:
                text = str(error).partition("\n")[0]
                sentence = f"With one step of padding more it raised: {text}"
                return Result("padding_invariant", False, float("inf"), sentence)
        for kind, output in outputs.items():
            if (largest := _largest(_difference(output, before)[real])) > worst:
                worst, found = largest, kind
    if worst > TOLERANCE:
        sentence = f"{found} padding changed the output of a real token by {worst:.2g}."
        return Result("padding_invariant", False, worst, sentence)
    return Result("padding_invariant", True, worst, "The padding has no influence.")


def batch_independent(block: Callable, X: Tensor) -> Result:
    """A sequence gives the same output alone as among others, whatever the others are.

    Raises:
        ValueError: there is one sequence only.
    Source: chapter 3.
    """
    if len(X) < 2:
        raise ValueError(f"X must hold at least 2 sequences, got {len(X)}")
    worst = 0.0
    for _ in _modes(block):
        together, draws = _call(block, X), _draws(block, X)
        for i in range(len(X)):
            others = _other(X)
            others[i] = X[i]
            outputs = [_call(block, others)[i]]
            if not draws:  # else dropout differs between the two batches; eval tells
                outputs.append(_call(block, X[i : i + 1])[0])
            for output in outputs:
                worst = max(worst, _largest(_difference(output, together[i])))
    if worst > TOLERANCE:
        sentence = f"Other company changed the output of a sequence by {worst:.2g}."
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
    sentence = "Another order in, the same other order out."
    return Result("permutation_equivariant", True, worst, sentence)


def matches(
    block: Callable, reference: Callable, *inputs, tolerance: float = TOLERANCE
) -> Result:
    """block(*inputs) equals reference(*inputs).

    Source: chapter 4.
    """
    ours, theirs = _seeded(block, *inputs), _seeded(reference, *inputs)
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
    """Every parameter gets a gradient, and nothing else is trained or drawn anew.

    A matrix that is made in each call, or kept where the module does not find it, such as
    in a list, is no parameter: no optimiser will change it.
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
    parameters = dict(block.named_parameters())
    known = {id(parameter) for parameter in parameters.values()}
    strangers = [leaf for leaf in _leaves(first) if id(leaf) not in known | {id(X)}]
    if strangers:
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in strangers)
        sentence = f"Weights of shape {shapes} are used, but are no parameters."
        return Result(name, False, float(len(strangers)), sentence)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        direction = torch.randn_like(first)  # a plain sum is constant after a normalisation
    trainable = {key: p for key, p in parameters.items() if p.requires_grad}
    gradients = {}
    if first.requires_grad and trainable:
        loss = (first * direction).sum()
        found = torch.autograd.grad(loss, list(trainable.values()), allow_unused=True)
        gradients = dict(zip(trainable, found, strict=True))
    reached = {
        k for k, gradient in gradients.items() if gradient is not None and gradient.any()
    }
    if idle := [key for key in parameters if key not in reached]:
        return Result(
            name, False, float(len(idle)), f"No gradient reaches {', '.join(idle)}."
        )
    return Result(name, True, 0.0, f"All {len(parameters)} parameters get a gradient.")


def rows_sum_to_one(
    softmax: Callable, scores: Tensor, mask: Tensor | None = None
) -> Result:
    """softmax(scores, mask): rows sum to 1, or 0 if all is masked; masked weights are 0.

    And the scores stay as they are.

    Source: chapter 2.
    """
    given = scores.clone()
    weights = softmax(given, mask)
    if (changed := _largest(_difference(given, scores))) > 0:
        sentence = f"The scores that were handed in have changed by up to {changed:.2g}."
        return Result("rows_sum_to_one", False, changed, sentence)
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
    buffers = [(buffer, buffer.clone()) for buffer in block.buffers()]  # running means
    block.train(training)
    try:
        yield
    finally:
        for module, was_training in before:
            module.training = was_training
        for buffer, was in buffers:
            buffer.copy_(was)


def _modes(block):
    """Go through training and eval mode, if the block has them."""
    if not isinstance(block, nn.Module):
        yield ""
        return
    for mode in (IN_TRAINING, IN_EVAL):
        with _mode(block, mode == IN_TRAINING):
            yield mode


def _seeded(block, *inputs):
    """The output of a call that starts from a fixed seed, so that dropout repeats itself."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return block(*inputs)


def _call(block, *inputs):
    """As _seeded, without gradients."""
    with torch.no_grad():
        return _seeded(block, *inputs)


def _draws(block, *inputs):
    """Whether the block draws random numbers, as dropout does."""
    with torch.random.fork_rng(), torch.no_grad():
        before = torch.get_rng_state()
        block(*inputs)
        return not torch.equal(before, torch.get_rng_state())


def _leaves(output):
    """The tensors from which an output was computed and to which its gradients would go."""
    leaves, waiting, seen = [], [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [parent for parent, _ in node.next_functions]
        if hasattr(node, "variable"):
            leaves.append(node.variable)
    return leaves


def _other(X):
    """Other contents of the same kind: every number differs from that of X, ids stay ids."""
    if X.is_floating_point():
        generator = torch.Generator().manual_seed(1)
        return X + 1 + torch.rand(X.shape, generator=generator).to(X)
    low, high = X.min(), X.max()
    if low == high:
        raise ValueError(f"X must hold at least two different ids, all are {low.item()}")
    return low + (X - low + 1) % (high - low + 1)


def _difference(A, B):
    """Absolute difference; equal infinities differ by 0, NaN from anything by infinity."""
    difference = (A.float() - B.float()).abs().masked_fill(A == B, 0.0)
    return difference.nan_to_num(nan=float("inf"))


def _largest(tensor):
    """The largest element, 0 if there is none."""
    return tensor.abs().max().item() if tensor.numel() else 0.0
