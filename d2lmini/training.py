"""One training loop for every system: it takes a network, batches and a loss."""

import functools
import math
import os
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn

from d2lmini.losses import seq2seq_loss
from d2lmini.speed.checkpoints import NothingKept
from d2lmini.speed.distributed import Team, is_first
from d2lmini.support.arguments import (
    check_count,
    check_counted,
    check_evaluation,
    check_modules,
    check_training,
    check_vocabs,
    checked,
)


def xavier_init(net: nn.Module) -> None:
    """Draw the weights of every linear layer of net anew, Xavier uniform.

    Source: Glorot and Bengio 2010; chapter 8.
    """
    check_modules(net=net)
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)


class NotFiniteError(ArithmeticError):
    """A loss or its gradient became infinite or NaN; step counts from 1 in its epoch."""

    def __init__(self, step):
        super().__init__(
            f"loss and gradient must be finite, at step {step} they are not"
        )
        self.step = step


def train_step(net, batch, loss, optimizer):
    """One batch forward, one backward, one step of the optimiser.

    Args:
        loss: called with (net, batch); returns a mean and the count of what it was taken over.
    Returns:
        The mean, the count, and whether mean and gradient are finite: scalars still on the
        device, so that nothing waits for it.
    Source: chapter 8.
    """
    mean, count = loss(net, batch)
    optimizer.zero_grad()
    mean.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
    return mean.detach(), count, (mean.detach() + norm).isfinite()


def train_epoch(
    net, batches, loss, optimizer, schedule, device, steps=None, step=train_step
):
    """A training step on each batch.

    Args:
        steps: what earlier steps of the epoch gave, if it was interrupted; grows.
        step: train_step, or what takes its place.
    Returns:
        The loss, a mean over all that it counts, and the count per second.
    Raises:
        NotFiniteError: a loss or a gradient was not finite; the weights are spoilt.
    Source: chapter 8.
    """
    steps = [] if steps is None else steps
    start, before = time.perf_counter(), len(steps)
    for batch in batches:
        batch = [array.to(device) for array in batch]
        steps.append(step(net, batch, loss, optimizer))
        schedule.step()
    # Only here does the host wait for the device: once an epoch, not once a step.
    mean, count, finite = on_cpu(steps)
    if not finite.all():
        raise NotFiniteError(step=finite.tolist().index(False) + 1)
    seconds = time.perf_counter() - start
    return weighted_mean(mean, count), count[before:].sum().item() / seconds


def on_cpu(rows: list[tuple]) -> list[torch.Tensor]:
    """Rows of scalars that lie on a device, as one vector a column, on the CPU.

    Source: chapter 8.
    """
    check_count("batches", len(rows))
    columns = zip(*rows, strict=True)
    return [
        torch.stack([torch.as_tensor(x) for x in column]).cpu() for column in columns
    ]


def weighted_mean(mean: torch.Tensor, count: torch.Tensor) -> float:
    """The mean over all items, from the means of batches and the counts of their items.

    Source: chapter 8.
    """
    check_counted(count)
    return ((mean * count).sum() / count.sum()).item()


@torch.no_grad()
def evaluate(net, batches, loss, device) -> float:
    """The loss over all batches in eval mode: nothing is dropped, nothing changes.

    Args: as train.
    Returns:
        The mean over all that the loss counts.
    Source: chapter 8.
    """
    check_evaluation(net, batches, loss, device)
    loss, was_training = checked(loss), net.training
    net.to(device).eval()
    try:
        steps = [loss(net, [array.to(device) for array in batch]) for batch in batches]
    finally:  # also when somebody stops it
        net.train(was_training)
    return weighted_mean(*on_cpu(steps))


def warmup(warmup_steps: int) -> Callable[[int], float]:
    """Factor on the learning rate by step: up linearly for warmup_steps, then 1 / sqrt(step).

    Args:
        warmup_steps: 0 gives the constant 1.
    Source: Vaswani et al. 2017, section 5.3; chapter 8.
    """
    check_count("warmup_steps", warmup_steps, least=0)

    def factor(step):
        if warmup_steps == 0:
            return 1.0
        return min((step + 1) / warmup_steps, math.sqrt(warmup_steps / (step + 1)))

    return factor


