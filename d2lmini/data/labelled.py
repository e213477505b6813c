"""Labelled texts, from a file to batches."""

from itertools import islice
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from d2lmini.data.batches import batches, cut_padding
from d2lmini.data.catalogue import LABELLED
from d2lmini.data.registry import read_rows
from d2lmini.data.text import Vocab, encode, normalise
from d2lmini.support.arguments import check_arguments, check_count, check_pairs

MOST_DIGITS = 9  # of a label


def read_labelled(
    name: str | Path = "reviews-mini",
    split: str = "train",
    num_examples: int | None = None,
) -> list[tuple[str, int]]:
    """The first texts of a corpus and their labels, in the order of its file.

    Args:
        name: "reviews-mini", "sst2", or the path of a file of text<TAB>label lines.
        split: "train", or "val" or "test", which both corpora have.
        num_examples: maximum number of texts; None = all.
    Returns:
        A list of (text, label); in both corpora, label 1 is positive and 0 negative.
    Raises:
        ValueError: a label that is not a whole number (file and line number), or see read_rows.
        OSError: see registry.fetch.
    Source: chapter 12.
    """
    check_arguments(num_examples=num_examples)
    texts = []
    for path, number, text, label in islice(
        read_rows(name, split, LABELLED), num_examples
    ):
        if not (label.isascii() and label.isdigit() and len(label) <= MOST_DIGITS):
            raise ValueError(
                f"{path}, line {number}: label ({label!r:.60}) must be a whole number, at least 0, "
                f"of at most {MOST_DIGITS} digits"
            )
        texts.append((text, int(label)))
    return texts


def label_batches(
    texts: list[tuple[str, int]], vocab: Vocab, batch_size: int, num_steps: int
) -> DataLoader:
    """Batches (tokens, valid_lens, labels) of labelled texts, padded to the longest in each.

    Args:
        texts: see read_labelled.
        num_steps: length to which texts are cut, including <eos>.
    Source: chapter 12.
    """
    check_pairs("texts", texts, (str, int), "(text, label)")
    for _, label in texts:
        check_count("label", label, least=0)
    arrays = encode([normalise(text) for text, _ in texts], vocab, num_steps)
    labels = torch.tensor([label for _, label in texts])
    return batches([*arrays, labels], batch_size, cut_texts)


def cut_texts(batch: tuple) -> list[torch.Tensor]:
    """cut_padding for (tokens, valid_lens, labels)."""
    *texts, labels = batch
    return [*cut_padding(texts), labels]
