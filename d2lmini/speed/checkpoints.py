"""A training in a file: what it takes to go on as if nothing had happened."""

import math
import pickle
import zipfile
from pathlib import Path

import torch

from d2lmini.support.arguments import check_count, check_kind
from d2lmini.support.files import write_file
from d2lmini.support.history import is_first
from d2lmini.support.randomness import random_states, set_random_states

FORMAT, VERSION = "d2lmini checkpoint", 2


def write_whole(state: dict, path: Path) -> None:
    """Write a dictionary to a file, so that path holds the old one or the new one, never a part.

    Raises:
        OSError: the folder cannot be written to, or the disk is full; path is as it was.
    """
    write_file(path, lambda file: torch.save(state, file))


def read_whole(path: Path) -> dict:
    """What write_whole wrote. Only numbers, texts and tensors are read, no objects.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it was cut short, holds objects, or is no checkpoint of this version.
    """
    if not zipfile.is_zipfile(path):
        Path(path).stat()  # a file that is not there is another mistake
        raise ValueError(
            f"path ({path}) must be a checkpoint; it was cut short, or is none"
        )
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"path ({path}) holds more than numbers, and to load it could run any program: "
            "it was not loaded"
        ) from error
    except (RuntimeError, EOFError) as error:
        raise ValueError(f"path ({path}) is damaged: {error}") from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"path ({path}) must be a checkpoint of d2lmini")
    if state.get("version") != VERSION:
        found = state.get("version")
        raise ValueError(
            f"path ({path}) has version {found}; this d2lmini reads {VERSION}"
        )
    return state


class Checkpoint:
    """A training that is kept in a file, and taken up again from there: see speed.training.train.

    A training that was stopped at any moment and goes on from its last checkpoint ends, on the
    same device and with as many threads, with the same weights, bit for bit, as one that was not.

    Args:
        path: of the file; each save replaces it.
        every: save after so many training steps; after each epoch in any case.
    Raises:
        TypeError, ValueError: path is no path; every is less than 1.
    Source: chapter 13.
    """

    def __init__(self, path: str | Path, every: int | None = None):
        check_kind("path", path, str | Path, "a path")
        if every is not None:
            check_count("every", every)
        self.path, self.every = Path(path), every

    def begin(self, settings: dict, net, optimizer, schedule, step) -> None:
        """Load the file, if there is one, into the parts of a training.

        Afterwards history holds the rows of the finished epochs; steps, what each step of the
        epoch that was not finished gave; best and lowest, the best weights and their loss.

        Args:
            settings: of the training; those of the file must be the same.
            step: of the training; kept too if it has a state.
        Raises:
            ValueError: the file is of another training; see also read_whole.
        """
        self.settings = settings | {"step": getattr(step, "__name__", str(step))}
        self.parts = {"net": net, "optimizer": optimizer, "schedule": schedule}
        if hasattr(step, "state_dict"):
            self.parts["step"] = step
        self.history, self.steps, self.best, self.lowest = [], [], None, math.inf
        self.resumed = None  # random states: at the start of the epoch, and now
        if not self.path.exists():
            return
        saved = read_whole(self.path)
        self._refuse_another(saved)
        for name, part in self.parts.items():
            part.load_state_dict(saved[name])
        device = next(net.parameters()).device
        self.history = [tuple(row) for row in saved["history"]]
        self.steps = [tuple(x.to(device) for x in step) for step in saved["steps"]]
        self.best, self.lowest = saved["best"], saved["lowest"]
        self.resumed = saved["at_start"], saved["now"]

    def _refuse_another(self, saved):
        for name, value in self.settings.items():
            if saved["settings"].get(name) != value:
                raise ValueError(
                    f"path ({self.path}) is of another training: its {name} was "
                    f"{saved['settings'].get(name)}, this one's is {value}"
                )
        shapes = {n: tuple(p.shape) for n, p in self.parts["net"].state_dict().items()}
        kept = {n: tuple(p.shape) for n, p in saved["net"].items()}
        for name in sorted(shapes.keys() | kept.keys()):
            if shapes.get(name) != kept.get(name):
                raise ValueError(
                    f"path ({self.path}) is of another network: its {name} has the shape "
                    f"{kept.get(name)}, this one's {shapes.get(name)}"
                )

    def left(self, batches):
        """The batches of an epoch from which nothing was learned yet; saves between them.

        The caller appends to steps what each step gave.
        """
        at_start, now = self.resumed or (random_states(), None)
        set_random_states(at_start)  # the batches come in the same order again
        rest = iter(batches)
        for _ in self.steps:
            next(rest)
        if self.steps:  # the generator has gone further since
            set_random_states(now)
        self.resumed = None
        for batch in rest:
            yield batch
            is_due = self.every and len(self.steps) % self.every == 0
            if is_due and self.steps[-1][-1]:  # finite: else nothing could go on
                self.save(at_start)

    def end_epoch(self, history, best, lowest):
        """Save after an epoch."""
        self.history, self.best, self.lowest, self.steps = history, best, lowest, []
        self.save(random_states())

    def save(self, at_start):
        """Write the file; at_start are the random states at the start of the epoch."""
        if not is_first():
            return
        steps = [[torch.as_tensor(x).cpu() for x in step] for step in self.steps]
        write_whole(
            {
                "format": FORMAT,
                "version": VERSION,
                "settings": self.settings,
                **{name: part.state_dict() for name, part in self.parts.items()},
                "history": self.history,
                "steps": steps,
                "best": self.best,
                "lowest": self.lowest,
                "at_start": at_start,
                "now": random_states(),
            },
            self.path,
        )


class NothingKept:
    """In place of a Checkpoint, for a training that is kept nowhere."""

    def begin(self, *parts, **named):
        """A training begins at its beginning."""
        self.history, self.steps, self.best, self.lowest = [], [], None, math.inf

    def left(self, batches):
        """All of them."""
        self.steps = []
        return batches

    def end_epoch(self, history, best, lowest):
        """Nothing is written."""
