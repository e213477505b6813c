"""Exercises: answers are compared with a reference and, if wrong, with known mistakes.

Readers call this module through d2lmini.check.
"""

import copy
import difflib
import importlib
import importlib.metadata
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from d2lmini.chapters import CHAPTERS
from d2lmini.checking.answers import difference, short, unchanged
from d2lmini.checking.exercise import Exercise
from d2lmini.checking.time_limit import Stop, TookTooLong, within_time

CPU = torch.device("cpu")  # where cases lie, whatever device a reader has made the default
RIGHT, WRONG, NOT_ATTEMPTED = "right", "wrong", "not attempted"


@dataclass
class Record:
    """What a reader did about one exercise."""

    verdict: str = NOT_ATTEMPTED
    attempts: int = 0
    hints_used: int = 0


records: dict[str, Record] = {}
under_way: set[str] = set()  # names of the exercises that are graded just now


class WrongAnswer(Exception):
    """An answer is wrong; the text says how, to the reader."""


class NotAttempted(Exception):
    """The answer is the stub of the notebook, which raises NotImplementedError."""


def all_exercises() -> dict[str, Exercise]:
    """Name -> exercise, in the order of the book."""
    with CPU:
        modules = [
            importlib.import_module(f"d2lmini.exercises.{name}") for name in CHAPTERS
        ]
    return {e.name: e for module in modules for e in module.EXERCISES}


