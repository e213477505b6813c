"""Grading a class: what is handed in can be anything, and costs at most its own marks."""

import csv
import itertools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from conftest import for_each
from nbformat.v4 import new_code_cell, new_notebook

from d2lmini.check.grading import (
    ALMOST,
    NOT_ATTEMPTED,
    RIGHT,
    WRONG,
    Ended,
    all_exercises,
)
from d2lmini.check.process import ENDED, PATIENCE, Child
from d2lmini.course import marking, submissions
from d2lmini.course.__main__ import main
from d2lmini.course.answer_cells import answers_of
from d2lmini.course.assignment import tasks_of
from d2lmini.course.copies import mark_answers
from d2lmini.course.gradescope import write_autograder
from d2lmini.course.handed_in import Found
from d2lmini.course.marking import (
    LEFT_OUT,
    PACKAGE,
    Mark,
    Marked,
    Room,
    hidden,
    mark,
    mark_all,
)
from d2lmini.course.notebooks import EXERCISE, PYTHON, SOLUTION, read, text_of
from d2lmini.course.reports import feedback, write_all
from d2lmini.course.submissions import Student, Submission, collect
from d2lmini.support.chapters import EXERCISE_PAGES

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
TASKS = {task.name: task for task in tasks_of(EXERCISE_PAGES, ROOT)}
MASKS = [task for task in TASKS.values() if task.name.startswith("masks-")]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")


def solutions():
    """Exercise -> an answer cell with the book's solution in it."""
    found = {}
    for chapter in EXERCISE_PAGES.values():
        for cell in read(ROOT / "book" / f"{chapter.file}.ipynb").cells:
            if exercise := EXERCISE.fullmatch(cell.source):
                name = exercise["label"]
            if solution := SOLUTION.fullmatch(cell.source):
                blocks = (each["source"] for each in PYTHON.finditer(solution["text"]))
                (code,) = [block for block in blocks if "def solution(" in block]
                function = TASKS[name].function
                code = code.replace("solution", function)
                found[name] = f'{code}\n\ncheck.exercise("{name}", {function})'
    return found


RIGHT_CELLS = solutions()
EXERCISES = all_exercises()


def cell(body, name="masks-3", parameters="scores, mask"):
    """An answer cell: a function with that body."""
    lines = "\n    ".join(body.splitlines())
    function = TASKS[name].function
    return f'def {function}({parameters}):\n    {lines}\n\ncheck.exercise("{name}", {function})'


@pytest.fixture(scope="session")
def copy_of_the_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, folder / "d2lmini", ignore=LEFT_OUT)
    return str(folder)


@pytest.fixture
def mark_of(copy_of_the_package):
    """A function: submission -> its marks in chapter 2."""
    return lambda given: mark(given, MASKS, "seed", copy_of_the_package).marks


@pytest.fixture
def marks(copy_of_the_package):
    """A function: answer cells, by exercise with _ for -, -> marks of one submission."""

    def marks(tasks=MASKS, **answers):
        given = {name.replace("_", "-"): text for name, text in answers.items()}
        submission = Submission(Student("ada", "Ada"), given)
        marked = mark(submission, tasks, "seed", copy_of_the_package)
        assert marked.unconfined == [] or sys.platform != "linux"
        assert len(feedback(marked, tasks)) < 20_000 + 420 * len(tasks)
        return marked.marks

    return marks


def notebook(*cells):
    """A notebook of these code cells, as text."""
    return nbformat.writes(new_notebook(cells=[*map(new_code_cell, cells)]))


def test_every_solution_of_the_book_has_all_points(marks):
    found = marks(list(TASKS.values()), **{name: RIGHT_CELLS[name] for name in TASKS})
    wrong = [m.message for m in found.values() if (m.verdict, m.share) != (RIGHT, 1.0)]
    assert list(found) == list(TASKS) and wrong == []


def test_every_stub_of_the_book_is_not_attempted(marks):
    stubs = {}
    for chapter in EXERCISE_PAGES.values():
        for c in mark_answers(read(ROOT / "book" / f"{chapter.file}.ipynb")).cells:
            if name := c.metadata.get("d2lmini", {}).get("exercise"):
                stubs[name] = c.source
    found = marks(list(TASKS.values()), **stubs)
    assert {m.verdict for m in found.values()} == {NOT_ATTEMPTED}
    assert {m.share for m in found.values()} == {0.0}


def test_partial_credit_is_the_share_of_the_cases(marks):
    body = "return torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)"
    mark = marks(masks_3=cell(body))["masks-3"]
    assert mark.verdict in (WRONG, ALMOST) and 0 < mark.share < 1
    found = marks(masks_3=cell("return scores.sum()"))
    assert found["masks-3"].share == 0


# Attempts to get marks without a right answer; {} is a right answer's text in quotes.
FORGED = {
    "a check of one's own": 'check.exercise = lambda *_: print("right")\nreturn scores',
    "allclose that always agrees": (
        "torch.allclose = torch.equal = torch.isclose = lambda *a, **k: True\nreturn scores"),
    "a report that is edited": (
        'import json\nopen("answers.json", "w").write(json.dumps({"masks-3": "right"}))\n'
        "return scores"),
    "the reference from the package": ("from d2lmini.exercises.masks import EXERCISES\n"
        "return EXERCISES[2].reference(scores, mask)"),
    "the reference from its file": (
        f"text = open({str(ROOT / 'd2lmini/exercises/masks.py')!r}).read()\n"
        "scope = {}\nexec(text, scope)\nreturn scope['EXERCISES'][2].reference(scores, mask)"),
    "a solution from the book": (f"open({str(ROOT / 'book/02-masks.ipynb')!r}).read()\n"
        "return torch.softmax(scores.masked_fill(~mask, -1e30), -1) * mask"),
    "a look into the parent": ("import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(1)\n"
        "return torch.softmax(scores.masked_fill(~mask, -1e30), -1) * mask"),
    "an object that equals everything": ("class Same:\n    def __eq__(self, other): return True\n"
        "    def __getattr__(self, name): return self\n    def __call__(self, *a): return self\n"
        "return Same()"),
    "a tensor of a class of one's own": (
        "class Same(torch.Tensor):\n    def __eq__(self, other): return True\n"
        "return scores.as_subclass(Same)"),
    "a message in place of the child's": (
        "import os, json, struct\nfor f in range(3, 30):\n    try:\n"
        "        text = json.dumps({'verdict': 'right', 'share': 1.0, 'ready': True}).encode()\n"
        "        os.write(f, struct.pack('<Q', len(text)) + text)\n"
        "    except OSError: pass\nreturn scores"),
    "a pickle in place of a value": (
        "class Evil:\n    def __reduce__(self): return print, ('right',)\nreturn Evil()"),
    "not a number": "return scores * float('nan')",
}  # fmt: skip
NEEDS_LINUX = FORGED.keys() & {
    "the reference from its file", "a solution from the book", "a look into the parent",
}  # fmt: skip


