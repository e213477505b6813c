"""The mutation gate: right answers pass, stubs are not attempted, wrong ones are told apart."""

import ast
import json
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from portable import expanded  # of tools/
from torch import nn

from d2lmini import check
from d2lmini.chapters import CHAPTERS
from d2lmini.checking import grading
from d2lmini.checking.grading import NOT_ATTEMPTED, RIGHT, WRONG, all_exercises, grade

pytestmark = pytest.mark.usefixtures("each_device")

BOOK = Path(__file__).parents[1] / "book"
EXERCISES = all_exercises()
STUB = re.compile(r'check\.exercise\("([\w-]+)", (\w+)\)')

each_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)


def in_notebooks():
    """Name -> (stub cell, its function's name, solution cell), from the chapters."""
    found = {}
    for path in sorted(BOOK.glob("[0-9]*.ipynb")):
        cells = expanded(path).cells
        for i, cell in enumerate(cells):
            match = STUB.search(cell.source)
            if cell.cell_type == "code" and match and "NotImplementedError" in cell.source:
                solution = next(
                    c.source
                    for c in cells[i:]
                    if c.cell_type == "code"
                    and re.search(r"^def solution\(", c.source, re.M)
                )
                assert match[1] not in found
                found[match[1]] = cell.source, match[2], solution, path
    return found


NOTEBOOKS = in_notebooks()


def function_in(source, name, path):
    """A function defined in a cell, with the imports and small helpers of its notebook."""
    cells = nbformat.read(path, as_version=4).cells
    scope = {}
    for cell in cells:
        if cell.cell_type != "code":
            continue
        for node in ast.parse(re.sub(r"^[%!].*$", "", cell.source, flags=re.M)).body:
            constant = (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], (ast.Name, ast.Tuple))
                and not any(
                    isinstance(n, (ast.Call, ast.Name)) for n in ast.walk(node.value)
                )
            )
            definition = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
            if constant or isinstance(node, definition):
                exec(compile(ast.Module([node], []), str(path), "exec"), scope)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            exec(compile(ast.Module([node], []), str(path), "exec"), scope)
    return scope[name]


@pytest.fixture(autouse=True)
def nothing_recorded(monkeypatch):
    monkeypatch.setattr(grading, "records", {})


def test_the_notebooks_and_the_package_have_the_same_exercises():
    assert set(NOTEBOOKS) == set(EXERCISES)
    for name, (_, _, _, path) in NOTEBOOKS.items():
        assert path.stem == CHAPTERS[name.rpartition("-")[0]].file
        text = "\n".join(cell.source for cell in expanded(path).cells)
        assert f":label: {name}" in text and f"{{solution-start}} {name}" in text


@each_exercise
def test_the_stub_is_not_attempted(exercise):
    stub, name, _, path = NOTEBOOKS[exercise.name]
    verdict, message = grade(exercise, function_in(stub, name, path))
    assert verdict == NOT_ATTEMPTED, message


@each_exercise
def test_the_solution_and_the_reference_are_right(exercise):
    _, _, solution, path = NOTEBOOKS[exercise.name]
    for answer in (exercise.reference, function_in(solution, "solution", path)):
        verdict, message = grade(exercise, answer)
        assert verdict == RIGHT, message


@each_exercise
def test_each_plausible_mistake_is_rejected_and_named(exercise):
    assert len(exercise.mistakes) >= 3
    for text, mistake in exercise.mistakes.items():
        verdict, message = grade(exercise, mistake)
        assert verdict == WRONG
        assert message == f"This behaves like {text}."


@each_exercise
def test_a_solution_is_not_handed_in_for_the_reader(exercise):
    """Who runs all cells must not find exercises solved in the report."""
    assert "check.exercise" not in NOTEBOOKS[exercise.name][2]


@each_exercise
def test_there_are_three_different_hints(exercise):
    assert len(set(exercise.hints)) == 3


@each_exercise
def test_answers_of_the_wrong_kind_get_one_clear_line(exercise):
    def returns_none(*args):
        pass

    def raises(*args):
        raise KeyError("oh")

    def too_few():
        return 0

    for answer, text in (
        (returns_none, "returned None. Is a return statement missing?"),
        (raises, "raises raised KeyError"),
        (5, "must be a function, got int 5"),
        (None, "must be a function, got NoneType"),
    ):
        verdict, message = grade(exercise, answer)
        assert verdict == WRONG and text in message and "Traceback" not in message
    if next(iter(exercise.cases)):
        verdict, message = grade(exercise, too_few)
        assert verdict == WRONG and "cannot be called with" in message


