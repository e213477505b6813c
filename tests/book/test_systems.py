"""Mistakes that show only on another system, found on this one."""

import ast
import os
import re
from pathlib import Path

from d2lmini.check import process

ROOT = Path(__file__).parents[2]


def calls():
    """(name, call, place) of each call in our code, such as ("read_text", ...)."""
    for folder in ("d2lmini", "tests", "tools", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    yield name, node, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_files_are_opened_as_utf_8():
    """Windows has another default, which cannot read the French of the corpora."""
    for name, call, place in calls():
        said = {keyword.arg for keyword in call.keywords} | {  # None: **settings
            arg.value for arg in call.args if isinstance(arg, ast.Constant)
        }
        as_bytes = any(isinstance(s, str) and re.fullmatch("[rwxa]b", s) for s in said)
        is_method = isinstance(call.func, ast.Attribute)
        if (name in ("read_text", "write_text") and is_method) or (
            name == "open" and not is_method and not as_bytes
        ):
            remedy = f'{place}: {name}() needs encoding="utf-8"'
            assert said & {"encoding", "utf-8", None}, remedy


def test_an_answer_is_ended_where_there_are_no_process_groups(monkeypatch):
    monkeypatch.delattr(os, "killpg", raising=False)
    child = process.Child()
    assert child.is_alive()
    child.end()
    assert not child.is_alive()
