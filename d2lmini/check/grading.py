"""Compare an answer with a reference and, if it is wrong, with known mistakes."""

import contextlib
import copy
import difflib
import importlib
import inspect
import io
import linecache
import textwrap
from collections.abc import Callable
from random import Random

import torch

from d2lmini.check.answers import (
    can_be_drawn,
    difference,
    form_problem,
    picture,
    short,
    unchanged,
)
from d2lmini.check.exercise import Exercise
from d2lmini.support.chapters import CHAPTERS, EXERCISE_PAGES

# the device of cases, whatever default device a reader has set
CPU = torch.device("cpu")
RIGHT, ALMOST, WRONG, NOT_ATTEMPTED = "right", "almost", "wrong", "not attempted"
DRAWN = 3  # extra random cases, the same in each check
PRINTED = 20, 1000  # lines and characters shown of an answer's output


class WrongAnswer(Exception):
    """An answer is wrong; the text tells the reader how."""

    verdict, agrees = WRONG, ()  # agrees: whether each case agrees, if all were tried


class NearlyRight(WrongAnswer):
    """Most or all cases agree, but something is still wrong."""

    verdict = ALMOST


class Ended(Exception):
    """An answer was stopped, or ended its process; the text tells the reader why."""


class NotAttempted(Exception):
    """The answer is still the notebook's stub, which raises NotImplementedError."""


class FirstPrinted(io.TextIOBase):
    """A sys.stdout that keeps the beginning of the first call's output."""

    def __init__(self):
        self.text, self.is_first = "", True

    def write(self, text):
        if self.is_first:
            self.text = (self.text + text)[: PRINTED[1] + 1]
        return len(text)

    def shown(self):
        """The output as lines below a verdict; empty if there was none."""
        lines = self.text[: PRINTED[1]].rstrip("\n").split("\n")
        cut = len(lines) > PRINTED[0] or len(self.text) > PRINTED[1]
        lines = lines[: PRINTED[0]] + ["..."] * cut
        return (
            "\n" + "\n".join(f"printed  {line}" for line in lines) if self.text else ""
        )


def all_exercises() -> dict[str, Exercise]:
    """Name -> exercise, in the order of the book."""
    with CPU:
        modules = [
            importlib.import_module(f"d2lmini.exercises.{name}")
            for name in EXERCISE_PAGES
        ]
    return {e.name: e for module in modules for e in module.EXERCISES}


def find(name: str) -> Exercise:
    """Find an exercise by name.

    Raises:
        ValueError: there is no such exercise; the text lists similar names.
    """
    if not isinstance(name, str):
        rule = 'the name comes first, as in check.exercise("masks-1", my_function)'
        raise ValueError(f"name ({short(name)}) must be a string: {rule}")
    known = all_exercises()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        close = close or [f"{chapter}-1" for chapter in CHAPTERS]
        raise ValueError(f"exercise {name!r} is unknown; perhaps {', '.join(close)}?")
    return known[name]


def grade(found: Exercise, answer: Callable) -> tuple[str, str]:
    """Return the verdict and a message: a sentence, and perhaps lines that show a case.

    The output of the answer's first call goes into the message; nothing is printed.
    """
    return grade_with_share(found, answer)[:2]


def grade_with_share(found: Exercise, answer: Callable) -> tuple[str, str, float]:
    """Like grade, and also return the share of the points that the answer earns."""
    if not callable(answer):
        message = f"The answer must be a function, got {type(answer).__name__} {short(answer)}."
        return WRONG, message, 0.0
    with CPU:
        found = found.drawn(Random(found.name), DRAWN)
    printed = FirstPrinted()
    try:
        with contextlib.redirect_stdout(printed), CPU:
            _compare(found, answer, printed)
    except NotAttempted:
        return NOT_ATTEMPTED, "Replace the line that raises NotImplementedError.", 0.0
    except WrongAnswer as error:
        with CPU:
            share = share_right(found, error.agrees) if error.agrees else 0.0
        return error.verdict, str(error) + printed.shown(), share
    except Ended as error:
        return WRONG, str(error) + printed.shown(), 0.0
    number = len(list(found.cases))
    agree = f"All {number} cases agree." if number > 1 else "The one case agrees."
    holds = " The properties hold." if found.properties else ""
    return RIGHT, agree + holds + printed.shown(), 1.0


