"""One exercise, as its check knows it; the exercises themselves are in d2lmini.exercises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from d2lmini.check.drawing import Dice


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
        draw: a further case from the dice; None for a prediction, which has one case.
        unseen: whether the answer is to make the mistake of a module that cannot be read,
            check.mystery(name), which is the reference.
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
    draw: Callable[[Dice], tuple] | None = None
    unseen: bool = False
    effect: Callable | None = None

    def drawn(self, random: Random, number: int) -> "Exercise":
        """The same exercise with so many more cases."""
        further = [self.draw(Dice(random)) for _ in range(number)] if self.draw else []
        return replace(self, cases=[*self.cases, *further])
