"""A reader's progress: verdicts, hints, and the report on both."""

import json
import multiprocessing
import re
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from d2lmini import check
from d2lmini.check import records
from d2lmini.check.grading import NOT_ATTEMPTED, RIGHT, WRONG, all_exercises
from d2lmini.check.verdict import Verdict
from d2lmini.support.chapters import CHAPTERS

EXERCISES = all_exercises()
SOFTMAX = EXERCISES["masks-3"]


def softmax(scores, mask):
    return SOFTMAX.reference(scores, mask)


def stub(scores, mask):
    raise NotImplementedError


@pytest.fixture(autouse=True)
def new_kernel(monkeypatch):
    """new_kernel() clears all records, as a restart does; each test begins with that."""

    def forget():
        monkeypatch.setattr(records, "records", {})
        monkeypatch.setattr(records, "reported", {})

    forget()
    return forget


def entry(path, name="masks-3"):
    return json.loads(path.read_text(encoding="utf-8"))["exercises"][name]


def test_an_unknown_name_lists_the_close_ones(capsys):
    check.exercise("mask-3", softmax)
    assert "perhaps masks-3" in capsys.readouterr().out
    check.hint("???")
    assert "'???' is unknown; perhaps " in capsys.readouterr().out
    check.exercise(softmax, "masks-3")
    assert "the name comes first" in capsys.readouterr().out
    assert records.records == {}


def test_hints_come_one_by_one(capsys):
    for _ in range(4):
        check.hint("masks-3")
    lines = capsys.readouterr().out.splitlines()
    for number, (line, text) in enumerate(zip(lines, SOFTMAX.hints, strict=False), 1):
        assert line == f"masks-3, hint {number} of 3: {text}"
    assert "all 3 hints" in lines[3]
    assert records.records["masks-3"].hints_used == 3


def test_the_report_counts_attempts_and_keeps_other_results(tmp_path, new_kernel):
    check.exercise("masks-3", stub)
    check.exercise("masks-3", lambda s, m: np.zeros(1))
    check.exercise("masks-3", softmax)
    # back to the stub: what was solved stays solved
    check.exercise("masks-3", stub)
    check.hint("masks-2")
    path = tmp_path / "answers.json"
    check.report(path)
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert entries["version"]
    assert set(entries["exercises"]) == set(EXERCISES)
    solved = {"verdict": RIGHT, "attempts": 2, "hints_used": 0}
    assert entries["exercises"]["masks-3"] == solved
    assert "proves nothing" in entries["note"]
    untouched = {"verdict": NOT_ATTEMPTED, "attempts": 0, "hints_used": 1}
    assert entries["exercises"]["masks-2"] == untouched

    new_kernel()  # another chapter, later
    check.exercise("masks-1", len)
    check.report(path)
    exercises = json.loads(path.read_text(encoding="utf-8"))["exercises"]
    assert exercises["masks-3"]["verdict"] == RIGHT
    assert exercises["masks-1"]["attempts"] == 1


