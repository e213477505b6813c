"""Report the progress of training, and restore good weights when it fails."""

import os
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager


class NotFiniteError(ArithmeticError):
    """A loss or its gradient became infinite or NaN; step counts from 1 within its epoch."""

    def __init__(self, step):
        super().__init__(
            f"loss and gradient must be finite, but are not at step {step}"
        )
        self.step = step


def is_first() -> bool:
    """True on rank 0, and for a process on its own."""
    return int(os.environ.get("RANK", 0)) == 0


@contextmanager
def pressed_once():
    """Ignore Ctrl-C, and for half a second more: pressed twice in a hurry, it means once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives it
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
        time.sleep(0.5)
    finally:
        signal.signal(signal.SIGINT, before)


class History:
    """The epochs of a training run: their losses, a progress bar, and the weights to go back to.

    Args:
        net: its weights are copied after each epoch; the last two copies are kept.
        unit: what the loss counts, such as "tokens".
        rows: of earlier epochs, if training was resumed.
    """

    def __init__(self, net, num_epochs: int, unit: str, rows=()):
        self.net, self.unit, self.rows = net, unit, [*rows]
        self.snapshots = [_copy_weights(net)]
        self.bar = _progress_bar(len(self.rows) + 1, num_epochs)

    def epochs(self):
        """The numbers of the remaining epochs, with a progress bar."""
        return self.bar

    def add(self, loss: float, per_sec: float, val_loss: float | None = None) -> None:
        """Record and report the epoch that has just ended."""
        row = (loss, per_sec) if val_loss is None else (loss, per_sec, val_loss)
        self.rows.append(row)
        self.snapshots = [self.snapshots[-1], _copy_weights(self.net)]
        _report(self.bar, len(self.rows), self.unit, *row)

    def stop(self, reason: BaseException, lr: float) -> None:
        """Say why training stopped, and restore good weights if these are spoilt."""
        done = len(self.rows)
        if isinstance(reason, KeyboardInterrupt):
            with pressed_once():
                print(f"stopped by hand after {done} epochs", file=sys.stderr)
                if not all(p.isfinite().all() for p in self.net.parameters()):
                    self.net.load_state_dict(self.snapshots[-1])
            return
        # What fails at the first training step was broken by the last one of the epoch before.
        good = max(done - 1, 0) if reason.step == 1 else done
        self.net.load_state_dict(self.snapshots[0 if reason.step == 1 else -1])
        warnings.warn(
            f"training stopped at epoch {done + 1}, step {reason.step}: {reason}. The "
            f"weights after epoch {good} are back in place; try a smaller lr than {lr}",
            RuntimeWarning,
            stacklevel=3,
        )

    def table(self):
        """A pandas table, one row per epoch."""
        # Imported here: it takes longer to import than all of d2lmini.
        from pandas import DataFrame

        columns = "loss", f"{self.unit}_per_sec", "val_loss"
        width = len(self.rows[0]) if self.rows else 2
        table = DataFrame(self.rows, range(1, len(self.rows) + 1), columns[:width])
        return table.rename_axis("epoch").astype({columns[1]: int})


def _copy_weights(net):
    """Copy the state of net, whose own tensors keep changing."""
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _progress_bar(first, last):
    """Epochs first to last, with a bar on stderr unless the variable CI is set."""
    from tqdm import tqdm  # like pandas, only when needed

    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    epochs = range(first, last + 1)
    return tqdm(epochs, "training", unit="epoch", disable=in_ci or not is_first())


def _report(bar, epoch, unit, loss, per_sec, val_loss=None):
    """Show an epoch on the bar; without one, print every tenth and the last."""
    numbers = {"loss": f"{loss:.3f}"} | (
        {} if val_loss is None else {"val_loss": f"{val_loss:.3f}"}
    )
    bar.set_postfix(numbers | {f"{unit}_per_sec": f"{per_sec:.0f}"})
    if bar.disable and is_first() and (epoch % 10 == 0 or epoch == bar.iterable[-1]):
        losses = ", ".join(f"{name} {number}" for name, number in numbers.items())
        print(f"epoch {epoch}: {losses}, {per_sec:.0f} {unit}/s", file=sys.stderr)
