"""The exercises of a chapter with their points, and the code that an answer may use."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from d2lmini.course.notebooks import CALL, EXERCISE, read
from d2lmini.support.chapters import EXERCISE_PAGES

MAGIC = re.compile(r"^\s*(?:[%!?].*|[^#\n]*\?|[\w, ]+=\s*[%!].*)$", re.M)
HANDED_IN = re.compile(CALL.pattern + r"\s*,\s*(?:answer\s*=\s*)?(\w+)")


@dataclass
class Task:
    """One exercise of an assignment.

    Args:
        function: the name of the answer in the book.
        before: the code cells of the chapter before it.
    """

    name: str
    number: str
    title: str
    points: int
    function: str
    before: list[str]


def tasks_of(chapters, root: Path) -> list[Task]:
    """List the exercises of chapters, given by number or slug, in that order.

    Raises:
        ValueError: there is no such chapter, or no book in root.
    """
    numbers = {str(chapter.number): slug for slug, chapter in EXERCISE_PAGES.items()}
    tasks = []
    for asked in dict.fromkeys(chapters):
        slug = numbers.get(str(asked), asked)
        if slug not in EXERCISE_PAGES:
            raise ValueError(f"chapter ({asked}) must be one of {', '.join(numbers)}")
        path = root / "book" / f"{EXERCISE_PAGES[slug].file}.ipynb"
        if not path.exists():
            raise ValueError(
                f"root ({root}) must be the folder of the project, with book/"
            )
        before, exercise = [], None
        for cell in read(path).cells:
            exercise = EXERCISE.fullmatch(cell.source) or exercise
            if cell.cell_type != "code":
                continue
            if exercise and (call := HANDED_IN.search(cell.source)):
                label, title = exercise["label"], exercise["title"]
                tasks.append(
                    Task(
                        label,
                        exercise["number"],
                        title,
                        len(exercise["stars"]),
                        call[3],
                        before[:],
                    )
                )
                exercise = None
            else:
                before.append(cell.source)
    return tasks


def needed(cell: str, sources: list[str]) -> list[str]:
    """List the imports, definitions and constants in other cells that a cell needs.

    Statements that compute are left out: a chapter trains nets, which no answer needs.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the cell is not Python.
    """
    statements, defining = [], {}  # name -> indices of the statements that define it
    for source in sources:
        for node in _statements(source):
            for name in _defined(node):
                defining.setdefault(name, []).append(len(statements))
            statements.append(node)
    kept, wanted = set(), {"*", *_used(ast.parse(cell))}
    while wanted:
        for number in defining.pop(wanted.pop(), ()):
            if number not in kept:
                kept.add(number)
                wanted |= _used(statements[number])
    return [ast.unparse(statements[number]) for number in sorted(kept)]


@lru_cache(maxsize=10_000)  # the book's cells are in every notebook
def _statements(source: str) -> list[ast.stmt]:
    """The statements of a cell; none if it is not Python, as an answer that is marked elsewhere."""
    try:
        return ast.parse(without_magic(source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def without_magic(cell: str) -> str:
    """Remove IPython magics, such as %matplotlib inline, from a cell."""
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return MAGIC.sub("", cell)
    return cell


def _defined(node) -> set[str]:
    """The names that a statement defines, if it does nothing else."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    if isinstance(node, ast.Assign) and not any(
        isinstance(part, ast.Call | ast.Subscript | ast.Await)
        for part in ast.walk(node.value)
    ):
        targets = [part for target in node.targets for part in ast.walk(target)]
        if all(
            isinstance(part, ast.Name | ast.Tuple | ast.expr_context)
            for part in targets
        ):
            return {part.id for part in targets if isinstance(part, ast.Name)}
    return set()


def _used(node) -> set[str]:
    """The names that occur in some code."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
