"""From arrays to batches."""

from collections.abc import Callable

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from d2lmini.support.arguments import check_arrays


def batches(
    arrays: list[torch.Tensor], batch_size: int, collate: Callable | None = None
) -> DataLoader:
    """Iterate over arrays of equal length, batch_size rows at a time.

    Args:
        collate: a function applied to each batch, such as cut_padding.
    Returns:
        A DataLoader: one tuple of tensors per batch, reshuffled at each pass.
    Raises:
        TypeError, ValueError: see arguments.check_arrays.
    Source: chapter 9.
    """
    check_arrays(arrays, batch_size, collate)
    dataset = TensorDataset(*arrays)
    # A sampler of whole batches indexes each array once per batch instead of once per row.
    sampler = BatchSampler(RandomSampler(dataset), batch_size, drop_last=False)
    return DataLoader(dataset, sampler=sampler, batch_size=None, collate_fn=collate)


def cut_padding(batch: tuple) -> list[torch.Tensor]:
    """Cut off the steps that are padding in every row: computing them is wasted work.

    Shapes:
        batch: alternately ids (batch, steps) and valid_lens (batch,)
    Source: chapter 9.
    """
    cut = []
    for ids, valid_lens in zip(batch[::2], batch[1::2], strict=True):
        cut += [ids[:, : valid_lens.max()], valid_lens]
    return cut