SPOILS_ITS_PYTHON = {"allclose that always agrees", "a message in place of the child's"}


def test_no_forgery_earns_a_point(copy_of_the_package, tmp_path):
    """Those that would compute the right thing fail because they may not read."""
    room = Room(copy_of_the_package, str(tmp_path))

    def mark_of(body):
        return marking.mark_one(room, TASKS["masks-3"], cell(body), [], "seed", 60.0)

    try:
        # Unchanged scores are right where only one key is visible.
        honest = mark_of("return scores")
        for name, body in FORGED.items():
            if sys.platform != "linux" and name in NEEDS_LINUX:
                continue
            found = mark_of(body)
            assert found.verdict in (WRONG, ALMOST), name
            assert found.share <= honest.share, name
            if name in SPOILS_ITS_PYTHON:
                room.close()
    finally:
        room.close()


def test_an_answer_cannot_have_a_file_read_for_it(marks):
    """An error names the file in which it was raised; the grader does not look it up."""
    body = (
        f"code = compile('def f(*_): raise ValueError(1)', {str(ROOT / 'README.md')!r}, 'exec')\n"
        "exec(code, globals())\nmy_masked_softmax = f\n"
        "check.exercise('masks-3', f)"
    )
    found = marks(masks_3=body)
    first = (ROOT / "README.md").read_text("utf-8").partition("\n")[0]
    assert "ValueError: 1" in found["masks-3"].message
    assert first not in found["masks-3"].message
    assert "\nin " not in found["masks-3"].message


def test_the_first_try_counts(marks):
    """Seeing a case again must not help an answer."""
    body = (
        "seen[num_queries, num_keys] = seen.get((num_queries, num_keys), 0) + 1\n"
        "right = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()\n"
        "return right if seen[num_queries, num_keys] > 1 else ~right"
    )
    answer = cell(body, "masks-4", "num_queries, num_keys")
    assert marks(masks_4=f"seen = {{}}\n\n\n{answer}")["masks-4"].share < 0.5


def test_what_an_experiment_is_made_on_cannot_be_looked_into(marks):
    for look in ("model._ahead", "vars(model)['_ahead']", "repr(model)", "model('no')"):
        answer = cell(f"return {look}", "masks-8", "model")
        found = marks(masks_8=answer)["masks-8"]
        assert found.verdict == WRONG and found.share == 0, found.message
    assert "raised RuntimeError: AttributeError: 'str'" in found.message


def test_what_one_answer_left_in_the_pipe_is_not_charged_to_the_next(
    marks, monkeypatch
):
    """The first time, the second answer's definition comes back as something unreadable."""
    asked, ask = [], Child.ask

    def stray(child, *message, **limits):
        asked.append(message[0])
        if asked.count("define") == 2 and message[0] == "define":
            child.end()
            raise Ended(ENDED)
        return ask(child, *message, **limits)

    monkeypatch.setattr(Child, "ask", stray)
    found = marks(masks_1=RIGHT_CELLS["masks-1"], masks_3=RIGHT_CELLS["masks-3"])
    assert [found[name].share for name in ("masks-1", "masks-3")] == [1.0, 1.0]
    assert asked.count("define") == 3


LATER = (
    "import os, json, struct, threading\n"
    "def write():\n"
    "    text = json.dumps({'name': 'other'}).encode()\n"
    "    for f in range(3, 30):\n"
    "        try: os.write(f, struct.pack('<Q', len(text)) + text)\n"
    "        except OSError: pass\n"
    "threading.Timer(0.05, write).start()\nreturn scores"
)


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_stray_message_costs_no_other_answer_its_marks(when, marks):
    body = LATER if when == "later" else FORGED["a message in place of the child's"]
    others = ("masks-4", "masks-5", "masks-6", "masks-7")
    found = marks(**{"masks-3": cell(body)}, **{n: RIGHT_CELLS[n] for n in others})
    assert found["masks-3"].verdict in (WRONG, ALMOST)
    assert [found[name].verdict for name in others] == [RIGHT] * 4


def test_of_an_exercise_a_forgery_leaves_the_others_alone(marks):
    """Tampering with PyTorch in one answer's process does not reach the next."""
    body = "torch.softmax = lambda *a, **k: 0\ntorch.isclose = lambda *a, **k: True\nreturn 0"
    other = "return torch.ones(num_queries, num_keys)"
    first = cell(body, "masks-1", "valid_lens, num_steps")
    found = marks(
        masks_1=first, masks_4=cell(other, "masks-4", "num_queries, num_keys")
    )
    assert found["masks-4"].verdict == WRONG and found["masks-4"].share == 0


