"""Exercises of chapter 12."""

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Reader
from d2lmini.masks import masked_softmax


def pooled_by_hand():
    """Pool three positions, of which two are real.

    X = (6, 0), (0, 6), (6, 6); scores 0, ln 2, ln 3; valid_lens = 2.
    """
    return [2.0, 4.0]  # weights 1/3 and 2/3


def masked_mean(X, valid_lens):
    """The mean over the real positions, (batch, num_hiddens)."""
    real = torch.arange(X.shape[1]) < valid_lens[:, None]  # (batch, steps)
    return (X * real[..., None]).sum(dim=1) / valid_lens[:, None]


def _masked_sum(X, valid_lens):
    return masked_mean(X, valid_lens) * valid_lens[:, None]


def _first(X, valid_lens):
    return X[:, 0]


def _largest(X, valid_lens):
    real = torch.arange(X.shape[1]) < valid_lens[:, None]
    return X.masked_fill(~real[..., None], float("-inf")).amax(dim=1)


def _texts_case(dice):
    batch, steps, width = dice.sizes(3)
    return dice.normal(batch, steps, width), dice.lengths(batch, steps)


def _texts(batch, steps, width, lens):
    generator = torch.Generator().manual_seed(batch)
    return torch.randn(batch, steps, width, generator=generator), torch.tensor(lens)


def _stop_by(waiting):
    """A rule that stops training once the count equals patience.

    waiting(accuracy, best, before, waited) returns the new count after an epoch.
    """

    def rule(accuracies, patience):
        best = before = float("-inf")
        waited = 0
        for epoch, accuracy in enumerate(accuracies, start=1):
            waited = waiting(accuracy, best, before, waited)
            best, before = max(best, accuracy), accuracy
            if waited == patience:
                return epoch
        return 0

    return rule


# The epoch after which training stops: the patience-th in a row without a new best
stop = _stop_by(lambda a, best, before, waited: 0 if a > best else waited + 1)
_tie_is_best = _stop_by(lambda a, best, before, waited: 0 if a >= best else waited + 1)
_tie_does_nothing = _stop_by(
    lambda a, best, before, waited: 0 if a > best else waited + (a < best)
)
_never_reset = _stop_by(lambda a, best, before, waited: waited + (a <= best))
_than_the_one_before = _stop_by(
    lambda a, best, before, waited: 0 if a > before else waited + 1
)


def _curve_case(dice):
    curve = [dice.number(50, 60) / 100 for _ in range(dice.number(6, 14))]
    return curve, dice.number(1, 4)


def two_logits(weight, bias):
    """Extend a layer with one output to two outputs, the first of which is always 0."""
    return torch.stack([0 * weight, weight]), torch.stack([0 * bias, bias])


def probability_of_praise(layer, weight, bias):
    """The probability of the second class, by a softmax over the two outputs:"""
    W, b = layer
    X = torch.randn(8, len(weight), generator=torch.Generator().manual_seed(4))
    return torch.softmax(X @ W.T + b, dim=-1)[:, 1]


def _layer_case(dice):
    return dice.normal(dice.number(2, 6)), dice.normal(1)[0]


def mask_of_the_sorted(scores, valid_lens):
    """Pooling weights with the mask of the sorted batch."""
    return _pool(scores, valid_lens.sort(descending=True).values)


def _pool(scores, valid_lens):
    return masked_softmax(scores, torch.arange(scores.shape[1]) < valid_lens[:, None])


def _scores_case(dice):
    batch, steps = dice.sizes(2, low=3)
    return dice.normal(batch, steps), dice.lengths(batch, steps)


def _differ(a, b):
    return not torch.allclose(a, b)


def reads_padding(net):
    """Whether net reads padding, tried alone, so that no other text can unmask it."""
    tokens, other = torch.tensor([[1, 2, 3, 4]]), torch.tensor([[1, 2, 5, 6]])
    return _differ(net(tokens, torch.tensor([2])), net(other, torch.tensor([2])))


def reads_neighbours(net):
    """Whether net reads its neighbours, with equal steps: next to a longer and a shorter text."""
    tokens = torch.tensor([[1, 2, 3, 4], [7, 8, 9, 1]])
    own = net(tokens[:1], torch.tensor([2]))
    for other in (1, 4):
        for order in ([0, 1], [1, 0]):
            scores = net(tokens[order], torch.tensor([2, other])[order])
            if _differ(scores[order.index(0)], own[0]):
                return True
    return False


def faults(net):
    """Whether net reads the padding, and whether it reads its neighbours."""
    return [reads_padding(net), reads_neighbours(net)]


def _in_company(net):
    """Test padding in a batch of two, where another text's mask may admit it."""
    tokens = torch.tensor([[1, 2, 3, 4], [7, 8, 9, 1]])
    other = torch.tensor([[1, 2, 5, 6], [7, 8, 9, 1]])
    lens = torch.tensor([2, 4])
    return [_differ(net(tokens, lens)[0], net(other, lens)[0]), reads_neighbours(net)]


