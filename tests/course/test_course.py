"""Copies for a class: nothing of a solution for students, everything for instructors."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import for_each

from d2lmini.check.grading import all_exercises
from d2lmini.course.__main__ import LECTURERS_PAGES, main
from d2lmini.course.copies import for_instructors, for_students, write_copies
from d2lmini.course.notebooks import EXERCISE, SOLUTION, read, text_of

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
EXERCISES = all_exercises()


def sources(notebooks):
    return [cell.source for notebook in notebooks for cell in notebook.cells]


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    out = tmp_path_factory.mktemp("student") / "out"
    write_copies(for_students, ROOT, out, LECTURERS_PAGES)
    return out


def test_no_line_of_a_solution_is_left(student):
    """Of each solution, every line that occurs nowhere else in the book."""
    given = sources(read(path) for path in NOTEBOOKS)
    lines = {
        line.strip()
        for source in given
        if SOLUTION.fullmatch(source)
        for line in SOLUTION.fullmatch(source)["text"].splitlines()
    }
    elsewhere = "\n".join(source for source in given if not SOLUTION.fullmatch(source))
    telling = {line for line in lines if len(line) > 3 and line not in elsewhere}
    assert len(telling) > 8 * len(EXERCISES)
    for path in student.rglob("*"):
        # The ledger has no code.
        if path.is_file() and path.suffix not in (".json", ".safetensors"):
            is_notebook = path.suffix == ".ipynb"
            parts = sources([read(path)]) if is_notebook else [path.read_text("utf-8")]
            text = "\n".join(parts)
            assert not [line for line in telling if line in text], path.name
            assert "Solution</summary>" not in text


def test_the_rest_of_the_book_is_there(student):
    given = {path.name for path in (student / "book").glob("*.ipynb")}
    assert given == {path.name for path in NOTEBOOKS} - {"teaching.ipynb"}
    for path in NOTEBOOKS:
        if path.name == "teaching.ipynb":  # an exam with its answers
            continue
        kept = [s for s in sources([read(path)]) if not SOLUTION.fullmatch(s)]
        assert sources([read(student / "book" / path.name)]) == kept
    assert (student / "book" / "bibliography.md").exists()


def test_each_answer_cell_is_marked_once(student):
    found = []
    for path in sorted((student / "book").glob("*.ipynb")):
        for cell in read(path).cells:
            name = cell.metadata.get("d2lmini", {}).get("exercise")
            assert "nbgrader" not in cell.metadata  # which would empty the cell
            if name:
                assert cell.cell_type == "code"
                assert f'check.exercise("{name}"' in cell.source
                found.append(name)
    assert found == list(EXERCISES)


@for_each(NOTEBOOKS)
def test_an_instructor_has_all_and_more(path):
    before, after = sources([read(path)]), sources([for_instructors(read(path))])
    assert [source for source in after if source in before] == before
    added = [source for source in after if source not in before]
    labels = [m["label"] for m in map(EXERCISE.fullmatch, before) if m]
    assert len(added) == len(labels)
    for label, text in zip(labels, added, strict=True):
        assert "minutes" in text
        for mistake in EXERCISES[label].mistakes:
            assert mistake in text
        for hint in EXERCISES[label].hints:
            assert hint in text
    text = text_of(for_instructors(read(path)))
    nbformat.validate(nbformat.reads(text, as_version=4))


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"root \(.*\) must be the folder of the"):
        write_copies(for_students, tmp_path, tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"out \(.*\) must be a new folder, or an"):
        write_copies(for_students, ROOT, tmp_path / "full")
    with pytest.raises(SystemExit, match="must be a new folder"):
        main(["student", "--root", str(ROOT), "--out", str(tmp_path / "full")])
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("kind", ["student", "instructor"])
def test_the_command(kind, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "d2lmini.course", kind, "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    number = len(NOTEBOOKS) - (kind == "student")
    assert f"{number} notebooks in {out / 'book'}" in done.stdout
    texts = sources(map(read, out.rglob("*.ipynb")))
    solutions = sum(SOLUTION.fullmatch(text) is not None for text in texts)
    assert solutions == (len(EXERCISES) if kind == "instructor" else 0)
