"""The package stays small, documented and cheap to import; `make lint` checks what imports what."""

import ast
import subprocess
import sys
from pathlib import Path

import d2lmini

PACKAGE = Path(d2lmini.__file__).parent
MODEL = "masks", "positions", "attention", "layers", "transformer"


def test_importing_the_package_loads_only_torch():
    program = "import torch, sys; before = set(sys.modules); import d2lmini; "
    program += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) - set(sys.stdlib_module_names)
    assert loaded <= {"d2lmini"}


def test_what_is_exported_is_a_function_or_a_class_and_modules_are_found_by_name():
    for name in d2lmini.__all__:
        assert callable(getattr(d2lmini, name)), name
    for name in ("bugs", "check", "figures"):
        assert getattr(d2lmini, name).__name__.startswith("d2lmini.")
        assert name not in d2lmini.__all__


def lines(path):
    return len(path.read_text("utf-8").splitlines())


def test_what_is_small_stays_small():
    top = sorted(PACKAGE.glob("*.py"))
    assert len(top) <= 13 and sum(map(lines, top)) <= 1700
    for path in PACKAGE.rglob("*.py"):
        most = 520 if path.parent.name == "exercises" else 400
        assert lines(path) <= (300 if path.parent == PACKAGE else most), path
    for path in PACKAGE.rglob("*.js"):
        assert lines(path) <= 250, path


def test_definitions_have_docstrings_and_exported_ones_a_source():
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name == "exercises":
            continue  # content, whose helpers are said by their names
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node) or ""
                assert doc or node.name == "__getattr__", f"{path.stem}.{node.name}"
                if node.name in d2lmini.__all__:
                    assert "Source:" in doc, node.name
