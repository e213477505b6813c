"""Mark submissions: answers run in processes of their own, and values are compared here."""

import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from d2lmini.check.exercise import Exercise
from d2lmini.check.grading import (
    CPU,
    NOT_ATTEMPTED,
    WRONG,
    Ended,
    find,
    grade_with_share,
)
from d2lmini.check.process import (
    ENDED,
    OUT_OF_STEP,
    PATIENCE,
    Child,
    FarAnswer,
    told_signature,
)
from d2lmini.course.assignment import Task, needed, without_magic
from d2lmini.course.submissions import Submission

HIDDEN = 5  # new cases per exercise
# CPU seconds for all cases of an answer, and for all exercises; the whole book's solutions take
# four. A submission that only sleeps ends after PATIENCE times as long: twelve minutes.
AN_ANSWER, A_SUBMISSION = 20.0, 120.0
PACKAGE = Path(__file__).parents[1]
# The answers' copy of the package lacks the exercises with their reference answers.
LEFT_OUT = shutil.ignore_patterns("exercises", "__pycache__")
LONGEST_CELL = 50_000  # characters
ONLY_THE_CELL = (
    "Of other cells, only imports, functions, classes and constants are used."
)


@dataclass
class Mark:
    """The mark for an answer.

    Args:
        share: of the points, 0 to 1.
        cell: the text of the answer cell.
    """

    verdict: str = NOT_ATTEMPTED
    message: str = "There is no answer cell for it."
    share: float = 0.0
    cell: str = ""


@dataclass
class Marked:
    """A submission with its marks.

    Args:
        marks: exercise -> mark.
        unconfined: what the system could not keep the answers from.
    """

    submission: Submission
    marks: dict[str, Mark]
    unconfined: list[str] = field(default_factory=list)
    seconds: float = 0.0


def mark_all(submissions, tasks: list[Task], seed: str, say=print) -> list[Marked]:
    """Mark submissions, one per core at a time; return them in the given order.

    Args:
        seed: of the hidden cases, which are the same for the whole class.
        say: called with a message when a submission is done.
    """
    with TemporaryDirectory(prefix="d2lmini-") as folder:
        shutil.copytree(PACKAGE, Path(folder) / "d2lmini", ignore=LEFT_OUT)
        done: dict[int, Marked] = {}
        # If a submission ends the grader, the others are marked again, each alone.
        for one_by_one in (False, True):
            waiting = [i for i in range(len(submissions)) if i not in done]
            for batch in [[i] for i in waiting] if one_by_one else [waiting]:
                # Spawned, since a fork of a Python with threads may hang.
                with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
                    jobs = {
                        pool.submit(mark, submissions[i], tasks, seed, folder): i
                        for i in batch
                    }
                    for job in as_completed(jobs):
                        i = jobs[job]
                        try:
                            done[i] = job.result()
                        except Exception as error:
                            if isinstance(error, BrokenProcessPool) and not one_by_one:
                                continue
                            done[i] = failed(submissions[i], tasks, error)
                        say(
                            f"{len(done)} of {len(submissions)}: {submissions[i].student.id}"
                        )
    return [done[i] for i in range(len(submissions))]


def failed(submission, tasks, error) -> Marked:
    """Give no marks, and tell the lecturer."""
    submission.problems.append(f"could not be graded; please grade it by hand: {error}")
    mark = Mark(message="It could not be graded; your instructor has been told.")
    return Marked(submission, {task.name: mark for task in tasks})


def mark(submission: Submission, tasks: list[Task], seed: str, folder: str) -> Marked:
    """Mark one submission.

    Args:
        folder: holds a copy of the package for the answers.
    """
    began = time.monotonic()
    marked = Marked(submission, {})
    with TemporaryDirectory(prefix="d2lmini-home-") as home:
        room = Room(folder, home)
        before = room.spent()
        try:
            for number, task in enumerate(tasks):
                if task.name not in submission.answers:
                    marked.marks[task.name] = Mark()
                    continue
                left = A_SUBMISSION - (room.spent() - before)
                earlier = [submission.answers.get(t.name, "") for t in tasks[:number]]
                earlier += submission.rest
                marked.marks[task.name] = mark_one(
                    room, task, submission.answers[task.name], earlier, seed, left
                )
        finally:
            room.close()
    marked.unconfined = room.unconfined
    marked.seconds = time.monotonic() - began
    return marked


