"""The examinations of a translator that ask about its source; see examinations.py."""

import torch
from torch import nn

from d2lmini.check import padding_and_cache
from d2lmini.check.examinations import EXAMINATIONS, FAILS, HOLDS, UNTRIED, WARNS
from d2lmini.check.trying import difference, rounding
from d2lmini.check.whole_models import others, traced


def source(subject):
    """Each source token moves the outputs."""
    blind, seen, steps = [], [], subject.source.shape[1]
    usual = subject(subject.tokens)
    for t in range(steps):
        changed = subject.source.clone()
        changed[:, t] = others(changed, subject.src_num_ids)[:, t]
        moved = difference(subject.given(source=changed)(subject.tokens), usual).amax(
            -1
        )
        seen.append(moved > rounding(usual))  # (batch, outputs)
        if not seen[-1][0].any():  # the first source has no padding
            blind.append(t)
    if not blind:
        if (unseen := torch.stack(seen, dim=1)[0].logical_not()).any():
            output, token = unseen.nonzero()[0].tolist()
            sentence = f"The output at position {output} does not depend on source token {token}."
            cause = (
                "a causal mask in the cross-attention, or another that hides too much"
            )
            return (
                WARNS,
                sentence,
                cause,
                "chapter 8, A decoder block, and why it has two attentions",
            )
        return HOLDS, "The outputs depend on all source tokens."
    if len(blind) == steps:
        sentence = "The outputs do not depend on the source."
        cause = "cross-attention that is lost or reads the target, or an inverted mask"
        return (
            FAILS,
            sentence,
            cause,
            "chapter 8, A decoder block, and why it has two attentions",
        )
    sentence = f"No output depends on source tokens {blind}."
    if blind == [steps - 1]:
        cause = "a padding mask that ends one token early"
        return FAILS, sentence, cause, "chapter 2, Padding"
    return WARNS, sentence, "a window, or a mask that hides too much", "chapter 2"


def source_order(subject):
    """The outputs depend on the order of the source."""
    turned = subject.source.clone()
    turned[0] = turned[0].flip(0)  # the first source has no padding
    size, limit = _moved(subject, source=turned)
    if size[0] > limit:
        return HOLDS, "The outputs depend on the order of the source."
    sentence = "With the source reversed, the outputs are the same."
    cause = "positions that are not added to the source, or thrown away"
    return FAILS, sentence, cause, "chapter 3; museum, 8 and 17"


def encoder(subject):
    """The first place of the encoder hears of the last source token."""
    if not subject.is_module or not subject.batch_first:
        return UNTRIED, "The parts of net are unknown."
    changed = subject.source.clone()
    changed[:, -1] = others(changed, subject.src_num_ids)[:, -1]
    moves = [went for *_, went in _parts_that_move(subject, changed)
             if went.shape == changed.shape]  # fmt: skip
    first = subject.source.clone()
    first[:, 0] = others(first, subject.src_num_ids)[:, 0]
    mixing = [went for *_, went in _parts_that_move(subject, first)
              if went.shape == first.shape and went[0, 1:].any()]  # fmt: skip
    if not any(went[0, -1] for went in moves) or not mixing:
        return UNTRIED, "No part of net mixes its source tokens, batch first."
    if any(went[0, 0] for went in moves):
        return HOLDS, "Source tokens are read in both directions."
    sentence = "Changing the last source token moves no part of the encoder at place 0."
    cause = "a causal mask in the encoder"
    return WARNS, sentence, cause, "chapter 2, Blind to the future"


def source_padding(subject):
    """Nothing behind the end of a source matters."""
    padding = _steps(subject) >= subject.lens[:, None]
    new = others(subject.source, subject.src_num_ids)
    changed = torch.where(padding, new, subject.source)
    for is_training, when in ((False, ""), (True, " in training mode")):
        subject = subject.given(training=is_training)
        size, limit = _moved(subject, source=changed)
        if size.max() > limit:
            sentence = f"Padding of the source moves outputs by {size.max():.2g}{when}"
            cause, place = _why_padding_matters(subject, changed, new, padding, limit)
            return FAILS, f"{sentence}{place}.", cause, "chapter 2, Padding; museum, 2"
    subject = subject.given(training=False)
    longer = torch.cat([subject.source, subject.source[:, :1]], dim=1)
    size, limit = _moved(subject, source=longer)
    if size.max() > limit:
        sentence = f"One more step of padding moves outputs by {size.max():.2g}."
        cause = "positions counted from the end, or a mean over all steps"
        if subject.pad is not None:
            cause = f"no padding mask for the id {subject.pad}, or {cause}"
        return FAILS, sentence, cause, "chapter 2, Padding"
    return HOLDS, "Padding of the source moves no output."


