"""Exercises of chapter 9."""

import math

import torch
from torch.nn import functional as F

from d2lmini.check import bugs
from d2lmini.check.exercise import Exercise
from d2lmini.losses import masked_cross_entropy, shift_right


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


def _target_case(dice):
    return 3 + dice.below(9, *dice.sizes(2)), dice.number(1, 2)


def _logits_case(dice):
    batch, steps, vocab_size = dice.sizes(3)
    labels = dice.below(vocab_size, batch, steps)
    return dice.normal(batch, steps, vocab_size), labels, dice.lengths(batch, steps)


def without_the_end(logits, labels, valid_lens):
    """A loss that leaves out the last real token of each sentence, its <eos>."""
    return masked_cross_entropy(logits, labels, (valid_lens - 1).clamp(min=1))


def _sentences_batch_case(dice):
    batch, steps, vocab_size = dice.sizes(3, low=3)
    labels = dice.below(vocab_size, batch, steps)
    return dice.normal(batch, steps, vocab_size), labels, dice.lengths(batch, steps, 2)


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
            "A column of bos, then every column but the last: join them along the axis of steps.",
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
            "Which positions does it count as real? Try the masked loss with other lengths.",
        ),
        draw=_sentences_batch_case,
        unseen=True,
    ),
]