def share_right(found: Exercise, agrees: list[bool]) -> float:
    """The share of cases that agree, beyond those that a constant answer would get right.

    If all cases agree but the answer is still wrong, the broken property counts as a case.

    Args:
        agrees: whether each case agrees, in order.
    """
    wanted = [found.reference(*copy.deepcopy(case)) for case in found.cases]
    constant = max(
        sum(not difference(a, b, found.tolerance) for b in wanted) for a in wanted
    )
    others = len(wanted) + all(agrees) - constant
    return max(0.0, (sum(agrees) - constant) / others) if others else 0.0


def _compare(found, answer, printed):
    """Raise WrongAnswer if an answer differs from the reference, showing the smallest case.

    The exception records which cases agree.
    """
    tried, wrong, agrees = (
        [],
        [],
        [],
    )  # the answer is called only once per case, since it may be slow
    failed, raised = [], None
    for case in found.cases:
        expected = found.reference(*copy.deepcopy(case))
        try:
            got, due = _seen(found, _call(answer, case), expected, case)
        except WrongAnswer as error:
            raised = raised or error
            failed.append(case)
            agrees.append(False)
            continue
        finally:
            printed.is_first = False
        tried.append((case, expected, got))
        problem = difference(got, due, found.tolerance)
        agrees.append(not problem)
        if problem:
            wrong.append((problem, case, got, due))
    try:
        if raised and not wrong:
            raise raised
        if wrong and (mistake := _diagnose(found, tried, failed)):
            raise WrongAnswer(f"This behaves like {mistake}.")
        _judge(found, answer, wrong, agrees)
    except WrongAnswer as error:
        error.agrees = agrees
        raise


def _judge(found, answer, wrong, agrees):
    """Raise the verdict on an answer without a known mistake; return if it is right."""
    if wrong:
        problem, case, got, due = wrong[0]
        if form_problem(got, due):
            # one answer of many is not shown: it would be taken for the right one
            raise WrongAnswer(
                problem + _shown(answer, case, got, None if found.effect else due)
            )
        kind = NearlyRight if 2 * sum(agrees) >= len(agrees) else WrongAnswer
        if found.effect:
            problem = f"{inspect.getdoc(found.effect)} {problem}"
        if any(agrees):
            problem = f"{sum(agrees)} of {len(agrees)} cases agree. {problem}"
        shown = _shown(answer, case, got, due)
        raise kind(f"{problem}{shown}\n{_broken(found, answer, False)}".rstrip())
    if broken := _broken(found, answer):
        raise NearlyRight(f"All cases agree, but a property does not hold.\n{broken}")


def _seen(found, output, due, case):
    """The values to compare: the outputs or, if their form is right, their effects."""
    if found.effect is None:
        return output, due
    output = _as_due(output, due)
    if form_problem(output, due):
        return output, due
    try:
        return tuple(found.effect(x, *copy.deepcopy(case)) for x in (output, due))
    except Exception as error:
        text = str(error).partition("\n")[0]
        raise WrongAnswer(f"The output cannot be used: {text}") from None


def _as_due(output, due):
    """Convert tensors to the expected dtype: if an effect is compared, any dtype will do."""
    if isinstance(due, torch.Tensor) and isinstance(output, torch.Tensor):
        return output.to(due.dtype)
    several = isinstance(due, tuple) and isinstance(output, tuple | list)
    if several and len(output) == len(due):
        return tuple(_as_due(o, d) for o, d in zip(output, due, strict=True))
    return output


