"""Right answers pass, stubs are not attempted, and plausible mistakes are named."""

import ast
import contextlib
import copy
import functools
import re
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from conftest import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from d2lmini.check import grading
from d2lmini.check.answers import difference
from d2lmini.check.exercise import Exercise
from d2lmini.check.grading import ALMOST, NOT_ATTEMPTED, RIGHT, WRONG, grade
from d2lmini.course.assignment import needed
from d2lmini.support.chapters import EXERCISE_PAGES
from tools.extensions.portable import expanded

BOOK = Path(__file__).parents[2] / "book"
EXERCISES = grading.all_exercises()
STUB = re.compile(r'check\.exercise\("([\w-]+)", (\w+)\)')

each_exercise = for_each(EXERCISES.values())


@functools.cache
def in_notebooks():
    """Name -> (stub cell, its function's name, solution cell, notebook)."""
    found = {}
    for path in sorted(BOOK.glob("*.ipynb")):
        cells = [c.source for c in expanded(path).cells if c.cell_type == "code"]
        for i, source in enumerate(cells):
            match = STUB.search(source)
            if match and "NotImplementedError" in source:
                assert match[1] not in found
                is_solution = re.compile(r"^def solution\(", re.M).search
                solution = next(filter(is_solution, cells[i:]))
                found[match[1]] = source, match[2], solution, path
    return found


def code_of(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


@functools.cache
def function_in(source, name, path):
    """A function defined in a cell, with what of its notebook it needs."""
    scope = {}
    for statement in needed(source, code_of(path)):
        with contextlib.suppress(Exception):  # a constant made of computed values
            exec(statement, scope)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            exec(compile(ast.Module([node], []), str(path), "exec"), scope)
    return scope[name]


def solution_of(exercise):
    _, _, solution, path = in_notebooks()[exercise.name]
    return function_in(solution, "solution", path)


def test_the_notebooks_and_the_package_have_the_same_exercises():
    remedy = "a new exercise: add it to d2lmini/exercises/ and to its notebook"
    assert set(in_notebooks()) == set(EXERCISES), remedy
    for name, (_, _, _, path) in in_notebooks().items():
        assert path.stem == EXERCISE_PAGES[name.rpartition("-")[0]].file
        text = "\n".join(cell.source for cell in expanded(path).cells)
        assert f":label: {name}" in text and f"{{solution-start}} {name}" in text


@each_exercise
def test_the_stub_is_not_attempted(exercise):
    stub, name, _, path = in_notebooks()[exercise.name]
    verdict, message = grade(exercise, function_in(stub, name, path))
    assert verdict == NOT_ATTEMPTED, message


@each_exercise
def test_the_solution_and_the_reference_are_right(exercise):
    for answer in (exercise.reference, solution_of(exercise)):
        verdict, message = grade(exercise, answer)
        assert verdict == RIGHT, message


@each_exercise
def test_the_form_of_an_exercise(exercise):
    assert len(set(exercise.hints)) == 3, "three different hints"
    # Otherwise an answer could look up the cases in the book.
    assert exercise.draw or list(exercise.cases) == [()], "give it draw"
    # Running all cells must not mark exercises as solved in the report.
    assert "check.exercise" not in in_notebooks()[exercise.name][2]


@each_exercise
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_drawn_cases_have_the_right_answer_that_the_book_gives(exercise, random):
    """The solution is another program than the reference, and neither raises."""
    solution = solution_of(exercise)
    for case in exercise.drawn(random, 1).cases[len(exercise.cases) :]:
        due = exercise.reference(*copy.deepcopy(case))
        got = solution(*copy.deepcopy(case))
        if exercise.effect:
            due, got = (exercise.effect(x, *case) for x in (due, got))
        assert not difference(got, due, exercise.tolerance)


@each_exercise
def test_each_plausible_mistake_is_rejected_and_named(exercise):
    assert len(exercise.mistakes) >= 3
    for text, mistake in exercise.mistakes.items():
        verdict, message = grade(exercise, mistake)
        assert verdict == WRONG
        assert message == f"This behaves like {text}."


@each_exercise
def test_a_place_that_is_named_is_in_the_chapter(exercise):
    """A mistake that the chapter explains names the section, not the chapter itself."""
    page = EXERCISE_PAGES[exercise.name.rpartition("-")[0]]
    cells = nbformat.read(BOOK / f"{page.file}.ipynb", as_version=4).cells
    headings = re.findall(r"^##+ (.+)$", "\n".join(c.source for c in cells), re.M)
    for text in exercise.mistakes:
        assert set(re.findall(r'see "([^"]+)"', text)) <= set(headings)
        assert f"see chapter {page.number}" not in text


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
    [(lambda s, m: softmax(s, m).numpy(), "Expected a torch.Tensor, got a numpy array."),
        (lambda s, m: softmax(s, m).tolist(), "Expected a torch.Tensor, got list."),
        (lambda s, m: softmax(s, m)[None], "Expected shape (1, 2), got (1, 1, 2)."),
        (lambda s, m: softmax(s, m).half(), "Expected dtype torch.float32, got torch.float16."),
        (lambda s, m: softmax(s, m).double(), "The weights are (3, 3), torch.float64"),
        (lambda s, m: softmax(s, m) / 0 * 0, "numbers are NaN."),
        (lambda s, m: softmax(s, m) * 1.1, "numbers differ, first at [0, 0]: 1.1 instead of 1.0."),
        (lambda s, m: s.masked_fill_(~m, 0) and None, "raised RuntimeError"),
        (lambda s: s, "cannot be called with 2 arguments")],
)  # fmt: skip
def test_what_is_wrong_is_said(answer, text):
    verdict, message = grade(SOFTMAX, answer)
    assert verdict in (WRONG, ALMOST)
    assert text in message