def test_a_report_never_overwrites_another_file(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(ValueError, match="must be a new file or a former report"):
        check.report(path)
    assert path.read_text(encoding="utf-8") == "my notes"


def test_a_crash_in_the_middle_keeps_the_former_report(tmp_path, capsys, monkeypatch):
    path = tmp_path / "answers.json"
    check.exercise("masks-3", softmax)
    check.report(path)
    former = path.read_text(encoding="utf-8")
    write_text = Path.write_text

    def writes_half(path, text, **kwargs):
        write_text(path, text[: len(text) // 2], **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", writes_half)
    with pytest.raises(KeyboardInterrupt):
        check.report(path)
    assert path.read_text(encoding="utf-8") == former
    assert list(tmp_path.iterdir()) == [path]  # and nothing is left beside it


def test_notebooks_that_report_at_the_same_moment_lose_nothing(tmp_path):
    path = tmp_path / "answers.json"
    fork = multiprocessing.get_context("fork")
    at_once = fork.Barrier(8)

    def notebook():
        records.records["masks-3"] = records.Record(WRONG, attempts=1)
        at_once.wait()
        check.report(path)

    notebooks = [fork.Process(target=notebook) for _ in range(8)]
    for process in notebooks:
        process.start()
    for process in notebooks:
        process.join()
    assert entry(path)["attempts"] == 8


def test_a_report_from_a_new_kernel_destroys_nothing(tmp_path, capsys, new_kernel):
    path = tmp_path / "answers.json"
    for answer in (lambda s, m: s, lambda s, m: s, softmax):
        check.exercise("masks-3", answer)
    check.hint("masks-3")
    check.report(path)
    solved = {"verdict": RIGHT, "attempts": 3, "hints_used": 1}
    assert entry(path) == solved
    check.report(path)  # twice: nothing is counted twice
    assert entry(path) == solved

    new_kernel()
    check.exercise("masks-3", stub)
    check.report(path)
    assert entry(path) == solved

    new_kernel()
    check.hint("masks-3")
    check.exercise("masks-3", lambda s, m: s)
    check.report(path)
    check.report(path)
    assert entry(path) == solved | {"attempts": 4}  # the first hint is the same one
    check.hint("masks-3")
    check.report(path)
    assert entry(path) == solved | {"attempts": 4, "hints_used": 2}


@pytest.mark.parametrize(
    ("exercises", "rule"),
    [
        (
            {"masks-99": {"verdict": "right"}},
            "'masks-99' is not an exercise in this book",
        ),
        ({"masks-1": {"verdict": "odd"}}, r"verdict \('odd'\) must be one of"),
        ({"masks-1": {"attempts": -1}}, r"attempts \(-1\) must be a whole number"),
        ({"masks-1": {"hints_used": "3"}}, r"hints_used \('3'\) must be a whole"),
        ({"masks-1": {"marks": 3}}, "marks"),
        ([], "must be a new file or a former report"),
    ],
)
def test_made_up_entries_are_refused(tmp_path, exercises, rule):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"exercises": exercises}), encoding="utf-8")
    with pytest.raises(ValueError, match=rule):
        check.report(path)


def box(verdict, message="One <2> thing.\nwith     x = <1>"):
    hints, counted = ("a < b", "b", "c"), "1 of the 5 are right."
    return Verdict("masks-1", verdict, message, hints, counted)


@pytest.mark.parametrize("verdict", ["right", "almost", "wrong", "not attempted"])
def test_a_verdict_is_text_and_a_box(verdict):
    shown = box(verdict)
    assert str(shown) == f"masks-1: {verdict}. One <2> thing.\nwith     x = <1>"
    html = shown._repr_html_()
    assert f"(masks-1): {verdict}.</strong> One &lt;2&gt; thing.</p>" in html
    assert "with     x = &lt;1&gt;</pre>" in html and "<1>" not in html
    hints = re.findall("<summary>Hint (.) of 3</summary>\n<p>(.*?)</p>", html)
    closed = [("1", "a &lt; b"), ("2", "b"), ("3", "c")]
    assert hints == ([] if verdict == "right" else closed)
    assert ("1 of the 5 are right." in html) == (verdict == "right")
    for tag in ("div", "p", "pre", "details", "strong"):
        assert len(re.findall(rf"<{tag}\b", html)) == html.count(f"</{tag}>")


def test_in_a_notebook_a_box_is_shown_and_elsewhere_text(capsys):
    check.exercise("masks-3", softmax)
    said = "masks-3: right. All 10 cases agree. The properties hold.\n"
    assert capsys.readouterr().out == said
    shell = InteractiveShell.instance()
    try:
        with capture_output() as captured:
            check.exercise("masks-3", softmax)
        (output,) = captured.outputs
        assert "✓ Exercise 2.3 (masks-3): right." in output.data["text/html"]
        assert output.data["text/plain"].startswith("masks-3: right. All 10 cases")
        number = CHAPTERS["masks"].exercises
        said = f"1 of the {number} exercises of chapter 2 is right."
        assert said in output.data["text/html"]
    finally:
        shell.clear_instance()