def _broken(found, answer, failures=True):
    """The text of the first property that does not hold; empty if all hold.

    failures: whether a property that could not be tried counts as broken.
    """
    for holds in found.properties:
        try:
            result = holds(answer)
        except (Ended, KeyboardInterrupt):
            raise
        except BaseException as error:
            if failures:
                return f"A property could not be tried: {type(error).__name__}: {error}"
            continue
        if not result:
            return str(result)
    return ""


def _call(answer, case):
    """Return the answer's output, or raise WrongAnswer with a short explanation."""
    name = getattr(answer, "__name__", type(answer).__name__)
    try:
        inspect.signature(answer).bind(*case)
    except TypeError:
        signature = inspect.signature(answer)
        number = f"{len(case)} argument{'s' * (len(case) != 1)}"
        raise WrongAnswer(
            f"{name}{signature} cannot be called with {number}, which is what it gets."
        ) from None
    except ValueError:
        pass  # a builtin without a signature
    arguments = copy.deepcopy(case)  # no answer may change the originals
    try:
        got = answer(*arguments)
    except (Ended, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit, too
        if type(error) is NotImplementedError and not error.args:
            # those of PyTorch have a text
            raise NotAttempted from None
        text = str(error).partition("\n")[0]
        raise WrongAnswer(
            f"{name} raised {type(error).__name__}: {text}"
            f"{_own_line(answer, error)}\nwith     {_named(answer, case)}"
        ) from None
    if got is None:
        raise WrongAnswer(
            f"{name} returned None. Is a return statement missing?"
            f"\nwith     {_named(answer, case)}"
        )
    if not unchanged(arguments, case):
        raise WrongAnswer(
            f"{name} changed its argument. Work on a copy: the caller needs it."
        )
    return got


def _own_line(answer, error):
    """The last line of the reader's own code in the traceback, as a line of the message."""
    if hasattr(error, "own_line"):  # from another process
        return f"\nin       {error.own_line}" if error.own_line else ""
    code = getattr(inspect.unwrap(answer), "__code__", None)
    number, frame = None, error.__traceback__
    while frame is not None and code is not None:
        if frame.tb_frame.f_code.co_filename == code.co_filename:
            number = frame.tb_lineno
        frame = frame.tb_next
    line = linecache.getline(code.co_filename, number).strip() if number else ""
    return f"\nin       {line}" if line else ""


def _diagnose(found, tried, failed):
    """The known mistake that reproduces the answer in every case, if there is one.

    Args:
        tried: for each case, its arguments, the expected output, and what is compared with it.
        failed: cases for which the answer returned nothing; the mistake must fail there too.
    """
    for text, mistake in found.mistakes.items():
        with contextlib.suppress(Exception):
            agrees = all(
                not difference(
                    got,
                    _seen(found, mistake(*copy.deepcopy(case)), expected, case)[0],
                    found.tolerance,
                )
                for case, expected, got in tried
            )
            if agrees and all(_fails(mistake, case) for case in failed):
                return text
    return None


def _fails(mistake, case):
    """Whether a function raises an error or returns None for a case."""
    try:
        return mistake(*copy.deepcopy(case)) is None
    except Exception:
        return True


def _shown(answer, case, got, due):
    """Show the case, the expected value, if any, and the actual one; masks as pictures."""
    if not case:  # a prediction: the expected value is the solution
        return ""
    drawn = can_be_drawn(due) and can_be_drawn(got) and due.shape == got.shape
    show = picture if drawn else short
    lines = ["", f"with     {_named(answer, case)}"]
    for name, value in (("expected", due), ("got     ", got)):
        if value is not None:
            lines.append(f"{name} {textwrap.indent(show(value), 9 * ' ').strip()}")
    return "\n".join(lines) + ("\n(■ may attend, · may not)" if drawn else "")


def _named(answer, case):
    """Show the arguments of a case, with the names of the answer's parameters."""
    try:
        names = inspect.signature(answer).parameters
        called = [f"{n} = {short(value)}" for n, value in zip(names, case, strict=True)]
    except ValueError:  # a builtin without a signature, or *args
        called = [short(value) for value in case]
    return ", ".join(called) or "no arguments"
