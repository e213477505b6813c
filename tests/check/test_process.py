"""Answers run in a process of their own, which can be ended: even in C code, or by Ctrl-C."""

import functools
import os
import signal
import sys
import threading
import time
from _thread import interrupt_main

import numpy as np
import psutil
import pytest
import torch
from conftest import for_each
from torch import nn

from d2lmini import check
from d2lmini.check import process, records
from d2lmini.check.answers import difference
from d2lmini.check.exercise import Exercise
from d2lmini.check.grading import ALMOST, NOT_ATTEMPTED, RIGHT, WRONG, Ended, grade
from d2lmini.check.process import Child, far
from d2lmini.check.subjects import Listener
from d2lmini.check.values import from_json, to_json


def exercise(reference, *cases, **settings):
    return Exercise("masks-99", reference, [*cases], {}, ("", "", ""), **settings)


EXERCISE = exercise(lambda number: 2 * number, (1,), (2,), (3,))
SLOW = "The answer did not come back within 1 seconds."


@pytest.fixture(autouse=True)
def no_records(monkeypatch):
    monkeypatch.setattr(records, "records", {})


@pytest.fixture
def quick(monkeypatch):
    """Start the child with a right answer, then lower the time limit to a second."""
    assert grade(EXERCISE, far(lambda number: 2 * number))[0] == RIGHT
    monkeypatch.setattr(process, "SECONDS", 1.0)


def child():
    return process._kept[0]


def test_an_answer_runs_elsewhere():
    found = exercise(lambda: os.getpid(), ())
    assert grade(found, far(os.getpid))[0] == WRONG
    assert grade(found, os.getpid)[0] == RIGHT


def test_what_a_child_has_computed_is_known_when_it_is_gone():
    ended = Child()
    computed = ended.computed()
    ended.end()
    assert ended.computed() == computed > 0


# The first is C code, which looks at nothing else.
@for_each([lambda number: sum(range(10**12)), lambda number: time.sleep(10**6)])
def test_an_answer_that_does_not_come_back_is_ended(answer, quick):
    grade(EXERCISE, far(lambda number: number))
    pid = child().process.pid
    assert grade(EXERCISE, far(answer)) == (WRONG, SLOW)
    assert not psutil.pid_exists(pid)
    assert grade(EXERCISE, far(lambda number: 2 * number))[0] == RIGHT  # in a new one


def test_an_answer_that_experiments_without_end_is_ended(quick):
    found = exercise(lambda net: net([]), (Listener([], 0.0),))

    def endless(net):
        while True:
            net([])  # which is quick

    assert grade(found, far(endless)) == (WRONG, SLOW)
    assert grade(found, far(lambda net: net([])))[0] == RIGHT  # in a new process


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda number: os._exit(0), "The answer ended Python itself."),
        (lambda number: os.abort(), "The answer ended Python itself."),
        (lambda number: sys.exit(0), "<lambda> raised SystemExit: 0"),
        (lambda number: torch.zeros(2 * 10**7), "The answer returned more than 16 MB."),
    ],
)
def test_an_answer_that_leaves_python_is_only_wrong(answer, text):
    verdict, message = grade(EXERCISE, far(answer))
    assert verdict == WRONG and message.startswith(text)


def test_an_answer_that_takes_all_memory_is_ended(monkeypatch):
    answer = far(lambda number: time.sleep(10**6))
    monkeypatch.setattr(process, "MEMORY", 1)
    verdict, message = grade(EXERCISE, answer)
    assert verdict == WRONG and "GB of memory." in message


def test_an_interrupted_answer_ends_and_nothing_is_recorded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    check.exercise("masks-3", lambda scores, mask: scores)
    kept, recorded = child().process.pid, vars(records.records["masks-3"]).copy()
    timer = threading.Timer(1.0, interrupt_main)  # which is what Ctrl-C does
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            check.exercise("masks-3", lambda scores, mask: sum(range(10**12)))
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert not psutil.pid_exists(kept)
    assert vars(records.records["masks-3"]) == recorded


def test_a_child_ends_with_the_one_that_started_it():
    """Even while an answer hangs."""
    program = (
        "from d2lmini.check.process import far, _kept\nimport os, threading, time\n"
        "answer = far(lambda: time.sleep(10**6))\nprint(_kept[0].process.pid, flush=True)\n"
        "threading.Thread(target=answer, daemon=True).start()\ntime.sleep(1)\nos._exit(0)"
    )
    command = [sys.executable, "-c", program]
    pid = int(process.subprocess.check_output(command, text=True))
    for _ in range(600):
        zombie = psutil.STATUS_ZOMBIE
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == zombie:
            return
        time.sleep(0.05)
    pytest.fail("the child still runs")


