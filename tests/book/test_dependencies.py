"""A change in the package reruns the notebooks that use it, and no others."""

import inspect
import shutil
from pathlib import Path

import pytest

import d2lmini
from d2lmini.support.chapters import EXERCISE_PAGES
from tools import dependencies
from tools.dependencies import PACKAGE, ROOT, files_of, key
from tools.extensions.portable import expanded


def code_of(path):
    notebook = expanded(path)
    return "\n".join(c.source for c in notebook.cells if c.cell_type == "code")


@pytest.fixture(scope="module")
def users():
    """File of the package -> the notebooks whose outputs depend on it."""
    found = {}
    slugs = {row.file: slug for slug, row in EXERCISE_PAGES.items()}
    for path in (ROOT / "book").glob("*.ipynb"):
        for file in files_of(code_of(path), slugs.get(path.stem)):
            found.setdefault(file.relative_to(PACKAGE).as_posix(), set()).add(path.stem)
    return found


def test_what_one_notebook_uses_runs_one_notebook(users):
    assert users["exercises/puzzles.py"] == {"mask-puzzles"}
    assert users["exercises/masks.py"] == users["figures/masks.js"] == {"02-masks"}
    assert users["figures/walk.py"] == {"13-walking-on"}
    assert users["results/eth-ucy-choice.json"] == {"13-walking-on"}
    assert not [file for file in users if file.startswith("course/")]


def test_what_many_use_runs_them_all(users):
    assert len(users["masks.py"]) > 14
    assert {row.file for row in EXERCISE_PAGES.values()} <= users["check/grading.py"]
    assert {"11-attention-maps", "17-a-reward"} <= users["training.py"]


def test_a_name_leads_to_the_module_that_defines_it():
    for name in d2lmini.__all__:
        file = Path(inspect.getsourcefile(inspect.unwrap(getattr(d2lmini, name))))
        assert file in files_of(f"from d2lmini import {name}"), name
    code = "from d2lmini import figures\nfigures.explore_masks()"
    assert PACKAGE / "figures" / "masks.js" in files_of(code)
    assert PACKAGE / "figures" / "walk.js" not in files_of(code)


@pytest.fixture
def nothing_cached():
    """What is read of a copy of the package is forgotten afterwards."""
    cached = dependencies._needs, dependencies._figures
    yield [function.cache_clear() for function in cached]
    for function in cached:
        function.cache_clear()


@pytest.mark.usefixtures("nothing_cached")
def test_a_change_in_what_a_module_imports_changes_the_key(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE, tmp_path / "d2lmini")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setattr(dependencies, "PACKAGE", tmp_path / "d2lmini")
    code, keys = "from d2lmini import MultiHeadAttention", []
    for changed in ("attention.py", "masks.py", "training.py"):
        dependencies._needs.cache_clear()
        keys.append(key(code))
        with (tmp_path / "d2lmini" / changed).open("a", encoding="utf-8") as file:
            file.write("# a comment\n")
    dependencies._needs.cache_clear()
    keys.append(key(code))
    assert len(set(keys[:3])) == 3 and keys[3] == keys[2]


def test_a_notebook_is_expanded_in_the_same_way_each_time():
    path = ROOT / "book" / "02-masks.ipynb"
    assert expanded(path) == expanded(path)
