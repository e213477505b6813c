"""The same training in several processes, which torchrun starts; each may have its own GPU."""

import os
from datetime import timedelta

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from d2lmini.support.randomness import random_states, set_random_states

PATIENCE = timedelta(minutes=2)  # with a process that does not answer


def join_team(device: torch.device) -> None:
    """Find the other processes that torchrun has started."""
    is_cuda = device.type == "cuda"
    if is_cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    store, rank, size = next(distributed.rendezvous("env://"))
    # After a restart this store still has the addresses of processes that are gone.
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    distributed.init_process_group(
        "nccl" if is_cuda else "gloo",
        store=distributed.PrefixStore(f"start {start}", store),
        rank=rank,
        world_size=size,
        timeout=PATIENCE,
    )


class Team:
    """The processes of a training; one, unless torchrun started several.

    Each holds the whole network and learns from its rows of each batch. Before each training
    step their gradients are put together, so that all take the same step, the one that a single
    process would take from the whole batch.

    Source: Li et al. 2020; chapter 13.
    """

    def __init__(self, device: torch.device):
        self.rank, self.size = 0, int(os.environ.get("WORLD_SIZE", 1))
        self.is_idle = False  # a batch may have fewer rows than there are processes
        if self.size == 1:
            return
        if not distributed.is_initialized():
            join_team(torch.device(device))
        self.rank = distributed.get_rank()

    def learner(self, net: nn.Module) -> nn.Module:
        """net, whose gradients are those of all processes after a backward pass."""
        if self.size == 1:
            return net
        return DistributedDataParallel(net)

    def rows(self, batches):
        """Of each batch every size-th row, beginning with the rank-th."""
        if self.size == 1:
            yield from batches
            return
        shared = None  # random states from which all draw the same batches
        for batch in batches:
            if shared is None:  # here the order was drawn; each drops units of its own
                shared = random_states()
                torch.manual_seed(torch.randint(2**31, ()).item() + self.rank)
            mine = [array[self.rank :: self.size] for array in batch]
            self.is_idle = len(mine[0]) == 0
            # Who has no row goes along with those of all, which count for nothing.
            yield batch if self.is_idle else mine
        if shared is not None:
            set_random_states(shared)

    def loss(self, loss):
        """The loss of the rows of all processes, from one of the rows of each."""
        if self.size == 1:
            return loss

        def loss_of_all(net, batch):
            mean, count = loss(net, batch)
            count = torch.as_tensor(0 if self.is_idle else count).to(mean)
            sums = torch.stack([mean.detach() * count, count])
            distributed.all_reduce(sums)
            total, count_of_all = sums
            # Gradients are averaged over the processes; who has more tokens counts for more.
            mine = mean * (self.size * count / count_of_all)
            return mine + (total / count_of_all - mine).detach(), count_of_all

        return loss_of_all