def hidden(name: str, seed: str) -> Exercise:
    """The exercise with new cases, drawn from the seed."""
    with CPU:
        return find(name).drawn(Random(seed + name), HIDDEN)


def mark_one(room, task, cell, earlier, seed, left) -> Mark:
    """Mark the answer to one exercise; earlier: other cells, which may define what it uses."""
    if left <= 0:
        text = f"The answers before it used up the {A_SUBMISSION:g} s limit."
        return Mark(WRONG, text, cell=cell)
    if len(cell) > LONGEST_CELL:
        return Mark(WRONG, f"The cell has more than {LONGEST_CELL} characters.")
    try:
        cell = without_magic(cell)
        before = needed(
            cell, task.before + [e for e in earlier if len(e) <= LONGEST_CELL]
        )
    except (SyntaxError, ValueError) as error:
        line = (
            f"\nin       {error.text.strip()}" if getattr(error, "text", None) else ""
        )
        return Mark(WRONG, f"The cell is not valid Python: {error}{line}", cell=cell)
    except (RecursionError, MemoryError):
        return Mark(WRONG, "The cell is too deeply nested to be read.", cell=cell)
    seconds, is_fresh = min(AN_ANSWER, left), not room.is_alive()
    found = _marked(room, task, cell, before, seed, seconds)
    if not is_fresh and found.message.startswith((ENDED, OUT_OF_STEP)):
        # perhaps by what an earlier answer has left behind: once more, in a new child
        room.close()
        found = _marked(room, task, cell, before, seed, seconds)
    return found


def _marked(room, task, cell, before, seed, seconds) -> Mark:
    """Mark an answer in the room's child, with at most so many seconds."""
    try:
        asked = "define", before, cell, task.name, task.function
        defined = room.child().ask(*asked, seconds=seconds)
        if not isinstance(defined.get("name"), str):
            return Mark(WRONG, _why_not(task, defined), cell=cell)
        signature = told_signature(defined.get("parameters"))
        answer = FarAnswer(room.child(), defined["name"], signature, seconds)
        verdict, message, share = grade_with_share(hidden(task.name, seed), answer)
    except Ended as error:
        return Mark(WRONG, str(error), cell=cell)
    if "raised NameError" in message:
        message += f"\n{ONLY_THE_CELL}"
    return Mark(verdict, message, share, cell)


def _why_not(task, defined):
    """Why a cell holds no answer, from the child's report."""
    error = defined.get("error")
    if not isinstance(error, dict):
        return f"The cell hands in no function; {task.function} is expected."
    kind, text, line = (str(error.get(name))[:300] for name in ("kind", "text", "line"))
    told = f"The cell raised {kind}: {text}" + f". {ONLY_THE_CELL}" * (
        kind == "NameError"
    )
    return told + (f"\nin       {line}" if line else "")


class Room:
    """Where the answers of one submission run: in a child, replaced if it is gone.

    Args:
        folder: holds the copy of the package.
        home: an empty folder, the only one that an answer may write to.
    """

    def __init__(self, folder: str, home: str):
        self.command = [
            sys.executable,
            "-I",
            str(Path(folder, "d2lmini/course/confined.py")),
        ]
        self.command += [folder, str(PACKAGE)]
        self.home, self.current, self.unconfined = home, None, []
        self.computed = 0.0  # CPU seconds used by children that are gone

    def is_alive(self) -> bool:
        return self.current is not None and self.current.is_alive()

    def spent(self) -> float:
        """Like Child.spent, for all children so far."""
        now = self.current.computed() if self.current is not None else 0.0
        return self.computed + now + time.monotonic() / PATIENCE

    def child(self) -> Child:
        if not self.is_alive():
            self.close()
            kept = {n: os.environ[n] for n in ("SYSTEMROOT", "LANG") if n in os.environ}
            places = dict.fromkeys(
                ("HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP"), self.home
            )
            # An answer may have deleted or filled it.
            shutil.rmtree(self.home, ignore_errors=True)
            Path(self.home).mkdir(exist_ok=True)
            self.current = Child(self.command, self.home, kept | places)
            self.unconfined = self.current.started["unconfined"]
        return self.current

    def close(self):
        if self.current is not None:
            self.computed += self.current.computed()
            self.current.end()
            self.current = None