LATE = "did not come back within"
HOSTILE = {
    "hangs in C": ("return sum(range(10**12))", LATE),
    "sleeps": ("import time\ntime.sleep(10**6)", LATE),
    "crashes": ("import os\nos.abort()", "ended Python itself"),
    # More than 2 GB, or too long on a busy machine
    "takes memory": ("taken = []\nwhile True: taken.append(b'1' * 10**8)", "The answer "),
    "deletes its folder": (
        "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nreturn 0",
        "Expected a torch.Tensor"),
    "prints much": ("print('x' * 10**8)\nreturn 0", "Expected a torch.Tensor"),
    "writes many files": ("import pathlib\nfor i in range(10**7): pathlib.Path(str(i)).touch()",
        "more than 1000 files"),
    "fills the disk piece by piece": (
        "for i in range(10**4):\n        open(str(i), 'wb').write(b'1' * 10**7)",
        "more than 256 MB of files"),
    "starts threads": ("import threading, time\n"
        "while True: threading.Thread(target=time.sleep, args=(99,)).start()",
        "more than 500 threads"),
    "never ends to be read": (
        "class Deep(dict): pass\nd = []\nfor _ in range(10**5): d = [d]\nreturn d",
        "Expected a torch.Tensor"),
}  # fmt: skip
ON_LINUX_ONLY = {
    "forks": "import os\nwhile True: os.fork()",
    "starts programs": "import subprocess\nsubprocess.run(['ls'], check=True)",
    "ends the grader": "import os\nos.kill(os.getppid(), 9)",
    "limits the grader": (
        "import os, resource\nlimit = 10**9, 10**9\n"
        "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, limit)"
    ),
    "calls home": "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
    "writes elsewhere": f"open({str(ROOT / 'written-by-an-answer')!r}, 'w')",
    "deletes elsewhere": f"import os\nos.remove({str(ROOT / 'README.md')!r})",
    "locks elsewhere": f"import os\nos.chmod({str(ROOT / 'README.md')!r}, 0)",
    "fills the disk": "open('much', 'wb').write(b'1' * 10**8)",
}


@pytest.fixture
def quick(monkeypatch):
    """Less time, for answers that never end; all others have what a submission has."""
    monkeypatch.setattr("d2lmini.course.marking.AN_ANSWER", 3.0)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_costs_at_most_its_own_marks(name, marks, request):
    body, text = HOSTILE[name]
    if text == LATE:
        request.getfixturevalue("quick")
    found = marks(**{"masks-3": cell(body), "masks-5": RIGHT_CELLS["masks-5"]})
    assert found["masks-3"].verdict == WRONG
    assert found["masks-3"].share == 0
    assert text in found["masks-3"].message
    assert found["masks-5"].verdict == RIGHT


@ON_LINUX
def test_what_the_kernel_refuses(marks):
    """One exercise each, all in one submission."""
    names = dict(zip(ON_LINUX_ONLY, TASKS, strict=False))
    bodies = {name: f"{ON_LINUX_ONLY[what]}\nreturn 0" for what, name in names.items()}
    cells = {name: cell(body, name, "*_") for name, body in bodies.items()}
    found = marks(list(TASKS.values()), **cells, **{"maps-4": RIGHT_CELLS["maps-4"]})
    refused = "PermissionError", "File too large"
    for what, name in names.items():
        assert found[name].verdict == WRONG and found[name].share == 0, what
        assert any(text in found[name].message for text in refused), found[name].message
    assert found["maps-4"].verdict == RIGHT
    assert not (ROOT / "written-by-an-answer").exists()
    assert os.access(ROOT / "README.md", os.R_OK)


READER = """
import sys
from pathlib import Path
from d2lmini.course.confined import confine
site, package, room = map(Path, sys.argv[1:])
assert confine([site, sys.prefix, sys.base_prefix], [package], room) == []
for place in (site, package, package / "exercises"):
    try:
        print((place / "text").read_text())
    except PermissionError:
        print("refused")
"""


@ON_LINUX
def test_an_installed_package_is_out_of_reach_among_what_may_be_read(tmp_path):
    """The solutions lie beside the libraries when the package is installed."""
    site, room = tmp_path / "site", tmp_path / "room"
    for folder in (room, site, site / "d2lmini", site / "d2lmini/exercises"):
        folder.mkdir()
        (folder / "text").write_text(folder.name, encoding="utf-8")
    command = [sys.executable, "-c", READER, site, site / "d2lmini", room]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["site", "refused", "refused"]


@pytest.fixture
def on_a_clock(monkeypatch, marks):
    """A function: seconds between two looks at the clock, answers -> their marks."""

    def on_a_clock(step, *cells):
        clock = SimpleNamespace(monotonic=itertools.count(0.0, step).__next__)
        monkeypatch.setattr("d2lmini.course.marking.time", clock)
        # Within an answer no time passes.
        still = SimpleNamespace(monotonic=lambda: 0.0)
        monkeypatch.setattr("d2lmini.check.process.time", still)
        names = "masks-2", "masks-3", "masks-5"
        found = marks(**dict(zip(names, cells, strict=False)))
        return [found[name] for name in names[: len(cells)]]

    return on_a_clock


TWO_RIGHT = RIGHT_CELLS["masks-2"], RIGHT_CELLS["masks-3"]


def test_on_a_busy_machine_a_submission_has_the_same_time_to_compute(on_a_clock):
    assert [mark.verdict for mark in on_a_clock(70.0, *TWO_RIGHT)] == [RIGHT, RIGHT]


def test_a_submission_that_sleeps_ends(on_a_clock):
    first, second = on_a_clock(70.0 * PATIENCE, *TWO_RIGHT)  # 50 s left, then none
    assert first.verdict == RIGHT
    assert "used up the 120 s limit" in second.message


def test_what_the_answers_before_computed_is_not_given_again(monkeypatch, on_a_clock):
    """Each answer ends its child, which has computed for 70 s once we have noticed it."""
    monkeypatch.setattr(Child, "computed", lambda me: 70.0 * me.process.stdout.closed)
    end, names = "import os\nos._exit(0)", ("masks-2", "masks-3")
    ends = [cell(end, name, "*_") for name in names]
    *first, last = on_a_clock(0.0, *ends, RIGHT_CELLS["masks-5"])
    assert {mark.message for mark in first} == {"The answer ended Python itself."}
    assert "used up the 120 s limit" in last.message


