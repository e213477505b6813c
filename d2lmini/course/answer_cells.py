"""The answers in a notebook that was handed in, exercise by exercise."""

import ast
import json
import re
import warnings
from dataclasses import dataclass, field

import nbformat

from d2lmini.course.assignment import HANDED_IN, without_magic
from d2lmini.course.handed_in import Found
from d2lmini.course.notebooks import CALL
from d2lmini.support.chapters import EXERCISE_PAGES

LARGEST = 50 * 1024**2  # bytes of a notebook
# a call with an exercise's name, of check.exercise under another name
CALLED = re.compile(
    r"""(\w+)\s*\(\s*(?:answer\s*=\s*\w+\s*,\s*)?(?:name\s*=\s*)?(["'])([a-z]+-\d+)\2\s*[,)]"""
)
NO_CALL = "print", "hint", "report", "mystery"
DEFINES = re.compile(r"\b(def|lambda|class)\b")
DEFINED = re.compile(r"^(?:def\s+|class\s+)?(\w+)\s*[(:=]", re.M)
STUB = "raise NotImplementedError"  # the line that an answer replaces


@dataclass
class Read:
    """What a notebook holds.

    Args:
        answers: exercise -> the text of its answer cell.
        rest: the other code cells, which may define what an answer uses.
        problems: messages for the student and the lecturer.
    """

    answers: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def answers_of(file: Found) -> Read:
    """Read the answer cell of each exercise, and the problems of the notebook."""
    if file.size > LARGEST:
        rule = f"at most {LARGEST >> 20} MB are read: clear its outputs"
        return Read(problems=[f"the notebook has {file.size >> 20} MB; {rule}"])
    try:
        cells = _cells(file.read().decode("utf-8-sig"))
    except Exception as error:  # a stranger's file can contain anything
        text = str(error).partition("\n")[0][:200]
        return Read(
            problems=[f"this is not a notebook ({type(error).__name__}: {text})"]
        )
    known = {name for page in EXERCISE_PAGES.values() for name in page.exercise_names}
    answers, problems = {}, []
    loose = {}  # code cells that are nobody's answer, by their number
    number = 0  # of the code cells
    for source, marked, kind in cells:
        called = [name for _, name in CALL.findall(source)]
        if kind != "code":
            problems += [
                f"the answer cell of {name} is no code cell, and was not read"
                for name in dict.fromkeys([marked, *called])
                if name in known
            ]
            continue
        number += 1
        unknown = [name for name in called if name not in known]
        problems += [f"cell {number}: there is no exercise {name}" for name in unknown]
        called = [name for name in called if name in known] or [
            name
            for function, _, name in CALLED.findall(source)
            if name in known and function not in NO_CALL and name not in answers
        ]
        if marked in known and marked not in called:
            if called:
                text = f"cell {number}: is the answer cell of {marked}, but hands in {called[0]}"
                problems.append(f"{text}; it counts for {marked}")
            called = [marked]
        for name in dict.fromkeys(called):
            problem = _answer(answers, name, source, loose)
            problems += [f"cell {number}: {problem}"] * bool(problem)
        if not called:
            loose[number] = source
    if not answers:
        problems.append("there is no answer cell in it")
    return Read(answers, [*loose.values()], problems)


def _answer(answers, name, source, loose) -> str:
    """Add a cell to the answers; return what is to be told about it, if anything."""
    older, code = answers.get(name), _code(source)
    if older is None and not code:
        return f"the answer cell of {name} has no code"
    if code and not DEFINES.search(code):
        if older is None or not DEFINES.search(_code(older)):
            before = _before(source, loose)
            if before:
                answers[name] = "\n\n".join([*before.values(), source])
                numbers = " and ".join(map(str, before))
                cells = "cells" if len(before) > 1 else "cell"
                return f"the answer to {name} begins in {cells} {numbers}; they were joined"
        else:
            answers[name] = f"{older}\n\n{source}"
            return f"goes on with the answer to {name}; both were joined"
    if older is None:
        answers[name] = source
        return ""
    if says_less(source, older):
        return f"does not answer {name}; the answer before it counts"
    answers[name] = source
    return f"answers {name} again; the last answer counts"


def _before(source, loose) -> dict[int, str]:
    """The cells that define what a cell hands in, if that is not defined in it."""
    handed_in = {found[3] for found in HANDED_IN.finditer(source)}
    wanted = (handed_in or set(re.findall(r"\w+", source))) - {*DEFINED.findall(source)}
    found = [n for n, text in loose.items() if wanted & {*DEFINED.findall(text)}]
    return {n: text for n, text in loose.items()
            if found and n >= found[-1] and DEFINES.search(_code(text))}  # fmt: skip


def _code(source) -> str:
    """The lines of a cell without comments."""
    lines = (line for line in source.splitlines() if not line.lstrip().startswith("#"))
    return "\n".join(lines).strip()


def says_less(source: str, older: str) -> bool:
    """Whether a cell is still to be filled in, or has no function, unlike an older one."""
    source, older = _code(source), _code(older)
    if _is_unfinished(older) or not DEFINES.search(older):
        return False
    return _is_unfinished(source) or not DEFINES.search(source)


def _is_unfinished(code) -> bool:
    """Whether a function in it is still to be written."""
    try:
        nodes = [*ast.walk(ast.parse(without_magic(code)))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return STUB in code
    bodies = [node.body for node in nodes if isinstance(node, ast.FunctionDef)]
    return any(
        ast.unparse(body[-1]).startswith(STUB)
        or all(
            isinstance(line, ast.Pass)
            or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            for line in body
        )
        for body in bodies
    )


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
