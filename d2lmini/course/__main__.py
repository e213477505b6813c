"""python -m d2lmini.course student --out DIR: see --help."""

import argparse
import sys
from pathlib import Path

from d2lmini.course.copies import for_instructors, for_students, write_copies

LECTURERS_PAGES = ("teaching.ipynb",)  # with an exam and its answers


def main(arguments=None):
    """Write copies of the notebooks for a class."""
    parser = argparse.ArgumentParser(prog="python -m d2lmini.course", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    students = "notebooks without solutions, answer cells marked"
    instructors = "with solutions, common mistakes and minutes"
    for name, change, about, leave_out in (
        ("student", for_students, students, LECTURERS_PAGES),
        ("instructor", for_instructors, instructors, ()),
    ):
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--out", type=Path, required=True, help="a new folder")
        command.add_argument(
            "--root", type=Path, default=Path(), help="the project's folder; here"
        )
        command.set_defaults(change=change, leave_out=leave_out)
    asked = parser.parse_args(arguments)
    try:
        written = write_copies(asked.change, asked.root, asked.out, asked.leave_out)
    except ValueError as error:
        sys.exit(str(error))
    print(f"{len(written)} notebooks in {asked.out / 'book'}")


if __name__ == "__main__":
    main()
