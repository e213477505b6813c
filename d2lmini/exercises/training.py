"""Exercises of chapter 8."""

import functools
import math
import statistics
from collections import Counter

import torch
from torch.nn import functional as F

from d2lmini.check import bugs
from d2lmini.check.exercise import Exercise
from d2lmini.losses import masked_cross_entropy, shift_right
from d2lmini.translation import ngrams


def _batch(*shape, seed=0, lens=None):
    """Logits, labels, and lengths that differ between sentences."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(*shape, generator=generator)
    labels = torch.randint(shape[2], shape[:2], generator=generator)
    lens = torch.arange(1, shape[0] + 1) if lens is None else torch.tensor(lens)
    return logits, labels, lens


def _by_sentence(logits, labels, lens):
    """The mean of the mean losses of sentences."""
    rows = zip(logits, labels, lens, strict=True)
    return torch.stack(
        [F.cross_entropy(row[:n], label[:n]) for row, label, n in rows]
    ).mean()


def _of_padding(logits, labels, lens):
    padding = torch.arange(labels.shape[1]) >= lens[:, None]  # (batch, steps)
    return F.cross_entropy(logits[padding], labels[padding])


def _classic(logits, labels, lens):
    """Average over the steps of each sentence, then also divide by the number of tokens."""
    nats = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    real = torch.arange(labels.shape[1]) < lens[:, None]
    return (nats * real).mean(dim=1).sum() / lens.sum()


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


def _half(n):
    return 0.5**n


def _bleu(
    prediction,
    references,
    k,
    match=Counter.__and__,
    penalty=_short,
    weight=_half,
    counts=counts_in,
    length=nearest_length,
    skip=False,
):
    """BLEU with replaceable parts; skip: leave out n-gram sizes without a match."""
    predicted = prediction.split()
    score = penalty(len(predicted), length(prediction, references))
    for n in range(1, min(k, len(predicted)) + 1):
        ours = ngrams(predicted, n)
        matches = match(ours, counts(references, n)).total()
        if matches or not skip:
            score *= (matches / ours.total()) ** weight(n)
    return score


def _of_each(prediction, references, k):
    return [_bleu(prediction, [reference], k) for reference in references]


def _all_that_occur(ours, theirs):
    return Counter({gram: count for gram, count in ours.items() if gram in theirs})


def _target_case(dice):
    return 3 + dice.below(9, *dice.sizes(2)), dice.number(1, 2)


def _logits_case(dice):
    batch, steps, vocab_size = dice.sizes(3)
    labels = dice.below(vocab_size, batch, steps)
    return dice.normal(batch, steps, vocab_size), labels, dice.lengths(batch, steps)


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


def without_the_end(logits, labels, valid_lens):
    """A loss that leaves out the last real token of each sentence, its <eos>."""
    return masked_cross_entropy(logits, labels, (valid_lens - 1).clamp(min=1))


def _sentences_batch_case(dice):
    batch, steps, vocab_size = dice.sizes(3, low=3)
    labels = dice.below(vocab_size, batch, steps)
    return dice.normal(batch, steps, vocab_size), labels, dice.lengths(batch, steps, 2)


def verdict_on(ours, theirs):
    """Apply the chapter's rule to two settings, from the results of their seeds."""
    return _judge(ours, theirs, statistics.stdev(ours) + statistics.stdev(theirs))


def _judge(ours, theirs, noise):
    difference = statistics.mean(ours) - statistics.mean(theirs)
    if abs(difference) < noise:
        return "cannot tell"
    return "better" if difference > 0 else "worse"


def _with_n(ours, theirs):
    return _judge(ours, theirs, statistics.pstdev(ours) + statistics.pstdev(theirs))


def _best_of_each(ours, theirs):
    return "better" if max(ours) > max(theirs) else "worse"


def _by_the_means(ours, theirs):
    return "better" if statistics.mean(ours) > statistics.mean(theirs) else "worse"


def _results_case(dice):
    """Two settings with five seeds; their means are far apart or equal."""
    apart = dice.random.choice([-9.0, 0.0, 0.5, 9.0])
    return [(90 + place + dice.normal(5)).tolist() for place in (apart, 0.0)]


