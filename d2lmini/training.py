"""One training loop for every network, given batches and a loss."""

import functools
import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch
from torch import nn

from d2lmini.losses import seq2seq_loss
from d2lmini.support.arguments import check_arguments, check_count
from d2lmini.support.history import History, NotFiniteError
from d2lmini.support.modes import eval_mode
from d2lmini.support.net_arguments import (
    check_counted,
    check_evaluation,
    check_training,
    checked,
)

if TYPE_CHECKING:  # slow to import, and only needed for type hints
    import pandas as pd

    from d2lmini.data import Vocab


def xavier_init(net: nn.Module) -> None:
    """Redraw the weights of every linear layer of net from the Xavier uniform distribution.

    Source: Glorot and Bengio 2010; chapter 9.
    """
    check_arguments(net=net)
    for module in net.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)


def train_step(
    net: nn.Module, batch: tuple, loss: Callable, optimizer: torch.optim.Optimizer
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Take one training step: forward pass, backward pass, update.

    Args:
        loss: called with (net, batch); returns a mean and the number of items in it.
    Returns:
        The mean, the count, and whether mean and gradient are finite: scalars still on the
        device, so that the host need not wait.
    Source: chapter 9.
    """
    mean, count = loss(net, batch)
    optimizer.zero_grad()
    mean.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
    return mean.detach(), count, (mean.detach() + norm).isfinite()


def train_epoch(
    net: nn.Module, batches: Iterable, loss: Callable, optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler, device: torch.device | str,
    steps: list | None = None, step: Callable = train_step,
) -> tuple[float, float]:  # fmt: skip
    """Take a training step on each batch.

    Args:
        steps: results of the epoch's earlier training steps, if it was interrupted; grows.
        step: train_step, or a replacement.
    Returns:
        The mean loss over all items, and the number of items per second.
    Raises:
        NotFiniteError: a loss or a gradient was not finite; the weights are spoilt.
    Source: chapter 9.
    """
    steps = [] if steps is None else steps
    start, before = time.perf_counter(), len(steps)
    for batch in batches:
        batch = [array.to(device) for array in batch]
        steps.append(step(net, batch, loss, optimizer))
        schedule.step()
    # The host waits for the device only here: once per epoch.
    mean, count, finite = on_cpu(steps)
    if not finite.all():
        raise NotFiniteError(step=finite.tolist().index(False) + 1)
    seconds = time.perf_counter() - start
    return weighted_mean(mean, count), count[before:].sum().item() / seconds


def on_cpu(rows: list[tuple]) -> list[torch.Tensor]:
    """Turn rows of scalars on a device into one vector per column on the CPU.

    Source: chapter 9.
    """
    check_count("batches", len(rows))
    columns = zip(*rows, strict=True)
    return [
        torch.stack([torch.as_tensor(x) for x in column]).cpu() for column in columns
    ]


def weighted_mean(mean: torch.Tensor, count: torch.Tensor) -> float:
    """The mean over all items, from the mean and the item count of each batch.

    Source: chapter 9.
    """
    check_counted(count)
    return ((mean * count).sum() / count.sum()).item()


@torch.no_grad()
def evaluate(
    net: nn.Module, batches: Iterable, loss: Callable, device: torch.device | str
) -> float:
    """Compute the loss over all batches in eval mode: no dropout, no updates.

    Args:
        batches: a DataLoader or a list; each batch a tuple of tensors.
        loss: called with (net, batch); returns a mean and the number of items in it.
    Returns:
        The mean over all items.
    Source: chapter 9.
    """
    check_evaluation(net, batches, loss, device)
    loss = checked(loss)
    with eval_mode(net.to(device)):
        steps = [loss(net, [array.to(device) for array in batch]) for batch in batches]
    return weighted_mean(*on_cpu(steps))


def warmup(warmup_steps: int) -> Callable[[int], float]:
    """Factor on the learning rate: linear for warmup_steps, then proportional to 1 / sqrt(step).

    Args:
        warmup_steps: in training steps; 0 gives the constant 1.
    Source: Vaswani et al. 2017, section 5.3; chapter 9.
    """
    check_arguments(warmup_steps=warmup_steps)

    def factor(step):
        if warmup_steps == 0:
            return 1.0
        return min((step + 1) / warmup_steps, math.sqrt(warmup_steps / (step + 1)))

    return factor


def train(
    net: nn.Module, batches: Iterable, loss: Callable, lr: float, num_epochs: int,
    device: torch.device | str, *, warmup_steps: int = 0,
    val_batches: Iterable | None = None, keep_best: bool = False, unit: str = "items",
) -> "pd.DataFrame":  # fmt: skip
    """Train net on any batches with any loss: Adam, gradients clipped to norm 1.

    A progress bar goes to stderr, or plain lines if the variable CI is set. Ctrl-C stops
    training. So does a non-finite loss, at the end of its epoch: a warning names the training
    step, and the weights of the last good epoch are restored. A second call keeps the weights
    but restarts the optimiser and the warm-up.

    Args:
        batches: a DataLoader or a list; each batch a tuple of tensors.
        loss: called with (net, batch); returns a mean and the number of items in it.
        lr: learning rate; with a warm-up, its peak.
        warmup_steps: see warmup.
        val_batches: if given, the loss on them is measured after each epoch, in eval mode.
        keep_best: whether net ends with the weights of the epoch with the lowest val_loss.
        unit: what the loss counts, for the reports.
    Returns:
        A pandas table, one row per finished epoch: loss, {unit}_per_sec and, with val_batches,
        val_loss.
    Raises:
        TypeError, ValueError: see net_arguments.check_training.
    Source: chapter 9.
    """
    check_training(
        net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
    )
    loss = checked(loss)
    net.to(device).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(warmup_steps))
    history, best, lowest = History(net, num_epochs, unit), None, math.inf
    try:
        for _ in history.epochs():
            row = train_epoch(net, batches, loss, optimizer, schedule, device)
            if val_batches is not None:
                row = *row, evaluate(net, val_batches, loss, device)
            history.add(*row)
            if keep_best and row[-1] < lowest:  # never for NaN
                best, lowest = history.snapshots[-1], row[-1]
    except (KeyboardInterrupt, NotFiniteError) as reason:
        history.stop(reason, lr)
    if best is not None:
        net.load_state_dict(best)
    return history.table()


def train_seq2seq(
    net: nn.Module, train_iter: Iterable, lr: float, num_epochs: int, tgt_vocab: "Vocab",
    device: torch.device | str, *, label_smoothing: float = 0.0, **settings,
) -> "pd.DataFrame":  # fmt: skip
    """Train with teacher forcing on batches of sentence pairs; see train.

    Args:
        train_iter: batches from load_data_nmt.
        tgt_vocab: the target vocabulary, for its <bos>.
        label_smoothing: see losses.masked_cross_entropy.
        settings: warmup_steps, val_batches, keep_best; see train.
    Returns:
        As for train: the loss in nats per target token, and tokens_per_sec (target tokens, padding
        not counted).
    Source: chapter 9.
    """
    check_arguments(tgt_vocab=tgt_vocab)
    loss = functools.partial(
        seq2seq_loss, bos=tgt_vocab.bos, label_smoothing=label_smoothing
    )
    return train(
        net, train_iter, loss, lr, num_epochs, device, unit="tokens", **settings
    )
