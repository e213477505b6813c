"""An answer is called in a bounded time, and ends when the reader interrupts it.

It runs in a thread of its own, while the caller looks at the clock. A signal would be
simpler, but Windows has none for this.
"""

import ctypes
import functools
import threading
import time
from collections.abc import Callable

# Both are for one call of an answer; the slowest right one takes less than 0.01 seconds.
CPU_LIMIT = 10.0  # seconds of computing: other programs, however busy, do not count
WALL_LIMIT = 60.0  # seconds in all, for an answer that sleeps or waits for input
LOOK_EVERY = 0.05  # seconds between two looks; on Windows, Ctrl-C waits for the next one
PATIENCE = 1.0  # seconds that an answer has to end when it is told to
STILL_RUNS = "It could not be ended and still runs: restart the kernel to get rid of it."


class TookTooLong(Exception):
    """A call of the answer did not come back; the text says so, to the reader."""


class Stop(BaseException):
    """Raised inside an answer that must end; no Exception, for those are caught often."""


class _Run:
    """What the thread tells the one that waits for it."""

    def __init__(self):
        self.clocks = None  # at the start of the call of the answer that is under way
        self.error = None  # what judge raised
        # Thread.is_alive() would not do: when Ctrl-C interrupts Thread.join(), Python 3.11
        # takes a thread that still runs for one that has ended.
        self.ended = threading.Event()


def within_time(judge: Callable, answer: Callable) -> None:
    """judge(answer) in a thread of its own, which ends if a call of the answer is too long.

    Only the calls of the answer are timed; what else judge does is the book's own code.
    A new thread also has PyTorch's default modes: a reader's torch.no_grad() stays outside.

    Raises:
        TookTooLong: a call of the answer was ended, or at least given up.
        BaseException: whatever judge raises.
    """
    run = _Run()

    @functools.wraps(answer, updated=())
    def timed(*args, **kwargs):
        run.clocks = _clocks()
        try:
            return answer(*args, **kwargs)
        finally:
            run.clocks = None

    timed.__name__ = getattr(answer, "__name__", type(answer).__name__)

    def work():
        try:
            judge(timed)
        except BaseException as error:
            run.error = error
        finally:
            run.ended.set()

    # Python waits for other threads at its end, but not for daemons.
    thread = threading.Thread(target=work, daemon=True)
    try:
        thread.start()
        problem = _watch(run)
    except BaseException as error:  # Ctrl-C; or Stop, where an answer grades another one
        if not _end(thread, run):
            error.add_note(STILL_RUNS)
        raise
    if problem:
        raise TookTooLong(problem if _end(thread, run) else f"{problem} {STILL_RUNS}")
    if run.error is not None:
        raise run.error


def _watch(run):
    """Wait for the end; what is wrong if a call takes too long, else empty."""
    late = "The answer did not come back within"
    while not run.ended.wait(LOOK_EVERY):
        started = run.clocks  # looked up once: the thread may change it at any time
        if started is None:
            continue
        computing, in_all = _clocks()
        if computing - started[0] > CPU_LIMIT:
            return f"{late} {CPU_LIMIT:g} seconds of computing."
        if in_all - started[1] > WALL_LIMIT:
            return f"{late} {WALL_LIMIT:g} seconds."
    return ""


def _clocks():
    """Seconds that this Python has computed, and seconds of the clock on the wall.

    All threads of this Python count, but the others mostly wait; only Linux lets one thread
    read the clock of another.
    """
    return time.process_time(), time.monotonic()


def _end(thread, run):
    """Raise Stop inside the thread; whether it has ended.

    Stop arrives when the thread is back from a call of C code, such as a long sleep.
    """
    if thread.ident is not None and not run.ended.is_set():
        ident = ctypes.c_ulong(thread.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stop))
        return run.ended.wait(PATIENCE)
    return True
