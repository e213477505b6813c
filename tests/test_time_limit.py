"""Answers end: after their time, and when the reader interrupts them.

The clocks are the tests' own, so that no test depends on how fast the machine is.
"""

import functools
import signal
import threading
import time
from _thread import interrupt_main

import pytest
import torch

from d2lmini import check
from d2lmini.checking import grading, records, time_limit
from d2lmini.checking.exercise import Exercise
from d2lmini.checking.grading import RIGHT, WRONG, grade

REAL_CLOCKS = time_limit._clocks
FOREVER = 30  # seconds; a test that waits as long has failed


def doubled(number):
    return 2 * number


EXERCISE = Exercise("masks-9", doubled, [(1,), (2,), (3,)], {}, ("", "", ""))


class Clocks:
    """Seconds of computing and in all, which pass when a test says so."""

    def __init__(self):
        self.shown = [0.0, 0.0]
        self.looks = threading.Semaphore(0)

    def __call__(self):
        self.looks.release()
        return tuple(self.shown)

    def add(self, computing=0.0, in_all=0.0):
        self.shown[0] += computing
        self.shown[1] += max(computing, in_all)

    def pass_time(self, computing=0.0, in_all=0.0):
        """Let time pass, and come back when whoever waits has seen it."""
        self.add(computing, in_all)
        while self.looks.acquire(blocking=False):
            pass
        for _ in range(2):  # the first look may have begun before
            assert self.looks.acquire(timeout=FOREVER)


@pytest.fixture(autouse=True)
def clocks(monkeypatch):
    clocks = Clocks()
    monkeypatch.setattr(time_limit, "_clocks", clocks)
    monkeypatch.setattr(time_limit, "PATIENCE", FOREVER)
    monkeypatch.setattr(records, "records", {})
    return clocks


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Also in a process that was started in the background, where a shell has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def runs_until_stopped(ended, first):
    deadline = time.monotonic() + FOREVER
    try:
        first()
        while time.monotonic() < deadline:
            time.sleep(0.001)
    finally:
        ended.set()


def test_an_answer_that_computes_too_long_is_ended(clocks):
    ended = threading.Event()

    def endless(number):
        clocks.pass_time(computing=time_limit.CPU_LIMIT)  # allowed
        runs_until_stopped(ended, lambda: clocks.add(computing=1))

    verdict, message = grade(EXERCISE, endless)
    assert verdict == WRONG
    assert message == "The answer did not come back within 10 seconds of computing."
    assert ended.is_set()


def test_the_clock_of_computing_runs_when_an_answer_computes(monkeypatch):
    monkeypatch.undo()  # the real clocks
    monkeypatch.setattr(time_limit, "CPU_LIMIT", 0.1)
    monkeypatch.setattr(time_limit, "PATIENCE", FOREVER)

    def endless(number):
        deadline = time.monotonic() + FOREVER
        while time.monotonic() < deadline:
            pass

    _, message = grade(EXERCISE, endless)
    assert "did not come back within 0.1 seconds of computing." in message
    assert "still runs" not in message


def test_sleep_is_no_computing():
    before = REAL_CLOCKS()
    time.sleep(0.5)
    computing, in_all = (b - a for a, b in zip(before, REAL_CLOCKS(), strict=True))
    assert computing < 0.4 < in_all


def test_a_busy_machine_costs_an_answer_nothing(clocks):
    """Other programs make it slow: much time passes and hardly any of it is its own."""

    def slowed(number):
        clocks.pass_time(in_all=4 * time_limit.CPU_LIMIT)
        return 2 * number

    assert grade(EXERCISE, slowed)[0] == RIGHT


def test_only_single_calls_of_the_answer_are_timed(clocks):
    def as_long_as_allowed(number):
        clocks.pass_time(computing=time_limit.CPU_LIMIT)
        return 2 * number

    def slow_reference(number):
        clocks.add(2 * time_limit.CPU_LIMIT)
        time.sleep(2 * time_limit.LOOK_EVERY)  # nobody looks at the clocks meanwhile
        return 2 * number

    def slow_property(answer):
        slow_reference(1)
        return answer(1) == 2

    found = Exercise(
        "masks-9",
        slow_reference,
        EXERCISE.cases,
        {},
        EXERCISE.hints,
        properties=(slow_property,),
    )
    assert grade(found, as_long_as_allowed)[0] == RIGHT


def test_calls_of_the_answer_in_a_property_are_timed_too(clocks):
    ended = threading.Event()

    def answer(number):
        if number != 7:
            return 2 * number
        runs_until_stopped(ended, lambda: clocks.add(time_limit.CPU_LIMIT + 1))

    found = Exercise(
        "masks-9", doubled, [(1,)], {}, ("", "", ""), properties=(lambda a: a(7) == 14,)
    )
    verdict, message = grade(found, answer)
    assert verdict == WRONG and "within 10 seconds of computing" in message
    assert ended.is_set()