def _why_padding_matters(subject, changed, new, padding, limit):
    """The likely cause, and the part where it begins."""
    size, _ = _moved(subject, source=torch.where(padding, subject.source, new))
    if size[-1] <= limit:  # its real tokens do not matter
        return (
            "an inverted padding mask: True means may in one place, may not in another",
            "",
        )
    last = _steps(subject) == changed.shape[1] - 1  # of two tokens of padding
    size, _ = _moved(subject, source=torch.where(last, changed, subject.source))
    if size[-1] <= limit:
        return "a padding mask that ends one token late", ""
    if any(isinstance(part, nn.RNNBase) for part in _modules(subject)):
        return "a recurrent state that is read behind the end of the source", ""
    parts = [*_parts_that_move(subject, changed)]
    shape = tuple(changed.shape)
    read = [(n, p, (came & ~padding).any(), (went & ~padding).any())
            for n, p, came, went in parts if came.shape == went.shape == shape]  # fmt: skip
    for name, part, came, went in read:
        if went and not came:
            place = f", first in {name} ({type(part).__name__})"
            return "no padding mask in the encoder, or a mean over all its steps", place
    if any(came for *_, came, _ in read):
        return "a mean over all steps, or another sum that no mask reaches", ""
    for name, part, came, went in parts:
        if (
            went.shape != shape
            and went.any()
            and not (came.shape != shape and came.any())
        ):
            place = f", first in {name} ({type(part).__name__})"
            return "no padding mask in the cross-attention, or the target's", place
    return "no padding mask in the encoder, or none in the cross-attention", ""


def _modules(subject):
    """The parts of the model, if they are known."""
    return subject.net.modules() if subject.is_module else ()


def _steps(subject):
    """The steps of the source, 0, 1, ..."""
    return torch.arange(subject.source.shape[1], device=subject.device)


def cache(subject):
    """Said to be left out: a translator may keep many things, and call them what it likes."""
    sentence = (
        "A translator's cache is not tried here; check.incremental tries a decoder's."
    )
    return UNTRIED, sentence


def _moved(subject, **changes):
    """How far the outputs of each pair move (batch,), and what rounding may do."""
    before = subject(subject.tokens)
    after = subject.given(**changes)(subject.tokens)
    return difference(before, after).amax((1, 2)), rounding(before)


def _parts_that_move(subject, changed):
    """(name, part, where its input moves, where its output does) with another source.

    Only parts whose output has an entry for each token, of source or target.
    """
    if not subject.is_module or not subject.batch_first:
        return
    runs = (traced(s, s.tokens) for s in (subject, subject.given(source=changed)))
    sizes = changed.shape, subject.tokens.shape
    for (name, part, *one), (*_, came, went) in zip(*runs, strict=True):
        pairs = [*zip(one, (came, went), strict=True)]
        shapes = [tuple(t.shape[:2]) if t is not None else None
                  for pair in pairs for t in pair]  # fmt: skip
        if all(shape in sizes for shape in shapes):
            yield name, part, *(_where_it_moves(*pair) for pair in pairs)


def _where_it_moves(a, b):
    """The places (batch, steps) at which two tensors differ."""
    moved = difference(a, b).reshape(*a.shape[:2], -1).amax(-1)
    return moved.to(a.device) > rounding(a)


OF_TEXTS = padding_and_cache.padding, padding_and_cache.cache
OF_TRANSLATORS = (
    *(examine for examine in EXAMINATIONS if examine not in OF_TEXTS),
    source, source_order, source_padding, encoder, cache,
)  # fmt: skip
