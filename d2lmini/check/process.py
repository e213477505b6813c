"""Run an answer in a Python process of its own, which can always be killed."""

import atexit
import contextlib
import inspect
import io
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
import types
from collections.abc import Callable

import cloudpickle
import psutil
import torch
from torch import nn

from d2lmini.check.grading import Ended
from d2lmini.check.subjects import FarSubject, Subject
from d2lmini.check.values import from_json

SECONDS = (
    20.0  # of CPU time, for all calls of an answer; a correct one takes at most one
)
MEMORY = 2 * 1024**3  # bytes; Python with PyTorch loaded takes a tenth of it
# So many seconds of wall time count as one of CPU time: an answer that sleeps ends after six times
# SECONDS; on a busy machine a correct one may wait a hundred times as long as it computes.
PATIENCE = 6
TO_START = 60.0  # seconds until PyTorch is loaded, on a busy machine
LONGEST = 16 * 1024**2  # bytes per message from the child
THREADS = 500  # PyTorch starts one per core
FILES, FILE_BYTES = 1000, 256 * 1024**2  # in the folder that an answer may write to
ENDED = "The answer ended Python itself."
LOOK_EVERY = 0.05  # seconds between checks of the limits
LENGTH = struct.Struct("<Q")  # length in bytes of the message that follows
# The child can import this whole package, so answers may use it. No answer runs in this process.
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from d2lmini.check.child import main; main()"
)
OUT_OF_STEP = "The answer wrote among the messages of its own process."
UNREADABLE = "What the answer returned cannot be read."
KINDS, NONE = list(type(inspect.Parameter.VAR_KEYWORD)), inspect.Parameter.empty


