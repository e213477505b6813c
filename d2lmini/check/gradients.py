"""Check what training needs: finite and correct gradients, and one for each parameter.

See properties.py.
"""

from collections.abc import Callable
from contextlib import closing

import torch
from torch import Tensor, nn

from d2lmini.check.trying import (
    TOLERANCE,
    Result,
    a_property,
    check_output,
    check_tried,
    copies,
    difference,
    drawn_like,
    largest,
    mode,
    raised,
    rounding,
    same_draws,
)
from d2lmini.masks import padding_mask
from d2lmini.support.arguments import check_kind


@a_property
def finite_gradients(block: Callable, X: Tensor) -> Result:
    """Check that outputs and gradients are finite even if the first sequence is all padding.

    The output must have the dtype of X. Frozen parameters need no gradient.

    Args:
        X: an input of the floating-point dtype in question, or token ids.
    Source: chapter 2.
    """
    check_tried(X, block=block)
    name, steps = "finite_gradients", X.shape[1]
    lens = torch.full((len(X),), steps, device=X.device)
    lens[0] = 0
    X, kind = _leaf(X), X.dtype
    parameters = block.parameters() if isinstance(block, nn.Module) else ()
    tensors = [tensor for tensor in (X, *parameters) if tensor.requires_grad]
    try:
        with same_draws(X):
            output = check_output(block(X, padding_mask(lens, steps)), X)
        gradients = ()
        if tensors:
            gradients = torch.autograd.grad(output.sum(), tensors, allow_unused=True)
    except RuntimeError as error:
        return raised(name, f"In {kind}", error)
    if X.is_floating_point() and output.dtype != kind:
        sentence = f"The input is {kind}, but the output {output.dtype}."
        return Result(name, False, float("inf"), sentence)
    found = [_dense(t) for t in (output, *gradients) if t is not None]
    bad = sum(int((~t.isfinite()).sum()) for t in found)
    if bad:
        sentence = f"In {kind}, {bad} entries of output and gradients are not finite."
        return Result(name, False, float("inf"), sentence)
    return Result(name, True, 0.0, f"Output and gradients are finite in {kind}.")


@a_property
def every_parameter_trained(
    block: nn.Module, X: Tensor, mask: Tensor | None = None
) -> Result:
    """Check that every parameter gets a gradient, and that no other weights are used or redrawn.

    A matrix that is created in each call, or stored where the module cannot find it, such as in
    a list, is not a parameter: no optimiser will change it. Every entry of a parameter counts,
    but only the looked-up rows of a table; a frozen parameter needs no gradient. The gradient
    must also match the slope of the output, except in half precision, which is too coarse.
    Source: chapter 8.
    """
    check_tried(X, block=block)
    check_kind("block", block, nn.Module, "an nn.Module")
    with mode(block, training=False):
        try:
            return _trained(block, _leaf(X), mask)
        except (
            RuntimeError
        ) as error:  # such as a graph that was freed by an earlier call
            return raised("every_parameter_trained", "With gradients", error)


def _trained(block, X, mask):
    """Check every_parameter_trained in the current mode of the block."""
    name = "every_parameter_trained"
    with same_draws(X):
        first, second = (check_output(block(*copies([X, mask])), X) for _ in range(2))
    worst = largest(difference(first, second))
    if worst > rounding(first):
        sentence = f"Two calls on the same X differ by {worst:.2g}: each draws new random numbers."
        return Result(name, False, worst, sentence)

    parameters = dict(block.named_parameters())
    known = {id(parameter) for parameter in parameters.values()} | {id(X)}
    users = leaves_of(first)  # tensors used, and by which operations
    if strangers := [leaf for leaf in users if id(leaf) not in known]:
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in strangers)
        sentence = f"Weights of shape {shapes} are used, but are not parameters."
        return Result(name, False, float(len(strangers)), sentence)

    trainable = {key: p for key, p in parameters.items() if p.requires_grad}
    whole = [key for key, p in trainable.items() if not _is_table(users.get(p, ()))]
    idle = _idle(block, X, mask, trainable, whole)
    if dead := [key for key in trainable if idle[key].all()]:
        sentence = f"No gradient reaches {', '.join(dead)}."
        return Result(name, False, float(len(dead)), sentence)
    for key in whole:
        if count := int(idle[key].sum()):
            all_of_them = f"the {idle[key].numel()} parameters in {key}"
            sentence = f"No gradient reaches {count} of {all_of_them}."
            return Result(name, False, float(count), sentence)

    if X.requires_grad:
        trainable["X"] = X
    for key, (told, measured, limit) in _slopes(block, X, mask, trainable):
        if (off := abs(told - measured)) > limit:
            sentence = (
                f"The gradient of {key} is wrong: along one direction it gives a slope of "
                f"{told:.2g}, but {measured:.2g} is measured."
            )
            return Result(name, False, off, sentence)
    trainable.pop("X", None)
    frozen = len(parameters) - len(trainable)
    sentence = f"All {len(trainable)} parameters get a gradient."
    if frozen:
        sentence += f" (Frozen, and left out: {frozen}.)"
    return Result(name, True, 0.0, sentence)


