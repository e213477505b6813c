"""Exercises: answers are compared with a reference and, if wrong, with known mistakes.

Readers call this module through d2lmini.check.
"""

import copy
import ctypes
import difflib
import importlib
import importlib.metadata
import inspect
import json
import math
import numbers
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

CHAPTERS = ("codes", "masks", "positions", "attention", "ffn", "addnorm", "transformer",
            "training", "maps")  # fmt: skip
TIME_LIMIT = 10.0  # seconds for all calls of an answer
RIGHT, WRONG, NOT_ATTEMPTED = "right", "wrong", "not attempted"


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
    Source: chapter 2.
    """

    name: str
    reference: Callable
    cases: Iterable[tuple]
    mistakes: dict[str, Callable]
    hints: tuple[str, str, str]
    tolerance: float = 1e-4
    properties: tuple[Callable, ...] = ()


@dataclass
class Record:
    """What a reader did about one exercise."""

    verdict: str = NOT_ATTEMPTED
    attempts: int = 0
    hints_used: int = 0


records: dict[str, Record] = {}


class WrongAnswer(Exception):
    """An answer is wrong; the text says how, to the reader."""


class NotAttempted(Exception):
    """The answer is the stub of the notebook, which raises NotImplementedError."""


def all_exercises() -> dict[str, Exercise]:
    """Name -> exercise, in the order of the book."""
    modules = (importlib.import_module(f"d2lmini.exercises.{name}") for name in CHAPTERS)
    return {e.name: e for module in modules for e in module.EXERCISES}


def find(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        ValueError: there is none; the text lists names that are close.
    """
    if not isinstance(name, str):
        rule = 'the name comes first, as in check.exercise("masks-1", my_function)'
        raise ValueError(f"name ({_short(name)}) must be a string: {rule}")
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
    Source: chapter 1.
    """
    try:
        found = find(name)
    except ValueError as error:
        print(error)
        return
    verdict, message = grade(found, answer)
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
    path.write_text(text + "\n", encoding="utf-8")
    solved = sum(entry["verdict"] == RIGHT for entry in entries.values())
    print(f"{path}: {solved} of {len(entries)} exercises right")


def grade(found: Exercise, answer: Callable) -> tuple[str, str]:
    """Verdict and what to tell the reader."""
    if not callable(answer):
        message = (
            f"The answer must be a function, got {type(answer).__name__} {_short(answer)}."
        )
        return WRONG, message
    try:
        _within_time(lambda: _compare(found, answer))
    except NotAttempted:
        return NOT_ATTEMPTED, "Replace the line that raises NotImplementedError."
    except WrongAnswer as error:
        return WRONG, f"{error}"
    number = len(list(found.cases))
    agree = f"All {number} cases agree." if number > 1 else "The one case agrees."
    return RIGHT, agree + (" The properties hold." if found.properties else "")


def _compare(found, answer):
    """Raise WrongAnswer at the first case in which an answer differs from the reference."""
    for case in found.cases:
        due = found.reference(*copy.deepcopy(case))
        got = _call(answer, case)
        problem = _difference(got, due, found.tolerance)
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
        except OutOfTime:
            raise
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
        raise WrongAnswer(
            f"{name}{signature} cannot be called with {len(case)} arguments, as it will be."
        ) from None
    except ValueError:
        pass  # a builtin without a signature
    arguments = copy.deepcopy(case)  # no answer may change the originals
    try:
        got = answer(*arguments)
    except OutOfTime:
        raise
    except BaseException as error:  # sys.exit, too
        if type(error) is NotImplementedError and not error.args:  # PyTorch's have a text
            raise NotAttempted from None
        text = str(error).partition("\n")[0]
        raise WrongAnswer(
            f"{name} raised {type(error).__name__}: {text}\nwith     {_named(answer, case)}"
        ) from None
    if got is None:
        raise WrongAnswer(f"{name} returned None. Is a return statement missing?")
    if not _unchanged(arguments, case):
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
        except OutOfTime:
            raise
        except BaseException as error:
            outcomes.append(type(error))
    return not _difference(*outcomes, tolerance)


def _difference(got, due, tolerance):
    """What is wrong with got, in one line; empty if nothing."""
    if isinstance(due, torch.Tensor):
        return _tensor_difference(got, due, tolerance)
    if isinstance(got, torch.Tensor | np.ndarray):  # where numbers are due
        got = got.tolist()
    if isinstance(due, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(due):
            number = f"{len(due)} value{'s' * (len(due) != 1)} in a list"
            return f"Expected {number}, got {_short(got)}."
        for i, (g, d) in enumerate(zip(got, due, strict=True), 1):
            if problem := _difference(g, d, tolerance):
                return f"Value {i} of {len(due)}: {problem}"
        return ""
    if isinstance(due, numbers.Real) and not isinstance(due, bool):
        if isinstance(got, list) and len(got) == 1:
            (got,) = got
        if not isinstance(got, numbers.Real) or isinstance(got, bool):
            return f"Expected a number, got {type(got).__name__} {_short(got)}."
        same = math.isclose(got, due, rel_tol=tolerance, abs_tol=tolerance)
        return "" if same else "The number differs."
    if type(got) is not type(due):
        return f"Expected {type(due).__name__}, got {type(got).__name__} {_short(got)}."
    if isinstance(due, str):
        got, due = got.strip().lower(), due.lower()
    return "" if got == due else f"{_short(got)} is not right."


def _tensor_difference(got, due, tolerance):
    """As _difference, for a tensor."""
    if not isinstance(got, torch.Tensor):
        kind = "a numpy array" if isinstance(got, np.ndarray) else f"{type(got).__name__}"
        return f"Expected a torch.Tensor, got {kind}."
    if got.shape != due.shape:
        return f"Expected shape {tuple(due.shape)}, got {tuple(got.shape)}."
    if got.dtype != due.dtype:
        return f"Expected dtype {due.dtype}, got {got.dtype}."
    if got.isnan().any() and not due.isnan().any():
        return f"{int(got.isnan().sum())} of {got.numel()} numbers are NaN."
    close = torch.isclose(got.double(), due.double(), tolerance, tolerance, equal_nan=True)
    if close.all():
        return ""
    first = tuple((~close).nonzero()[0].tolist())
    where = f", first at {list(first)}" if first else ""
    return f"The numbers differ{where}: {_short(got[first])} is not {_short(due[first])}."


def _show(answer, case, got, due):
    """The case, what was due and what came, each on a line."""
    called = _named(answer, case)
    return f"with     {called}\nexpected {_short(due)}\ngot      {_short(got)}"


def _named(answer, case):
    """The arguments of a case, with the names that the answer gives them."""
    try:
        names = inspect.signature(answer).parameters
        called = [f"{n} = {_short(value)}" for n, value in zip(names, case, strict=True)]
    except ValueError:  # a builtin without a signature, or *args
        called = [_short(value) for value in case]
    return ", ".join(called) or "no arguments"


def _short(value):
    """A value in at most a few lines: large tensors by their shape."""
    if isinstance(value, torch.Tensor):
        if value.numel() > 12:
            return f"tensor of shape {tuple(value.shape)}"
        rounded = (
            value.detach().double().mul(1e4).round().div(1e4)
            if value.is_floating_point()
            else value
        )
        return str(rounded.tolist())
    if isinstance(value, tuple | list):
        inside = ", ".join(_short(v) for v in value)
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    text = f"{type(value).__name__}(...)" if isinstance(value, nn.Module) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _unchanged(now, before):
    """Whether tensors, lists and modules among the arguments are what they were."""
    if isinstance(before, torch.Tensor):
        return torch.equal(now, before)
    if isinstance(before, nn.Module):
        pairs = zip(now.state_dict().values(), before.state_dict().values(), strict=True)
        return all(torch.equal(*pair) for pair in pairs)
    if isinstance(before, tuple | list):
        return len(now) == len(before) and all(map(_unchanged, now, before))
    return True


class OutOfTime(BaseException):
    """Raised inside an answer that does not come back."""


def _within_time(function):
    """Call a function in a thread of its own, and end it after TIME_LIMIT.

    A signal would be simpler, but Windows has none for this.
    """
    outcome = []

    def work():
        try:
            function()
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(TIME_LIMIT)
    if thread.is_alive():
        ident, error = ctypes.c_ulong(thread.ident), ctypes.py_object(OutOfTime)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
        raise WrongAnswer(f"The answer did not come back within {TIME_LIMIT:g} seconds.")
    if outcome:
        raise outcome[0]
