"""What is wrong with a model? One report on the whole of it, whoever wrote it.

Each examination changes something that must not matter, or compares two things that must agree,
and says in a sentence what moved, what usually causes it, and where the book explains it.
"""

import textwrap
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from d2lmini.check.attentions import OF_ATTENTION, Attention
from d2lmini.check.examinations import (
    EXAMINATIONS,
    FAILS,
    HOLDS,
    UNTRIED,
    WARNS,
    eval_mode,
    numbers,
)
from d2lmini.check.sources import OF_TRANSLATORS
from d2lmini.check.trying import ERRORS, check_tried, same_draws
from d2lmini.check.whole_models import Subject, Translation
from d2lmini.support.arguments import check_at_most, check_count, check_kind


@dataclass
class Finding:
    """What one examination found.

    Args:
        name: of the examination.
        verdict: "FAILS", "warning" (a correct model may do so), "not tried" or "holds".
        sentence: the smallest case that shows it.
        cause: what usually causes it, likeliest first.
        section: where the book explains it.
    """

    name: str
    verdict: str
    sentence: str
    cause: str = ""
    section: str = ""

    def __repr__(self):
        parts = [f"{self.name}: {self.verdict}. {self.sentence}"]
        if self.verdict in (FAILS, WARNS) and self.cause:
            parts.append(f"Likely: {self.cause} ({self.section}).")
        return textwrap.fill(" ".join(parts), 88, subsequent_indent="    ")


@dataclass
class Report:
    """All findings, worst first; true if nothing fails, so that it can be asserted."""

    findings: list[Finding]
    note: str = ""

    def __post_init__(self):
        order = FAILS, WARNS, UNTRIED, HOLDS
        # logits that are no numbers are often a consequence of another fault
        self.findings.sort(
            key=lambda found: (
                order.index(found.verdict),
                found.sentence.startswith(("Logits are not finite", "In ")),
            )
        )

    def __bool__(self):
        return all(found.verdict != FAILS for found in self.findings)

    def __repr__(self):
        counts = Counter(found.verdict for found in self.findings)
        numbers = ", ".join(f"{verdict} {number}" for verdict, number in counts.items())
        head = [f"{len(self.findings)} examinations: {numbers}"]
        if self.note:
            head.append(self.note)
        return "\n".join([*head, *map(repr, self.findings)])