def _behind_a_shorter_one(net):
    """Detect sorted lengths, but not those of the longest text."""
    tokens = torch.tensor([[1, 2, 3, 4]])
    alone, pair = net(tokens, torch.tensor([4]))[0], torch.cat([tokens, tokens])
    return [reads_padding(net), _differ(net(pair, torch.tensor([1, 4]))[1], alone)]


def _padded_for_company(net):
    """Put a text next to a longer one, with more steps than alone, which adds padding."""
    tokens = torch.tensor([[1, 2, 3, 4], [7, 8, 9, 1]])
    alone = net(tokens[:1, :2], torch.tensor([2]))[0]
    return [reads_padding(net), _differ(net(tokens, torch.tensor([2, 4]))[0], alone)]


def _other_words_beside(net):
    """Change the words of the neighbour, but not its length."""
    tokens = torch.tensor([[1, 2, 3, 4], [7, 8, 9, 1]])
    other = torch.tensor([[1, 2, 3, 4], [5, 6, 2, 3]])
    lens = torch.tensor([2, 4])
    return [reads_padding(net), _differ(net(tokens, lens)[0], net(other, lens)[0])]


def _reader(padding, neighbours, seed=0):
    generator = torch.Generator().manual_seed(seed)
    # Fractions with few digits, whose sums are exact in any order
    table = torch.randint(-(2**16), 2**16, (10,), generator=generator) / 2**15
    return (Reader(padding, neighbours, table),)


def _drawn_reader(dice):
    neighbours = ["", "sorted", "longest", "shortest"][dice.number(0, 3)]
    return _reader(dice.number(0, 1) > 0, neighbours, dice.number(0, 10**6))


