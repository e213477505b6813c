"""Cached results of the build are remade when inputs change, and are never incomplete."""

import pytest

from tools import kept as module
from tools.kept import kept


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")


def test_the_same_inputs_are_made_once(tmp_path):
    made, file = [], tmp_path / "input"

    def make():
        made.append(len(made))
        return b"%d" % made[-1]

    file.write_text("a", "utf-8")
    assert [kept("x", ["1", file], make) for _ in range(3)] == [b"0"] * 3
    file.write_text("b", "utf-8")
    assert kept("x", ["1", file], make) == b"1"
    file.write_text("a", "utf-8")  # a branch, and back
    assert kept("x", ["1", file], make) == b"0"
    assert kept("x", [b"1", file], make) == b"0"
    assert kept("y", ["1", file], make) == b"2"


def test_what_is_interrupted_is_made_again():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept("x", [], interrupted)
    assert kept("x", [], lambda: b"whole") == b"whole"