def find(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        ValueError: there is none; the text lists names that are close.
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


def exercise(name: str, answer: Callable) -> None:
    """Say whether an answer is right, and if not, what is wrong with it.

    Args:
        name: of the exercise, such as "masks-2".
        answer: the function that the exercise asks for.
    Raises:
        RuntimeError: the call stands inside the answer, which would be graded for ever.
    Source: chapter 1.
    """
    try:
        found = find(name)
    except ValueError as error:
        print(error)
        return
    if name in under_way:
        rule = f'move check.exercise("{name}", ...) out of the function'
        raise RuntimeError(f"the answer hands itself in; {rule}")
    under_way.add(name)
    try:
        verdict, message = grade(found, answer)
    finally:
        under_way.discard(name)
    record = records.setdefault(name, Record())
    record.attempts += verdict != NOT_ATTEMPTED
    record.verdict = verdict if verdict != NOT_ATTEMPTED else record.verdict
    print(f"{name}: {verdict}. {message}")


def hint(name: str) -> None:
    """Print the next of an exercise's three hints.

    Source: chapter 1.
    """
    try:
        hints = find(name).hints
    except ValueError as error:
        print(error)
        return
    record = records.setdefault(name, Record())
    if record.hints_used == len(hints):
        print(
            f"{name}: those were all {len(hints)} hints. The solution is in the fold below."
        )
        return
    record.hints_used += 1
    print(
        f"{name}, hint {record.hints_used} of {len(hints)}: {hints[record.hints_used - 1]}"
    )


def report(path: str | Path) -> None:
    """Write what was done about each exercise to a JSON file.

    A file that is there already is brought up to date: results of exercises that were not
    touched since this Python started are kept.

    Args:
        path: of the file, such as "answers.json".
    Raises:
        ValueError: the file is there and holds something else.
    Source: chapter 1.
    """
    path = Path(path)
    entries = {name: vars(Record()) for name in all_exercises()}
    if path.exists():
        try:
            former = json.loads(path.read_text(encoding="utf-8"))["exercises"]
            entries |= {key: vars(Record(**entry)) for key, entry in former.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"path ({path}) must be a new file or a former report"
            ) from error
    entries |= {name: vars(record) for name, record in records.items()}
    version = importlib.metadata.version("d2lmini")
    text = json.dumps({"version": version, "exercises": entries}, indent=1)
    # Written elsewhere first: a crash halfway must not cost the former report.
    target = path.resolve()  # what a link leads to
    with TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        new = Path(folder) / target.name
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(target)
    solved = sum(entry["verdict"] == RIGHT for entry in entries.values())
    print(f"{path}: {solved} of {len(entries)} exercises right")


def grade(found: Exercise, answer: Callable) -> tuple[str, str]:
    """Verdict and what to tell the reader."""
    if not callable(answer):
        message = (
            f"The answer must be a function, got {type(answer).__name__} {short(answer)}."
        )
        return WRONG, message

    def judge(timed):
        with CPU:
            _compare(found, timed)

    try:
        within_time(judge, answer)
    except NotAttempted:
        return NOT_ATTEMPTED, "Replace the line that raises NotImplementedError."
    except (WrongAnswer, TookTooLong) as error:
        return WRONG, str(error)
    number = len(list(found.cases))
    agree = f"All {number} cases agree." if number > 1 else "The one case agrees."
    return RIGHT, agree + (" The properties hold." if found.properties else "")


def _compare(found, answer):
    """Raise WrongAnswer at the first case in which an answer differs from the reference."""
    for case in found.cases:
        due = found.reference(*copy.deepcopy(case))
        got = _call(answer, case)
        problem = difference(got, due, found.tolerance)
        if problem:
            if mistake := _diagnose(found, answer):
                raise WrongAnswer(f"This behaves like {mistake}.")
            # Without arguments it is a prediction, and what was expected is the solution.
            shown = f"\n{_show(answer, case, got, due)}" if case else ""
            raise WrongAnswer(f"{problem}{shown}\n{_broken(found, answer)}".rstrip())
    if broken := _broken(found, answer):
        raise WrongAnswer(f"All cases agree, but a property does not hold.\n{broken}")


def _broken(found, answer):
    """What the first property that does not hold says; empty if all hold."""
    for holds in found.properties:
        try:
            result = holds(answer)
        except BaseException as error:
            return f"A property could not be tried: {type(error).__name__}: {error}"
        if not result:
            return str(result)
    return ""


def _call(answer, case):
    """The answer's output, or WrongAnswer in one line."""
    name = getattr(answer, "__name__", type(answer).__name__)
    try:
        inspect.signature(answer).bind(*case)
    except TypeError:
        signature = inspect.signature(answer)
        number = f"{len(case)} argument{'s' * (len(case) != 1)}"
        raise WrongAnswer(
            f"{name}{signature} cannot be called with {number}, as it will be."
        ) from None
    except ValueError:
        pass  # a builtin without a signature
    arguments = copy.deepcopy(case)  # no answer may change the originals
    try:
        got = answer(*arguments)
    except BaseException as error:  # sys.exit, too
        if type(error) is NotImplementedError and not error.args:  # PyTorch's have a text
            raise NotAttempted from None
        text = str(error).partition("\n")[0]
        raise WrongAnswer(
            f"{name} raised {type(error).__name__}: {text}\nwith     {_named(answer, case)}"
        ) from None
    if got is None:
        raise WrongAnswer(f"{name} returned None. Is a return statement missing?")
    if not unchanged(arguments, case):
        raise WrongAnswer(
            f"{name} changed its argument. Work on a copy: the caller needs it."
        )
    return got


def _diagnose(found, answer):
    """The mistake that gives what the answer gives in every case, if there is one."""
    for text, mistake in found.mistakes.items():
        if all(_same(answer, mistake, case, found.tolerance) for case in found.cases):
            return text
    return None


def _same(answer, mistake, case, tolerance):
    """Whether two answers give the same, an error of the same kind included."""
    outcomes = []
    for function in (answer, mistake):
        try:
            outcomes.append(function(*copy.deepcopy(case)))
        except Stop:
            raise  # else the answer would be called again
        except BaseException as error:
            outcomes.append(type(error))
    return not difference(*outcomes, tolerance)


def _show(answer, case, got, due):
    """The case, what was due and what came, each on a line."""
    called = _named(answer, case)
    return f"with     {called}\nexpected {short(due)}\ngot      {short(got)}"


def _named(answer, case):
    """The arguments of a case, with the names that the answer gives them."""
    try:
        names = inspect.signature(answer).parameters
        called = [f"{n} = {short(value)}" for n, value in zip(names, case, strict=True)]
    except ValueError:  # a builtin without a signature, or *args
        called = [short(value) for value in case]
    return ", ".join(called) or "no arguments"
