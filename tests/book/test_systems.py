"""What would fail on another system, looked for on this one."""

import ast
import os
import re
from pathlib import Path

import pytest

from d2lmini.check import process

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("d2lmini", "tests", "tools", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)


def calls(path):
    """(name, call) of each call in a file, such as ("read_text", ...)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield name, node


@each_source
def test_files_are_opened_as_utf_8(path):
    """The default of Windows is another: it cannot read the French of the corpora."""
    for name, call in calls(path):
        said = {keyword.arg for keyword in call.keywords} | {  # None: **settings
            arg.value for arg in call.args if isinstance(arg, ast.Constant)
        }
        as_bytes = any(isinstance(s, str) and re.fullmatch("[rwxa]b", s) for s in said)
        if name in ("read_text", "write_text") or (
            name == "open" and isinstance(call.func, ast.Name) and not as_bytes
        ):
            assert said & {"encoding", "utf-8", None}, f"line {call.lineno}: {name}"


@each_source
def test_no_path_is_made_into_text_with_its_own_slashes(path):
    """str() of a relative path has backslashes on Windows; as_posix() has none."""
    for name, call in calls(path):
        inner = call.args[0] if name == "str" and call.args else None
        if isinstance(inner, ast.Call):
            made = getattr(inner.func, "attr", "")
            assert made not in ("relative_to", "with_suffix"), f"line {call.lineno}"


def test_an_answer_is_ended_where_there_are_no_process_groups(monkeypatch):
    monkeypatch.delattr(os, "killpg", raising=False)
    child = process.Child()
    assert child.is_alive()
    child.end()
    assert not child.is_alive()
