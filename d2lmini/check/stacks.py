"""The layers of a model: whether each has weights of its own; see examinations.py."""

from collections import Counter

import torch
from torch import nn

from d2lmini.check.gradients import leaves_of
from d2lmini.check.trying import ERRORS, copied, difference, largest, rounding
from d2lmini.check.whole_models import FAILS, HOLDS, UNTRIED, WARNS


def layers(subject):
    """Layers have weights of their own, and different ones."""
    if not subject.is_module:
        return UNTRIED, "net is no nn.Module."
    subject = subject.as_given()
    for name, stack in subject.net.named_modules():
        where = name or "the model"
        if isinstance(stack, nn.ModuleList | nn.Sequential | nn.ModuleDict):
            held = Counter(
                map(id, stack.values() if isinstance(stack, nn.ModuleDict) else stack)
            )
            if held and max(held.values()) > 1:
                sentence = f"{where} holds one layer {max(held.values())} times."
                cause = "[layer] * N, or layers that share their weights on purpose"
                return WARNS, sentence, cause, "museum, 18"
        if same := _clones([*stack.children()]):
            sentence = f"{same} layers of {where} have equal weights."
            cause = "deepcopy of one layer, weights set by one seed, or layers trained alike"
            return WARNS, sentence, cause, "museum, 19"
    own = [
        m
        for m in subject.net.modules()
        if any(True for _ in m.parameters(recurse=False))
        # called once a step, or for source and target
        and not isinstance(m, nn.RNNCellBase | nn.Embedding)
    ]
    counts, last = Counter(), {}

    def note(part, inputs):  # a second call counts if it is given something else
        if id(part) not in last or not _same(last[id(part)], inputs):
            counts[id(part)] += 1
        last[id(part)] = inputs

    hooks = [m.register_forward_pre_hook(note) for m in own]
    try:
        subject(subject.tokens)
    finally:
        for hook in hooks:
            hook.remove()
    names = {id(m): name for name, m in subject.net.named_modules()}
    if twice := [names[key] for key, n in counts.items() if n > 1 and key in names]:
        sentence = f"{twice[0]} is called {max(counts.values())} times for one text."
        return (
            WARNS,
            sentence,
            "one layer used N times, or weights shared on purpose",
            "museum, 18",
        )
    return HOLDS, "Layers have weights of their own, and different ones."


def _same(inputs, others):
    """Whether a part is called with the same tensors as before."""
    pairs = [*zip(inputs, others, strict=False)]
    return len(inputs) == len(others) and all(
        a is b
        or (
            isinstance(a, torch.Tensor)
            and isinstance(b, torch.Tensor)
            and torch.equal(a, b)
        )
        for a, b in pairs
    )


def _clones(parts) -> int:
    """How many of these have the same matrices as the first that has any like it; 0 if none."""
    for i, part in enumerate(parts):
        if same := sum(_equal(part, other) for other in parts[i + 1 :]):
            return same + 1
    return 0


def _equal(one, other):
    """Whether two layers of a kind have the same matrices, other than constant ones."""
    if type(one) is not type(other):
        return False
    pairs = [*zip(one.parameters(), other.parameters(), strict=False)]
    matrices = [(a, b) for a, b in pairs if a.dim() > 1 and a.shape == b.shape]
    varied = [(a, b) for a, b in matrices if a.numel() > 1 and a.min() < a.max()]
    return bool(varied) and all(torch.equal(a, b) for a, b in varied)


def unseen(net):
    """The name of a list or dictionary with modules that PyTorch does not see; None if none."""
    parts = [*net.named_modules()] if isinstance(net, nn.Module) else ()
    known = {id(part) for _, part in parts}
    for name, part in parts:
        for key, value in vars(part).items():
            if not key.startswith("_") and any(
                id(m) not in known for m in _within(value)
            ):
                return f"{name}.{key}".strip(".")
    return None


def _within(value):
    """The modules within lists and dictionaries."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        for each in value:
            if isinstance(each, nn.Module):
                yield each
            elif each is not value:
                yield from _within(each)


def lost_layers(net):
    """The finding for layers in a plain list; None if there are none."""
    held = unseen(net)
    sentence = f"Layers lie in a plain list or dictionary, {held}, where no optimiser finds them."
    cause = "a list in place of nn.ModuleList, or a dict in place of nn.ModuleDict"
    return (FAILS, sentence, cause, "museum, 10") if held else None


def lost_weights(output, parameters):
    """The finding for weights that are used and are no parameters; None if there are none."""
    known = {id(parameter) for parameter in parameters}
    lost = [tuple(leaf.shape) for leaf in leaves_of(output) if id(leaf) not in known]
    sentence = f"Weights of shape {', '.join(map(str, lost[:3]))} are used, but are no parameters."
    cause = "layers made anew in forward, or kept where PyTorch does not see them"
    return (FAILS, sentence, cause, "museum, 10") if lost else None


def idle_third(name, parameter, gradient):
    """What is said of a matrix for queries, keys and values of which one gets no gradient."""
    shape = parameter.shape
    if len(shape) != 2 or shape[0] != 3 * shape[1]:
        return ""
    idle = [f"{i}/3" for i, third in enumerate(gradient.chunk(3), 1) if not third.any()]
    return f"Part {idle[0]} of the rows of {name} gets no gradient." if idle else ""


def one_layer_is_blind(subject, swapped) -> bool:
    """Whether a stack of layers, cut to its first, gives the last output in any order of tokens.

    Two layers under a causal mask tell the order without positions; one does not.
    """
    if not subject.is_module or isinstance(subject.net, torch.jit.ScriptModule):
        return False
    net = copied(subject.net)
    lists = [m for m in net.modules() if isinstance(m, nn.ModuleList)]
    most = max(map(len, lists), default=0)
    if most < 2:
        return False
    for layers in lists:
        if len(layers) == most:
            layers._modules = {"0": layers[0]}
    with (
        torch.no_grad()
    ):  # with small weights attention is a plain mean, which has no order
        for p in net.parameters():
            if p.dim() > 1 and p.is_floating_point():
                p *= max(1.0, 0.3 / max(p.std().item(), 1e-6)) if p.numel() > 1 else 1.0
    short = subject.given(net=net)
    try:
        usual = short(subject.tokens)
        moved = difference(short(swapped), usual)[:, -1]
    except ERRORS:  # it needs them all
        return False
    return usual.isfinite().all().item() and largest(moved) <= rounding(usual)


def without_gradient(parameter, gradient):
    """Whether a parameter gets none. (That of a bias of the keys is 0 but for rounding.)"""
    return gradient is None or (parameter.dim() > 1 and not gradient.any())
