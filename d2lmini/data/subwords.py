"""Split words into pieces by byte-pair encoding."""

from collections import Counter, defaultdict
from functools import cache
from itertools import pairwise

from d2lmini.support.arguments import check_arguments, check_pairs

START = "▁"  # marks pieces that begin a word


def spelt(word: str) -> list[str]:
    """Spell a word: its pieces before any merge."""
    letters = word.replace(START, "_")  # a ▁ of the text would come back as a space
    return [START + letters[0], *letters[1:]]


def merge(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """Merge each occurrence of a pair of pieces into one piece."""
    merged = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def learn_merges(sentences: list[str], num_merges: int) -> list[tuple[str, str]]:
    """Repeatedly merge the most frequent pair of adjacent pieces.

    Args:
        sentences: strings, words separated by spaces; pieces never cross a space.
    Returns:
        At most num_merges pairs, in merge order; none that occurs only once.
    Source: Sennrich et al. 2016, algorithm 1; chapter 10.
    """
    check_arguments(sentences=sentences, num_merges=num_merges)
    counts = Counter(" ".join(sentences).split())
    words = {word: spelt(word) for word in counts}
    pairs, users = (
        Counter(),
        defaultdict(set),
    )  # counts of pairs, and the words that contain them

    def count(word, sign):
        for pair in pairwise(words[word]):
            pairs[pair] += sign * counts[word]
            users[pair].add(word)

    for word in words:
        count(word, 1)
    merges = []
    while len(merges) < num_merges:
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        for word in users.pop(best):  # only these words change
            count(word, -1)
            words[word] = merge(words[word], best)
            count(word, 1)
        del pairs[best]
    return merges


class Subwords:
    """Splits words into pieces: frequent words stay whole, rare ones do not.

    Args:
        merges: pairs of pieces in merge order; see learn_merges.
    Source: Sennrich et al. 2016, section 3.2; chapter 10.
    """

    def __init__(self, merges: list[tuple[str, str]]):
        check_pairs("merges", merges, (str, str), "(piece, piece)")
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.pieces_of = cache(self._pieces_of)  # most words occur many times

    def _pieces_of(self, word):
        pieces = spelt(word)
        while True:
            known = [pair for pair in pairwise(pieces) if pair in self.ranks]
            if not known:
                return pieces
            pieces = merge(pieces, min(known, key=self.ranks.get))

    def split(self, sentence: str) -> str:
        """Split a sentence into pieces separated by spaces, as Vocab and encode expect."""
        check_arguments(sentence=sentence)
        return " ".join(
            piece for word in sentence.split() for piece in self.pieces_of(word)
        )


def join(pieces: str) -> str:
    """Join pieces into a sentence."""
    return pieces.replace(" ", "").replace(START, " ").strip()
