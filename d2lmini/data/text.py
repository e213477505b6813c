"""From sentences to token ids."""

import re
import unicodedata
from array import array
from collections import Counter
from itertools import chain

import numpy as np
import torch

from d2lmini.support.arguments import check_arguments, check_ids

SPACED = {mark: f" {mark} " for mark in '.,!?;:…"«»‹›“”„‘‚()¿¡'}


def normalise(sentence: str) -> str:
    """Lower case, one apostrophe, and one space between tokens.

    A punctuation mark is a token; an apostrophe stays inside its word.

    Returns:
        A string whose split() gives the tokens: "He’s calm!" becomes "he's calm !".
    Source: chapter 9.
    """
    check_arguments(sentence=sentence)
    # split() also removes the no-break spaces that French puts before ! ? : and ;
    return " ".join(space_marks(sentence).split())


def space_marks(text: str) -> str:
    """Lower case, one apostrophe, and spaces around punctuation marks.

    Source: chapter 9.
    """
    # real files mix three apostrophes, and write é as one character or as two
    text = unicodedata.normalize("NFC", text.lower())
    text = re.sub(r"’|(?<=\w)‘(?=\w)", "'", text)
    for mark, spaced in SPACED.items():
        text = text.replace(mark, spaced)
    return text


class Vocab:
    """A mapping of tokens to ids: four reserved ones, then the most frequent first.

    Args:
        sentences: strings, tokens separated by spaces.
        min_freq: tokens that occur less often are unknown.
    Source: chapter 9.
    """

    reserved = ("<pad>", "<unk>", "<bos>", "<eos>")
    pad, unk, bos, eos = range(4)

    def __init__(self, sentences: list[str], min_freq: int = 1):
        check_arguments(sentences=sentences, min_freq=min_freq)
        counts = Counter(chain.from_iterable(map(str.split, sentences)))
        frequent = [token for token, count in counts.most_common() if count >= min_freq]
        # no duplicates
        self.idx_to_token = list(dict.fromkeys([*self.reserved, *frequent]))
        self.token_to_idx = {token: i for i, token in enumerate(self.idx_to_token)}
        words = self.idx_to_token[len(self.reserved) :]
        # "<pad>" in a text is not padding but an unknown word.
        self.word_to_idx = {word: self.token_to_idx[word] for word in words}

    def __len__(self):
        return len(self.idx_to_token)

    def __contains__(self, token):
        return token in self.token_to_idx

    def __getitem__(self, tokens):
        """The id of a token, or the ids of a list; unknown tokens get unk."""
        ids, unk = self.token_to_idx, self.unk
        if isinstance(tokens, str):
            return ids.get(tokens, unk)
        check_arguments(tokens=tokens)
        return [ids.get(token, unk) for token in tokens]

    def to_tokens(self, ids: list[int]) -> list[str]:
        """The tokens of a list of ids."""
        check_ids(ids, len(self))
        return [self.idx_to_token[i] for i in ids]


def encode(
    sentences: list[str], vocab: Vocab, num_steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn sentences into ids, each followed by <eos>, cut or padded to num_steps.

    Args:
        sentences: strings, tokens separated by spaces.
    Returns:
        Ids (sentences, num_steps) and valid_lens (sentences,), both int64; <eos> counts.
    Raises:
        TypeError, ValueError: sentences is a single string, vocab not a Vocab, or num_steps < 1.
    Source: chapter 9.
    """
    check_arguments(sentences=sentences, vocab=vocab, num_steps=num_steps)
    known, unk = vocab.word_to_idx, vocab.unk
    end = [vocab.eos] + [vocab.pad] * num_steps
    ids, lens = array("q"), array("q")  # int64, which tensors can share
    for sentence in sentences:
        tokens = [known.get(word, unk) for word in sentence.split()]
        ids.extend((tokens + end)[:num_steps])
        lens.append(min(len(tokens) + 1, num_steps))  # with <eos>
    ids, lens = (torch.from_numpy(np.asarray(column)) for column in (ids, lens))
    return ids.view(-1, num_steps), lens  # (sentences, num_steps), (sentences,)