def says(exercise, answer, *texts, verdict=WRONG):
    """Check that a wrong answer's message contains these texts; return the message."""
    found, message = grade(exercise, answer)
    assert found == verdict, message
    assert all(text in message for text in texts), message
    return message


def scaled(scores, mask):
    return softmax(scores, mask) * 1.1


def test_the_smallest_differing_case_is_shown():
    says(
        SOFTMAX,
        lambda s, m: scaled(s, m),
        "s = [[0.0, 0.0]], m = [[True, False]]",  # the answer's own names
        "expected [[1.0, 0.0]]",
        "got      [[1.1, 0.0]]",
    )


def test_another_default_device_is_no_mistake():
    """Cases are on the CPU, even after a call of torch.set_default_device."""
    with torch.device("meta"):
        assert grade(SOFTMAX, softmax)[0] == RIGHT
        says(SOFTMAX, scaled, "1.1 instead of 1.0")


def test_what_an_answer_does_to_its_arguments_is_told_and_stays_with_it():
    def overwrites(scores, mask):
        result = softmax(scores, mask)
        scores.zero_().add_(7)
        return result

    def pops(sentences, min_freq):
        while sentences:
            sentences.pop()
        return 0.0

    def resets(block, X, mask):
        block.attention.W_o.weight.data.zero_()
        Y = block.addnorm1(X, block.attention(X, X, X, mask))
        return block.addnorm2(Y, block.ffn(Y))

    answers = {"masks-3": overwrites, "judging-1": pops, "transformer-5": resets}
    for name, answer in answers.items():
        says(EXERCISES[name], answer, "changed its argument")
        assert grade(EXERCISES[name], EXERCISES[name].reference)[0] == RIGHT


def test_a_block_is_put_together_from_its_parts():
    said = "not block(X, mask): call attention, addnorm1"
    says(EXERCISES["transformer-5"], lambda block, X, m: block(X, m), said)


def test_only_the_stub_s_own_error_means_not_attempted():
    def of_a_library(scores, mask):
        raise NotImplementedError("not implemented for 'Bool'")

    for answer in (of_a_library, lambda s, m: nn.Module()(s)):
        says(SOFTMAX, answer, "raised NotImplementedError: ")
    says(SOFTMAX, lambda s, m: sys.exit(1), "raised SystemExit: 1")


def test_numbers_may_come_in_any_container():
    found = EXERCISES["maps-1"]
    for kind in (list, tuple, np.array, torch.tensor):
        verdict, message = grade(found, lambda *x, k=kind: k(found.reference(*x)))
        assert verdict == RIGHT, message
    says(found, lambda *x: [2, 1, 0], "Value 3 of 3: The number differs.")


# Wrong answers that the cases once took for right.
LET_THROUGH = {
    "transformer-2": lambda memory, order: memory[:, order][:3, :, :4],
    "maps-2": lambda w, n: w[:, :, :n, n:].sum(-1).mean().item() if n < w.shape[-1] else 1,
    "masks-3": lambda s, m: torch.softmax(s.masked_fill(~m, -1e4), -1) * m.any(-1, True),
}  # fmt: skip


@for_each(LET_THROUGH)
def test_what_was_let_through_once_is_not_right(name):
    assert grade(EXERCISES[name], LET_THROUGH[name])[0] != RIGHT