NO_ANSWERS = {
    "def f(:": "The cell is not valid Python: invalid syntax",
    "x = 'a\0b'": "The cell is not valid Python: source code string cannot contain null bytes",
    "(" * 1000 + ")" * 1000: "The cell is ",
    "1 / 0": "The cell raised ZeroDivisionError: division by zero\nin       1 / 0",
    "helper(3)": "name 'helper' is not defined. Of other cells, only imports",
    "my_shapes = my_factors = 5": "hands in no function; my_",
    "import sys; sys.exit(0)": "The cell raised SystemExit",
    "while True: pass": "did not come back within",
}


def test_a_cell_that_gives_no_answer_is_reported(quick, marks):
    names = dict(zip(NO_ANSWERS, TASKS, strict=False))
    cells = {name: body for body, name in names.items()}
    found = marks(list(TASKS.values()), **cells, **{"maps-4": RIGHT_CELLS["maps-4"]})
    for body, name in names.items():
        assert found[name].verdict == WRONG
        assert NO_ANSWERS[body] in found[name].message, found[name].message
    assert found["maps-4"].verdict == RIGHT


def test_an_answer_may_use_the_chapter_and_the_answers_before_it(marks):
    mine = "def mine(n):\n    return my_causal_mask(n, n)"
    helper = f"%matplotlib inline\n{RIGHT_CELLS['masks-4']}\n\n{mine}"
    seen = "causal & ~causal.tril(-width) & padding_mask(valid_lens, num_steps)"
    body = f"causal = mine(num_steps)\nreturn {seen}"
    answer = cell(body, "masks-5", "valid_lens, num_steps, width")
    # What follows an answer in its cell does not count.
    found = marks(masks_4=helper, masks_5=f"{answer}\n1 / 0")
    assert found["masks-5"].verdict == RIGHT, found["masks-5"].message


def test_the_hidden_cases_are_the_same_for_the_same_seed():
    def cases(seed):
        return repr(hidden("masks-1", seed).cases)

    assert cases("a") == cases("a") != cases("b")
    known = list(EXERCISES["masks-1"].cases)
    assert cases("a").startswith(repr(known)[:-1])
    assert len(hidden("masks-1", "a").cases) == len(known) + marking.HIDDEN


def test_an_error_of_the_grader_is_told_and_the_others_are_graded():
    good = Submission(Student("good", "Good"), {"masks-3": RIGHT_CELLS["masks-3"]})
    bad = Submission(Student("bad", "Bad"), {"masks-3": 5})  # no text: an error of ours
    first, second = mark_all([bad, good], MASKS, "seed", say=str)
    assert "could not be graded" in first.submission.problems[0]
    assert "could not be graded" in first.marks["masks-3"].message
    assert second.marks["masks-3"].verdict == RIGHT


# Notebooks as they are handed in.