EXERCISES = [
    Exercise(
        "sentiment-1",
        pooled_by_hand,
        [()],
        {
            "a pooling that reads the padding": lambda: [4.0, 5.0],
            "a plain mean of the two real positions": lambda: [3.0, 3.0],
            "a plain mean of all three positions": lambda: [4.0, 4.0],
            "weights in proportion to the scores: softmax raises e to each first": (
                lambda: [0.0, 6.0]
            ),
            "the largest of each feature, or the sum of both": lambda: [6.0, 6.0],
            "exponentials that were not divided by their sum": lambda: [6.0, 12.0],
            "a third score of 0, where it has to be minus infinity": lambda: [3.0, 4.5],
            "weights of 1/6 and 1/3: once the padding is gone, they must add up to 1": (
                lambda: [1.0, 2.0]
            ),
            "the weights of the two positions exchanged": lambda: [4.0, 2.0],
        },
        (
            "valid_lens is 2: which score does not count?",
            "exp(0) = 1 and exp(ln 2) = 2. Divide each by their sum.",
            "The weights are a third and two thirds. Of which vectors?",
        ),
    ),
    Exercise(
        "sentiment-2",
        masked_mean,
        [
            (torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([2])),
            _texts(2, 3, 2, [3, 1]), _texts(3, 5, 4, [2, 5, 4])],
        {
            "a mean that counts the padding": lambda X, lens: X.mean(dim=1),
            "a sum over the real positions; divide by their number": _masked_sum,
            "a masked sum that is divided by the number of steps": lambda X, lens: (
                _masked_sum(X, lens) / X.shape[1]
            ),
            "a sum over all positions, divided by the number of real ones": lambda X, lens: (
                X.sum(dim=1) / lens[:, None]
            ),
            "a mean without the last real position": lambda X, lens: (
                masked_mean(X, (lens - 1).clamp(min=1))
            ),
            "a mean with the first padded position": lambda X, lens: (
                masked_mean(X, (lens + 1).clamp(max=X.shape[1]))
            ),
            "the first position alone": _first,
            "the largest of each feature, not the mean": _largest,
            "one mean for the whole batch": lambda X, lens: (
                _masked_sum(X, lens).sum(0, keepdim=True) / lens.sum()
            ).expand(len(X), -1),
        },
        (
            "Which positions are real? Compare torch.arange(steps) with valid_lens[:, None].",
            "Multiply X by that, with an axis for the features, and sum over the steps.",
            "Divide by valid_lens[:, None], not by the number of steps.",
        ),
        draw=_texts_case,
    ),
    Exercise(
        "sentiment-3",
        stop,
        [
            ([0.5, 0.6, 0.6, 0.5], 2), ([0.6, 0.5, 0.6, 0.5, 0.4], 3),
            ([0.5, 0.4, 0.6, 0.5, 0.4], 2),
            ([0.5, 0.7, 0.6, 0.65, 0.8], 2), ([0.0, 0.0, 0.5], 2),
            ([0.8712, 0.8714, 0.8713, 0.8716, 0.8715], 2),
            ([0.5, 0.6, 0.7], 1), ([0.5, 0.4, 0.6, 0.5, 0.7, 0.6], 2), ([0.5, 0.4, 0.45, 0.3], 3)],
        {
            "a comparison with more than patience: one epoch too many": lambda a, p: (
                stop(a, p + 1)
            ),
            "a tie that counts as a new best": _tie_is_best,
            "a tie that is not counted: it is no new best, so it adds 1": _tie_does_nothing,
            "epochs that are counted from 0": lambda a, p: max(0, stop(a, p) - 1),
            "a count that a new best does not reset": _never_reset,
            "a comparison with the epoch before, not with the best so far": _than_the_one_before,
            "a stop that never comes": lambda a, p: 0,
            "the epoch of the best result, not that of the stop": lambda a, p: (
                a.index(max(a)) + 1
            ),
        },
        (
            "Keep two things: the best accuracy so far, and how many epochs ago it was.",
            "A new best resets the count to 0; any other epoch adds 1.",
            "Return the epoch as soon as the count equals patience, and 0 after the loop.",
        ),
        draw=_curve_case,
    ),
    Exercise(
        "sentiment-4",
        two_logits,
        [
            (torch.tensor([3.0]), torch.tensor(-1.0)),
            (torch.tensor([-0.5, 1.0, 2.0]), torch.tensor(0.0)),
            (torch.tensor([1.0, 2.0]), torch.tensor(-4.5))],
        {
            "the classes exchanged: the second is praise": lambda w, b: (
                torch.stack([w, 0 * w]), torch.stack([b, 0 * b])
            ),
            "logits -z and z, whose difference is 2 z": lambda w, b: (
                torch.stack([-w, w]), torch.stack([-b, b])
            ),
            "twice the same logit: softmax sees no difference": lambda w, b: (
                torch.stack([w, w]), torch.stack([b, b])
            ),
            "logits 1 - z and z; probabilities add up to 1, logits do not": lambda w, b: (
                torch.stack([-w, w]), torch.stack([1 - b, b])
            ),
            "a layer without its bias": lambda w, b: (
                torch.stack([0 * w, w]), torch.stack([0 * b, 0 * b])
            ),
        },
        (
            "Softmax over two logits depends on one thing only. On which?",
            "On their difference: the second gets 1 / (1 + exp(first - second)).",
            "sigmoid(z) is 1 / (1 + exp(-z)), so the difference must be z: for example 0 and z.",
        ),
        effect=probability_of_praise,
        draw=_layer_case,
    ),
    Exercise(
        "sentiment-5",
        mask_of_the_sorted,
        [
            (torch.tensor([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]]), torch.tensor([1, 3])),
            (torch.arange(12.0).view(3, 4) / 10, torch.tensor([2, 4, 3])),
            ((torch.arange(20.0) % 7).view(4, 5), torch.tensor([2, 1, 5, 3]))],
        {
            "a pooling without a mistake": _pool,
            "lengths that are sorted the other way round": lambda scores, lens: (
                _pool(scores, lens.sort().values)
            ),
            "the mask of the row after": lambda scores, lens: _pool(scores, lens.roll(-1)),
            "the mask of the row before": lambda scores, lens: _pool(scores, lens.roll(1)),
            "the batch turned upside down": lambda scores, lens: _pool(scores, lens.flip(0)),
            "a pooling that reads the padding": lambda scores, lens: scores.softmax(dim=-1),
            "the whole batch sorted, scores and all, and never put back": lambda scores, lens: (
                _pool(scores[lens.argsort(descending=True)], lens.sort(descending=True).values)
            ),
            "the longest row's mask for all": lambda scores, lens: (
                _pool(scores, lens.amax().expand(len(lens)))
            ),
        },
        (
            "Where a weight is 0, the mask was False. Count the others of each row.",
            "Try lengths that fall from row to row, then others, such as 2, 1, 4, 3.",
            "When the lengths fall, all is well. Which length does row 0 get otherwise?",
        ),
        draw=_scores_case,
        unseen=True,
    ),
    Exercise(
        "sentiment-6",
        faults,
        [
            _reader(False, ""), _reader(True, ""), _reader(False, "sorted"),
            _reader(False, "longest"), _reader(True, "sorted"), _reader(True, "longest"),
            _reader(False, "shortest")],
        {
            "padding tried in a batch of several texts, where a wrong mask lets it in, too": (
                _in_company
            ),
            "neighbours that are tried in one order only, a shorter text first": (
                _behind_a_shorter_one
            ),
            "neighbours that bring padding along: keep as many steps for the text alone": (
                _padded_for_company
            ),
            "a neighbour whose words change, not its length": _other_words_beside,
            "the two answers exchanged": lambda net: faults(net)[::-1],
            "two faults that come together or not at all": lambda net: [any(faults(net))] * 2,
            "the belief that a net is sound": lambda net: [False, False],
            "the belief that a net has every fault": lambda net: [True, True],
        },
        (
            "Change what stands in the padding. Put a text alone into a batch, then with others.",
            "The experiments can disturb each other: try the padding with a text on its own, "
            "and keep the number of steps when you add neighbours.",
            "Neighbours may be longer or shorter, and stand before or after: try all four.",
        ),
        draw=_drawn_reader,
    ),
]  # fmt: skip