def test_a_prediction_is_not_given_away():
    message = says(EXERCISES["judging-3"], lambda: ["Falls", "falls"])
    assert message == "Value 1 of 2: 'falls' is not right."
    assert grade(EXERCISES["judging-3"], lambda: ("Rises", "rises "))[0] == RIGHT


@each_exercise
def test_each_property_of_an_exercise_rejects_a_mistake(exercise):
    for holds in exercise.properties:
        assert holds(exercise.reference)
    if exercise.properties:
        mistakes = exercise.mistakes.values()
        broken = [grading._broken(exercise, mistake) for mistake in mistakes]
        assert any(broken)


def test_a_property_finds_what_the_cases_miss():
    texts = "a property does not hold", "rows_sum_to_one"
    says(SOFTMAX, lambda s, m: softmax(s, m) + 9e-5 * ~m, *texts, verdict=ALMOST)

    def answer(scores, mask):
        if scores.shape == (3, 3):  # no case has this shape
            raise KeyError("oh")
        return softmax(scores, mask)

    said = "A property could not be tried: KeyError: 'oh'"
    says(SOFTMAX, answer, said, verdict=ALMOST)


def test_most_cases_right_is_almost():
    """Right for one sentence, wrong for two."""
    found = replace(EXERCISES["masks-5"], draw=None)

    def first_sentence(lens, num_steps, width):
        return found.reference(lens[:1].expand(len(lens)), num_steps, width)

    smallest = "lens = [2, 1], num_steps = 2, width = 2"  # of three
    with torch.device("meta"):  # as above
        message = says(found, first_sentence, smallest, verdict=ALMOST)
    assert message.startswith("4 of 7 cases agree. The numbers differ")


def test_an_error_shows_the_reader_s_own_line_and_the_input():
    def answer(scores, mask):
        return helper(scores.masked_fill(~mask, -torch.inf))

    def helper(hidden):
        return torch.softmax(hidden, dim=9)

    line = "\nin       return torch.softmax(hidden, dim=9)\n"
    about = "answer raised IndexError", "with     scores = [[0.0, 0.0]]"
    says(SOFTMAX, answer, line, *about)


def test_an_answer_is_called_once_a_case_and_what_it_prints_is_shown_once(capsys):
    calls = []

    def answer(scores, mask):
        calls.append(scores)
        print("shape", tuple(scores.shape))
        return scores

    _, message = grade(SOFTMAX, answer)
    assert message.endswith("\nprinted  shape (1, 2)") and message.count("printed") == 1
    cases, properties = len(SOFTMAX.cases) + grading.DRAWN, len(SOFTMAX.properties)
    assert cases <= len(calls) <= cases + properties
    assert capsys.readouterr().out == ""


def test_what_an_answer_prints_is_cut():
    def answer(scores, mask):
        for i in range(10**5):
            print("line", i)
        return softmax(scores, mask)

    lines = grade(SOFTMAX, answer)[1].splitlines()[1:]
    assert lines[:2] == ["printed  line 0", "printed  line 1"]
    assert lines[19:] == ["printed  line 19", "printed  ..."]


def test_a_wrong_shape_is_no_matter_of_properties():
    for exercise in EXERCISES.values():
        if exercise.properties:
            _, message = grade(exercise, lambda *x: torch.zeros(1))
            assert "property" not in message and "holds" not in message


QUERY = EXERCISES["codes-2"]


def test_where_many_outputs_are_right_their_effect_is_compared():
    for factor in (1000.0, 1e4):
        verdict, message = grade(QUERY, lambda keys, wanted, f=factor: f * keys[wanted])
        assert verdict == RIGHT, message
    said = "The weight of the key that is wanted, up to 0.9: The number differs."
    numbers = "\nexpected 0.9\ngot      0.880797"  # 1 / (1 + exp(-2))
    says(QUERY, lambda keys, wanted: 2 * keys[wanted], said, numbers)


def test_an_output_of_another_form_has_no_effect():
    says(QUERY, lambda keys, wanted: keys, "Expected shape (2,), got (2, 2).")
    said = "Value 2 of 3: Expected shape (2,), got (2, 1)."
    says(EXERCISES["ffn-2"], lambda keys, values: (keys.T, values[:, :1], values), said)


def test_an_effect_that_cannot_be_had_is_said():
    def fails(output, case):
        """Never:"""
        raise KeyError("oh")

    found = Exercise("masks-99", lambda x: x, [(1,)], {}, ("", "", ""), effect=fails)
    assert grade(found, lambda x: x) == (WRONG, "The output cannot be used: 'oh'")