def handed_in(tmp_path, text, name="ada_02-masks.ipynb"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = answers_of(Found(Path(name), 0.0, path.stat().st_size, path.read_bytes))
    return found.answers, found.problems


def test_a_notebook_of_a_student_copy_is_read(tmp_path):
    book = mark_answers(read(ROOT / "book/02-masks.ipynb"))
    answers, problems = handed_in(tmp_path, text_of(book))
    assert list(answers) == [task.name for task in MASKS] and problems == []


def marked(source, **metadata):
    """A notebook of one answer cell with metadata."""
    cell = new_code_cell(source, metadata=metadata)
    return nbformat.writes(new_notebook(cells=[cell]))


def cells_of(*pairs):
    """A notebook of code cells with metadata."""
    cells = [new_code_cell(source, metadata=metadata) for source, metadata in pairs]
    return nbformat.writes(new_notebook(cells=cells))


FIRST, OTHER = 'check.exercise("masks-1", f)', 'check.exercise("masks-1", g)'
OURS = {"d2lmini": {"exercise": "masks-1"}}
NBGRADERS = {"nbgrader": {"grade_id": "masks-1"}}
DEFINED, SECOND = "def my_count(): pass", 'check.exercise("masks-2", f)'
SOURCE = ["check.exercise(\n", '"masks-1", f)']
PLAIN = {"cells": [{"cell_type": "code", "source": SOURCE}]}
OLD = nbformat.v3.new_worksheet(cells=[nbformat.v3.new_code_cell(FIRST)])
OLD = nbformat.v3.new_notebook(worksheets=[OLD])
ENDS = f"x = 1\n{FIRST}"
REFUSES = "def f(x):\n    if x < 0:\n        raise NotImplementedError\n    return x"
TEXT = nbformat.v4.new_markdown_cell("def f(): return 1", metadata=OURS)
TEXT = nbformat.writes(new_notebook(cells=[TEXT]))
# name -> what is handed in, the answers by exercise, what the student is told
HANDED_IN = {
    "the call without metadata": (notebook("x = 1", "check.exercise( 'masks-1' , f)"),
        {"masks-1": "check.exercise( 'masks-1' , f)"}, []),
    "lines in a list": (json.dumps(PLAIN), {"masks-1": "check.exercise(\n\"masks-1\", f)"}, []),
    "our metadata": (marked(DEFINED, **OURS), {"masks-1": DEFINED}, []),
    "those of nbgrader": (marked(DEFINED, **NBGRADERS), {"masks-1": DEFINED}, []),
    "metadata of another": (marked(SECOND, **OURS), {"masks-1": SECOND}, [
        "cell 1: is the answer cell of masks-1, but hands in masks-2; it counts for masks-1"]),
    "two answers": (notebook(FIRST, OTHER), {"masks-1": OTHER}, [
        "cell 2: answers masks-1 again; the last answer counts"]),
    "two in a cell": (marked(f"{FIRST}\n{SECOND}", **OURS),
        dict.fromkeys(["masks-1", "masks-2"], f"{FIRST}\n{SECOND}"), []),
    "split in two": (notebook("def f(x):\n    y = x", f"    return y\n{FIRST}"),
        {"masks-1": f"def f(x):\n    y = x\n\n    return y\n{FIRST}"}, [
        "cell 2: the answer to masks-1 begins in cell 1; they were joined"]),
    "split in three": (notebook("def f(x): return x", "print(f(1))", FIRST),
        {"masks-1": f"def f(x): return x\n\n{FIRST}"}, [
        "cell 3: the answer to masks-1 begins in cell 1; they were joined"]),
    "with another part between": (notebook("def f(x): return g(x)", "def g(x): 1", FIRST),
        {"masks-1": f"def f(x): return g(x)\n\ndef g(x): 1\n\n{FIRST}"}, [
        "cell 3: the answer to masks-1 begins in cells 1 and 2; they were joined"]),
    "the call by another name": (
        notebook("from d2lmini.check import exercise as e\ne('masks-1', f)"),
        {"masks-1": "from d2lmini.check import exercise as e\ne('masks-1', f)"}, []),
    "the call from the package": (notebook("exercise('masks-1', f)"),
        {"masks-1": "exercise('masks-1', f)"}, []),
    "keywords": (notebook("def f(): 1", "check.exercise(answer=f, name='masks-1')"),
        {"masks-1": "def f(): 1\n\ncheck.exercise(answer=f, name='masks-1')"}, [
        "cell 2: the answer to masks-1 begins in cell 1; they were joined"]),
    "a name in passing": (
        notebook(f"def f(): return 1\n{FIRST}", "g = lambda: 2\nprint('masks-1', g())"),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, []),
    "a name in a table": (
        notebook(f"def f(): return 1\n{FIRST}", "done = dict(a=('masks-1', lambda: 2))"),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, []),
    "only a hint": (notebook("check.hint('masks-1')"), {}, ["there is no answer cell in it"]),
    "text, without metadata": (TEXT.replace("def f(): return 1", FIRST.replace('"', "'")).replace(
        "d2lmini", "other"), {}, [
        "the answer cell of masks-1 is no code cell, and was not read",
        "there is no answer cell in it"]),
    "pass in a copy": (notebook(f"def f(): return 1\n{FIRST}", f"def f():\n    pass\n{FIRST}"),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, [
        "cell 2: does not answer masks-1; the answer before it counts"]),
    "an answer that refuses": (
        notebook(f"def f(): return 1\n{FIRST}", f"{REFUSES}\n{FIRST}"),
        {"masks-1": f"{REFUSES}\n{FIRST}"}, [
        "cell 2: answers masks-1 again; the last answer counts"]),
    "goes on": (notebook(f"def f(): return 1\n{FIRST}", f"g = f\n{OTHER}"),
        {"masks-1": f"def f(): return 1\n{FIRST}\n\ng = f\n{OTHER}"}, [
        "cell 2: goes on with the answer to masks-1; both were joined"]),
    "notes in a copy": (
        cells_of((f"def f(): return 1\n{FIRST}", OURS), ("# to do: f", OURS)),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, [
        "cell 2: does not answer masks-1; the answer before it counts"]),
    "notes that name what another cell defines": (
        cells_of(("def g(): return 2", {}), (f"def f(): return 1\n{FIRST}", OURS), ("# g?", OURS)),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, [
        "cell 3: does not answer masks-1; the answer before it counts"]),
    "an empty copy": (notebook(f"def f(): return 1\n{FIRST}",
        f"def f():\n    raise NotImplementedError\n{FIRST}"),
        {"masks-1": f"def f(): return 1\n{FIRST}"}, [
        "cell 2: does not answer masks-1; the answer before it counts"]),
    "only notes": (marked("# nothing yet", **OURS), {}, [
        "cell 1: the answer cell of masks-1 has no code", "there is no answer cell in it"]),
    "turned to text": (TEXT, {}, [
        "the answer cell of masks-1 is no code cell, and was not read",
        "there is no answer cell in it"]),
    "format 3": (json.dumps(OLD), {"masks-1": FIRST}, []),
    "ends of lines of Windows": (notebook(ENDS).replace("\n", "\r\n"), {"masks-1": ENDS}, []),
    "in a cell, too": (notebook(ENDS.replace("\n", "\r\n")), {"masks-1": ENDS}, []),
    "a byte order mark": (b"\xef\xbb\xbf" + notebook(ENDS).encode(), {"masks-1": ENDS}, []),
}  # fmt: skip
NO_NOTEBOOKS = [
    ("", "this is not a notebook"),
    ("not JSON", "this is not a notebook (JSONDecodeError"),
    ("{}", "this is not a notebook (KeyError: 'cells')"),
    ('{"cells": [{"cell_type": "code", "metadata": 3}]}', "there is no answer cell in"),
    ('{"cells": []}', "there is no answer cell in it"),
    (b"\xff\xfe\x00", "this is not a notebook (UnicodeDecodeError"),
    ("[" * 100_000, "this is not a notebook (RecursionError"),
    (notebook('check.exercise("masks-99", f)'), "no exercise masks-99"),
]


@for_each(HANDED_IN)
def test_what_is_handed_in_is_read(name, tmp_path):
    text, *due = HANDED_IN[name]
    assert handed_in(tmp_path, text) == tuple(due)


@for_each(NO_NOTEBOOKS)
def test_what_is_no_notebook_is_told(row, tmp_path):
    answers, problems = handed_in(tmp_path, row[0])
    assert answers == {} and row[1] in problems[0] and len(problems[0]) < 300


def test_a_huge_notebook_is_not_read(tmp_path):
    path = tmp_path / "ada.ipynb"
    with path.open("wb") as file:
        file.truncate(200 * 1024**2)
    found = Found(path, 0.0, path.stat().st_size, path.read_bytes)
    told = answers_of(found)
    assert told.answers == {}
    assert "the notebook has 200 MB; at most 50 MB are read" in told.problems[0]


# Whose submission it is.


def roster(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode("utf-8-sig"))
    return submissions.read_roster(path)


def test_a_roster_of_a_platform_and_one_s_own(tmp_path):
    students, problems = roster(
        tmp_path,
        "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
        '"Lovelace, Ada",4711,a1,ada@uni.example,one\n',
    )
    due = "4711", "Lovelace, Ada", ("a1", "ada@uni.example")
    assert [(s.id, s.name, s.aliases) for s in students] == [due]
    text = "name;id\r\nAda;ada\r\nBob;bob\r\nBob;bob\r\n"
    students, problems = roster(tmp_path, text)
    assert [(s.id, s.name) for s in students] == [("ada", "Ada"), ("bob", "Bob")]
    assert problems == ["roster: bob appears twice; the first line counts"]
    with pytest.raises(ValueError, match=r"roster \(.*\) must be CSV in UTF-8 with a"):
        roster(tmp_path, "name\nAda\n")


def test_the_first_id_in_a_path_counts():
    known = ("4711", "Ada"), ("98", "Bob"), ("a_b", "Cem", ("cem@x",))
    students = [Student(*about) for about in known]
    for path, expected in {
        "lovelaceada_4711_98_02-masks": "Ada", "lovelaceada_LATE_4711_98_02-masks": "Ada",
        "4711/02-masks": "Ada", "98/4711": "Bob", "98": "Bob", "A_B_02-masks": "Cem",
        "cem@x/sub/02": "Cem", "47110_02": None, "masks": None,
    }.items():  # fmt: skip
        found = submissions.whose(Path(f"{path}.ipynb"), students)
        assert (found and found.name) == expected, path


def test_a_folder_is_collected(tmp_path):
    students = [Student("ada", "Ada"), Student("bob", "Bob"), Student("cem", "Cem")]
    for number, (name, cells) in enumerate({
        "ada/02-masks.ipynb": ['check.exercise("masks-1", old)', 'check.exercise("masks-2", f)'],
        "ada/new/renamed.ipynb": ['check.exercise("masks-1", new)'],
        "ada/.ipynb_checkpoints/renamed.ipynb": ['check.exercise("masks-1", checkpoint)'],
        "bob_masks.ipynb": [],
        "nobody/02.ipynb": [],
    }.items()):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(*cells), encoding="utf-8")
        os.utime(path, (1000 + number, 1000 + number))
    try:
        (tmp_path / "cem.ipynb").symlink_to(tmp_path / "ada/02-masks.ipynb")
    except OSError:
        pytest.skip("this user may make no links")
    submissions, problems = collect(tmp_path, students)
    ada, bob, cem = submissions
    assert ada.answers["masks-1"] == 'check.exercise("masks-1", new)'
    assert set(ada.answers) == {"masks-1", "masks-2"} and ada.time == 1001
    (told,) = ada.problems
    assert "masks-1 was in another file, too; the newer one counts" in told
    assert "there is no answer cell in it" in bob.problems[0]
    assert cem.files == [] and len(problems) == 2
    assert any("no id in the roster" in p for p in problems)
    assert any("is not a file" in p for p in problems)