class Child:
    """A Python process that runs answers. Always call end(), even after an error.

    Args:
        command: how to start it; None = this Python.
        folder: its working directory, whose size is limited; None = ours.
        environment: its environment variables; None = ours.
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
            start_new_session=True,  # Ctrl-C is for us; end() kills the whole group
        )
        self.folder = folder
        self.subjects: list[Subject] = []  # that the running answer may call
        self.last_seen = 0.0  # CPU seconds at the last look
        self.asked = 0  # the number of the last message, which its reply repeats
        self.started = self._answered(None, TO_START)

    def computed(self) -> float:
        """CPU seconds used so far; of a child that is gone, as of the last look."""
        if self.is_alive():
            with contextlib.suppress(psutil.Error):
                times = psutil.Process(self.process.pid).cpu_times()
                self.last_seen = times.user + times.system
        return self.last_seen

    def spent(self) -> float:
        """CPU seconds, plus wall time at a sixth of its value.

        On a busy machine an answer waits through no fault of its own; but one that sleeps ends.
        """
        return self.computed() + time.monotonic() / PATIENCE

    def is_alive(self) -> bool:
        """Whether the child is still running."""
        return self.process.poll() is None

    def ask(self, *message, seconds: float = SECONDS, of: float | None = None) -> dict:
        """Call a method of the child's Worker, by name and arguments; return the reply.

        Args:
            of: the whole limit, of which seconds are left; None = seconds.
        Raises:
            Ended: it took too long, used too much or crashed; it is gone now.
        """
        deadline = self.spent() + seconds
        said = self._tell(message, seconds, of)
        while "try" in said:  # the answer calls a subject
            left = deadline - self.spent()
            if left <= 0:  # each call is quick, but they never end
                self.end()
                raise too_late(of or seconds)
            said = self._tell(self._tried(said), left, of or seconds)
        return said

    def _tell(self, message, seconds, of):
        self.asked += 1
        data = pickle.dumps((self.asked, *message))
        return self._answered(LENGTH.pack(len(data)) + data, seconds, of)

    def _tried(self, said):
        """The output of a subject for the arguments that an answer chose, or the error."""
        try:
            subject = self.subjects[said["try"]]
            return "tried", subject(*map(from_json, said["arguments"]))
        except Exception as error:
            return "failed", f"{type(error).__name__}: {error}"[:300]

    def _answered(self, data, seconds, of=None):
        replies = queue.Queue()
        # In a thread, since a child that neither reads nor writes would block us.
        threading.Thread(
            target=self._exchange, args=(data, replies), daemon=True
        ).start()
        deadline = self.spent() + seconds
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    reply = replies.get(timeout=LOOK_EVERY)
                    break
                if too_much := self._too_much():
                    raise Ended(f"The answer took more than {too_much}.")
                if self.spent() > deadline:
                    raise too_late(of or seconds)
            if not isinstance(reply, dict):
                raise Ended(reply or ENDED)
            if reply.pop("to", None) != self.asked:
                raise Ended(OUT_OF_STEP)
        except BaseException:  # including Ctrl-C
            self.end()
            raise
        return reply

    def _exchange(self, data, replies):
        """Write a message and read the reply: a dict, or a string that says what is wrong."""
        try:
            if data:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            (length,) = LENGTH.unpack(self.process.stdout.read(LENGTH.size))
            if length > LONGEST:
                replies.put(f"The answer returned more than {LONGEST >> 20} MB.")
            else:
                replies.put(json.loads(self.process.stdout.read(length)))
        except Exception:  # it is gone, or wrote something else
            replies.put("")

    def _too_much(self):
        """The limit that it has exceeded; empty if none."""
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self.process.pid)
            if process.memory_info().rss > MEMORY:
                return f"{MEMORY >> 30} GB of memory"
            if process.num_threads() > THREADS:
                return f"{THREADS} threads"
        if self.folder is not None:
            number, size = size_of(self.folder)
            if number > FILES:
                return f"{FILES} files"
            if size > FILE_BYTES:
                return f"{FILE_BYTES >> 20} MB of files"
        return ""

    def end(self):
        """Kill the child and everything it has started."""
        if self.is_alive():
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # an unread message
                stream.close()


def too_late(seconds: float) -> Ended:
    """The error for exceeding this limit."""
    return Ended(f"The answer did not come back within {seconds:.3g} seconds.")


def size_of(folder) -> tuple[int, int]:
    """Count files and folders in a folder, at most FILES + 1, and their bytes."""
    number, size, waiting = 0, 0, [folder]
    while waiting and number <= FILES:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                number += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                size += entry.stat(follow_symlinks=False).st_size
                if number > FILES:
                    break
    return number, size


class FarAnswer:
    """A function that calls the answer held by a child; it stands in for the answer.

    Args:
        signature: of the answer; None if it has none.
        seconds: for all calls together.
        is_ours: whether it comes from this process, not from a stranger's notebook.
    """

    def __init__(
        self,
        child: Child,
        name: str,
        signature,
        seconds: float = SECONDS,
        is_ours=False,
    ):
        self.child, self.is_ours = child, is_ours
        self.seconds = self.left = seconds
        is_name = name.isidentifier() and len(name) < 100
        self.__name__ = name if is_name or name == "<lambda>" else "the answer"
        if signature is not None:
            self.__signature__ = signature

    def __call__(self, *arguments):
        began = self.child.spent()
        # Subjects stay here: an answer can call them, but not look inside.
        self.child.subjects = [part for part in arguments if isinstance(part, Subject)]
        sent = [
            FarSubject(self.child.subjects.index(part))
            if isinstance(part, Subject)
            else part
            for part in arguments
        ]
        said = self.child.ask("call", sent, seconds=self.left, of=self.seconds)
        self.left = max(0.0, self.left - (self.child.spent() - began))
        try:
            print(said["printed"], end="")
            if "error" in said:
                error = far_error(said["error"], self.is_ours)
            else:
                for mine, theirs in zip(arguments, said["arguments"], strict=True):
                    _bring_up_to_date(mine, theirs)
                return from_json(said["value"])
        except (ValueError, KeyError, TypeError, AttributeError, RuntimeError):
            raise Ended(UNREADABLE) from None
        raise error


class Pickler(cloudpickle.Pickler):
    """Keep the file name of code, which cloudpickle 3.1.3 drops, so that lines can be looked up."""

    def reducer_override(self, thing):
        if not isinstance(thing, types.CodeType):
            return super().reducer_override(thing)
        return code_of_file, (
            thing.co_filename,
            *self.dispatch_table[types.CodeType](thing),
        )


def code_of_file(file, make, parts):
    """The code object that make returns for parts, with this file name."""
    return make(*parts).replace(co_filename=file)


_kept: list[Child] = []  # the child of this process, from the first answer on


def far(answer: Callable) -> Callable:
    """Move an answer to a process of its own; return it unchanged if it cannot be pickled.

    Raises:
        Ended: it could not be sent.
    """
    if not callable(answer):
        return answer
    data = io.BytesIO()
    try:
        Pickler(data).dump(answer)
    except Exception:  # a generator, a lock, an open file
        return answer
    if not (_kept and _kept[0].is_alive()):
        _kept[:] = [Child()]
        atexit.register(_kept[0].end)
    if "error" in _kept[0].ask("load", data.getvalue()):
        return answer
    try:
        signature = inspect.signature(answer)
    except (ValueError, TypeError):  # a builtin
        signature = None
    name = str(getattr(answer, "__name__", type(answer).__name__))
    return FarAnswer(_kept[0], name, signature, SECONDS, is_ours=True)


def told_signature(parameters):
    """The signature that a child has reported.

    Raises:
        Ended: it is not a signature.
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


def far_error(said: dict, read_file: bool) -> Exception:
    """Recreate an error of the child; own_line is the line of the answer.

    read_file: whether a line may be looked up here, as for the cell of a notebook; not for a
        stranger's answer, which could name any file.
    """
    kind, text, line = (str(said[name])[:300] for name in ("kind", "text", "line"))
    if kind == "NotImplementedError" and not text:
        return NotImplementedError()
    error = type(kind.replace("\0", ""), (Exception,), {})(text)
    if read_file and not line and said["number"]:
        line = linecache.getline(said["file"], said["number"]).strip()
    error.own_line = line
    return error


def _bring_up_to_date(mine, said):
    """Copy the child's version of an argument back, to check that it is unchanged."""
    if isinstance(mine, torch.Tensor):
        theirs = from_json(said)
        mine.data = (
            theirs.to(mine) if theirs.shape == mine.shape else torch.full_like(mine, 7)
        )
    elif isinstance(mine, list):
        mine[:] = from_json(said)
    elif isinstance(mine, nn.Module):
        mine.load_state_dict({n: from_json(part) for n, part in said["state"].items()})
