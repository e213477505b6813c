"""Batches of texts of nearly equal length, which need little padding."""

from collections.abc import Callable

import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

from d2lmini.support.arguments import check_arrays, check_integers


class LengthSampler(Sampler):
    """Sample batches of rows of similar length, from new random pools at each pass.

    Args:
        lengths: (rows,), the length of each row.
        pool: number of batches that are drawn at random and then sorted by length together.
    """

    def __init__(self, lengths: torch.Tensor, batch_size: int, pool: int = 50):
        # The order is drawn on the CPU, wherever the rows lie.
        self.lengths, self.batch_size, self.pool = lengths.cpu(), batch_size, pool

    def __iter__(self):
        order = torch.randperm(len(self.lengths))
        rows = [
            batch
            for pool in order.split(self.pool * self.batch_size)
            for batch in pool[self.lengths[pool].argsort()].split(self.batch_size)
        ]
        for i in torch.randperm(len(rows)).tolist():
            yield rows[i].tolist()

    def __len__(self):
        pools, rest = divmod(len(self.lengths), self.pool * self.batch_size)
        return pools * self.pool + -(-rest // self.batch_size)


def buckets(
    arrays: list[torch.Tensor],
    lengths: torch.Tensor,
    batch_size: int,
    collate: Callable | None = None,
) -> DataLoader:
    """Like batches, but the rows of a batch have nearly the same length.

    Args:
        lengths: (rows,), the lengths by which rows are grouped.
    Raises:
        TypeError, ValueError: see arguments.check_arrays.
    """
    check_arrays(arrays, batch_size, collate)
    check_integers("lengths", lengths, len(arrays[0]))
    sampler = LengthSampler(lengths, batch_size)
    dataset = TensorDataset(*arrays)
    return DataLoader(dataset, sampler=sampler, batch_size=None, collate_fn=collate)
