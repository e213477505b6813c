"""The layers of a model: whether each has weights of its own; see examinations.py."""

from collections import Counter

import torch
from torch import nn

from d2lmini.check.whole_models import FAILS, HOLDS, UNTRIED, WARNS


def layers(subject):
    """Layers have weights of their own, and different ones."""
    if not subject.is_module:
        return UNTRIED, "net is no nn.Module."
    subject = subject.as_given()
    for name, stack in subject.net.named_modules():
        if not isinstance(stack, nn.ModuleList | nn.Sequential) or len(stack) < 2:
            continue
        first, *rest = stack
        if any(layer is first for layer in rest):
            sentence = f"{name} holds one layer {sum(x is first for x in stack)} times."
            cause = "[layer] * N, or layers that share their weights on purpose"
            return WARNS, sentence, cause, "museum, 18"
        same = [layer for layer in rest if _equal(first, layer)]
        if same:
            sentence = f"{len(same) + 1} layers of {name} have equal weights."
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
    if twice := [names[key] for key, times in counts.items() if times > 1]:
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


def _equal(one, other):
    """Whether two layers have the same matrices, other than constant ones."""
    pairs = [*zip(one.parameters(), other.parameters(), strict=False)]
    matrices = [(a, b) for a, b in pairs if a.dim() > 1 and a.shape == b.shape]
    varied = [(a, b) for a, b in matrices if a.numel() > 1 and a.min() < a.max()]
    return bool(varied) and all(torch.equal(a, b) for a, b in varied)


def in_a_list(net):
    """The name of a plain list of modules, which PyTorch does not see; None if there is none."""
    parts = net.named_modules() if isinstance(net, nn.Module) else ()
    for name, part in parts:
        for key, value in vars(part).items():
            if isinstance(value, list | tuple) and any(
                isinstance(m, nn.Module) for m in value
            ):
                return f"{name}.{key}".strip(".")
    return None


def lost_layers(net):
    """The finding for layers in a plain list; None if there are none."""
    listed = in_a_list(net)
    sentence = f"Layers lie in a plain list, {listed}, where no optimiser finds them."
    cause = "a list in place of nn.ModuleList"
    return (FAILS, sentence, cause, "museum, 10") if listed else None


def without_gradient(parameter, gradient):
    """Whether a parameter gets none. (That of a bias of the keys is 0 but for rounding.)"""
    return gradient is None or (parameter.dim() > 1 and not gradient.any())
