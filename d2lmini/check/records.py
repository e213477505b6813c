"""Record verdicts and hints for each exercise, and report them."""

import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from filelock import FileLock

from d2lmini.check import grading
from d2lmini.check.grading import ALMOST, NOT_ATTEMPTED, RIGHT, WRONG
from d2lmini.check.process import far
from d2lmini.check.verdict import Verdict
from d2lmini.support.arguments import check_kind
from d2lmini.support.chapters import EXERCISE_PAGES

BEST_LAST = [NOT_ATTEMPTED, WRONG, ALMOST, RIGHT]
NOTE = "A student's own view of what the checks said. It can be edited, and proves nothing."


@dataclass
class Record:
    """A reader's work on one exercise."""

    verdict: str = NOT_ATTEMPTED
    attempts: int = 0
    hints_used: int = 0

    def __post_init__(self):
        if self.verdict not in BEST_LAST:
            raise ValueError(f"verdict ({self.verdict!r}) must be one of {BEST_LAST}")
        for name in ("attempts", "hints_used"):
            number = getattr(self, name)
            if type(number) is not int or number < 0:
                raise ValueError(f"{name} ({number!r}) must be a whole number")


records: dict[str, Record] = {}
# file -> the records that it already contains
reported: dict[Path, dict[str, Record]] = {}


def exercise(name: str, answer: Callable) -> None:
    """Say whether an answer is right, and if not, what is wrong with it.

    Args:
        name: of the exercise, such as "masks-2".
        answer: the function that the exercise asks for.
    Source: chapter 1.
    """
    try:
        found = grading.find(name)
    except ValueError as error:
        print(error)
        return
    try:
        verdict, message = grading.grade(found, far(answer))
    except grading.Ended as error:  # the answer could not be sent to the other process
        verdict, message = WRONG, str(error)
    record = records.setdefault(name, Record())
    if verdict != NOT_ATTEMPTED:
        record.attempts += 1
        record.verdict = verdict
    _show(Verdict(name, verdict, message, found.hints, solved_of(name)))


def solved_of(name: str) -> str:
    """Say how many exercises of the same chapter have been right in this session."""
    page = EXERCISE_PAGES[name.rpartition("-")[0]]
    names = page.exercise_names
    right = sum(records[n].verdict == RIGHT for n in names if n in records)
    verb = "is" if right == 1 else "are"
    return f"{right} of the {len(names)} exercises of {page.called} {verb} right."


class Mystery:
    """A function that can be called but not read."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, *arguments):
        return grading.find(self.name).reference(*arguments)

    def __repr__(self):
        return f"<the module of {self.name}, which has a mistake>"


def mystery(name: str) -> Mystery:
    """Return the faulty module that an exercise asks about.

    Raises:
        ValueError: the exercise has no such module.
    Source: chapter 1.
    """
    if not grading.find(name).unseen:
        raise ValueError(f"name ({name}) must be that of an exercise about a module")
    return Mystery(name)


def hint(name: str) -> None:
    """Print the next of an exercise's three hints.

    Source: chapter 1.
    """
    try:
        hints = grading.find(name).hints
    except ValueError as error:
        print(error)
        return
    record = records.setdefault(name, Record())
    if record.hints_used == len(hints):
        print(f"{name}: those were all {len(hints)} hints.")
        return
    record.hints_used += 1
    print(
        f"{name}, hint {record.hints_used} of {len(hints)}: {hints[record.hints_used - 1]}"
    )


def report(path: str | Path) -> None:
    """Write the records of all exercises to a JSON file, for yourself: it proves nothing.

    An existing file is updated: an exercise that was right stays right, attempts add up, and
    the larger number of hints counts.

    Args:
        path: of the file, such as "answers.json".
    Raises:
        ValueError: the file exists and is not a report.
    Source: chapter 1.
    """
    check_kind("path", path, str | Path, "a path")
    path = Path(path)
    target = path.resolve()  # follows links
    with one_at_a_time(target):  # two notebooks may report at the same moment
        entries = _update(path, target)
    solved = sum(record.verdict == RIGHT for record in entries.values())
    print(f"{path}: {solved} of {len(entries)} exercises right, by your own account")


def one_at_a_time(target: Path) -> FileLock:
    """A lock on a file for all processes of this machine, kept away from the reader's folder."""
    name = hashlib.sha256(str(target).encode()).hexdigest()[:16]
    return FileLock(Path(gettempdir()) / f"d2lmini-{name}.lock")


def _update(path, target):
    """Write former and new records together, and return them."""
    entries = {name: Record() for name in grading.all_exercises()} | _former(path)
    told = reported.setdefault(target, {}) if path.exists() else {}
    for name, record in records.items():
        entries[name] = _merged(entries[name], record, told.get(name, Record()))
    version = importlib.metadata.version("d2lmini")
    contents = {
        "note": NOTE,
        "version": version,
        "exercises": {name: asdict(record) for name, record in entries.items()},
    }
    # Write elsewhere first, so that a crash cannot destroy the previous report.
    with TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        new = Path(folder) / target.name
        new.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")
        new.replace(target)
    reported[target] = {
        name: Record(**asdict(record)) for name, record in records.items()
    }
    return entries


def _former(path):
    """Read the records of an existing report."""
    if not path.exists():
        return {}
    known = grading.all_exercises()
    try:
        former = json.loads(path.read_text(encoding="utf-8"))["exercises"]
        if unknown := [name for name in former if name not in known]:
            raise ValueError(f"{unknown[0]!r} is not an exercise in this book")
        return {name: Record(**entry) for name, entry in former.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        rule = f"must be a new file or a former report: {error}"
        raise ValueError(f"path ({path}) {rule}") from error


def _merged(former, now, told):
    """Update a record of the file; told is the part of now that the file already contains."""
    best = max(former.verdict, now.verdict, key=BEST_LAST.index)
    return Record(
        RIGHT if best == RIGHT else now.verdict if now.attempts else former.verdict,
        former.attempts + now.attempts - told.attempts,
        max(former.hints_used, now.hints_used),
    )


def _show(verdict):
    """Show a verdict, as HTML in a notebook and as text elsewhere."""
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(verdict)
    else:
        print(verdict)
