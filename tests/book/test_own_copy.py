"""make lab: the reader's own notebooks, which the book never overwrites."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from d2lmini.course.carrying import STUB
from tools.own_copy import update


def write(path, *sources):
    cells = [new_markdown_cell("# Title"), *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells), path)


def write_exercises(path, bodies):
    """A notebook with an answer cell for each id and name -> body."""
    cells = [
        new_code_cell(
            f'def answer():\n    {body}\n\n\ncheck.exercise("{name}", answer)', id=key
        )
        for (key, name), body in bodies.items()
    ]
    nbformat.write(new_notebook(cells=cells), path)


def code(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


@pytest.fixture
def folders(tmp_path):
    book = tmp_path / "book"
    book.mkdir()
    write(book / "a.ipynb", "1")
    write(book / "b.ipynb", "1")
    (book / "sources.md").write_text("# Sources\n", "utf-8")
    return book, tmp_path / "own"


def test_answers_stay_and_the_rest_follows_the_book(folders):
    book, own = folders
    assert update(book, own) == []
    assert {p.name for p in own.iterdir()} > {"a.ipynb", "b.ipynb", "sources.md"}
    write(own / "a.ipynb", "my answer")
    assert update(book, own) == []  # the chapter has not changed
    for name in ("a.ipynb", "b.ipynb"):
        write(book / name, "1", "new")
    for _ in range(2):  # and it is said again, until the reader does something
        assert update(book, own) == ["a.ipynb"]
        assert code(own / "a.ipynb") == ["my answer"]
        assert code(own / "b.ipynb") == ["1", "new"]
    (own / "a.ipynb").rename(own / "my a.ipynb")
    assert update(book, own) == []
    assert code(own / "a.ipynb") == ["1", "new"]
    assert code(own / "my a.ipynb") == ["my answer"]


def test_a_notebook_that_was_only_run_follows_the_book(folders):
    book, own = folders
    update(book, own)
    ran = nbformat.read(own / "a.ipynb", as_version=4)
    ran.cells[1].outputs = [nbformat.v4.new_output("stream", text="1\n")]
    ran.cells[1].execution_count = 1
    nbformat.write(ran, own / "a.ipynb")
    assert update(book, own) == []
    # kept until then
    assert nbformat.read(own / "a.ipynb", as_version=4).cells[1].outputs
    write(book / "a.ipynb", "2")
    assert update(book, own) == []
    assert code(own / "a.ipynb") == ["2"]


def test_an_update_that_was_interrupted_is_taken_up_again(folders):
    book, own = folders
    update(book, own)
    (own / ".copied.json").unlink()  # it is written last
    assert update(book, own) == []
    write(book / "a.ipynb", "new")
    assert update(book, own) == [] and code(own / "a.ipynb") == ["new"]


def test_a_torn_record_overwrites_nothing(folders):
    book, own = folders
    update(book, own)
    write(own / "a.ipynb", "my answer")
    for text in ('{"a.ipynb": "12', "", "[]"):
        (own / ".copied.json").write_text(text, "utf-8")
        write(book / "a.ipynb", f"new {len(text)}")
        assert update(book, own) == ["a.ipynb"]
        assert code(own / "a.ipynb") == ["my answer"]


def test_a_notebook_that_cannot_be_read_is_left_alone(folders):
    book, own = folders
    update(book, own)
    (own / "a.ipynb").write_text("{ half a file", "utf-8")
    write(book / "a.ipynb", "new")
    assert update(book, own) == ["a.ipynb"]
    assert (own / "a.ipynb").read_text("utf-8") == "{ half a file"


def test_answers_follow_their_exercises_into_other_notebooks(folders, capsys):
    book, own = folders
    first, second, third = ("k1", "a-1"), ("k2", "a-2"), ("k3", "a-3")
    write_exercises(book / "a.ipynb", dict.fromkeys([first, second, third], STUB))
    write_exercises(book / "d.ipynb", {("k4", "d-1"): STUB})
    update(book, own)
    write_exercises(
        own / "a.ipynb", {first: "return 1", second: "return 2", third: STUB}
    )
    write_exercises(own / "d.ipynb", {("k4", "d-1"): "return 4"})
    write_exercises(own / "my d.ipynb", {("k4", "d-1"): "return 5"})
    # The second moves and has another name now, the third its name; d and b leave the book.
    write_exercises(book / "a.ipynb", {first: STUB, ("k3", "a-2"): STUB})
    write_exercises(book / "c.ipynb", {("k2", "c-1"): STUB, ("k4", "c-2"): STUB})
    for name in ("b.ipynb", "d.ipynb"):
        (book / name).unlink()
    for _ in range(2):
        assert update(book, own) == []
        a, (c, other) = code(own / "a.ipynb"), code(own / "c.ipynb")
        assert "return 1" in a[0] and STUB in a[1] and '"a-2"' in a[1]
        assert "return 2" in c and '"c-1"' in c and "return 4" in other
        assert not (own / "b.ipynb").exists() and (own / "my d.ipynb").exists()
        assert {p.name for p in (own / "older").iterdir()} == {"a.ipynb", "d.ipynb"}
    assert "c-1: your answer is in c.ipynb now." in capsys.readouterr().out
