"""Exercises of chapter 10."""

import functools
import math
from collections import Counter
from random import Random

import torch

from d2lmini.check.drawing import Dice
from d2lmini.check.exercise import Exercise
from d2lmini.translation import ngrams


def unknown_share(sentences, min_freq):
    """The share of tokens that occur less often than min_freq."""
    tokens = " ".join(sentences).split()
    counts = Counter(tokens)
    return sum(counts[token] < min_freq for token in tokens) / len(tokens)


def _of_words(sentences, min_freq):
    counts = Counter(" ".join(sentences).split())
    return sum(n < min_freq for n in counts.values()) / len(counts)


def counts_in(references, n):
    """For each n-gram, its largest count in a reference."""
    counts = [ngrams(reference.split(), n) for reference in references]
    return functools.reduce(Counter.__or__, counts)


def nearest_length(prediction, references):
    """The reference length closest to that of the prediction; in a tie, the shorter."""
    ours, lengths = len(prediction.split()), [len(r.split()) for r in references]
    return min(lengths, key=lambda theirs: (abs(theirs - ours), theirs))


def bleu_of_several(prediction, references, k):
    """BLEU of one sentence with several references."""
    return _bleu(prediction, references, k)


def _short(ours, theirs):
    return math.exp(min(0, 1 - theirs / ours))


def _equal(n, orders):
    return 1 / orders


def _bleu(
    prediction,
    references,
    k,
    match=Counter.__and__,
    penalty=_short,
    weight=_equal,
    counts=counts_in,
    length=nearest_length,
    skip=False,
):
    """BLEU with replaceable parts; skip: leave out n-gram sizes without a match."""
    predicted = prediction.split()
    score = penalty(len(predicted), length(prediction, references))
    orders = min(k, len(predicted))
    for n in range(1, orders + 1):
        ours = ngrams(predicted, n)
        matches = match(ours, counts(references, n)).total()
        if matches or not skip:
            score *= (matches / ours.total()) ** weight(n, orders)
    return score


def _of_each(prediction, references, k):
    return [_bleu(prediction, [reference], k) for reference in references]


def _all_that_occur(ours, theirs):
    return Counter({gram: count for gram, count in ours.items() if gram in theirs})


def _words(dice, number):
    return " ".join(dice.random.choices("abcdef", k=number))


def _sentences_case(dice):
    sentences = [_words(dice, dice.number(1, 6)) for _ in range(dice.number(2, 6))]
    return sentences, dice.number(2, 5)


def _bleu_case(dice):
    """A prediction that begins like the first reference."""
    references = [_words(dice, dice.number(2, 8)) for _ in range(dice.number(2, 3))]
    right = references[0].split()
    predicted = (
        right[: dice.number(1, len(right))] + _words(dice, dice.number(1, 4)).split()
    )
    return " ".join(predicted), references, dice.number(1, 4)


def share_of_draws(ours, theirs, draws):
    """How often theirs is at least as good as ours, on sentences drawn with replacement."""
    return ((ours - theirs)[draws].mean(dim=1) <= 0).float().mean().item()


def _marks_case(dice):
    """Two translators, right (1) or wrong (0) by sentence, and draws of sentences."""
    sentences, number = dice.sizes(2, low=5)
    ours, theirs = dice.true(0.7, sentences), dice.true(0.5, sentences)
    return ours.float(), theirs.float(), dice.below(sentences, number, sentences)


