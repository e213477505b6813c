"""The definition of an exercise; the exercises themselves are in d2lmini.exercises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from d2lmini.check.drawing import Dice


@dataclass
class Exercise:
    """Everything that the check of one exercise needs.

    Args:
        name: chapter and number, such as "masks-2".
        reference: a correct answer, a function.
        cases: arguments for the answer, smallest first.
        mistakes: description of a mistake -> an answer that makes it. The description
            completes "This behaves like ...".
        hints: three hints, each closer to the solution than the one before.
        tolerance: the relative and absolute tolerance of numbers.
        properties: functions of an answer; each returns a check.Result that must hold.
        draw: draws another case from the dice; None for a prediction, which has one case.
        unseen: whether the answer should make the same mistake as a module that cannot be
            read, check.mystery(name), which is the reference.
        effect: what is compared instead of the output if many outputs are correct; called with
            (output, *case). Its docstring tells the reader what it measures.
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
        """The same exercise with this many more cases."""
        further = [self.draw(Dice(random)) for _ in range(number)] if self.draw else []
        return replace(self, cases=[*self.cases, *further])
