"""training.train for runs that take hours: kept in a file, in 16 bits, in several processes."""

import torch

from d2lmini.speed.checkpoints import NothingKept, fingerprint
from d2lmini.speed.distributed import Team
from d2lmini.support.history import History, NotFiniteError
from d2lmini.support.net_arguments import check_training, checked
from d2lmini.training import evaluate, train_epoch, train_step, warmup


def train(
    net, batches, loss, lr, num_epochs, device, *, warmup_steps=0, val_batches=None,
    keep_best=False, unit="items", checkpoint=None, step=train_step,
):  # fmt: skip
    """training.train, resumable, by one process or by those that torchrun has started.

    On one process, with neither checkpoint nor step, it gives the same weights, bit for bit.

    Args:
        checkpoint: a checkpoints.Checkpoint, to keep the training in a file and to resume it.
        step: called on each batch: train_step, or a mixed_precision.MixedPrecisionStep.
        The others: as training.train.
    Returns, Raises: as training.train; and ValueError if checkpoint is from another training run.
    Source: the page "Making it fast".
    """
    check_training(
        net, batches, loss, lr, num_epochs, device, val_batches, keep_best, unit
    )
    loss, team = checked(loss), Team(device)
    net.to(device).train()
    learner, shared = team.learner(net), team.loss(loss)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup(warmup_steps))
    kept = checkpoint or NothingKept()
    settings = {
        "lr": lr,
        "warmup_steps": warmup_steps,
        "validation": val_batches is not None,
        "keep_best": keep_best,
    }
    if checkpoint is not None:
        settings |= fingerprint(net, batches, loss, val_batches)
    kept.begin(settings, num_epochs, net, optimizer, schedule, step)
    history = History(net, num_epochs, unit, kept.history)
    best, lowest = kept.best, kept.lowest
    try:
        for _ in history.epochs():
            left = team.rows(kept.left(batches))
            row = train_epoch(
                learner, left, shared, optimizer, schedule, device, kept.steps, step
            )
            if val_batches is not None:
                row = *row, evaluate(net, val_batches, loss, device)
            history.add(*row)
            if keep_best and row[-1] < lowest:
                best, lowest = history.snapshots[-1], row[-1]
            kept.end_epoch(history.rows, best, lowest)
    except (KeyboardInterrupt, NotFiniteError) as reason:
        history.stop(reason, lr)
    if best is not None:
        net.load_state_dict(best)
    return history.table()