EXERCISES = [
    Exercise(
        "judging-1",
        unknown_share,
        [
            (["a a b"], 2),
            (["a .", "a a"], 2),
            (["a a a b b c"], 3),
            (["go . go", "stop .", "go on ."], 2),
            (["Go go.", "go stop."], 2),
        ],
        {
            "a share of the distinct words, not of the tokens": _of_words,
            "a vocabulary without the words that occur min_freq times": lambda s, n: (
                unknown_share(s, n + 1)
            ),
            "the share that is known": lambda s, n: 1 - unknown_share(s, n),
            "tokens that are normalised first; here spaces alone separate tokens": (
                lambda s, n: unknown_share([" ".join(s).lower().replace(".", " . ")], n)
            ),
        },
        (
            "Count all tokens of all sentences first, for example with collections.Counter.",
            "A token becomes <unk> if its word occurs fewer than min_freq times.",
            "Go through the tokens, not through the words: a word counts as often as it occurs.",
        ),
        draw=_sentences_case,
    ),
    Exercise(
        "judging-2",
        bleu_of_several,
        [
            ("a", ["a"], 1),
            ("A", ["a"], 1),
            ("a", ["ab"], 1),
            ("a a", ["a b"], 1),
            ("a b", ["a c", "b d"], 1),
            ("a a", ["a b", "c a"], 1),
            ("a b", ["c c", "a b"], 2),
            ("b a", ["a b"], 2),
            ("ab c", ["c ab a bc"], 2),
            ("a a a", ["a a a"], 2),
            ("a b c", ["a b c d e", "a x"], 1),
            ("a b c", ["x a b y", "c d"], 2),
            ("a b c", ["a", "a b c d", "c b a x y"], 1),
            ("a b c", ["a b c x y", "a", "a b c d"], 1),
            ("a b c d", ["a b"], 2),
            ("a a b", ["a a c"], 2),
            ("a b", ["a b"], 4),
            ("a b", ["a b c"], 2),
            ("a b b c", ["a b c d"], 2),
            ("a b c d x", ["a b c d y"], 4),
            ("moi je suis chez .", ["je suis chez moi ."], 2),
            ("je je je je je", ["je suis chez moi ."], 2),
            ("a b c", ["a b"], 3),
            ("a b a b", ["a b b a", "a b a"], 2),
        ],
        {
            "counts that are not clipped: a word may match only as often as a reference has it": (
                lambda *x: _bleu(*x, match=_all_that_occur)
            ),
            "counts added up over the references; it is the largest that counts": lambda *x: (
                _bleu(
                    *x,
                    counts=lambda r, n: sum(
                        (ngrams(x.split(), n) for x in r), Counter()
                    ),
                )
            ),
            "n-grams that stand in all the references; one is enough": lambda *x: _bleu(
                *x,
                counts=lambda r, n: functools.reduce(
                    Counter.__and__, [ngrams(x.split(), n) for x in r]
                ),
            ),
            "the first reference alone": lambda p, r, k: _bleu(p, r[:1], k),
            "the last reference alone": lambda p, r, k: _bleu(p, r[-1:], k),
            "the best of the scores with one reference each": lambda *x: max(
                _of_each(*x)
            ),
            "the length of the first reference, where the nearest counts": lambda *x: (
                _bleu(*x, length=lambda p, r: len(r[0].split()))
            ),
            "the length of the shortest reference, where the nearest counts": lambda *x: (
                _bleu(*x, length=lambda p, r: min(len(x.split()) for x in r))
            ),
            "n-grams without a match left out: a precision of 0 makes BLEU 0": lambda *x: (
                _bleu(*x, skip=True)
            ),
            "prediction and reference exchanged": lambda p, r, k: _bleu(r[0], [p], k),
            "the textbook's weights 1 / 2^n; here all lengths weigh the same": lambda *x: (
                _bleu(*x, weight=lambda n, orders: 0.5**n)
            ),
            "BLEU without the penalty for short predictions": lambda *x: _bleu(
                *x, penalty=lambda ours, theirs: 1.0
            ),
            "a penalty with the two lengths exchanged": lambda *x: _bleu(
                *x, penalty=lambda ours, theirs: _short(theirs, ours)
            ),
            "a zero for a prediction shorter than k: it is judged up to its own length": (
                lambda p, r, k: _bleu(p, r, k) * (k <= len(p.split()))
            ),
        },
        (
            "Of two Counters, a | b takes the larger counts, and a & b the smaller ones.",
            "An n-gram may match as often as it occurs in the reference that has it most.",
            "The nearest length counts; of two equally near, the shorter. min takes a key.",
        ),
        draw=_bleu_case,
    ),
    Exercise(
        "judging-3",
        lambda: ["rises", "rises"],  # chapter 10 asserts it on the recorded runs
        [()],
        {
            "the fear that more layers only memorise better": lambda: [
                "rises",
                "falls",
            ],
            "depth without effect on the translations; see the table in the solution": lambda: [
                "rises",
                "stays",
            ],
            "layers that cost no time": lambda: ["stays", "rises"],
        },
        (
            "Layers run one after the other.",
            "Unseen sentences are new combinations of known words.",
            "What a word means depends on others; a second layer reads what the first has found.",
        ),
    ),
    Exercise(
        "judging-4",
        share_of_draws,
        [
            (
                torch.tensor([1.0, 1.0, 0.0]),
                torch.tensor([1.0, 0.0, 0.0]),
                torch.tensor([[0, 0, 2], [1, 1, 2], [0, 1, 2], [2, 2, 2]]),
            ),
            (
                torch.tensor([1.0, 0.0, 1.0, 0.0]),
                torch.tensor([0.0, 1.0, 1.0, 0.0]),
                torch.tensor([[0, 0, 1, 2], [1, 1, 0, 3], [2, 3, 2, 3]]),
            ),
            _marks_case(Dice(Random(0))),
            _marks_case(Dice(Random(1))),
        ],
        {
            "the share of draws in which ours is better": lambda ours, theirs, draws: (
                1 - share_of_draws(ours, theirs, draws)
            ),
            "a draw in which both are equally good, left out": lambda ours, theirs, draws: (
                ((ours - theirs)[draws].mean(dim=1) < 0).float().mean().item()
            ),
            "other sentences for theirs than for ours: the draws are not paired": (
                lambda ours, theirs, draws: (
                    (ours[draws].mean(1) <= theirs[draws.roll(1, 0)].mean(1))
                    .float()
                    .mean()
                )
            ),
            "means over the draws, not over the sentences of a draw": (
                lambda ours, theirs, draws: (
                    ((ours - theirs)[draws].mean(dim=0) <= 0).float().mean().item()
                )
            ),
            "the sentences themselves, without the draws": lambda ours, theirs, draws: (
                (ours <= theirs).float().mean().item()
            ),
            "one verdict on all sentences": lambda ours, theirs, draws: (
                ours.mean() <= theirs.mean()
            ).float(),
            "the mean difference over the draws": lambda ours, theirs, draws: (
                ours - theirs
            )[draws].mean(),
        },
        (
            "ours[draws] has the shape of draws: each number is replaced by that sentence's mark.",
            "One draw is one test set, and both are judged on it. What is its difference?",
            "That gives one number a draw. In which share of the draws is it 0 or less?",
        ),
        draw=_marks_case,
    ),
]
