"""A whole language model, called in one way, and the part of it in which something first moves."""

import torch
from torch import Tensor, nn

from d2lmini.check.trying import call, difference, largest, mode, rounding


class Subject:
    """The model, called in one way: (batch, steps) ids -> (batch, steps, vocab_size)."""

    def __init__(self, net, vocab_size, num_steps, batch_first):
        self.net, self.vocab_size, self.batch_first = net, vocab_size, batch_first
        generator = torch.Generator().manual_seed(0)
        rows = [torch.randperm(max(vocab_size, num_steps), generator=generator)
                for _ in range(3)]  # fmt: skip
        tokens = torch.stack([row[:num_steps] for row in rows]) % vocab_size
        self.tokens = tokens.to(
            self.device
        )  # (3, num_steps), different ones if they are enough
        shape = tuple(self(self.tokens).shape)
        due = (*self.tokens.shape, vocab_size)
        if shape != due:
            raise ValueError(f"net(tokens) has the shape {shape}, and must have {due}")

    @property
    def device(self):
        parameters = self.net.parameters() if self.is_module else iter(())
        return next((p.device for p in parameters), torch.device("cpu"))

    @property
    def is_module(self):
        return isinstance(self.net, nn.Module)

    def __call__(self, tokens):
        with mode(self.net, training=False):
            return call(lambda t: logits_of(self.net, t, self.batch_first), tokens)

    def other(self, tokens):
        """Tokens that differ from these everywhere."""
        return (tokens + 1 + tokens % (self.vocab_size - 1)) % self.vocab_size

    def moved(self, tokens, before=None):
        """How far each position of each text moves (batch, steps), and what rounding may do."""
        before = self(self.tokens) if before is None else before
        return difference(self(tokens), before).amax(-1), rounding(before)


def logits_of(net, tokens, batch_first=True) -> Tensor:
    """The logits (batch, steps, vocab_size) in what a model returns."""
    output = net(tokens if batch_first else tokens.T)
    output = getattr(output, "logits", output)
    while isinstance(output, tuple | list):
        output = output[0]
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise TypeError(f"net(tokens) must return logits, a torch.Tensor, got a {kind}")
    return output if batch_first or output.dim() < 2 else output.transpose(0, 1)


def culprit(subject, before, after, places) -> tuple[str, nn.Module, list] | None:
    """The innermost part whose output moves at some places although its input does not there.

    Args:
        before, after: token ids, or twice the same.
        places: an index of (batch, steps), such as (slice(None), slice(0, 3)).
    Returns:
        its name, the part and the steps at which its output moves; None if there is no such
        part, or net is no nn.Module.
    """
    if not subject.is_module or not subject.batch_first:
        return None
    runs = [traced(subject, tokens) for tokens in (before, after)]
    for (name, part, *one), (_, _, *other) in zip(*runs, strict=False):
        came, went = (
            _moves(a, b, before.shape, places) for a, b in zip(one, other, strict=True)
        )
        if went and not came:
            moved = difference(one[1], other[1]).flatten(2).amax((0, 2))
            return name or "the model itself", part, moved.nonzero().flatten().tolist()
    return None


def traced(subject, tokens):
    """(name, part, first input, first output) of each part, in the order in which they end."""
    seen, names = [], {id(part): name for name, part in subject.net.named_modules()}

    def note(part, inputs, output):
        seen.append((names[id(part)], part, _first(inputs), _first(output)))

    hooks = [part.register_forward_hook(note) for part in subject.net.modules()]
    try:
        subject(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def _first(values):
    """The first tensor, if there is one."""
    values = getattr(values, "logits", values)
    while isinstance(values, tuple | list) and values:
        values = values[0]
    return values.detach().clone() if isinstance(values, Tensor) else None


def _moves(a, b, shape, places):
    """Whether two tensors (batch, steps, ...) differ at some places."""
    if a is None or b is None or a.shape != b.shape or a.shape[:2] != shape:
        return False
    return largest(difference(a, b)[places]) > rounding(a)
