"""Copy the book for a class, and grade submissions; see the --help of a command."""

import argparse
import json
import secrets
import sys
from datetime import datetime
from pathlib import Path

from d2lmini.course.assignment import tasks_of
from d2lmini.course.copies import for_instructors, for_students, write_copies
from d2lmini.course.gradescope import write_autograder
from d2lmini.course.handed_in import files_in
from d2lmini.course.marking import mark_all
from d2lmini.course.reports import gradescope, write_all
from d2lmini.course.submissions import (
    Student,
    Submission,
    collect,
    read_roster,
    take,
)

LECTURERS_PAGES = ("teaching.ipynb",)  # contains an exam and its answers


def main(arguments=None):
    """Run the command line."""
    asked = _parser().parse_args(arguments)
    try:
        asked.do(asked)
    except (ValueError, OSError) as error:
        sys.exit(str(error))


def _parser():
    """The commands and their arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m d2lmini.course", description=__doc__
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name, do, about):
        made = commands.add_parser(name, help=about, description=about)
        made.add_argument(
            "--root", type=Path, default=Path(), help="the project's folder; default: ."
        )
        made.set_defaults(do=do)
        return made

    students = "notebooks without solutions, answer cells marked"
    instructors = "with solutions, common mistakes and minutes"
    for name, change, about, leave_out in (
        ("student", for_students, students, LECTURERS_PAGES),
        ("instructor", for_instructors, instructors, ()),
    ):
        made = command(name, _copy, about)
        made.add_argument("--out", type=Path, required=True, help="a new folder")
        made.set_defaults(change=change, leave_out=leave_out)
    chapters = {"nargs": "+", "metavar": "CHAPTER", "help": "numbers, such as 2 3"}
    made = command("grade", _grade, "mark a folder of notebooks that were handed in")
    made.add_argument("folder", type=Path, help="the notebooks, in subfolders or not")
    made.add_argument("--chapters", **chapters, required=True)
    made.add_argument(
        "--roster", type=Path, help="CSV with a column id; optional: name, login"
    )
    made.add_argument("--out", type=Path, help="a new folder")
    made.add_argument(
        "--due", type=datetime.fromisoformat, help="such as 2026-12-24T18:00"
    )
    seed = {"default": secrets.token_hex(8), "help": "of the hidden cases; random"}
    made.add_argument("--seed", **seed)
    made.add_argument("--gradescope", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    made = command("autograder", _autograder, "a zip that Gradescope runs")
    made.add_argument("--chapters", **chapters, required=True)
    made.add_argument("--out", type=Path, required=True, help="such as autograder.zip")
    made.add_argument("--seed", **seed)
    return parser


def _copy(asked):
    """The commands student and instructor."""
    written = write_copies(asked.change, asked.root, asked.out, asked.leave_out)
    print(f"{len(written)} notebooks in {asked.out / 'book'}")


def _grade(asked):
    """The command grade."""
    if asked.gradescope:
        return _grade_for_gradescope(asked)
    if not (asked.roster and asked.out):
        raise ValueError("grade needs --roster and --out")
    if asked.out.exists() and any(asked.out.iterdir()):
        raise ValueError(f"out ({asked.out}) must be a new folder, or an empty one")
    tasks = tasks_of(asked.chapters, asked.root)
    students, of_roster = read_roster(asked.roster)
    submissions, of_files = collect(asked.folder, students)
    marked = mark_all(submissions, tasks, asked.seed)
    write_all(asked.out, marked, tasks, of_roster + of_files, asked.seed, asked.due)
    print(f"{asked.out / 'grades.csv'}; read {asked.out / 'summary.md'} first")


def _grade_for_gradescope(asked):
    """Grade one student's folder; always write results.json."""
    try:
        tasks = tasks_of(asked.chapters, asked.root)
        submission = Submission(Student("you", "you"))
        files, unread, _ = files_in(asked.folder)
        submission.problems = [f"{shown}: {why}" for shown, why in unread]
        for file in files:
            take(submission, file)
        (marked,) = mark_all([submission], tasks, asked.seed)
        result = gradescope(marked, tasks)
    except BaseException as error:
        told = "The autograder failed; please tell your instructor."
        told = {"score": 0, "output": f"{told} ({type(error).__name__}: {error})"}
        asked.gradescope.write_text(json.dumps(told), encoding="utf-8")
        raise
    asked.gradescope.write_text(result, encoding="utf-8")


def _autograder(asked):
    """The command autograder."""
    write_autograder(asked.out, asked.chapters, asked.root, asked.seed)
    print(f"{asked.out}: upload it to Gradescope under Configure Autograder")


if __name__ == "__main__":
    main()