def test_what_cannot_be_told_apart_is_told(tmp_path):
    students, problems = roster(tmp_path, "id,login\nAda,x\nada,y\nbob,x\n")
    assert [(s.id, s.aliases) for s in students] == [("Ada", ("x",)), ("bob", ())]
    twice = "roster: ada appears twice; the first line counts"
    assert problems == [twice, "roster: bob shares x, which counts for the first"]
    students, _ = roster(tmp_path, "id,handed in\nada,tomorrow\n")
    (tmp_path / "ada_02.zip").write_bytes(b"PK")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "__MACOSX/._ada_02.ipynb").write_bytes(b"")
    _, problems = collect(tmp_path, students)
    late = "roster: tomorrow (ada) is not a time; the file's time counts"
    no_zip = (
        "ada_02.zip: cannot be unpacked, and was not read: File is not a zip file (ada)"
    )
    assert problems[0] == no_zip and late in problems
    with pytest.raises(ValueError, match=r"folder \(.*\) must be a folder of unpacked"):
        collect(tmp_path / "nowhere", students)
    for data in (b"id\n\xff\xfe", b"id\n" + b"x" * 200_000):
        (tmp_path / "roster.csv").write_bytes(data)
        with pytest.raises(ValueError, match="must be CSV in UTF-8"):
            submissions.read_roster(tmp_path / "roster.csv")


def test_nothing_unread_is_silent(tmp_path):
    """What browsers and systems make of a notebook is read, and anything else is named."""
    students = [Student(name, name.title()) for name in ("ada", "bob", "cem", "dan")]
    whole = notebook('def f(): return 1\ncheck.exercise("masks-1", f)')
    for name in ("ada_02.ipynb.json", "bob_02.IPYNB", "dan_02.py", "dan_notes.pdf"):
        (tmp_path / name).write_text(whole, encoding="utf-8")
    (tmp_path / ".DS_Store").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "cem_homework.zip", "w") as archive:
        archive.writestr("02-masks.ipynb", whole)
        archive.writestr("__MACOSX/._02-masks.ipynb", "")
        archive.writestr("../../readme.txt", "hello")
    (ada, bob, cem, dan), problems = collect(tmp_path, students)
    for given in (ada, bob, cem):
        assert list(given.answers) == ["masks-1"]
    as_json = "was read as a notebook, though its name ends in .json"
    assert ada.problems == [f"ada_02.ipynb.json: {as_json}"] and bob.problems == []
    assert cem.problems == [
        "cem_homework.zip/../../readme.txt: is no notebook, and was not read"
    ]
    assert dan.answers == {} and len(dan.problems) == 2
    told = [problem for problem in problems if "(Dan)" in problem]
    assert (
        len(told) == 2 and len(problems) == 3 and not (tmp_path / "readme.txt").exists()
    )


