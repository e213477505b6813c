"""Sentence pairs, from a file to batches."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from torch.utils.data import DataLoader

from d2lmini.data.batches import batches, cut_padding
from d2lmini.data.catalogue import PAIRS
from d2lmini.data.registry import read_rows
from d2lmini.data.text import Vocab, encode, normalise
from d2lmini.support.arguments import check_arguments


def read_pairs(
    name: str | Path = "eng-fra-mini",
    split: str = "train",
    num_examples: int | None = None,
) -> list[tuple[str, str]]:
    """The first sentence pairs of a corpus, in the order of its file.

    Args:
        name: "eng-fra-mini" or "fra-eng", English and French; "deu-eng-mini" or "multi30k",
            German and English; or the path of a file of source<TAB>target lines.
        split: "train"; all but "fra-eng" have "val" and "test", and "eng-fra-mini" has
            "compositional": sentences that combine known words in a new way.
        num_examples: maximum number of pairs; None = all.
    Returns:
        A list of (source, target) strings. Blank lines are skipped, columns after the second
        are ignored.
    Raises:
        ValueError, OSError: see registry.read_rows.
    Source: chapter 9.
    """
    return [*iter_pairs(name, split, num_examples)]


def iter_pairs(
    name: str | Path, split: str = "train", num_examples: int | None = None
) -> Iterator[tuple[str, str]]:
    """Iterate over the pairs of read_pairs without loading them all.

    Source: chapter 9.
    """
    check_arguments(num_examples=num_examples)
    rows = read_rows(name, split, PAIRS)
    for _, _, source, target in islice(rows, num_examples):
        yield source, target


def with_a_gap(sentence: str) -> set[str]:
    """All versions of the sentence with a gap between two words or in place of one."""
    words = sentence.split()
    return {
        " ".join([*words[:i], "*", *words[j:]])
        for i in range(len(words) + 1)
        for j in (i, i + 1)
    }


def within_one_word(sentences: list[str], training: list[str]) -> int:
    """Count the sentences that differ from a training sentence by at most one added, missing or
    replaced word.

    Args:
        sentences, training: strings, tokens separated by spaces.
    Source: chapter 10.
    """
    check_arguments(sentences=sentences, training=training)
    known = set().union(*map(with_a_gap, training))
    return sum(not known.isdisjoint(with_a_gap(sentence)) for sentence in sentences)


def load_data_nmt(
    batch_size: int,
    num_steps: int,
    num_examples: int | None = 600,
    name: str | Path = "eng-fra-mini",
    min_freq: int = 2,
) -> tuple[DataLoader, Vocab, Vocab]:
    """Load the training batches of a corpus and its two vocabularies.

    Args:
        batch_size: sentence pairs per batch.
        num_steps: length to which sentences are cut, including <eos>.
        num_examples, name: see read_pairs; the pairs are those of the training split.
        min_freq: tokens that occur less often in these pairs are unknown.
    Returns:
        train_iter, src_vocab, tgt_vocab. A batch is (src, src_valid_lens, tgt, tgt_valid_lens):
        ids (batch, steps), padded to the longest sentence of the batch, and lengths (batch,).
    Raises:
        ValueError, OSError: see read_pairs.
    Source: chapter 9.
    """
    sources, targets, arrays, vocabs = [], [], [], []
    for source, target in iter_pairs(name, num_examples=num_examples):
        sources.append(normalise(source))
        targets.append(normalise(target))
    for sentences in (sources, targets):
        vocab = Vocab(sentences, min_freq)
        arrays += encode(sentences, vocab, num_steps)
        vocabs.append(vocab)
    return batches(arrays, batch_size, cut_padding), *vocabs
