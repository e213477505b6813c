"""Submissions of a class: the roster, and whose a file is."""

import csv
import math
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from d2lmini.course.answer_cells import answers_of, says_less
from d2lmini.course.handed_in import Found, files_in

MOST = 20  # problems of a kind that are told
# Columns of a roster, as learning platforms or people name them
NAMES = "student", "name"
LOGINS = ("sis user id", "sis login id", "login", "email")
HANDED_IN = "handed in"


@dataclass
class Student:
    """One line of the roster.

    Args:
        id: the name of the student in the file names of submissions.
        aliases: other names that may occur there.
        row: the whole line, keyed by lower-case column names.
    """

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    row: dict[str, str] = field(default_factory=dict)


@dataclass
class Submission:
    """The submission of one student.

    Args:
        answers: exercise -> the text of its answer cell.
        rest: the other code cells, which may define what an answer uses.
        problems: messages for the student and the lecturer.
        time: of the last file, seconds since 1970; 0 if there is none.
        times: exercise -> that of its answer's file.
    """

    student: Student
    answers: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    time: float = 0.0
    times: dict[str, float] = field(default_factory=dict)


def read_roster(path: Path) -> tuple[list[Student], list[str]]:
    """Read students from a CSV file, such as a platform's export of grades; also return problems.

    Raises:
        ValueError: it is not UTF-8, not CSV, or lacks a column "id".
    """
    rule = 'must be CSV in UTF-8 with a column "id"; "name", "login" and others are optional'
    try:
        text = path.read_text(encoding="utf-8-sig")
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
        lines = list(csv.DictReader(text.splitlines(), delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"roster ({path}) {rule}: {error}") from None
    rows = [
        {str(n).strip().lower(): str(v or "").strip() for n, v in line.items()}
        for line in lines
    ]
    if not rows or "id" not in rows[0]:
        raise ValueError(f"roster ({path}) {rule}")
    students, taken, problems = [], set(), []
    for row in rows:
        found = row["id"]
        if not found:
            continue  # such as the line of possible points
        aliases = [row[name] for name in LOGINS if row.get(name)]
        if found.casefold() in taken:
            problems.append(f"roster: {found} appears twice; the first line counts")
            continue
        if shared := [alias for alias in aliases if alias.casefold() in taken]:
            problems.append(
                f"roster: {found} shares {shared[0]}, which counts for the first"
            )
            aliases = [alias for alias in aliases if alias not in shared]
        taken |= {name.casefold() for name in (found, *aliases)}
        names = [row[name] for name in NAMES if row.get(name)]
        students.append(Student(found, (names or [found])[0], tuple(aliases), row))
    return students, problems


def whose(path: Path, students: list[Student]) -> Student | None:
    """Find the student whose id or login comes first in a path, between slashes or underscores."""
    folders = "_".join(path.parent.parts).casefold().replace(".zip", "")
    text = f"_{folders}_{path.stem.casefold()}_"
    places = [
        (text.find(f"_{name.casefold()}_"), -len(name), number)
        for number, student in enumerate(students)
        for name in (student.id, *student.aliases)
        if f"_{name.casefold()}_" in text
    ]
    return students[min(places)[2]] if places else None


def collect(
    folder: Path, students: list[Student]
) -> tuple[list[Submission], list[str]]:
    """Collect the submissions in a folder by student, and the files without an owner.

    Raises:
        ValueError: there is no such folder.
    """
    if not folder.is_dir():
        raise ValueError(f"folder ({folder}) must be a folder of unpacked submissions")
    submissions = {student.id: Submission(student) for student in students}
    files, unread, checkpoints = files_in(folder)
    problems = []
    for shown in checkpoints:
        student = whose(shown, students)
        if student and not any(whose(f.shown, students) is student for f in files):
            unread.append((shown, "is a copy that Jupyter made, and was not read"))
    for shown, why in unread:
        student = whose(shown, students)
        if student is None:
            problems.append(f"{shown}: {why}")
        else:
            problems.append(f"{shown}: {why} ({student.name})")
            submissions[student.id].problems.append(f"{shown}: {why}")
    # Oldest first: of two answers to an exercise, the newer one counts.
    for file in files:
        student = whose(file.shown, students)
        if student is None:
            problems.append(f"{file.shown}: no id in the roster is part of this path")
        elif not take(submissions[student.id], file):
            problems.append(
                f"{file.shown}: is no notebook, and was not read ({student.name})"
            )
    for submission in submissions.values():
        submission.problems = _at_most(submission.problems)
    for student in students:
        if given := student.row.get(HANDED_IN):
            try:
                submissions[student.id].time = datetime.fromisoformat(given).timestamp()
            except ValueError:
                problems.append(
                    f"roster: {given} ({student.id}) is not a time; the file's time counts"
                )
    return list(submissions.values()), problems


def take(submission: Submission, file: Found) -> bool:
    """Add the answers of a file to a submission; return whether it is a notebook."""
    submission.files.append(str(file.shown))
    submission.time = max(submission.time, file.time)
    if not file.is_notebook:
        submission.problems.append(f"{file.shown}: is no notebook, and was not read")
        return False
    found = answers_of(file)
    answers, problems = found.answers, found.problems
    submission.rest += found.rest
    if file.shown.suffix.lower() != ".ipynb":
        problems = [
            f"was read as a notebook, though its name ends in {file.shown.suffix}",
            *problems,
        ]
    problems = _at_most(problems)
    submission.problems += [f"{file.shown}: {problem}" for problem in problems]
    for name, source in answers.items():
        older = submission.answers.get(name)
        if older is not None:
            text = f"{name} was in another file, too; the newer one counts"
            if file.time == submission.times.get(name):
                text = (
                    f"{name} was in another file of the same time, too; this one counts"
                )
            if says_less(source, older):
                text = (
                    f"{name} is not answered here; the answer in the older file counts"
                )
            submission.problems.append(f"{file.shown}: {text}")
        if older is None or not says_less(source, older):
            submission.answers[name] = source
            submission.times[name] = file.time
    return True


def _at_most(problems) -> list[str]:
    """The first of many problems, and how many more there are."""
    rest = len(problems) - MOST
    return [*problems[:MOST], f"and {rest} more of this kind"] if rest > 0 else problems


def late_days(submission: Submission, due: datetime | None) -> int:
    """Days started since the submission was due."""
    if due is None or not submission.time:
        return 0
    return max(0, math.ceil((submission.time - due.timestamp()) / 86400))