def test_an_answer_that_was_ended_is_not_called_again(clocks):
    """Not even while known mistakes are looked for, of which errors are a kind."""
    calls, ended = [], threading.Event()

    def wrong_then_endless(number):
        calls.append(number)
        if len(calls) > 1:
            runs_until_stopped(ended, lambda: clocks.add(time_limit.CPU_LIMIT + 1))
        return 0

    found = Exercise(
        "masks-9",
        doubled,
        EXERCISE.cases,
        {"one": lambda number: 1, "another": lambda number: 2},
        EXERCISE.hints,
    )
    assert "did not come back" in grade(found, wrong_then_endless)[1]
    assert len(calls) == 2


def test_an_answer_that_waits_in_vain_is_ended(clocks):
    ended = threading.Event()

    def waits(number):
        runs_until_stopped(ended, lambda: clocks.add(in_all=time_limit.WALL_LIMIT + 1))

    verdict, message = grade(EXERCISE, waits)
    assert verdict == WRONG
    assert message == "The answer did not come back within 60 seconds."
    assert ended.is_set()


def test_an_answer_that_cannot_be_ended_is_given_up(clocks, monkeypatch):
    monkeypatch.setattr(time_limit, "PATIENCE", 0)
    door = threading.Lock()
    door.acquire()

    def stuck(number):
        clocks.add(in_all=time_limit.WALL_LIMIT + 1)
        door.acquire(timeout=FOREVER)  # a call of C code
        return 2 * number

    try:
        verdict, message = grade(EXERCISE, stuck)
    finally:
        door.release()
    assert verdict == WRONG
    assert "within 60 seconds. It could not be ended and still runs" in message


def test_an_interrupted_answer_ends_and_nothing_is_recorded():
    check.exercise("masks-3", lambda scores: scores)
    before = vars(records.records["masks-3"]).copy()
    ended = threading.Event()

    def endless(scores, mask):
        runs_until_stopped(ended, interrupt_main)  # which is what Ctrl-C does

    with pytest.raises(KeyboardInterrupt) as error:
        check.exercise("masks-3", endless)
    assert not hasattr(error.value, "__notes__")
    assert ended.is_set()
    assert vars(records.records["masks-3"]) == before


def test_who_interrupts_an_answer_that_cannot_be_ended_is_told_so(monkeypatch):
    monkeypatch.setattr(time_limit, "PATIENCE", 0)
    door = threading.Lock()
    door.acquire()

    def stuck(number):
        interrupt_main()
        door.acquire(timeout=FOREVER)

    try:
        with pytest.raises(KeyboardInterrupt) as error:
            grade(EXERCISE, stuck)
    finally:
        door.release()
    assert error.value.__notes__ == [time_limit.STILL_RUNS]


def test_an_answer_that_grades_another_ends_with_it():
    inner_ended, outer_ended = threading.Event(), threading.Event()

    def inner(tokens, pad):
        runs_until_stopped(inner_ended, interrupt_main)

    def outer(scores, mask):
        try:
            check.exercise("masks-2", inner)
        finally:
            outer_ended.set()

    with pytest.raises(KeyboardInterrupt):
        check.exercise("masks-3", outer)
    assert inner_ended.is_set() and outer_ended.is_set()
    assert records.records == {}


def test_an_answer_may_grade_another(capsys):
    right = grading.find("masks-3").reference

    def outer(scores, mask):
        check.exercise("masks-1", lambda lens, steps: 0)
        return right(scores, mask)

    check.exercise("masks-3", outer)
    assert records.records["masks-1"].verdict == WRONG
    assert records.records["masks-3"].verdict == RIGHT


def test_the_reader_s_gradient_mode_stays_outside():
    modes = []

    def slope(number):
        modes.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        x = torch.tensor(float(number), requires_grad=True)
        return torch.autograd.grad(x * x, x)[0]

    found = Exercise(
        "masks-9", lambda n: torch.tensor(2.0 * n), EXERCISE.cases, {}, EXERCISE.hints
    )
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert grade(found, slope)[0] == RIGHT
            assert torch.is_inference_mode_enabled() or not torch.is_grad_enabled()
    assert set(modes) == {(True, False)}


def test_answers_keep_their_names():
    def raises(one, number):
        raise KeyError("oh")

    verdict, message = grade(EXERCISE, raises)
    assert verdict == WRONG
    assert message.startswith("raises(one, number) cannot be called with 1 argument,")
    message = grade(EXERCISE, functools.partial(raises, 1))[1]
    assert message.startswith("partial raised KeyError: 'oh'\nwith     number = 1")


def test_threads_of_answers_do_not_keep_python_from_ending():
    daemons = []
    grade(EXERCISE, lambda number: daemons.append(threading.current_thread().daemon))
    assert daemons == [True]
