"""A whole model, called in one way, and the part of it in which something first moves."""

import copy
import inspect
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from d2lmini.check.trying import (
    ERRORS,
    call,
    difference,
    largest,
    mode,
    moved_a_little,
    rounding,
)

FAILS, WARNS, UNTRIED, HOLDS = "FAILS", "warning", "not tried", "holds"  # verdicts


class Subject:
    """A language model, called in one way: (batch, steps) ids -> (batch, steps, vocab_size)."""

    token = "token"  # what is changed, in sentences
    training = False  # the mode in which it is called
    with_grad = False  # PyTorch's layers take another path without

    def __init__(self, net, vocab_size, num_steps, batch_first):
        self.take(net, vocab_size, batch_first)
        self.num_ids = vocab_size  # that are given
        self.tokens = texts(vocab_size, num_steps).to(self.device)
        self.check_shape(
            "net(tokens)", "a model that reads fewer tokens: give num_steps"
        )

    def take(self, net, vocab_size, batch_first):
        """Take the model, and examine a copy that is moved a little."""
        if inspect.ismethod(net) and net.__name__ == "forward":
            net = net.__self__
        self.whole, self.net = net, moved_a_little(net)
        self.vocab_size, self.batch_first = vocab_size, batch_first

    def check_shape(self, called, remedy):
        """The model must return logits of the right shape."""
        try:
            shape = tuple(self(self.tokens).shape)
        except ERRORS as error:
            if str(error).startswith("net must return"):
                raise
            text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise ValueError(
                f"{called} must return logits (batch, steps, {self.vocab_size}), but raised "
                f"{text}. If net wants other arguments, write a module around it; {remedy}"
            ) from error
        due = *self.tokens.shape, self.vocab_size
        if shape != due:
            raise ValueError(f"{called} has the shape {shape}, and must have {due}")

    def as_given(self):
        """The model itself, with the weights that it came with."""
        return self.given(net=self.whole)

    @property
    def inputs(self):
        return (self.tokens,)

    @property
    def device(self):
        parameters = self.net.parameters() if self.is_module else iter(())
        return next((p.device for p in parameters), torch.device("cpu"))

    @property
    def is_module(self):
        return isinstance(self.net, nn.Module)

    def read(self, net, tokens):
        """The logits of net, which is the subject's or a copy of it."""
        return logits_of(
            net(tokens if self.batch_first else tokens.T), self.batch_first
        )

    def __call__(self, tokens):
        """The logits, 0 where they are no number: `numbers` says so, and the rest is compared."""

        def read(tokens):
            with torch.set_grad_enabled(self.with_grad):
                return self.read(self.net, tokens).detach()

        with mode(self.net, self.training):
            return call(read, tokens).nan_to_num(nan=0.0)

    def other(self, tokens):
        """Tokens that differ from these everywhere."""
        return others(tokens, self.num_ids)

    def given(self, **changes):
        """The same model in another mode, or with another source."""
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed

    def part(self, rows):
        """The same model with some of its texts, and these."""
        return self, self.tokens[rows]

    def in_other_company(self):
        """The same model and texts, all but the first of them others."""
        return self, torch.cat([self.tokens[:1], self.other(self.tokens)[1:]])

    def moved(self, tokens, before=None):
        """How far each position of each text moves (batch, steps), and what rounding may do."""
        before = self(self.tokens) if before is None else before
        return difference(self(tokens), before).amax(-1), rounding(before)


class Translation(Subject):
    """A translator: its target is examined as a text is, beside a source that stays the same."""

    token = "target token"

    def __init__(
        self, net, src_vocab_size, tgt_vocab_size, num_steps, batch_first, mask_means
    ):
        self.take(net, tgt_vocab_size, batch_first)
        self.mask_means = mask_means
        self.pad = mask_means if isinstance(mask_means, int) else None
        has_pad = self.pad is not None  # an id that no text may contain
        self.num_ids, self.src_num_ids = (
            tgt_vocab_size - has_pad,
            src_vocab_size - has_pad,
        )
        self.tokens = texts(self.num_ids, num_steps).to(self.device)
        # one step less than the target has, so that shapes tell them apart
        self.source = texts(self.src_num_ids, num_steps - 1).to(self.device)
        steps = num_steps - 1
        self.lens = torch.tensor([steps, steps - 1, steps - 2], device=self.device)
        called = "" if has_pad else ", src_mask" if mask_means else ", src_valid_lens"
        remedy = "if it takes a mask, or finds the padding by its id, see mask_means"
        self.check_shape(f"net(src, tgt{called})", remedy)

    def read(self, net, tokens):
        steps = torch.arange(self.source.shape[1], device=self.device)
        real = steps < self.lens[:, None]  # (batch, source steps)
        if getattr(getattr(net, "config", None), "is_encoder_decoder", False):
            output = net(
                input_ids=self.source, attention_mask=real.long(),
                decoder_input_ids=tokens, use_cache=False,
            )  # fmt: skip
            return logits_of(output)
        source = self.source
        if self.pad is None:
            given = [{None: self.lens, "keep": real, "block": ~real}[self.mask_means]]
        else:  # no id is that of the padding, but behind the end
            source, tokens = (ids + (ids >= self.pad) for ids in (source, tokens))
            source, given = source.where(real, torch.tensor(self.pad).to(source)), []
        if self.batch_first:
            return logits_of(net(source, tokens, *given))
        return logits_of(net(source.T, tokens.T, *given), batch_first=False)

    def part(self, rows):
        """The same translator with some of its pairs, and their targets."""
        pairs = self.given(source=self.source[rows], lens=self.lens[rows])
        return pairs, self.tokens[rows]

    def in_other_company(self):
        """The same translator and pairs, all but the first of them others."""
        source = others(self.source, self.src_num_ids)
        source = torch.cat([self.source[:1], source[1:]])
        lens = torch.cat([self.lens[:1], self.lens[1:].flip(0)])
        _, tokens = super().in_other_company()
        return self.given(source=source, lens=lens), tokens


def texts(vocab_size, num_steps) -> Tensor:
    """Three texts (3, num_steps), each of different tokens if the vocabulary has enough."""
    generator = torch.Generator().manual_seed(0)
    most = max(vocab_size, num_steps)
    rows = [torch.randperm(most, generator=generator)[:num_steps] for _ in range(3)]
    return torch.stack(rows) % vocab_size


def others(tokens, vocab_size):
    """Tokens that differ from these everywhere."""
    return (tokens + 1 + tokens % (vocab_size - 1)) % vocab_size


def logits_of(output, batch_first=True) -> Tensor:
    """The logits (batch, steps, vocab_size) in what a model returns."""
    output = output.get("logits") if isinstance(output, Mapping) else output
    output = getattr(output, "logits", output)
    while isinstance(output, tuple | list) and output:
        three = (x for x in output if isinstance(x, Tensor) and x.dim() == 3)
        output = next(three, output[0])  # (loss, logits), or (logits, weights)
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise TypeError(f"net must return logits, a torch.Tensor, got a {kind}")
    return output if batch_first or output.dim() < 2 else output.transpose(0, 1)


def culprit(subject, before, after, places) -> tuple[str, nn.Module, list] | None:
    """The innermost part whose output moves at some places although its input does not there.

    Args:
        before, after: token ids.
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


def moved_at(a, b) -> Tensor | None:
    """At which steps two tensors (batch, steps, ...) differ, (steps,); None if they are none."""
    if a is None or b is None or a.shape != b.shape or a.dim() < 2:
        return None
    return difference(a, b).reshape(*a.shape[:2], -1).amax((0, 2)) > rounding(a)
