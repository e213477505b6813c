"""Submissions of a class: the roster, the owner of a file, and the answers in a notebook."""

import csv
import json
import math
import re
import warnings
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import nbformat

from d2lmini.support.chapters import EXERCISE_PAGES

LARGEST = 50 * 1024**2  # bytes of a notebook
READ = ".ipynb", ".zip"  # zips only to report that they are not read
LEFT_OUT = {".ipynb_checkpoints", "__MACOSX", "._"}  # left next to files by programs
MOST = 20  # problems reported per notebook
CALL = re.compile(r"""check\s*\.\s*exercise\s*\(\s*(["'])([\w-]+)\1""")
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
        problems: messages for the student and the lecturer.
        time: of the last file, seconds since 1970; 0 if there is none.
    """

    student: Student
    answers: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    time: float = 0.0


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
    text = "_" + "_".join([*path.parent.parts, path.stem]).casefold() + "_"
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
    problems = []
    found = [path for path in folder.rglob("*") if path.suffix.lower() in READ]
    files = [path for path in found if not LEFT_OUT & {*path.parts, path.name[:2]}]
    # Oldest first: of two answers to an exercise, the newer one counts.
    for path in sorted(files, key=lambda path: (path.lstat().st_mtime, path)):
        shown = path.relative_to(folder)
        student = whose(shown, students)
        if path.suffix.lower() == ".zip":
            problems.append(f"{shown}: was not read; unpack it first")
        elif student is None:
            problems.append(f"{shown}: no id in the roster is part of this path")
        elif path.is_symlink() or not path.is_file():
            problems.append(f"{shown}: is not a file, and was not read")
        else:
            take(submissions[student.id], path, shown)
    for student in students:
        if given := student.row.get(HANDED_IN):
            try:
                submissions[student.id].time = datetime.fromisoformat(given).timestamp()
            except ValueError:
                problems.append(
                    f"roster: {given} ({student.id}) is not a time; the file's time counts"
                )
    return list(submissions.values()), problems


def take(submission: Submission, path: Path, shown: Path):
    """Add the answers of a file to a submission."""
    answers, problems = read_answers(path)
    submission.files.append(str(shown))
    submission.time = max(submission.time, path.stat().st_mtime)
    if len(problems) > MOST:
        problems = [*problems[:MOST], f"and {len(problems) - MOST} more of this kind"]
    submission.problems += [f"{shown}: {problem}" for problem in problems]
    for name in answers:
        if name in submission.answers:
            text = f"{name} was in an older file, too; the newer one counts"
            submission.problems.append(f"{shown}: {text}")
    submission.answers |= answers


def read_answers(path: Path) -> tuple[dict[str, str], list[str]]:
    """Read the answer cell of each exercise, and the problems of the notebook."""
    if (size := path.stat().st_size) > LARGEST:
        rule = f"at most {LARGEST >> 20} MB are read: clear its outputs"
        return {}, [f"the notebook has {size >> 20} MB; {rule}"]
    try:
        cells = _cells(path.read_bytes().decode("utf-8-sig"))
    except Exception as error:  # a stranger's file can contain anything
        text = str(error).partition("\n")[0][:200]
        return {}, [f"this is not a notebook ({type(error).__name__}: {text})"]
    known = {name for page in EXERCISE_PAGES.values() for name in page.exercise_names}
    answers, problems = {}, []
    for number, (source, marked) in enumerate(cells, 1):
        called = [name for _, name in CALL.findall(source)]
        unknown = [name for name in called if name not in known]
        problems += [f"cell {number}: there is no exercise {name}" for name in unknown]
        called = [name for name in called if name in known]
        if marked in known and marked not in called:
            if called:
                text = f"cell {number}: is the answer cell of {marked}, but hands in {called[0]}"
                problems.append(f"{text}; it counts for {marked}")
            called = [marked]
        for name in dict.fromkeys(called):
            if name in answers:
                problems.append(
                    f"cell {number}: answers {name} again; the last answer counts"
                )
            answers[name] = source
    if not answers:
        problems.append("there is no answer cell in it")
    return answers, problems


def _cells(text):
    """The text of each code cell, and its exercise from the metadata."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = json.loads(text)
        if plain.get("nbformat", 4) < 4:
            plain = json.loads(nbformat.writes(nbformat.reads(text, as_version=4)))
    found = []
    for cell in plain["cells"]:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source") or ""
        source = source if isinstance(source, str) else "".join(map(str, source))
        ours, theirs = (
            _part(cell, "metadata", name) for name in ("d2lmini", "nbgrader")
        )
        marked = ours.get("exercise") or theirs.get("grade_id")
        found.append((source.replace("\r\n", "\n"), str(marked)))
    return found


def _part(found, *names):
    """Look up a path in nested dictionaries; an empty dictionary if it is missing."""
    for name in names:
        found = found.get(name)
        if not isinstance(found, dict):
            return {}
    return found


def late_days(submission: Submission, due: datetime | None) -> int:
    """Days started since the submission was due."""
    if due is None or not submission.time:
        return 0
    return max(0, math.ceil((submission.time - due.timestamp()) / 86400))