def train(
    net, batches, loss, lr, num_epochs, device, *, warmup_steps=0, val_batches=None,
    keep_best=False, unit="items", checkpoint=None, step=train_step,
):  # fmt: skip
    """Train net on any batches with any loss: Adam, gradients clipped to norm 1.

    A progress bar goes to stderr, or plain lines if the variable CI is set. Ctrl-C stops the
    training. So does a loss that is not finite, at the end of its epoch: a warning names the
    training step, and the weights go back to those of the last good epoch. A second call
    keeps the weights, and restarts the optimiser and the warm-up.

    Args:
        batches: a DataLoader or a list; each batch a tuple of tensors.
        loss: called with (net, batch); returns a mean, and the count of what it was taken over.
        lr: learning rate; with a warm-up, its peak.
        warmup_steps: see warmup.
        val_batches: if given, the loss on them is measured after each epoch, in eval mode.
        keep_best: whether net ends with the weights of the epoch of the lowest loss on them.
        unit: what the loss counts, for the reports.
        checkpoint: a checkpoints.Checkpoint, to keep the training in a file and to go on from it.
        step: what is done with a batch: train_step, or a mixed.MixedPrecisionStep.
    Returns:
        A pandas table, one row a finished epoch: loss, {unit}_per_sec and, with val_batches,
        val_loss.
    Raises:
        TypeError, ValueError: see arguments.check_training.
    Source: chapter 8.
    """
    check_training(
        net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
    )
    loss, team = checked(loss), Team(device)  # of one, unless torchrun starts more
    net.to(device).train()
    learner, shared = team.learner(net), team.loss(loss)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(warmup_steps))
    kept = checkpoint or NothingKept()
    settings = {"lr": lr, "warmup_steps": warmup_steps}
    kept.begin(settings, net, optimizer, schedule, step)
    history, best, lowest = kept.history, kept.best, kept.lowest
    snapshots = [_copy_weights(net)]  # after each epoch; two are kept
    bar = _progress_bar(len(history) + 1, num_epochs)
    try:
        for epoch in bar:
            left = team.rows(kept.left(batches))
            row = train_epoch(
                learner, left, shared, optimizer, schedule, device, kept.steps, step
            )
            if val_batches is not None:
                row = *row, evaluate(net, val_batches, loss, device)
            history.append(row)
            snapshots = [snapshots[-1], _copy_weights(net)]
            if keep_best and row[-1] < lowest:  # never, if it is NaN
                best, lowest = snapshots[-1], row[-1]
            kept.end_epoch(history, best, lowest)
            _report(bar, epoch, unit, *row)
    except KeyboardInterrupt:
        print(f"stopped by hand after {len(history)} epochs", file=sys.stderr)
        if not all(p.isfinite().all() for p in net.parameters()):
            net.load_state_dict(snapshots[-1])  # spoilt in the epoch that was stopped
    except NotFiniteError as error:
        _go_back(net, snapshots, len(history), error, lr)
    if best is not None:
        net.load_state_dict(best)
    return _table(history, unit, val_batches is not None)


def train_seq2seq(
    net,
    train_iter,
    lr,
    num_epochs,
    tgt_vocab,
    device,
    *,
    label_smoothing=0.0,
    **settings,
):
    """train with teacher forcing, on batches of sentence pairs.

    Args:
        train_iter: batches of load_data_nmt.
        tgt_vocab: the target vocabulary, for its <bos>.
        label_smoothing: see losses.masked_cross_entropy.
        settings: warmup_steps, val_batches, keep_best; see train.
    Returns:
        As train: the loss in nats per target token, and tokens_per_sec (target tokens, padding
        not counted).
    Source: chapter 8.
    """
    check_vocabs(tgt_vocab=tgt_vocab)
    loss = functools.partial(
        seq2seq_loss, bos=tgt_vocab.bos, label_smoothing=label_smoothing
    )
    return train(
        net, train_iter, loss, lr, num_epochs, device, unit="tokens", **settings
    )


def _copy_weights(net):
    """The state of net now; its own tensors go on changing."""
    return {name: tensor.clone() for name, tensor in net.state_dict().items()}


def _table(history, unit, is_validated):
    """The history as a pandas table, a row an epoch."""
    # Imported here: it takes longer to import than all of d2lmini.
    from pandas import DataFrame

    columns = ["loss", f"{unit}_per_sec"] + ["val_loss"] * is_validated
    table = DataFrame(history, range(1, len(history) + 1), columns)
    return table.rename_axis("epoch").astype({columns[1]: int})


def _go_back(net, snapshots, epochs, error, lr):
    """The last good weights, and a warning to whoever called train."""
    # What fails at the first step was broken by the last step of the epoch before.
    good = max(epochs - 1, 0) if error.step == 1 else epochs
    net.load_state_dict(snapshots[0 if error.step == 1 else -1])
    warnings.warn(
        f"training stopped at epoch {epochs + 1}, step {error.step}: {error}. The "
        f"weights after epoch {good} are back in place; try a smaller lr than {lr}",
        RuntimeWarning,
        stacklevel=3,
    )


def _progress_bar(first, last):
    """The numbers of the epochs, with a bar on stderr unless the variable CI is set."""
    from tqdm import tqdm  # as pandas, only where it is needed

    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    epochs = range(first, last + 1)
    return tqdm(epochs, "training", unit="epoch", disable=in_ci or not is_first())


def _report(bar, epoch, unit, loss, per_sec, val_loss=None):
    """Show an epoch on the bar; every tenth and the last as a line where there is no bar."""
    numbers = {"loss": f"{loss:.3f}"} | (
        {} if val_loss is None else {"val_loss": f"{val_loss:.3f}"}
    )
    bar.set_postfix(numbers | {f"{unit}_per_sec": f"{per_sec:.0f}"})
    if bar.disable and is_first() and (epoch % 10 == 0 or epoch == bar.iterable[-1]):
        losses = ", ".join(f"{name} {number}" for name, number in numbers.items())
        print(f"epoch {epoch}: {losses}, {per_sec:.0f} {unit}/s", file=sys.stderr)