def _idle(block, X, mask, trainable, whole):
    """Which entries of each parameter got no gradient on any of several inputs.

    whole: names of the parameters whose entries should all get one.
    """
    idle = {key: torch.ones_like(p, dtype=torch.bool) for key, p in trainable.items()}
    with closing(_several(block, X, mask)) as several:
        for inputs in several:
            gradients = _gradients(block, inputs, trainable.values())
            for key, gradient in zip(trainable, gradients, strict=True):
                idle[key] &= gradient == 0
            if not any(idle[key].any() for key in whole):
                break
    return idle


def _leaf(X):
    """A copy of X that requires gradients, if its dtype allows them."""
    X = X.detach().clone()
    return X.requires_grad_() if X.is_floating_point() else X


def _several(block, X, mask):
    """Yield X, then other inputs with other weights in the block: each ReLU is active for some.

    A single token does not test queries and keys: its weight is 1 whatever they are.
    """
    yield X, mask
    shape = X.shape if X.shape[1] > 1 else (X.shape[0], 3, *X.shape[2:])
    before = [(p, p.detach().clone()) for p in block.parameters()]
    try:
        for seed in range(12):
            with torch.no_grad():
                for i, (p, was) in enumerate(before):
                    size = was.square().mean().sqrt().item() or 0.1
                    p.copy_(was + size * drawn_like(was, 100 * i + seed))
            yield drawn_like(X.detach(), seed, shape), mask if X.shape[1] > 1 else None
    finally:
        with torch.no_grad():
            for p, was in before:
                p.copy_(was)


def _loss(output):
    """A randomly weighted sum: a plain sum would be constant after a normalisation."""
    output = output.cpu().double()  # some GPUs have no float64
    return (output * drawn_like(output.detach(), seed=5)).sum()


def _dense(tensor):
    """Convert to a dense tensor; the gradients of some tables are sparse."""
    return tensor.to_dense() if tensor.is_sparse else tensor


def _gradients(block, inputs, tensors):
    """The gradient of each tensor, 0 where there is none."""
    tensors = list(tensors)
    with same_draws(*inputs):
        output = block(*copies(inputs))
    found = [None] * len(tensors)
    if output.requires_grad and tensors:
        found = torch.autograd.grad(_loss(output), tensors, allow_unused=True)
    return [
        torch.zeros_like(t) if g is None else _dense(g)
        for t, g in zip(tensors, found, strict=True)
    ]


def _slopes(block, X, mask, tensors):
    """For each tensor, the slope of the loss along a random direction, computed and measured.

    Also by how much the two may differ: the step is finite, may cross the kink of a ReLU, and
    numbers are rounded.
    """
    gradients = _gradients(block, (X, mask), tensors.values())
    untrained = {  # the padding row of a table has no gradient on purpose
        id(module.weight): module.padding_idx
        for module in block.modules()
        if isinstance(module, nn.Embedding) and module.padding_idx is not None
    }
    for (key, tensor), gradient in zip(tensors.items(), gradients, strict=True):
        precision = torch.finfo(tensor.dtype).eps
        if precision > TOLERANCE:  # half precision
            continue
        direction = drawn_like(tensor.detach(), seed=6)
        if id(tensor) in untrained:
            direction[untrained[id(tensor)]] = 0
        direction /= direction.norm()
        step, before, losses = 0.003, tensor.detach().clone(), []
        with torch.no_grad(), same_draws(X):
            try:
                for distance in (-step, 0.0, step):
                    tensor.copy_(before + distance * direction)
                    output = block(*copies([X, mask]))
                    losses.append(_loss(output).item())
            finally:
                tensor.copy_(before)
        left, right = (losses[1] - losses[0]) / step, (losses[2] - losses[1]) / step
        measured, told = (left + right) / 2, (gradient * direction).sum().item()
        usual = gradient.norm().item() / tensor.numel() ** 0.5
        noise = 4 * precision * output.norm().item() / step
        limit = 0.05 * max(abs(measured), usual) + abs(right - left) + noise
        yield key, (told, measured, limit)


LOOK_UPS = "Embedding", "Slice", "Index", "Select", "Gather"


def _is_table(operations):
    """Whether a parameter is a table of which an input uses only some rows."""
    return bool(operations) and all(name.startswith(LOOK_UPS) for name in operations)


def leaves_of(output):
    """The leaf tensors from which an output was computed.

    Each is mapped to the names of the operations that used it.
    """
    leaves, waiting, seen = {}, [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for parent, _ in node.next_functions:
            if hasattr(parent, "variable"):
                leaves.setdefault(parent.variable, set()).add(node.name())
        waiting += [parent for parent, _ in node.next_functions]
    return leaves
