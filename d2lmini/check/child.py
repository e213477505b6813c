"""The process in which an answer runs; process.py starts it and sends it commands.

It receives pickles and answers in JSON: the child trusts the parent, not vice versa.
"""

import contextlib
import inspect
import json
import linecache
import os
import pickle
import queue
import threading
from collections.abc import Callable

import cloudpickle
import torch

from d2lmini import check
from d2lmini.check import records
from d2lmini.check.grading import FirstPrinted
from d2lmini.check.process import LENGTH
from d2lmini.check.subjects import FarSubject
from d2lmini.check.values import to_json


def main(unconfined=()):
    """Read commands from standard input, and write results to standard output."""
    asked, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # output of an answer must not mix with the messages
        os.dup2(nothing, stream)
    torch.set_num_threads(1)
    messages = queue.Queue()
    threading.Thread(target=listen, args=(asked, messages), daemon=True).start()
    worker, to = Worker(), 0  # the message that is being answered

    def reply(message):
        tell(said, message | {"to": to})

    def ask(number, arguments):
        """Call a subject in the parent process with these arguments."""
        nonlocal to
        reply({"try": number, "arguments": [to_json(part) for part in arguments]})
        to, kind, result = pickle.loads(messages.get())
        if kind == "failed":
            raise RuntimeError(result)
        return result

    FarSubject.ask = staticmethod(ask)
    reply({"unconfined": list(unconfined)})
    while True:
        to, command, *arguments = pickle.loads(messages.get())
        reply(getattr(worker, command)(*arguments))


def listen(stream, messages):
    """Read messages while an answer runs; exit when the parent has gone."""
    while head := stream.read(LENGTH.size):
        messages.put(stream.read(*LENGTH.unpack(head)))
    os._exit(0)


def tell(stream, message):
    """Write a message to the parent."""
    data = json.dumps(message).encode()
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


class Worker:
    """Holds one answer at a time, and calls it."""

    def __init__(self):
        self.handed_in = {}
        # An answer that calls check.exercise must not start another check.
        for module in (check, records):
            module.exercise = self.hand_in
            module.hint = module.report = lambda *_: None
            module.mystery = records.Mystery
        records.Mystery.__call__ = _refuse

    def hand_in(self, name: str, answer: Callable):
        """In place of check.exercise."""
        self.handed_in[name] = answer

    def load(self, answer: bytes) -> dict:
        """Load an answer that a notebook has pickled."""
        try:
            self.answer = cloudpickle.loads(answer)
        except Exception as error:
            return {"error": _said_of(error, "")}
        return {}

    def define(self, before: list[str], cell: str, name: str, function: str) -> dict:
        """Run a cell; its answer is what it passes to check.exercise, or a function of it.

        Args:
            before: definitions that the cell may use; those that fail are left out.
            name: of the exercise.
            function: its name, used if the cell does not call check.exercise.
        """
        self.handed_in.clear()
        scope, said, where = {"__name__": "__main__"}, {}, f"<{name}>"
        for source in before:
            with contextlib.suppress(Exception):
                exec(source, scope)
        linecache.cache[where] = len(cell), None, cell.splitlines(True), where
        try:
            exec(compile(cell, where, "exec"), scope)
        except BaseException as error:
            said["error"] = _said_of(error, where)
        self.answer = self.handed_in.get(name, scope.get(function))
        if not callable(self.answer):
            return said
        called = getattr(self.answer, "__name__", type(self.answer).__name__)
        return said | {"name": str(called), "parameters": _parameters(self.answer)}

    def call(self, arguments: list) -> dict:
        """Call the answer; return its value, its output and its arguments afterwards."""
        printed = FirstPrinted()
        try:
            with contextlib.redirect_stdout(printed):
                value = self.answer(*arguments)
            said = {
                "value": to_json(value),
                "arguments": [to_json(a) for a in arguments],
            }
        except BaseException as error:
            code = getattr(inspect.unwrap(self.answer), "__code__", None)
            said = {"error": _said_of(error, getattr(code, "co_filename", ""))}
        return said | {"printed": printed.text}


def _refuse(*_):
    """Refuse to run the module that the answer should imitate."""
    raise RuntimeError("the answer must make the mistake itself, without the module")


def _parameters(answer: Callable):
    """Name, kind and whether it is optional, for each parameter; None for a builtin."""
    try:
        parameters = inspect.signature(answer).parameters.values()
    except (ValueError, TypeError):
        return None
    return [[p.name, p.kind.value, p.default is not p.empty] for p in parameters]


def _said_of(error, where):
    """The type and text of an error, and the last line in this file of its traceback."""
    number, frame = getattr(error, "lineno", None), error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == where:
            number = frame.tb_lineno
        frame = frame.tb_next
    text = ""
    if error.args or type(error) is not NotImplementedError:
        try:
            text = str(error).partition("\n")[0][:300] or " "
        except Exception:
            text = "an error without a text"
    line = linecache.getline(where, number).strip() if number else ""
    return {
        "kind": type(error).__name__, "text": text, "line": line,
        "file": str(where), "number": number,
    }  # fmt: skip