# One exercise whose answer is a tensor, for the rest.
SOFTMAX = EXERCISES["masks-3"]


def softmax(scores, mask):
    return SOFTMAX.reference(scores, mask)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda s, m: softmax(s, m).numpy(), "Expected a torch.Tensor, got a numpy array."),
        (lambda s, m: softmax(s, m).tolist(), "Expected a torch.Tensor, got list."),
        (lambda s, m: softmax(s, m)[None], "Expected shape (1, 2), got (1, 1, 2)."),
        (lambda s, m: softmax(s, m).double(), "Expected dtype torch.float32, got torch.float64."),
        (lambda s, m: softmax(s, m) / 0 * 0, "numbers are NaN."),
        (lambda s, m: softmax(s, m) * 1.1, "The numbers differ, first at [0, 0]: 1.1 is not 1.0."),
        (lambda s, m: s.masked_fill_(~m, 0) and None, "raised RuntimeError"),
        (lambda s: s, "cannot be called with 2 arguments"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(answer, text):
    verdict, message = grade(SOFTMAX, answer)
    assert verdict == WRONG
    assert text in message


def test_the_smallest_differing_case_is_shown():
    verdict, message = grade(SOFTMAX, lambda s, m: softmax(s, m) * 1.1)
    assert verdict == WRONG
    assert "s = [[0.0, 0.0]], m = [[True, False]]" in message  # the answer's own names
    assert "expected [[1.0, 0.0]]" in message and "got      [[1.1, 0.0]]" in message


def test_another_default_device_is_no_mistake():
    """Cases lie on the CPU, also for a reader who has called torch.set_default_device."""
    with torch.device("meta"):
        assert grade(SOFTMAX, softmax)[0] == RIGHT
        verdict, message = grade(SOFTMAX, lambda s, m: softmax(s, m) * 1.1)
    assert verdict == WRONG and "1.1 is not 1.0" in message


def test_rounding_is_no_mistake():
    assert grade(SOFTMAX, lambda s, m: softmax(s, m) * (1 + 1e-6))[0] == RIGHT


def test_an_answer_that_changes_its_argument_is_told_so():
    def overwrites(scores, mask):
        result = softmax(scores, mask)
        scores.zero_().add_(7)
        return result

    verdict, message = grade(SOFTMAX, overwrites)
    assert verdict == WRONG and "changed its argument" in message


def test_what_an_answer_does_to_its_arguments_stays_with_it():
    def pops(sentences, min_freq):
        while sentences:
            sentences.pop()
        return 0.0

    def resets(block, X, mask):
        block.attention.W_o.weight.data.zero_()
        return block(X, mask)

    for name, answer in (("training-4", pops), ("transformer-5", resets)):
        verdict, message = grade(EXERCISES[name], answer)
        assert verdict == WRONG and "changed its argument" in message
        assert grade(EXERCISES[name], EXERCISES[name].reference)[0] == RIGHT


def test_only_the_stub_s_own_error_means_not_attempted():
    def of_a_library(scores, mask):
        raise NotImplementedError("not implemented for 'Bool'")

    for answer in (of_a_library, lambda s, m: nn.Module()(s)):
        verdict, message = grade(SOFTMAX, answer)
        assert verdict == WRONG and "raised NotImplementedError: " in message


def test_an_answer_that_leaves_python_is_only_wrong():
    verdict, message = grade(SOFTMAX, lambda s, m: sys.exit(1))
    assert verdict == WRONG and "raised SystemExit: 1" in message


def test_numbers_may_come_in_any_container():
    for kind in (list, tuple, np.array, torch.tensor):
        verdict, message = grade(
            EXERCISES["maps-1"],
            lambda *x, kind=kind: kind(EXERCISES["maps-1"].reference(*x)),
        )
        assert verdict == RIGHT, message
    verdict, message = grade(EXERCISES["maps-1"], lambda *x: [2, 1, 0])
    assert verdict == WRONG and "Value 3 of 3: The number differs." in message


def test_a_prediction_is_not_given_away():
    verdict, message = grade(EXERCISES["training-6"], lambda: ["Falls", "falls"])
    assert verdict == WRONG and message == "Value 1 of 2: 'falls' is not right."
    assert grade(EXERCISES["training-6"], lambda: ("Rises", "rises "))[0] == RIGHT


def test_an_unknown_name_lists_the_close_ones(capsys):
    check.exercise("mask-3", softmax)
    assert "perhaps masks-3" in capsys.readouterr().out
    check.hint("???")
    assert "'???' is unknown; perhaps " in capsys.readouterr().out
    check.exercise(softmax, "masks-3")
    assert "the name comes first" in capsys.readouterr().out
    assert grading.records == {}


def test_an_answer_that_hands_itself_in_is_graded_and_recorded_once(capsys):
    depth = 0

    def answer(scores, mask):
        nonlocal depth
        depth += 1
        if depth < 5:  # enough to see it go on
            check.exercise("masks-3", answer)  # a line that is indented too far
        return softmax(scores, mask)

    check.exercise("masks-3", answer)
    (line, _) = capsys.readouterr().out.splitlines()
    assert 'move check.exercise("masks-3", ...) out of the function' in line
    assert grading.records["masks-3"].attempts == 1
    check.exercise("masks-3", softmax)  # and the next one is graded as ever
    assert grading.records["masks-3"].verdict == RIGHT


def test_hints_come_one_by_one(capsys):
    for _ in range(4):
        check.hint("masks-3")
    lines = capsys.readouterr().out.splitlines()
    for number, (line, text) in enumerate(zip(lines, SOFTMAX.hints, strict=False), 1):
        assert line == f"masks-3, hint {number} of 3: {text}"
    assert "all 3 hints" in lines[3]
    assert grading.records["masks-3"].hints_used == 3


def test_the_report_counts_attempts_and_keeps_other_results(tmp_path, capsys, monkeypatch):
    def stub(scores, mask):
        raise NotImplementedError

    check.exercise("masks-3", stub)
    check.exercise("masks-3", lambda s, m: np.zeros(1))
    check.exercise("masks-3", softmax)
    check.exercise("masks-3", stub)  # the cell was emptied again: what was solved stays so
    check.hint("masks-2")
    path = tmp_path / "answers.json"
    check.report(path)
    entries = json.loads(path.read_text(encoding="utf-8"))
    assert entries["version"]
    assert set(entries["exercises"]) == set(EXERCISES)
    assert entries["exercises"]["masks-3"] == {
        "verdict": RIGHT,
        "attempts": 2,
        "hints_used": 0,
    }
    untouched = {"verdict": NOT_ATTEMPTED, "attempts": 0, "hints_used": 1}
    assert entries["exercises"]["masks-2"] == untouched

    monkeypatch.setattr(grading, "records", {})  # another chapter, later
    check.exercise("masks-1", len)
    check.report(path)
    exercises = json.loads(path.read_text(encoding="utf-8"))["exercises"]
    assert (
        exercises["masks-3"]["verdict"] == RIGHT and exercises["masks-1"]["attempts"] == 1
    )


def test_a_report_never_overwrites_another_file(tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("my notes")
    with pytest.raises(ValueError, match="must be a new file or a former report"):
        check.report(path)
    assert path.read_text() == "my notes"


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


def test_a_report_is_brought_up_to_date_when_entries_are_missing(tmp_path, capsys):
    path = tmp_path / "answers.json"
    path.write_text('{"exercises": {"old-1": {}}}')
    check.report(path)
    assert "old-1" in json.loads(path.read_text())["exercises"]
    path.write_text('{"exercises": {"old-1": {"marks": 3}}}')
    with pytest.raises(ValueError, match="must be a new file or a former report"):
        check.report(path)


def test_a_raise_in_one_answer_leaves_the_other_results(capsys):
    check.exercise("masks-3", softmax)
    check.exercise("masks-2", lambda t, pad: 1 / 0)
    out = capsys.readouterr().out
    assert "ZeroDivisionError: division by zero" in out
    assert grading.records["masks-3"].verdict == RIGHT
    assert grading.records["masks-2"].verdict == WRONG


@each_exercise
def test_each_property_of_an_exercise_rejects_a_mistake(exercise):
    for holds in exercise.properties:
        assert holds(exercise.reference)
    if exercise.properties:
        broken = [
            grading._broken(exercise, mistake) for mistake in exercise.mistakes.values()
        ]
        assert any(broken)


def test_a_property_finds_what_the_cases_miss():
    verdict, message = grade(SOFTMAX, lambda s, m: softmax(s, m) + 9e-5 * ~m)
    assert verdict == WRONG
    assert "a property does not hold" in message and "rows_sum_to_one" in message


def test_a_property_that_cannot_be_tried_is_said():
    def answer(scores, mask):
        if scores.shape == (3, 3):  # no case has this shape
            raise KeyError("oh")
        return softmax(scores, mask)

    verdict, message = grade(SOFTMAX, answer)
    assert verdict == WRONG and "A property could not be tried: KeyError: 'oh'" in message
