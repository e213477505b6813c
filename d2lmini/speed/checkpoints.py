"""Checkpoints: the state of a training run in a file, to resume it bit for bit."""

import hashlib
import math
import pickle
import sys
import zipfile
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import torch

from d2lmini.support.arguments import check_count, check_kind
from d2lmini.support.files import digest, write_file
from d2lmini.support.history import is_first
from d2lmini.support.modes import eval_mode
from d2lmini.support.randomness import random_states, set_random_states

FORMAT, VERSION = "d2lmini checkpoint", 4
SAMPLERS = "sampler", "batch_sampler"  # parts of a DataLoader


def write_whole(state: dict, path: Path) -> None:
    """Write a dictionary to a file; path holds the old file or the new one, never a part.

    Raises:
        OSError: the folder is not writable, or the disk is full; path is unchanged.
    """
    write_file(path, lambda file: torch.save(state, file))


def read_whole(path: Path) -> dict:
    """Read what write_whole wrote: numbers, strings and tensors, but no other objects.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is truncated, holds objects, or is not a checkpoint of this version.
    """
    if not zipfile.is_zipfile(path):
        Path(path).stat()  # raise FileNotFoundError if it is missing
        raise ValueError(
            f"path ({path}) must be a checkpoint; it is truncated, or something else"
        )
    try:
        state = torch.load(path, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"path ({path}) holds more than numbers, and loading it could run any program: "
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


def fingerprint(
    net: torch.nn.Module,
    batches: Iterable,
    loss: Callable,
    val_batches: Iterable | None,
) -> dict:
    """What tells a training run from another before its first step.

    The random states and the mode of net are as before, so that the run itself is not changed.
    """
    trained = [name for name, p in net.named_parameters() if p.requires_grad]
    return {
        "random numbers": digest(random_states()[:1])[:12],
        "starting weights": digest(net.state_dict().values())[:12],
        "network": hashlib.sha256(f"{net} {trained}".encode()).hexdigest()[:12],
        **_of_data("batch", net, batches, loss),
        **(_of_data("validation batch", net, val_batches, loss) if val_batches else {}),
    }


def _of_data(name, net, batches, loss):
    """The part of a fingerprint that a batch decides; digits of the loss, and of the numbers."""
    device = next(net.parameters()).device
    has_end = hasattr(batches, "__len__")
    with torch.random.fork_rng(), _kept(batches), torch.no_grad(), eval_mode(net):
        torch.manual_seed(0)  # the same order, however often the data is shuffled
        all_batches = iter(batches)
        first = [torch.as_tensor(array).to(device) for array in next(all_batches)]
        rest = all_batches if has_end else ()  # a stream may have no end
        arrays = (torch.as_tensor(array) for batch in rest for array in batch)
        return {
            f"{name}es": digest(chain(first, arrays))[:12],
            f"number of {name}es": len(batches) if has_end else None,
            # Rounded: another device adds up in another order.
            f"loss of the first {name}": f"{loss(net, first)[0].item():.5g}",
        }


@contextmanager
def _kept(batches):
    """Restore the generators that a DataLoader and its samplers may have of their own."""
    found = [batches]
    for part in found:
        found += [vars(part)[n] for n in SAMPLERS if n in getattr(part, "__dict__", ())]
    sources = [
        s for s in (getattr(p, "generator", None) for p in found) if s is not None
    ]
    states = [source.get_state() for source in sources]
    try:
        yield
    finally:
        for source, state in zip(sources, states, strict=True):
            source.set_state(state)


class Checkpoint:
    """Save a training run to a file, and resume it: see speed.training.train.

    Stopped at any moment and resumed, it ends with the same weights, bit for bit, as one that was
    never stopped, given the same device and number of threads, and batches that are drawn from
    PyTorch's own generator. So it has to begin alike: set the same seed before the network is made.
    The file of another run is refused: of other weights, random numbers, data, loss or settings.
    (What shows in training mode only, such as dropout in a layer that does not name it, is not.)

    Args:
        path: the file; each save replaces it.
        every: training steps between saves; each epoch also ends with one.
    Raises:
        TypeError, ValueError: path is not a path; every is less than 1.
    Source: the page "Making it fast".
    """

    def __init__(self, path: str | Path, every: int | None = None):
        check_kind("path", path, str | Path, "a path")
        if every is not None:
            check_count("every", every)
        self.path, self.every = Path(path), every

    def begin(
        self, settings: dict, num_epochs: int, net, optimizer, schedule, step
    ) -> None:
        """Restore the parts of a training run from the file, if it exists.

        Set history to the rows of the finished epochs, steps to the results of the unfinished
        epoch's training steps, best and lowest to the best weights and their loss.

        Args:
            settings: of the run, with its fingerprint; those in the file must be equal.
            num_epochs: of the run; the file may not hold more.
            step: of the run; also saved if it has state.
        Raises:
            ValueError: the file is from another run; see also read_whole.
        """
        self.settings = settings | {"step": getattr(step, "__name__", str(step))}
        self.parts = {"net": net, "optimizer": optimizer, "schedule": schedule}
        if hasattr(step, "state_dict"):
            self.parts["step"] = step
        self.history, self.steps, self.best, self.lowest = [], [], None, math.inf
        self.resumed = None  # random states at the start of the epoch, and when saved
        if not self.path.exists():
            return
        saved = read_whole(self.path)
        self._refuse_another(saved)
        done, steps = len(saved["history"]), len(saved["steps"])
        if done > num_epochs:
            raise ValueError(
                f"num_epochs ({num_epochs}) must be at least {done}, as many as path "
                f"({self.path}) holds"
            )
        if is_first():
            more = f" and {steps} more steps" if steps else ""
            taken = f"{self.path}: taken up after epoch {done} of {num_epochs}{more}"
            print(taken, file=sys.stderr)
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
                    f"path ({self.path}) is from another training run, which differs in its "
                    f"{name} ({saved['settings'].get(name)} there, {value} here): give another "
                    "path, or the same seed, data, loss and settings"
                )
        shapes = {n: tuple(p.shape) for n, p in self.parts["net"].state_dict().items()}
        kept = {n: tuple(p.shape) for n, p in saved["net"].items()}
        for name in sorted(shapes.keys() | kept.keys()):
            if shapes.get(name) != kept.get(name):
                raise ValueError(
                    f"path ({self.path}) is from another network: its {name} has the shape "
                    f"{kept.get(name)}, this one's {shapes.get(name)}"
                )

    def left(self, batches):
        """Yield the epoch's remaining batches, saving between them when due.

        The caller appends each training step's result to steps.
        """
        at_start, now = self.resumed or (random_states(), None)
        set_random_states(at_start)  # so that the batches come in the same order
        rest = iter(batches)
        for done in range(len(self.steps)):
            if next(rest, None) is None:
                raise ValueError(
                    f"batches ({done}) must be at least {len(self.steps)}, as many as path "
                    f"({self.path}) has seen in this epoch"
                )
        if self.steps:  # random numbers have been drawn since
            set_random_states(now)
        self.resumed = None
        for batch in rest:
            yield batch
            is_due = self.every and len(self.steps) % self.every == 0
            if (
                is_due and self.steps[-1][-1]
            ):  # finite, or there is nothing worth resuming
                self.save(at_start)

    def end_epoch(self, history, best, lowest):
        """Save after an epoch."""
        self.history, self.best, self.lowest, self.steps = history, best, lowest, []
        self.save(random_states())

    def save(self, at_start):
        """Write the file, with the random states at the start of the epoch."""
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
    """Stands in for a Checkpoint when nothing is to be saved."""

    def begin(self, *parts):
        """Start from scratch."""
        self.history, self.steps, self.best, self.lowest = [], [], None, math.inf

    def left(self, batches):
        """All batches."""
        self.steps = []
        return batches

    def end_epoch(self, history, best, lowest):
        """Write nothing."""
