"""An answer in a Python of its own, which can be ended whatever it does, on every system."""

import atexit
import contextlib
import inspect
import json
import linecache
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import cloudpickle
import psutil
import torch
from torch import nn

from d2lmini.checking.grading import Ended
from d2lmini.checking.values import from_json

SECONDS = 20.0  # for all calls of an answer; the slowest right one takes less than a second
MEMORY = 2 * 1024**3  # bytes; a Python that has loaded PyTorch takes a tenth of it
TO_START = 120.0  # seconds until PyTorch is loaded, on a busy machine
LONGEST = 64 * 1024**2  # bytes of one message from the child
LOOK_EVERY = 0.05  # seconds between two looks at the memory
LENGTH = struct.Struct("<Q")  # bytes of the message that follows
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from d2lmini.checking.child import main; main()"
)
UNREADABLE = "What the answer returned cannot be read."
KINDS, NONE = list(type(inspect.Parameter.VAR_KEYWORD)), inspect.Parameter.empty


class Child:
    """A Python that runs answers. Always call end(), whatever happens.

    Args:
        command: how to start it; None: a Python like this one.
        folder: where it starts; None: here.
        environment: its variables; None: as here.
    Raises:
        Ended: it did not start.
    """

    def __init__(self, command=None, folder=None, environment=None):
        self.process = subprocess.Popen(
            command or [sys.executable, "-c", PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,  # Ctrl-C is for us; and what it starts ends with it
        )
        self.started = self._answered(None, TO_START)

    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self.process.poll() is None

    def ask(self, *message, seconds: float = SECONDS) -> dict:
        """What the child says to a message: the name of a method of Worker, its arguments.

        Raises:
            Ended: it took too long or too much memory, or has crashed; it is gone now.
        """
        data = pickle.dumps(message)
        return self._answered(LENGTH.pack(len(data)) + data, seconds)

    def _answered(self, data, seconds):
        replies = queue.Queue()
        # In a thread, for a child that neither reads nor writes would block us.
        threading.Thread(target=self._exchange, args=(data, replies), daemon=True).start()
        deadline = time.monotonic() + seconds
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    reply = replies.get(timeout=LOOK_EVERY)
                    break
                if self._memory() > MEMORY:
                    raise Ended(f"The answer took more than {MEMORY >> 30} GB of memory.")
                if time.monotonic() > deadline:
                    raise Ended(
                        f"The answer did not come back within {seconds:.3g} seconds."
                    )
            if not isinstance(reply, dict):
                raise Ended(reply or "The answer ended Python itself.")
        except BaseException:  # Ctrl-C, too
            self.end()
            raise
        return reply

    def _exchange(self, data, replies):
        """Write a message, read the reply: a dict, or a text that says what is wrong with it."""
        try:
            if data:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            (length,) = LENGTH.unpack(self.process.stdout.read(LENGTH.size))
            if length > LONGEST:
                replies.put(f"The answer returned more than {LONGEST >> 20} MB.")
            else:
                replies.put(json.loads(self.process.stdout.read(length)))
        except Exception:  # it is gone, or has written no message
            replies.put("")

    def _memory(self):
        try:
            return psutil.Process(self.process.pid).memory_info().rss
        except psutil.Error:
            return 0

    def end(self):
        """End it, and what it has started."""
        if self.is_alive():
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # a message that nobody reads any more
                stream.close()


class FarAnswer:
    """A function that calls the answer that a child holds; grading takes it for the answer.

    Args:
        signature: of the answer; None if it has none.
        seconds: for all calls together.
    """

    def __init__(self, child: Child, name: str, signature, seconds: float = SECONDS):
        self.child, self.left = child, seconds
        self.__name__ = name
        if signature is not None:
            self.__signature__ = signature

    def __call__(self, *arguments):
        began = time.monotonic()
        said = self.child.ask("call", arguments, seconds=self.left)
        self.left = max(0.0, self.left - (time.monotonic() - began))
        try:
            print(said["printed"], end="")
            if "error" in said:
                error = far_error(**said["error"])
            else:
                for mine, theirs in zip(arguments, said["arguments"], strict=True):
                    _bring_up_to_date(mine, theirs)
                return from_json(said["value"])
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
            raise Ended(UNREADABLE) from None
        raise error


_kept: list[Child] = []  # the child of this Python, from the first answer on


def far(answer: Callable) -> Callable:
    """The answer in a process of its own; itself, if it holds what cannot be sent there.

    Raises:
        Ended: it could not be sent.
    """
    if not callable(answer):
        return answer
    try:
        data = cloudpickle.dumps(answer)
    except Exception:  # a generator, a lock, an open file
        return answer
    if not (_kept and _kept[0].is_alive()):
        _kept[:] = [Child()]
        atexit.register(_kept[0].end)
    if "error" in _kept[0].ask("load", data):
        return answer
    try:
        signature = inspect.signature(answer)
    except (ValueError, TypeError):  # a builtin
        signature = None
    return FarAnswer(
        _kept[0], getattr(answer, "__name__", type(answer).__name__), signature
    )


def told_signature(parameters):
    """The signature that a child has told of.

    Raises:
        Ended: it is none.
    """
    if parameters is None:
        return None
    try:
        return inspect.Signature([
            inspect.Parameter(name, KINDS[kind], default=None if optional else NONE)
            for name, kind, optional in parameters
        ])  # fmt: skip
    except (ValueError, TypeError, IndexError):
        raise Ended(UNREADABLE) from None


def far_error(kind: str, text: str, line: str, file: str, number) -> Exception:
    """An error like the one in the child; own_line is the line of the answer."""
    if kind == "NotImplementedError" and not text:
        return NotImplementedError()
    error = type(str(kind), (Exception,), {})(str(text))
    # A cell of a notebook is known here only, a submission there only.
    error.own_line = str(line) or (
        linecache.getline(str(file), number).strip() if number else ""
    )
    return error


def _bring_up_to_date(mine, said):
    """Make an argument what the child's has become, for the check that it is unchanged."""
    if isinstance(mine, torch.Tensor):
        theirs = from_json(said)
        mine.data = (
            theirs.to(mine) if theirs.shape == mine.shape else torch.full_like(mine, 7)
        )
    elif isinstance(mine, list):
        mine[:] = from_json(said)
    elif isinstance(mine, nn.Module):
        mine.load_state_dict({n: from_json(part) for n, part in said["state"].items()})