def test_of_two_files_of_one_time_it_is_said_which_counts(tmp_path):
    for name, number in (("ada_a.ipynb", 1), ("ada_b.ipynb", 2)):
        path = tmp_path / name
        path.write_text(
            notebook(f"def f(): return {number}\n{FIRST}"), encoding="utf-8"
        )
        os.utime(path, (1000, 1000))
    (ada,), _ = collect(tmp_path, [Student("ada", "Ada")])
    assert "return 2" in ada.answers["masks-1"]
    assert "another file of the same time, too; this one counts" in ada.problems[0]


def test_a_copy_that_jupyter_made_is_told_if_it_is_all_there_is(tmp_path):
    folder = tmp_path / ".ipynb_checkpoints"
    folder.mkdir()
    for name in ("ada", "bob"):
        (folder / f"{name}_02-checkpoint.ipynb").write_text(
            notebook(FIRST), encoding="utf-8"
        )
    (tmp_path / "bob_02.ipynb").write_text(notebook(FIRST), encoding="utf-8")
    (ada, bob), problems = collect(
        tmp_path, [Student("ada", "Ada"), Student("bob", "Bob")]
    )
    assert "a copy that Jupyter made, and was not read" in ada.problems[0]
    assert bob.problems == [] and len(problems) == 1


def test_an_answer_may_use_what_other_cells_define(mark_of, tmp_path):
    """Helpers, imports and constants, before it or after it; what computes is left out."""
    body = RIGHT_CELLS["masks-1"]
    function = TASKS["masks-1"].function
    helper = body.partition("\n\ncheck")[0].replace(function, "helper")
    call = (
        f"?torch.where\ndef {function}(*given):\n    return np.array and helper(*given)"
    )
    call += f'\n\ncheck.exercise("masks-1", {function})'
    path = tmp_path / "ada.ipynb"
    cells = "import numpy as np\n1 / 0", helper, call
    for kept in (cells, cells[::-1]):
        path.write_text(notebook(*kept), encoding="utf-8")
        (ada,), _ = collect(tmp_path, [Student("ada", "Ada")])
        found = mark_of(ada)
        assert found["masks-1"].share == 1.0, found["masks-1"].message


def test_odd_zips_are_read_or_told(tmp_path):
    students = [
        Student(name, name.title()) for name in ("ada", "bob", "cem", "dan", "eve")
    ]
    whole = notebook(f"def f(): return 1\n{FIRST}")
    within = tmp_path / "__MACOSX"  # a lecturer's folder may have any name
    within.mkdir()
    undated = zipfile.ZipInfo("02.ipynb", (1980, 0, 0, 0, 0, 0))
    with zipfile.ZipFile(within / "ada.zip", "w") as archive:
        archive.writestr(undated, whole)
    with zipfile.ZipFile(within / "bob.zip", "w") as archive:
        for number in range(30):
            archive.writestr(f"plot-{number}.png", "")
        archive.writestr("02.ipynb", whole)
    with zipfile.ZipFile(within / "cem.zip", "w") as archive:
        archive.mkdir("empty")
    with zipfile.ZipFile(within / "dan.zip", "w") as archive:
        for number in range(201):
            archive.writestr(f"{number}.ipynb", whole)
    (within / "elsewhere").mkdir()
    try:
        (within / "eve").symlink_to(within / "elsewhere")
    except OSError:
        pytest.skip("this user may make no links")
    (ada, bob, cem, dan, eve), problems = collect(within, students)
    assert list(ada.answers) == list(bob.answers) == ["masks-1"]
    assert bob.problems[20:] == ["and 10 more of this kind"]
    unpacked = "cannot be unpacked, and was not read: "
    assert cem.problems == [f"cem.zip: {unpacked}there is no file in it"]
    assert dan.problems == [f"dan.zip: {unpacked}it has 201 notebooks, more than 200"]
    assert eve.problems == ["eve: is not a file, and was not read"]
    assert (
        f"{eve.problems[0]} (Eve)" in problems
        and f"{cem.problems[0]} (Cem)" in problems
    )


def test_an_empty_copy_in_another_file_undoes_nothing(tmp_path):
    answer = 'def f(): return 1\ncheck.exercise("masks-1", f)'
    empty = 'def f():\n    raise NotImplementedError\n\ncheck.exercise("masks-1", f)'
    for number, (name, text) in enumerate(
        {"ada_a.ipynb": answer, "ada_b.ipynb": empty}.items()
    ):
        path = tmp_path / name
        path.write_text(notebook(text), encoding="utf-8")
        os.utime(path, (1000 + number, 1000 + number))
    (ada,), _ = collect(tmp_path, [Student("ada", "Ada")])
    assert ada.answers == {"masks-1": answer}
    (told,) = ada.problems
    assert (
        told
        == "ada_b.ipynb: masks-1 is not answered here; the answer in the older file counts"
    )


def test_late_days_are_days_begun_by_the_time_in_the_roster(tmp_path):
    due = datetime(2026, 12, 24, 18)
    for late, days in ((-1, 0), (0, 0), (1, 1), (86400, 1), (86401, 2)):
        given = Submission(Student("a", "A"), time=due.timestamp() + late)
        assert submissions.late_days(given, due) == days
    students, _ = roster(tmp_path, "id,handed in\nada,2026-12-24T18:01\n")
    (found,), _ = collect(tmp_path, students)
    assert submissions.late_days(found, due) == 1


