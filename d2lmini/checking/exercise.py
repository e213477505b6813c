"""One exercise, as its check knows it; the exercises themselves are in d2lmini.exercises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass
class Exercise:
    """What the check of one exercise knows.

    Args:
        name: chapter and number, such as "masks-2".
        reference: a right answer, a function.
        cases: arguments to call an answer with, smallest first.
        mistakes: what a wrong answer amounts to -> an answer that makes this mistake. The
            text completes "This behaves like ...".
        hints: three, each nearer to the solution than the one before.
        tolerance: relative and absolute, of numbers.
        properties: functions of an answer, each of which returns a check.Result that must hold.
        effect: where many outputs are right, what is compared in their place: called with
            (output, *case). Its docstring says to the reader what it measures.
    Source: chapter 2.
    """

    name: str
    reference: Callable
    cases: Iterable[tuple]
    mistakes: dict[str, Callable]
    hints: tuple[str, str, str]
    tolerance: float = 1e-4
    properties: tuple[Callable, ...] = ()
    effect: Callable | None = None
