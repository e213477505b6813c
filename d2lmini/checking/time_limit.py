"""A function is called in a bounded time."""

import ctypes
import threading

TIME_LIMIT = 10.0  # seconds for all calls of an answer


class TookTooLong(Exception):
    """A function did not come back; the text says so, to the reader."""


class OutOfTime(BaseException):
    """Raised inside an answer that does not come back."""


def within_time(function):
    """Call a function in a thread of its own, and end it after TIME_LIMIT.

    A signal would be simpler, but Windows has none for this.
    """
    outcome = []

    def work():
        try:
            function()
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(TIME_LIMIT)
    if thread.is_alive():
        ident, error = ctypes.c_ulong(thread.ident), ctypes.py_object(OutOfTime)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, error)
        raise TookTooLong(f"The answer did not come back within {TIME_LIMIT:g} seconds.")
    if outcome:
        raise outcome[0]
