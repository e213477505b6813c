"""Train in several processes, started by torchrun; each may have its own GPU."""

import os
from datetime import timedelta

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from d2lmini.support.randomness import random_states, set_random_states

PATIENCE = timedelta(minutes=2)  # how long to wait for a process that does not answer


def join_team(device: torch.device) -> None:
    """Join the process group of the processes that torchrun has started."""
    is_cuda = device.type == "cuda"
    if is_cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    store, rank, size = next(distributed.rendezvous("env://"))
    # After a restart the store still holds the addresses of processes that are gone.
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    distributed.init_process_group(
        "nccl" if is_cuda else "gloo",
        store=distributed.PrefixStore(f"start {start}", store),
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )


class Team:
    """The processes that train together: one, unless torchrun started several.

    Each holds the whole network and learns from its share of the rows of each batch. Before each
    training step the gradients are averaged, so that all processes make the same update: the one
    that a single process would make on the whole batch.

    Source: Li et al. 2020; the page "Making it fast".
    """

    def __init__(self, device: torch.device):
        size = os.environ.get("WORLD_SIZE", "1")
        for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):  # as torchrun sets them
            value = os.environ.get(name, "0")
            if not value.isdecimal():
                raise ValueError(f"{name} ({value!r}) must be a whole number")
        self.rank, self.size = 0, int(size)
        rank = int(os.environ.get("RANK", "0"))
        if rank >= max(1, self.size):
            raise ValueError(
                f"RANK ({rank}) must be less than WORLD_SIZE ({self.size})"
            )
        self.is_idle = False  # a batch may have fewer rows than there are processes
        if self.size == 1:
            return
        if not distributed.is_initialized():
            join_team(torch.device(device))
        self.rank = distributed.get_rank()

    def learner(self, net: nn.Module) -> nn.Module:
        """net, wrapped so that a backward pass averages the gradients over all processes."""
        if self.size == 1:
            return net
        return DistributedDataParallel(net)

    def rows(self, batches):
        """Yield every size-th row of each batch, starting at row rank."""
        if self.size == 1:
            yield from batches
            return
        shared = None  # random states from which all processes draw the same batches
        for batch in batches:
            if (
                shared is None
            ):  # the order is drawn; from here on each draws its own dropout
                shared = random_states()
                torch.manual_seed(torch.randint(2**31, ()).item() + self.rank)
            mine = [array[self.rank :: self.size] for array in batch]
            self.is_idle = len(mine[0]) == 0
            # A rank without rows runs the whole batch with weight 0.
            yield batch if self.is_idle else mine
        if shared is not None:
            set_random_states(shared)

    def loss(self, loss):
        """Turn a loss on this process's rows into the loss on the rows of all processes."""
        if self.size == 1:
            return loss

        def loss_of_all(net, batch):
            mean, count = loss(net, batch)
            count = torch.as_tensor(0 if self.is_idle else count).to(mean)
            sums = torch.stack([mean.detach() * count, count])
            distributed.all_reduce(sums)
            total, count_of_all = sums
            # DDP averages over processes; weight each by its share of the tokens.
            mine = mean * (self.size * count / count_of_all)
            return mine + (total / count_of_all - mine).detach(), count_of_all

        return loss_of_all
