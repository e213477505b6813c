"""From sentence pairs to padded batches of token ids."""

from collections import Counter
from pathlib import Path

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from d2lmini.datasets import read_pairs

PUNCTUATION = '.,!?;:…"«»()'


def normalise(sentence: str) -> str:
    """Lower case, one apostrophe, and one space between tokens.

    A punctuation mark is a token; an apostrophe stays inside its word.

    Returns:
        A string: "He’s calm!" gives "he's calm !". Its tokens are what split() gives.
    Source: chapter 8.
    """
    sentence = sentence.lower().replace("’", "'")  # real files mix the two
    for mark in PUNCTUATION:
        sentence = sentence.replace(mark, f" {mark} ")
    # split() also drops the no-break spaces that French sets before ! ? : and ;
    return " ".join(sentence.split())


class Vocab:
    """Tokens and their ids, the most frequent first, after four reserved ones.

    Args:
        sentences: strings, tokens separated by spaces.
        min_freq: a token seen less often is unknown.
    Source: chapter 8.
    """

    reserved = ("<pad>", "<unk>", "<bos>", "<eos>")
    pad, unk, bos, eos = range(4)

    def __init__(self, sentences: list[str], min_freq: int = 1):
        counts = Counter(" ".join(sentences).split())
        frequent = [token for token, count in counts.most_common() if count >= min_freq]
        self.idx_to_token = list(dict.fromkeys([*self.reserved, *frequent]))  # no doubles
        self.token_to_idx = {token: i for i, token in enumerate(self.idx_to_token)}

    def __len__(self):
        return len(self.idx_to_token)

    def __contains__(self, token):
        return token in self.token_to_idx

    def __getitem__(self, tokens):
        """The id of a token, or the ids of a list; what is not in the vocabulary gets unk."""
        ids, unk = self.token_to_idx, self.unk
        if isinstance(tokens, str):
            return ids.get(tokens, unk)
        return [ids.get(token, unk) for token in tokens]

    def to_tokens(self, ids: list[int]) -> list[str]:
        """The tokens of a list of ids."""
        return [self.idx_to_token[i] for i in ids]


def encode(
    sentences: list[str], vocab: Vocab, num_steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences to ids, each ended by <eos>, then cut or padded to num_steps.

    Args:
        sentences: strings, tokens separated by spaces.
    Returns:
        Ids (sentences, num_steps) and valid_lens (sentences,), both int64; <eos> counts.
    Raises:
        ValueError: num_steps is less than 1.
    Source: chapter 8.
    """
    if num_steps < 1:
        raise ValueError(f"num_steps ({num_steps}) must be at least 1")
    end = [vocab.eos] + [vocab.pad] * num_steps
    ids = []  # the rows of all sentences, end to end
    for sentence in sentences:
        ids += (vocab[sentence.split()] + end)[:num_steps]
    ids = torch.tensor(ids).view(-1, num_steps)  # (sentences, num_steps)
    return ids, (ids != vocab.pad).sum(dim=1)


def batches(
    arrays: list[torch.Tensor], batch_size: int, shuffle: bool = True
) -> DataLoader:
    """Iterate over arrays of equal length, batch_size rows of each at a time.

    Returns:
        A DataLoader: one tuple of tensors a batch, in a new order at each pass if shuffle.
    Source: chapter 8.
    """
    dataset = TensorDataset(*arrays)
    order = RandomSampler(dataset) if shuffle else range(len(dataset))
    # A sampler of whole batches indexes each array once a batch instead of once a row.
    sampler = BatchSampler(order, batch_size, drop_last=False)
    return DataLoader(dataset, sampler=sampler, batch_size=None)


def load_data_nmt(
    batch_size: int,
    num_steps: int,
    num_examples: int | None = 600,
    name: str | Path = "eng-fra-mini",
    min_freq: int = 2,
) -> tuple[DataLoader, Vocab, Vocab]:
    """Training batches of a corpus, and its two vocabularies.

    Args:
        batch_size: sentence pairs a batch.
        num_steps: length to which sentences are cut or padded, <eos> included.
        num_examples, name: see read_pairs; the pairs are those of the training split.
        min_freq: a token seen less often in these pairs is unknown.
    Returns:
        train_iter, src_vocab, tgt_vocab. A batch is (src, src_valid_lens, tgt, tgt_valid_lens):
        ids (batch, num_steps), lengths (batch,).
    Raises:
        ValueError, OSError: see read_pairs and datasets.find.
    Source: chapter 8.
    """
    pairs = read_pairs(name, num_examples=num_examples)
    arrays, vocabs = [], []
    for side in (0, 1):  # all of the source, then all of the target
        sentences = [normalise(pair[side]) for pair in pairs]
        vocab = Vocab(sentences, min_freq)
        arrays += encode(sentences, vocab, num_steps)
        vocabs.append(vocab)
    return batches(arrays, batch_size), *vocabs