# Reports.


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of four, graded by the command."""
    folder = tmp_path_factory.mktemp("class")
    given = folder / "given"
    given.mkdir()
    wrong = RIGHT_CELLS["masks-2"].replace("< 2", "> 1")
    (given / "ada.ipynb").write_text(notebook(*RIGHT_CELLS.values()), encoding="utf-8")
    (given / "bob.ipynb").write_text(notebook(wrong), encoding="utf-8")
    (given / "cem.ipynb").write_text("<script>alert(1)</script>", encoding="utf-8")
    lines = 'ID,Student\n=1+1,"<b>Dee</b>"\nada,"Lovelace, Ada"\nbob,Bob\ncem,Cem\n'
    (folder / "roster.csv").write_text(lines, encoding="utf-8")
    command = ["grade", str(given), "--roster", str(folder / "roster.csv"), "--chapters",
               "2", "--out", str(folder / "out"), "--root", str(ROOT), "--seed", "7",
               "--due", "2020-01-01"]  # fmt: skip
    main(command)
    return folder / "out"


def rows(path):
    return list(csv.reader(path.read_text("utf-8").splitlines()))


POINTS = [task.points for task in MASKS]


def test_grades(graded):
    head, *lines = rows(graded / "grades.csv")
    names = [task.name for task in MASKS]
    assert head == ["id", "name", *names, "total", "late days", "to look at"]
    dee, ada, bob, cem = (dict(zip(head, line, strict=True)) for line in lines)
    assert (ada["id"], ada["name"]) == ("ada", "Lovelace, Ada")
    assert [float(ada[name]) for name in names] == POINTS
    assert float(ada["total"]) == sum(POINTS) and ada["to look at"] == "0"
    assert int(ada["late days"]) > 2000
    assert bob["masks-1"] == "0.0" and float(bob["masks-2"]) < 1
    assert cem["total"] == "0.0" and cem["to look at"] == "1"
    assert {dee[name] for name in [*names, "total", "late days"]} == {""}


def test_canvas(graded):
    head, possible, _, ada, *_ = rows(graded / "canvas.csv")
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert head[:6] == [*columns, "2.1 Count the pairs"]
    assert possible[0].strip() == "Points Possible"
    assert [int(points) for points in possible[5:]] == POINTS
    assert ada[:5] == ["Lovelace, Ada", "ada", "", "", ""]
    assert [float(points) for points in ada[5:]] == POINTS


def test_two_ids_that_make_one_file_name_have_two_pages(tmp_path):
    marks = {task.name: Mark() for task in MASKS}
    both = [Marked(Submission(Student(n, n)), marks) for n in ("a b", "a_b")]
    write_all(tmp_path, both, MASKS, [], "7", None)
    assert len(list((tmp_path / "feedback").iterdir())) == 2


def test_feedback(graded):
    page = (graded / "feedback/bob.html").read_text("utf-8")
    assert "This behaves like a mask with its meaning swapped" in page
    assert "2.2 When the padding is" in page and "days late" in page
    assert "There is no answer cell for it." in page
    page = (graded / "feedback/cem.html").read_text("utf-8")
    assert "<script>" not in page and "this is not a notebook" in page
    assert "<b>Dee" not in (graded / "feedback/_1_1.html").read_text("utf-8")


def test_summary(graded):
    text = (graded / "summary.md").read_text("utf-8")
    assert "3 of 4 students handed in." in text
    assert "1 student, exercise 2.2: a mask with its meaning swapped" in text
    assert "cem: cem.ipynb: this is not a notebook" in text
    assert "`--seed 7`" in text
    if sys.platform == "linux":
        assert "no access to the network" in text


def test_gradescope_results(graded):
    told = json.loads((graded / "gradescope/ada.json").read_text("utf-8"))
    assert [test["score"] for test in told["tests"]] == POINTS
    assert [test["max_score"] for test in told["tests"]] == POINTS
    assert told["tests"][0]["name"] == "2.1 Count the pairs"
    assert told["tests"][0]["output"].startswith("right. All ")


def test_bad_commands_are_refused(graded, tmp_path):
    base = ["grade", str(tmp_path), "--root", str(ROOT), "--chapters"]
    with pytest.raises(SystemExit, match=r"chapter \(mask\) must be one of 1, 2, 3"):
        main([*base, "mask", "--roster", str(tmp_path), "--out", str(tmp_path / "o")])
    with pytest.raises(SystemExit, match="grade needs --roster and --out"):
        main([*base, "masks"])
    with pytest.raises(SystemExit, match="must be a new folder, or an empty one"):
        main([*base, "masks", "--roster", str(tmp_path), "--out", str(graded)])


# Gradescope.


@pytest.fixture(scope="module")
def autograder(tmp_path_factory):
    """The zip, unpacked as Gradescope does, with this Python in place of the one of setup.sh."""
    folder = tmp_path_factory.mktemp("autograder")
    write_autograder(folder / "a.zip", ["2"], ROOT, "seed of the zip")
    with zipfile.ZipFile(folder / "a.zip") as archive:
        archive.extractall(folder / "source")
    for name in ("results", "submission", "venv/bin"):
        (folder / name).mkdir(parents=True)
    script = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    (folder / "venv/bin/python").write_text(script, encoding="utf-8")
    (folder / "venv/bin/python").chmod(0o755)
    return folder


def run_autograder(folder):
    return subprocess.run(
        ["bash", str(folder / "source/run_autograder")],
        env={**os.environ, "AUTOGRADER": str(folder), "PYTHONPATH": str(folder / "source")},
        capture_output=True, text=True,
    )  # fmt: skip


@ON_LINUX
def test_the_autograder_grades(autograder):
    cells = notebook(RIGHT_CELLS["masks-3"], RIGHT_CELLS["masks-5"])
    (autograder / "submission/mine.ipynb").write_text(cells, encoding="utf-8")
    done = run_autograder(autograder)
    assert done.returncode == 0, done.stderr
    told = json.loads((autograder / "results/results.json").read_text("utf-8"))
    due = [task.points * (task.name in ("masks-3", "masks-5")) for task in MASKS]
    assert [test["score"] for test in told["tests"]] == due


@ON_LINUX
def test_the_autograder_writes_results_when_everything_crashes(autograder):
    broken = autograder / "source/d2lmini/course/marking.py"
    kept = broken.read_text("utf-8")
    for text in ("def mark_all(*_): 1 / 0", "import os; os._exit(3)"):
        text = f"{kept}\n\n{text}\n" if "mark_all" in text else text
        broken.write_text(text, encoding="utf-8")
        run_autograder(autograder)
        told = json.loads((autograder / "results/results.json").read_text("utf-8"))
        assert told["score"] == 0 and "please tell your instructor" in told["output"]
    broken.write_text(kept, encoding="utf-8")