def test_an_answer_that_hands_itself_in_is_graded_once(quick, capsys):
    def answer(scores, mask):
        check.exercise("masks-3", answer)
        return scores

    check.exercise("masks-3", answer)
    assert "cases agree" in capsys.readouterr().out  # and it did not hang


def test_an_answer_that_cannot_be_sent_runs_here():
    numbers = (2 * number for number in (1, 2, 3, *range(10)))

    def answer(number):
        return next(numbers)

    assert far(answer) is answer
    assert grade(EXERCISE, answer)[0] == RIGHT
    assert far(5) == 5


def test_the_reader_s_modes_stay_outside():
    def slope(number):
        assert torch.get_default_device().type == "cpu"
        x = torch.tensor(float(number), requires_grad=True)
        return torch.autograd.grad(x * x, x)[0]

    found = exercise(lambda n: torch.tensor(2.0 * n), (1,), (3,))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode(), torch.device("meta"):
            assert grade(found, far(slope))[0] == RIGHT


def test_answers_keep_their_names_and_what_they_say():
    def raises(one, number):
        hidden = {}
        return hidden["oh"]

    verdict, message = grade(EXERCISE, far(raises))
    assert verdict == WRONG
    assert message.startswith("raises(one, number) cannot be called with 1 argument,")
    message = grade(EXERCISE, far(functools.partial(raises, 1)))[1]
    assert message.startswith("partial raised KeyError: 'oh'")
    assert message.endswith("\nwith     number = 1")

    def one(number):
        print("one", number)
        return raises(1, number)

    message = grade(EXERCISE, far(one))[1]
    assert 'in       return hidden["oh"]' in message
    assert message.endswith("with     number = 1\nprinted  one 1")

    def stub(number):
        raise NotImplementedError

    assert grade(EXERCISE, far(stub))[0] == NOT_ATTEMPTED


def test_a_changed_argument_is_seen_from_here():
    def overwrites(X):
        result = X + 0
        X.zero_()
        return result

    def pops(values):
        return [values.pop()]

    for answer, case in ((overwrites, torch.ones(2)), (pops, [1])):
        found = exercise(lambda x: x, (case,))
        verdict, message = grade(found, far(answer))
        assert verdict == WRONG and "changed its argument" in message

    def trains(net):
        result = torch.tensor(3.0)
        nn.init.zeros_(net.weight)
        return result

    net = nn.Linear(2, 2)
    found = exercise(lambda net: torch.tensor(3.0), (net,))
    assert "changed its argument" in grade(found, far(trains))[1]


def test_a_property_calls_the_answer_there_too(quick):
    found = exercise(lambda n: 2 * n, (1,), properties=(lambda a: a(7) == 14,))
    assert grade(found, far(lambda number: 2 * number))[0] == RIGHT
    assert grade(found, far(lambda number: 2))[0] == ALMOST

    def hangs(number):
        return 2 if number == 1 else time.sleep(10**6)

    assert "did not come back" in grade(found, far(hangs))[1]


# Values sent between the processes.


@for_each(
    [None, True, 3, -2.5, float("inf"), "text\ud800", 2**80, [], (1, [2, (3,)]),
        torch.tensor(3), torch.zeros(0, 2), torch.arange(6.0).reshape(2, 3).mT,
        torch.tensor([True, False]),
        torch.ones(2, dtype=torch.bfloat16), torch.arange(4)[::2]]
)  # fmt: skip
def test_values_come_back_as_they_were(value):
    again = from_json(process.json.loads(process.json.dumps(to_json(value))))
    if isinstance(value, torch.Tensor):
        assert again.dtype == value.dtype and torch.equal(again, value)
    else:
        assert again == value and type(again) is type(value)


def test_numbers_of_numpy_are_numbers():
    assert from_json(to_json(np.float32(2.5))) == 2.5
    assert from_json(to_json(torch.Size([3, 9]))) == (
        3,
        9,
    )  # as the answer's own process
    assert from_json(to_json(np.bool_(True))) is True
    again = from_json(to_json(np.eye(2)))
    assert isinstance(again, np.ndarray) and (again == np.eye(2)).all()


def itself():
    values = [1]
    values.append(values)
    return values


@for_each(
    [10**5000, {1: 2}, {1, 2}, nn.Linear(1, 1), torch.zeros(2, device="meta"), itself(),
        torch.eye(2).to_sparse(), torch.zeros(1, dtype=torch.complex64), print, object(),
        np.array(["a"])]
)  # fmt: skip
def test_what_no_exercise_asks_for_is_a_text_about_it(value):
    told = process.json.dumps(to_json(value))
    assert len(told) < 1000 and " at 0x" not in told
    again = from_json(process.json.loads(told))
    assert "differ" not in difference(again, torch.eye(2), 0)


def test_a_child_that_does_not_start_is_told():
    for program in ("1 / 0", "print('hello')" * 9):
        with pytest.raises(Ended, match="ended Python"):
            Child([sys.executable, "-c", program])
