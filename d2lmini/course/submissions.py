"""Submissions of a class: the roster, the owner of a file, and the answers in a notebook."""

import csv
import json
import math
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import nbformat

from d2lmini.support.chapters import EXERCISE_PAGES

LARGEST = 50 * 1024**2  # bytes of a notebook
# left next to files by programs
LEFT_OUT = {
    ".ipynb_checkpoints",
    "__MACOSX",
    "._",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}
MOST = 20  # problems reported per notebook, and notebooks read per zip
CALL = re.compile(r"""check\s*\.\s*exercise\s*\(\s*(["'])([\w-]+)\1""")
DEFINES = re.compile(r"\b(def|lambda|class)\b")
STUB = "raise NotImplementedError"  # the line that an answer replaces
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


@dataclass
class Found:
    """A file that was handed in, perhaps inside of a zip.

    Args:
        shown: its path, as it is told.
        time: when it was changed, seconds since 1970.
        size: bytes.
        read: returns its bytes.
    """

    shown: Path
    time: float
    size: int
    read: Callable[[], bytes]

    @property
    def is_notebook(self) -> bool:
        """Whether its name says so; some browsers add .json or .txt to it."""
        return ".ipynb" in [suffix.lower() for suffix in self.shown.suffixes[-2:]]


def files_in(folder: Path) -> tuple[list[Found], list[str]]:
    """The files of a folder and of the zips in it, oldest first, and problems."""
    files, problems = [], []
    for path in folder.rglob("*"):
        shown = path.relative_to(folder)
        if LEFT_OUT & {*path.parts, path.name[:2]} or path.is_dir():
            continue
        if path.is_symlink() or not path.is_file():
            problems.append(f"{shown}: is not a file, and was not read")
        elif path.suffix.lower() == ".zip":
            try:
                files += _unpacked(path, shown)
            except (zipfile.BadZipFile, OSError, ValueError) as error:
                problems.append(
                    f"{shown}: cannot be unpacked, and was not read: {error}"
                )
        else:
            about = path.stat()
            files.append(Found(shown, about.st_mtime, about.st_size, path.read_bytes))
    return sorted(files, key=lambda file: (file.time, file.shown)), problems


def _unpacked(path, shown) -> list[Found]:
    """The files of a zip; nothing is written."""
    files = []
    with zipfile.ZipFile(path) as archive:
        entries = [e for e in archive.infolist() if not e.is_dir()]
    for entry in entries:
        inside = Path(entry.filename)
        if LEFT_OUT & {*inside.parts, inside.name[:2]}:
            continue

        def read(entry=entry):
            with zipfile.ZipFile(path) as archive:
                return archive.read(entry)

        time = datetime(*entry.date_time).timestamp()
        files.append(Found(shown / inside, time, entry.file_size, read))
    if len(files) > MOST:
        raise ValueError(f"it has {len(files)} files, more than {MOST}")
    return files


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
    files, problems = files_in(folder)
    # Oldest first: of two answers to an exercise, the newer one counts.
    for file in files:
        student = whose(file.shown, students)
        if student is None:
            problems.append(f"{file.shown}: no id in the roster is part of this path")
        elif not take(submissions[student.id], file):
            problems.append(
                f"{file.shown}: is no notebook, and was not read ({student.name})"
            )
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
    answers, problems = answers_of(file)
    if file.shown.suffix.lower() != ".ipynb":
        problems = [
            f"was read as a notebook, though its name ends in {file.shown.suffix}",
            *problems,
        ]
    if len(problems) > MOST:
        problems = [*problems[:MOST], f"and {len(problems) - MOST} more of this kind"]
    submission.problems += [f"{file.shown}: {problem}" for problem in problems]
    for name, source in answers.items():
        older = submission.answers.get(name)
        if older is not None:
            text = f"{name} was in an older file, too; the newer one counts"
            if _says_less(source, older):
                text = (
                    f"{name} is not answered here; the answer in the older file counts"
                )
            submission.problems.append(f"{file.shown}: {text}")
        if older is None or not _says_less(source, older):
            submission.answers[name] = source
    return True


def answers_of(file: Found) -> tuple[dict[str, str], list[str]]:
    """Read the answer cell of each exercise, and the problems of the notebook."""
    if file.size > LARGEST:
        rule = f"at most {LARGEST >> 20} MB are read: clear its outputs"
        return {}, [f"the notebook has {file.size >> 20} MB; {rule}"]
    try:
        cells = _cells(file.read().decode("utf-8-sig"))
    except Exception as error:  # a stranger's file can contain anything
        text = str(error).partition("\n")[0][:200]
        return {}, [f"this is not a notebook ({type(error).__name__}: {text})"]
    known = {name for page in EXERCISE_PAGES.values() for name in page.exercise_names}
    answers, problems = {}, []
    number, before = (
        0,
        "",
    )  # of the code cells; the one before, if it is nobody's answer
    for source, marked, kind in cells:
        if kind != "code":
            if marked in known:
                problems.append(
                    f"the answer cell of {marked} is no code cell, and was not read"
                )
            continue
        number += 1
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
            problem = _answer(answers, name, source, before)
            problems += [f"cell {number}: {problem}"] * bool(problem)
        before = "" if called else source
    if not answers:
        problems.append("there is no answer cell in it")
    return answers, problems


def _answer(answers, name, source, before) -> str:
    """Add a cell to the answers; return what is to be told about it, if anything."""
    older = answers.get(name)
    if older is None:
        if not _code(source):
            return f"the answer cell of {name} has no code"
        split = DEFINES.search(_code(before)) and not DEFINES.search(_code(source))
        answers[name] = f"{before}\n\n{source}" if split else source
        return (
            f"the answer to {name} begins in the cell before; both were joined"
            if split
            else ""
        )
    if (
        _code(source)
        and not DEFINES.search(_code(source))
        and DEFINES.search(_code(older))
    ):
        answers[name] = f"{older}\n\n{source}"
        return f"goes on with the answer to {name}; both were joined"
    if _says_less(source, older):
        return f"does not answer {name}; the answer before it counts"
    answers[name] = source
    return f"answers {name} again; the last answer counts"


def _code(source) -> str:
    """The lines of a cell without comments."""
    lines = (line for line in source.splitlines() if not line.lstrip().startswith("#"))
    return "\n".join(lines).strip()


def _says_less(source, older) -> bool:
    """Whether a cell is still to be filled in, or has no function, unlike an older one."""
    source, older = _code(source), _code(older)
    if STUB in older or not DEFINES.search(older):
        return False
    return STUB in source or not DEFINES.search(source)


def _cells(text):
    """The text of each cell, its exercise from the metadata, and its kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = json.loads(text)
        if plain.get("nbformat", 4) < 4:
            plain = json.loads(nbformat.writes(nbformat.reads(text, as_version=4)))
    found = []
    for cell in plain["cells"]:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source") or ""
        source = source if isinstance(source, str) else "".join(map(str, source))
        ours, theirs = (
            _part(cell, "metadata", name) for name in ("d2lmini", "nbgrader")
        )
        marked = ours.get("exercise") or theirs.get("grade_id")
        kind = cell.get("cell_type")
        found.append((source.replace("\r\n", "\n"), str(marked), kind))
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
