"""Words in pieces: byte-pair encoding."""

from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

from d2lmini.arguments import check_count, check_kind
from d2lmini.data.arguments import check_strings

START = "▁"  # a piece that begins a word begins with it


class Subwords:
    """Splits words into pieces, which are learned: frequent words stay whole, rare ones do not.

    Args:
        sentences: strings, tokens separated by spaces.
        num_merges: how often the most frequent pair of neighbouring pieces becomes one piece.
    Source: Sennrich et al. 2016, algorithm 1; chapter 8.
    """

    def __init__(self, sentences: list[str], num_merges: int):
        check_strings("sentences", sentences)
        check_count("num_merges", num_merges, least=0)
        counts = Counter(" ".join(sentences).split())
        words = {word: [START + word[0], *word[1:]] for word in counts}
        pairs, users = Counter(), defaultdict(set)  # how frequent a pair is, who has it

        def count(word, sign):
            for pair in pairwise(words[word]):
                pairs[pair] += sign * counts[word]
                users[pair].add(word)

        for word in words:
            count(word, 1)
        self.ranks = {}  # pair -> how early it was merged
        for rank in range(num_merges):
            pair = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
            if pair is None or pairs[pair] < 2:
                break
            self.ranks[pair] = rank
            for word in users.pop(pair):
                count(word, -1)
                words[word] = merge(words[word], pair)
                count(word, 1)
            del pairs[pair]
        self.pieces_of = cache(self._pieces_of)  # a text holds most words many times

    def _pieces_of(self, word):
        pieces = [START + word[0], *word[1:]]
        while True:
            known = [pair for pair in pairwise(pieces) if pair in self.ranks]
            if not known:
                return pieces
            pieces = merge(pieces, min(known, key=self.ranks.get))

    def split(self, sentence: str) -> str:
        """The pieces of a sentence, separated by spaces, as Vocab and encode want them."""
        check_kind("sentence", sentence, str, "a string")
        return " ".join(
            piece for word in sentence.split() for piece in self.pieces_of(word)
        )


def merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """The pieces of a word with each occurrence of a pair made one piece."""
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def join(pieces: str) -> str:
    """The sentence whose pieces these are."""
    return pieces.replace(" ", "").replace(START, " ").strip()