def _quiet(function):
    """Keep the warnings of a model that is called to itself, such as PyTorch's of prototypes."""

    @wraps(function)
    def examine(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return examine


@_quiet
def language_model(
    net: Callable, vocab_size: int, num_steps: int = 8, batch_first: bool = True
) -> Report:
    """Examine a model that scores the next token at each position of a text.

    Nothing of it is changed: weights, mode and random numbers are afterwards as before.

    Args:
        net: net(tokens) -> logits (batch, steps, vocab_size), alone, first in a tuple, or as the
            attribute `logits` of what it returns.
        num_steps: length of the texts tried, at most what the model can read.
        batch_first: False for a model that reads (steps, batch).
    Shapes:
        tokens: (batch, steps), integers from 0 to vocab_size - 1
    Raises:
        ValueError: the logits have another shape.
    Source: chapter 8.
    """
    check_tried(net=net)
    check_count("vocab_size", vocab_size, 2)
    check_count("num_steps", num_steps, 3)  # two earlier tokens, to exchange
    check_kind("batch_first", batch_first, bool, "True or False")

    def report(batch_first):
        subject = Subject(net, vocab_size, num_steps, batch_first)
        return _examine(subject, EXAMINATIONS)

    return _either_way(report, batch_first)


@_quiet
def translator(
    net: Callable,
    src_vocab_size: int,
    tgt_vocab_size: int,
    num_steps: int = 8,
    batch_first: bool = True,
    mask_means: str | int | None = None,
) -> Report:
    """Examine a model that scores the next target token, given a source and the target so far.

    Nothing of it is changed: weights, mode and random numbers are afterwards as before.

    Args:
        net: net(src, tgt, src_valid_lens) -> logits (batch, steps, tgt_vocab_size), alone, first
            in a tuple, or as the attribute `logits`; or an encoder-decoder of Hugging Face.
        num_steps: length of the targets tried; the sources are one token shorter.
        batch_first: False for a model that reads (steps, batch).
        mask_means: for a model that takes a boolean mask of the source, (batch, source steps),
            in place of valid lengths: "keep" if True means a real token, "block" if padding.
            For a model net(src, tgt) that knows padding by its id, that id.
    Shapes:
        src: (batch, source steps), integers; tgt: (batch, steps); src_valid_lens: (batch,)
    Raises:
        ValueError: the logits have another shape, or mask_means is something else.
    Source: chapter 8.
    """
    check_tried(net=net)
    check_count("src_vocab_size", src_vocab_size, 2)
    check_count("tgt_vocab_size", tgt_vocab_size, 2)
    check_count("num_steps", num_steps, 5)  # sources of two tokens and padding
    check_kind("batch_first", batch_first, bool, "True or False")
    if type(mask_means) is int:
        sizes = min(src_vocab_size, tgt_vocab_size)
        check_at_most("mask_means", mask_means, "vocab_size - 1", sizes - 1)
    elif mask_means not in (None, "keep", "block"):
        rule = 'must be None, "keep", "block" or the id of the padding'
        raise ValueError(f"mask_means ({mask_means!r}) {rule}")
    sizes = src_vocab_size, tgt_vocab_size, num_steps

    def report(batch_first):
        subject = Translation(net, *sizes, batch_first, mask_means)
        return _examine(subject, OF_TRANSLATORS)

    return _either_way(report, batch_first)


@_quiet
def attention(
    layer: Callable, num_hiddens: int = 16, mask_means: str = "keep"
) -> Report:
    """Examine an attention layer, or a function such as F.scaled_dot_product_attention.

    Args:
        layer: layer(queries, keys, values, mask) -> output, alone or first in a tuple; or an
            nn.MultiheadAttention.
        num_hiddens: width of the queries, keys and values.
        mask_means: "keep" if True in a boolean mask means that a key may be seen, "block" if it
            may not. (For nn.MultiheadAttention it is known.)
    Shapes:
        queries, output: (batch, queries, num_hiddens) for a module, for a function
            (batch, heads, queries, num_hiddens); keys, values: likewise
        mask: (batch, 1, queries, keys); if the layer refuses it, (batch, queries, keys)
    Raises:
        ValueError: the output has another shape, or mask_means is something else.
    Source: chapter 5.
    """
    check_tried(layer=layer)
    check_count("num_hiddens", num_hiddens, 2)
    if mask_means not in ("keep", "block"):
        raise ValueError(f'mask_means ({mask_means!r}) must be "keep" or "block"')
    return _examine(Attention(layer, num_hiddens, mask_means), OF_ATTENTION)


def _either_way(report: Callable, batch_first: bool) -> Report:
    """The report; where the axes may be exchanged, say whether the other order mends it."""

    def mended():
        try:
            return bool(report(not batch_first))
        except ERRORS:
            return False

    note = f"With batch_first={not batch_first} nothing fails."
    try:
        found = report(batch_first)
    except ValueError as error:
        if mended():
            raise ValueError(f"{error}. {note}") from error
        raise
    is_mixed = any(f.name == "batch" and f.verdict == FAILS for f in found.findings)
    if is_mixed and mended():
        found.note = note
    return found


OF_OTHER_SHAPES = (
    "length",
    "batch",
    "padding",
    "cache",
)  # not comparable if numbers are drawn


def _examine(subject, examinations) -> Report:
    """Take the examinations one by one; one that raises an error is not tried, and says so."""
    findings, draws = [], False
    for examine in examinations:
        name = examine.__name__.replace("_", " ")
        if draws and name in OF_OTHER_SHAPES:
            sentence = "Outputs differ from call to call (see eval mode)."
            findings.append(Finding(name, UNTRIED, sentence))
            continue
        found = _tried(examine, subject)
        findings.append(Finding(name, *found))
        draws |= examine is eval_mode and found[0] != HOLDS
        failed = examine is numbers and found[0] == FAILS
        if failed and not subject(*subject.inputs).any():
            subject = subject.given(
                with_grad=True
            )  # another path through PyTorch's layers
            if not subject(*subject.inputs).any():
                break  # there is nothing to compare
    return Report(findings)


def _tried(examine, subject):
    """What one examination finds; PyTorch's faster path, without gradients, may raise an error."""
    for with_grad in (False, True):
        try:
            with same_draws(*subject.inputs):
                return examine(subject.given(with_grad=True) if with_grad else subject)
        except ERRORS as error:
            text = str(error).partition("\n")[0]
    return UNTRIED, f"It raised: {text}"