EXERCISES = [
    Exercise(
        "training-1",
        lambda loss: [math.exp(-loss), math.exp(loss), loss / math.log(2)],
        [(0.0,), (math.log(2),), (2.3,)],
        {
            "powers of 2: the loss is in nats, so the base is e": lambda loss: [
                2**-loss,
                2**loss,
                loss / math.log(2),
            ],
            "bits that are fewer than nats: one nat is 1 / ln 2 bits": lambda loss: [
                math.exp(-loss),
                math.exp(loss),
                loss * math.log(2),
            ],
            "probability and number of words exchanged": lambda loss: [
                math.exp(loss),
                math.exp(-loss),
                loss / math.log(2),
            ],
            "a probability of 1 - loss": lambda loss: [
                1 - loss,
                math.exp(loss),
                loss / math.log(2),
            ],
        },
        (
            "The loss is -ln(probability of the right word).",
            "A choice among n equally likely words has the probability 1 / n.",
            "ln 2 nats are one bit.",
        ),
        draw=lambda dice: (dice.random.uniform(0.1, 6),),
    ),
    Exercise(
        "training-2",
        shift_right,
        [
            (torch.tensor([[7]]), 2),
            (torch.tensor([[7, 8, 3]]), 2),
            (torch.tensor([[7, 8, 3], [9, 3, 0]]), 1),
        ],
        {
            'a target that is not shifted; see "Without the shift"': bugs.not_shifted,
            "a shift to the left": lambda tgt, bos: F.pad(tgt, (-1, 1), value=bos),
            "bos in place of the first token, which must be read, too": lambda tgt, bos: (
                F.pad(tgt[:, 1:], (1, 0), value=bos)
            ),
            "a roll: the last token comes to the front": lambda tgt, bos: tgt.roll(
                1, 1
            ),
            "bos in front of the whole target: one step too many": lambda tgt, bos: (
                F.pad(tgt, (1, 0), value=bos)
            ),
        },
        (
            "To predict the first token the decoder reads bos, to predict the second the first.",
            "The last token is never read. tgt[:, :-1] is what is left.",
            "torch.cat a column of bos and tgt[:, :-1] along dim 1.",
        ),
        draw=_target_case,
    ),
    Exercise(
        "training-3",
        masked_cross_entropy,
        [
            _batch(1, 2, 3),
            _batch(2, 2, 3, lens=[2, 1]),
            _batch(2, 3, 4),
            _batch(3, 6, 5, seed=1),
            _batch(4, 4, 5, seed=2, lens=[3, 1, 4, 1]),
        ],
        {
            'a loss averaged over the padding; see "The loss, in a unit"': bugs.loss_over_padding,
            "a loss of all positions, the padding included": lambda logits, labels, lens: (
                F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            ),
            "a mean of the sentences' means: tokens of short ones count for more": _by_sentence,
            "the classic loss of the warning box, which divides by steps and by tokens": _classic,
            "a mask that does not look at valid_lens": lambda logits, labels, lens: (
                masked_cross_entropy(
                    logits,
                    labels,
                    torch.arange(1, len(labels) + 1).clamp(max=labels.shape[1]),
                )
            ),
            "a loss that leaves out the last step": lambda logits, labels, lens: (
                masked_cross_entropy(
                    logits, labels, lens.clamp(max=max(1, labels.shape[1] - 1))
                )
            ),
            "a mask of the label 0 instead of valid_lens": lambda logits, labels, lens: (
                F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0)
            ),
            "bits instead of nats": lambda logits, labels, lens: (
                masked_cross_entropy(logits, labels, lens) / math.log(2)
            ),
            "a sum instead of a mean": lambda logits, labels, lens: (
                masked_cross_entropy(logits, labels, lens) * lens.sum()
            ),
            "a sum divided by the number of sentences": lambda logits, labels, lens: (
                masked_cross_entropy(logits, labels, lens) * lens.sum() / len(lens)
            ),
            "a missing minus sign": lambda logits, labels, lens: (
                -masked_cross_entropy(logits, labels, lens)
            ),
            "a mask turned round: the mean over the padding": _of_padding,
            "t <= valid_lens: one token too many": lambda logits, labels, lens: (
                masked_cross_entropy(
                    logits, labels, (lens + 1).clamp(max=labels.shape[1])
                )
            ),
        },
        (
            "torch.log_softmax over the last axis; gather picks the label's entry.",
            "Position t of a sentence is real if t < valid_lens.",
            "Index with the boolean (batch, steps) and take one mean over what is left.",
        ),
        draw=_logits_case,
    ),
    Exercise(
        "training-4",
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
        "training-5",
        bleu_of_several,
        [
            ("a", ["a"], 1),
            ("A", ["a"], 1),
            ("a", ["ab"], 1),
            ("a a", ["a b"], 1),
            ("a b", ["a c", "b d"], 1),
            ("a a", ["a b", "c a"], 1),
            ("a b", ["c c", "a b"], 2),
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
            "weights 1 / 2^(n - 1); here n-grams of length n weigh 1 / 2^n": lambda *x: (
                _bleu(*x, weight=lambda n: 0.5 ** (n - 1))
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
            "equal weights 1 / k; here n-grams of length n weigh 1 / 2^n": lambda p, r, k: (
                _bleu(p, r, k, weight=lambda n: 1 / k)
            ),
        },
        (
            "Of two Counters, a | b takes the larger counts, and a & b the smaller ones.",
            "An n-gram may match as often as it occurs in the reference that has it most.",
            "The length: min(lengths, key=lambda n: (abs(n - len(predicted)), n)).",
        ),
        draw=_bleu_case,
    ),
    Exercise(
        "training-6",
        lambda: ["rises", "rises"],  # chapter 8 asserts it on the recorded runs
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
        "training-7",
        without_the_end,
        [
            _batch(1, 3, 3, lens=[2]),
            _batch(2, 3, 2, lens=[3, 2]),
            _batch(2, 4, 5, lens=[4, 2]),
        ],
        {
            "a loss without a mistake": masked_cross_entropy,
            "a loss without the first token: it is the last that is missing": (
                lambda logits, labels, lens: masked_cross_entropy(
                    logits[:, 1:], labels[:, 1:], lens - 1
                )
            ),
            "a loss without the last step of the batch: only the longest sentence ends there": (
                lambda logits, labels, lens: masked_cross_entropy(
                    logits, labels, lens.clamp(max=max(1, labels.shape[1] - 1))
                )
            ),
            "a sum over the tokens without the last, divided by all of them": (
                lambda logits, labels, lens: (
                    without_the_end(logits, labels, lens)
                    * ((lens - 1).sum() / lens.sum())
                )
            ),
        },
        (
            "Let the logits of a single position be very wrong. Which positions move the loss?",
            "A mistake at the last real token of a sentence costs nothing.",
            "It is the masked loss with valid_lens - 1.",
        ),
        draw=_sentences_batch_case,
        unseen=True,
    ),
    Exercise(
        "training-8",
        verdict_on,
        [
            ([2.0, 2.5], [1.0, 1.5]),
            ([1.0, 1.5], [2.0, 2.5]),
            ([1.0, 3.0], [1.5, 2.0]),
            ([90.0, 97.0, 91.0], [93.0, 94.0, 95.0]),
            ([2.0, 2.0, 8.0], [1.0, 1.0, 1.0]),
            ([5.0, 5.0, 5.0, 5.0, 5.0], [1.0, 4.0, 4.0, 4.0, 4.0]),
            ([3.0, 5.0], [1.2, 2.8]),  # told apart only by deviations with n, not n - 1
        ],
        {
            "a comparison of the best seed of each": _best_of_each,
            "a comparison of the means alone": _by_the_means,
            'a judge with "better" and "worse" swapped': lambda ours, theirs: (
                verdict_on(theirs, ours)
            ),
            "a judge with standard deviations that divide by n, not by n - 1": _with_n,
            "a rule with only one of the two deviations; both count": lambda ours, theirs: (
                verdict_on(ours, [statistics.mean(theirs)] * 2)
            ),
            "a judge that adds the squared deviations": lambda ours, theirs: _judge(
                ours,
                theirs,
                math.hypot(statistics.stdev(ours), statistics.stdev(theirs)),
            ),
            "a judge that takes the mean of the two deviations": lambda ours, theirs: (
                _judge(
                    ours,
                    theirs,
                    (statistics.stdev(ours) + statistics.stdev(theirs)) / 2,
                )
            ),
            "a comparison of the medians": lambda ours, theirs: (
                "cannot tell"
                if abs(statistics.median(ours) - statistics.median(theirs))
                < statistics.stdev(ours) + statistics.stdev(theirs)
                else _by_the_means(ours, theirs)
            ),
        },
        (
            "Compute each setting's mean and standard deviation over its seeds.",
            "A difference of means smaller than the two deviations together says nothing.",
            "statistics.mean and statistics.stdev do it.",
        ),
        draw=lambda dice: tuple(_results_case(dice)),
    ),
]
