"""Dependencies point one way, and importing the package is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "d2lmini"

# module -> the modules of the package that it may import
ALLOWED = {
    "masks": set(),
    "positions": {"masks"},
    "attention": {"masks", "positions"},
    "layers": {"masks", "positions", "attention"},
    "transformer": {"masks", "positions", "attention", "layers"},
    "datasets": set(),
    "data": {"datasets"},
    "training": set(),
    "translation": {"data", "masks"},
    "plots": set(),
    "widgets": {"data", "masks", "positions"},
    "bugs": {"masks", "positions", "attention", "layers", "transformer"},
    "grading": set(),  # it finds the exercises by name
    "check": {"grading", "masks"},
}
TORCH_ONLY = {"masks", "positions", "attention", "layers", "transformer"}
STANDARD = set(sys.stdlib_module_names)


def imported(path):
    """Top-level names and, for this package, module names that a file imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[:2] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module.split(".")[:2]


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_imports_point_one_way(path):
    if path.stem == "__init__":
        return
    names = list(imported(path))
    own = {name[1] for name in names if name[0] == "d2lmini"}
    assert own <= ALLOWED[path.stem]
    if path.stem in TORCH_ONLY:
        assert {name[0] for name in names} <= {"torch", "math", "d2lmini"}


def test_importing_the_package_loads_no_plots_tables_widgets_or_web_client():
    program = "import torch, sys; before = set(sys.modules); import d2lmini; "
    program += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert loaded.returncode == 0, loaded.stderr
    heavy = {
        "matplotlib",
        "pandas",
        "ipywidgets",
        "IPython",
        "anywidget",
        "pooch",
        "requests",
        "sacrebleu",
    }
    assert heavy & set(loaded.stdout.split()) == set()
    assert set(loaded.stdout.split()) - STANDARD <= {"d2lmini", "tqdm"}


def test_the_package_stays_small():
    lines = {
        path.stem: len(path.read_text("utf-8").splitlines())
        for path in PACKAGE.glob("*.py")
    }
    assert sum(lines[name] for name in TORCH_ONLY) <= 600
    # The book's own checking is counted apart; the exercises are content, in their own folder.
    checking = sum(lines.pop(name) for name in ("check", "grading", "bugs"))
    assert sum(lines.values()) <= 2200
    assert checking <= 1050


def test_browser_modules_stay_small():
    for path in (PACKAGE / "static").glob("*.js"):
        assert len(path.read_text("utf-8").splitlines()) <= 250, path.name


def test_only_grading_finds_the_exercises_and_they_import_what_readers_have():
    for path in (PACKAGE / "exercises").glob("*.py"):
        own = {name[1] for name in imported(path) if name[0] == "d2lmini" and name[1:]}
        assert own <= set(ALLOWED) - {"plots", "widgets", "check"}


def test_definitions_have_docstrings_and_exported_ones_a_source():
    import d2lmini

    for path in PACKAGE.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node) or ""
                assert doc, f"{path.stem}.{node.name}"
                if node.name in vars(d2lmini):
                    assert "Source:" in doc or node.name.startswith("_"), node.name
