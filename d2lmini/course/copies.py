"""The book's notebooks for a class: for students without solutions, for instructors with more."""

import shutil
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from d2lmini.check.grading import all_exercises
from d2lmini.course.notebooks import EXERCISE, SOLUTION, read, text_of

# What a plan of a lesson may allow for an exercise, by its stars.
MINUTES = {"★": 5, "★★": 15, "★★★": 30}


def mark_answers(notebook: NotebookNode) -> NotebookNode:
    """Name the exercise in the metadata of each answer cell, ours and nbgrader's.

    An answer cell is the first cell of code after the text of an exercise.
    """
    label = None
    for cell in notebook.cells:
        if exercise := EXERCISE.fullmatch(cell.source):
            label = exercise["label"]
        elif label and cell.cell_type == "code":
            cell.metadata["d2lmini"] = {"exercise": label}
            cell.metadata["nbgrader"] = {
                "schema_version": 3,
                "grade_id": label,
                "grade": False,
                "solution": True,
                "task": False,
                "locked": False,
            }
            label = None
    return notebook


def for_students(notebook: NotebookNode) -> NotebookNode:
    """Without solutions, the answer cells marked. Changes the one that it is given."""
    mark_answers(notebook)
    notebook.cells = [c for c in notebook.cells if not SOLUTION.fullmatch(c.source)]
    return notebook


def for_instructors(notebook: NotebookNode) -> NotebookNode:
    """With solutions, and after each what is often done wrong and the minutes to allow."""
    mark_answers(notebook)
    cells, exercise = [], None
    for cell in notebook.cells:
        cells.append(cell)
        exercise = EXERCISE.fullmatch(cell.source) or exercise
        if SOLUTION.fullmatch(cell.source):
            cells.append(
                new_markdown_cell(notes(exercise), id=f"notes-{exercise['label']}")
            )
    notebook.cells = cells
    return notebook


def notes(exercise) -> str:
    """What the check knows of an exercise beside its solution; exercise: a match of EXERCISE."""
    known = all_exercises()[exercise["label"]]
    mistakes = "\n".join(f"- {mistake}" for mistake in known.mistakes)
    hints = "\n".join(f"{i}. {hint}" for i, hint in enumerate(known.hints, 1))
    return (
        f"<details>\n<summary>For the instructor: {exercise['title']}</summary>\n\n"
        f"Allow {MINUTES[exercise['stars']]} minutes.\n\n"
        f"Common mistakes, which the check names:\n\n{mistakes}\n\n"
        f"Hints, as the check gives them:\n\n{hints}\n\n</details>"
    )


def write_copies(change, root: Path, out: Path, leave_out=()) -> list[Path]:
    """The notebooks of the project in root, changed, with what they read, into a new folder.

    Args:
        change: for_students or for_instructors.
        leave_out: file names of notebooks that this class does not get.
        out: becomes the folder of book/.
    Returns:
        The notebooks that were written.
    Raises:
        ValueError: there is no book in root, or out holds something.
    """
    notebooks = sorted((root / "book").glob("*.ipynb"))
    if not notebooks:
        raise ValueError(f"root ({root}) must be the folder of the project, with book/")
    if out.exists() and any(out.iterdir()):
        raise ValueError(f"out ({out}) must be a new folder, or an empty one")
    (out / "book").mkdir(parents=True, exist_ok=True)
    for path in sorted((root / "book").glob("*.md")):
        shutil.copyfile(path, out / "book" / path.name)
    written = []
    for path in notebooks:
        if path.name in leave_out:
            continue
        written.append(out / "book" / path.name)
        text = text_of(change(read(path)))
        written[-1].write_text(text, encoding="utf-8", newline="\n")
    return written
