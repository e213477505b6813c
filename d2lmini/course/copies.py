"""Copies of the book's notebooks: without solutions for students, with notes for instructors."""

import shutil
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from d2lmini.check.grading import all_exercises
from d2lmini.course.notebooks import EXERCISE, SOLUTION, read, text_of

# Time to allow for an exercise in a lesson plan, by its stars
MINUTES = {"★": 5, "★★": 15, "★★★": 30}


def mark_answers(notebook: NotebookNode) -> NotebookNode:
    """Name the exercise in the metadata of each answer cell.

    An answer cell is the first code cell after the text of an exercise.
    """
    label = None
    for cell in notebook.cells:
        if exercise := EXERCISE.fullmatch(cell.source):
            label = exercise["label"]
        elif label and cell.cell_type == "code":
            cell.metadata["d2lmini"] = {"exercise": label}
            label = None
    return notebook


def for_students(notebook: NotebookNode) -> NotebookNode:
    """Remove solutions and mark answer cells, in place."""
    mark_answers(notebook)
    notebook.cells = [c for c in notebook.cells if not SOLUTION.fullmatch(c.source)]
    return notebook


def for_instructors(notebook: NotebookNode) -> NotebookNode:
    """After each solution, add common mistakes and the minutes to allow."""
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
    """What the check knows about an exercise beyond its solution; exercise matches EXERCISE."""
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
    """Write changed copies of the notebooks in root, with the files they read, to a new folder.

    Args:
        change: for_students or for_instructors.
        leave_out: file names of notebooks that this class does not get.
        out: the new folder, which will contain book/.
    Returns:
        The notebooks that were written.
    Raises:
        ValueError: there is no book in root, or out is not empty.
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
