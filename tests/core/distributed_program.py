"""What test_distributed.py starts: distributed_program.py FOLDER EPOCHS DROPOUT [DIES_AT]"""

import os
import signal
import sys
from pathlib import Path

import torch
from conftest import tiny_net
from test_training import CPU, LOSS, toy_data

from d2lmini.speed.checkpoints import Checkpoint
from d2lmini.speed.training import train


def main(folder, num_epochs, dropout, dies_at):
    """Train, and leave weights, gradients and history in the folder."""
    torch.manual_seed(0)
    net = tiny_net(10, 10, dropout=dropout)
    steps, drawn, rank = [], [], os.environ.get("RANK", "0")

    def loss(net, batch):
        if not net.training:  # to know the run again
            return LOSS(net, batch)
        steps.append(len(batch[0]))
        if dropout:
            drawn.append(torch.rand(()).item())
        is_first_try = os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
        is_last = int(rank) + 1 == int(os.environ.get("WORLD_SIZE", 1))
        if len(steps) == dies_at and is_last and is_first_try:
            os.kill(os.getpid(), signal.SIGKILL)
        return LOSS(net, batch)

    checkpoint = Checkpoint(folder / "run.pt") if dies_at else None
    data = toy_data(batch_size=5)  # six rows: batches of five and one
    history = train(net, data, loss, 0.01, num_epochs, CPU, checkpoint=checkpoint)
    gradients = {name: p.grad for name, p in net.named_parameters()}
    left = [net.state_dict(), gradients, history.loss.tolist(), steps, drawn]
    torch.save(left, folder / f"{rank}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, num_epochs, dropout, *dies_at = sys.argv[1:]
    main(Path(folder), int(num_epochs), float(dropout), int(*dies_at or [0]))
