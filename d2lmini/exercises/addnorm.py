"""Exercises of chapter 7."""

import torch
from torch import nn

from d2lmini.check import properties
from d2lmini.check.drawing import Branch
from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Block


def by_hand():
    """Layer normalisation of (1, 5, 1, 5), (2, 2, 2, 2) and (0, 0, 0, 4)."""
    third = 1 / 3**0.5  # mean 1, deviations (-1, -1, -1, 3), variance 3
    return [[-1.0, 1.0, -1.0, 1.0], [0.0] * 4, [-third, -third, -third, 3 * third]]


def cells_that_count(kind, batch, steps, num_hiddens):
    """The number of entries of X in the mean that normalises one entry."""
    sizes = {
        "layer": num_hiddens,
        "batch": batch * steps,
        "steps and features": steps * num_hiddens,
    }
    return sizes[kind]


def layer_norm(X, weight, bias, eps):
    """Normalise each token of X over its features, then scale and shift."""
    deviation = X - X.mean(dim=-1, keepdim=True)
    variance = deviation.square().mean(dim=-1, keepdim=True)
    return deviation / torch.sqrt(variance + eps) * weight + bias


def add_norm(X, Y, keep, dropout):
    """Add and normalise, dropping entries of Y where keep is False."""
    return _norm(X + Y * keep / (1 - dropout))


def pre_norm(X, branches):
    """A stack of branches, each preceded by a norm, with a final norm."""
    for branch in branches:
        X = X + branch(_norm(X))
    return _norm(X)


def post_norm(X, branches):
    """The same stack with each norm after the sum."""
    for branch in branches:
        X = _norm(X + branch(X))
    return X


def without_last_norm(X, branches):
    """Pre-norm without the final norm."""
    for branch in branches:
        X = X + branch(_norm(X))
    return X


def through_the_norm(X, branches):
    """The shortcut starts after the norm."""
    for branch in branches:
        X = _norm(X)
        X = X + branch(X)
    return _norm(X)


def norm_of_the_branch(X, branches):
    """The norm is applied to the output of the branch."""
    for branch in branches:
        X = X + _norm(branch(X))
    return _norm(X)


def without_shortcut(X, branches):
    """Norms and branches without sums."""
    for branch in branches:
        X = branch(_norm(X))
    return _norm(X)


def norm_only_with_branches(X, branches):
    """Correct, except that X is unchanged if there are no branches."""
    return pre_norm(X, branches) if branches else X


def norm_before_and_after(X, branches):
    """Pre-norm and post-norm at once."""
    for branch in branches:
        X = _norm(X + branch(_norm(X)))
    return _norm(X)


def norm_at_the_end_only(X, branches):
    """Shortcuts without norms, and one norm at the end."""
    for branch in branches:
        X = X + branch(X)
    return _norm(X)


def side_by_side(X, branches):
    """All branches read the input, instead of the sum so far."""
    return _norm(sum((branch(_norm(X)) for branch in branches), start=X))


def _norm(X, eps=1e-5):
    return layer_norm(X, 1.0, 0.0, eps)


def _over(X, weight, bias, eps, dim):
    """Normalise over axes other than the last."""
    deviation = X - X.mean(dim=dim, keepdim=True)
    variance = deviation.square().mean(dim=dim, keepdim=True)
    return deviation / torch.sqrt(variance + eps) * weight + bias


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _norm_case(batch, steps, num_hiddens, eps):
    return (
        _draw(batch, steps, num_hiddens),
        _draw(num_hiddens, seed=1),
        _draw(num_hiddens, seed=2),
        eps,
    )


def _add_case(batch, steps, num_hiddens, dropout):
    shape = batch, steps, num_hiddens
    return _draw(*shape), _draw(*shape, seed=1), _draw(*shape, seed=2) > -0.3, dropout


def _equal_case():
    """A token whose features are all equal: without eps, 0 / 0."""
    X = torch.full((1, 1, 2), 2.0)
    return X, X, torch.ones(1, 1, 2, dtype=torch.bool), 0.5


def _branches(num_hiddens, number):
    return tuple(Branch(W) for W in _draw(number, num_hiddens, num_hiddens, seed=3))


def _unbiased(X, weight, bias, eps):
    deviation = X - X.mean(dim=-1, keepdim=True)
    return deviation / torch.sqrt(X.var(dim=-1, keepdim=True) + eps) * weight + bias


KINDS = ("layer", "batch", "steps and features")


def _drawn_norm_case(dice):
    batch, steps, num_hiddens = dice.sizes(3)
    X = dice.normal(batch, steps, num_hiddens)
    return (
        X,
        dice.normal(num_hiddens),
        dice.normal(num_hiddens),
        10.0 ** -dice.number(1, 5),
    )


def _drawn_add_case(dice):
    shape = dice.sizes(3)
    keep = dice.true(0.7, *shape)
    return dice.normal(*shape), dice.normal(*shape), keep, dice.number(1, 6) / 10


def _stack_case(dice):
    batch, steps, num_hiddens, number = dice.sizes(4)
    branches = tuple(
        Branch(dice.normal(num_hiddens, num_hiddens)) for _ in range(number)
    )
    return dice.normal(batch, steps, num_hiddens), branches


def mean_of_the_sentence(X, Y):
    """Add & norm that subtracts the mean of the whole sentence, but divides correctly."""
    total = X + Y
    variance = total.var(dim=-1, correction=0, keepdim=True)
    return (total - total.mean(dim=(1, 2), keepdim=True)) / torch.sqrt(variance + 1e-5)


def _both_of_the_sentence(X, Y):
    return torch.nn.functional.layer_norm(X + Y, X.shape[1:])


def _variance_of_the_sentence(X, Y):
    total = X + Y
    variance = total.var(dim=(1, 2), correction=0, keepdim=True)
    return (total - total.mean(dim=-1, keepdim=True)) / torch.sqrt(variance + 1e-5)


def _two_tensors_case(dice):
    shape = dice.sizes(3)
    return dice.normal(*shape), dice.normal(*shape)


def kind_of_block(block):
    """Decide by an input so large that the branch no longer matters."""
    X = 1e4 * _draw(1, 1, 8, seed=5)
    if torch.allclose(block(X), X, rtol=1e-2, atol=2):
        return "pre-norm"
    return (
        "post-norm" if torch.allclose(block(X), _norm(X), atol=1e-2) else "no shortcut"
    )


def _block(kind, seed=0):
    return (Block(kind, _draw(8, 8, seed=seed)),)


BLOCKS = "post-norm", "pre-norm", "no shortcut"


def _by_the_mean(block):
    return "post-norm" if block(_draw(1, 1, 8)).mean().abs() < 1e-4 else "pre-norm"


EXERCISES = [
    Exercise(
        "addnorm-1",
        by_hand,
        [()],
        {
            "a variance divided by d - 1 instead of d": lambda: (
                nn.functional.normalize(_by_hand_deviations(), dim=-1).mul(3**0.5).tolist()
            ),
            "a division by the variance instead of its root": lambda: [
                [-0.5, 0.5, -0.5, 0.5], [0.0] * 4, [-1 / 3, -1 / 3, -1 / 3, 1.0]
            ],
            "deviations from the mean that are not divided": lambda: _by_hand_deviations().tolist(),
            'a token of equal features that is left as it is; see "Normalise"': lambda: [
                by_hand()[0], [2.0] * 4, by_hand()[2]
            ],
        },
        (
            "For each token: its mean, its deviations from the mean, the mean of their squares.",
            "The variances are 4, 0 and 3. Divide the deviations by the root of the variance.",
            "eps keeps 0 / 0 away: 0 stays 0. The third token: -1, -1, -1, 3, divided by root 3.",
        ),
        tolerance=5e-3,
    ),
    Exercise(
        "addnorm-2",
        cells_that_count,
        [(kind, *sizes) for sizes in ((1, 2, 3), (2, 3, 4), (64, 10, 32)) for kind in KINDS],
        {
            'layer normalisation over a whole sentence; '
            'see "Which numbers enter the mean"': lambda kind, b, s, d: (
                s * d if kind == "layer" else cells_that_count(kind, b, s, d)
            ),
            "layer and batch exchanged": lambda kind, b, s, d: cells_that_count(
                {"layer": "batch", "batch": "layer"}.get(kind, kind), b, s, d
            ),
            "batch normalisation of each position by itself: the steps count as well": (
                lambda kind, b, s, d: b if kind == "batch" else cells_that_count(kind, b, s, d)
            ),
            "batch normalisation over all features together": lambda kind, b, s, d: (
                b * s * d if kind == "batch" else cells_that_count(kind, b, s, d)
            ),
            "the number of means instead of the size of one": lambda kind, b, s, d: (
                b * s * d // cells_that_count(kind, b, s, d)
            ),
        },
        (
            "Look at the pictures in “Which numbers enter the mean”: how many cells are blue?",
            "Layer normalisation: one token. Batch normalisation: one feature of all tokens.",
            "How many numbers has a token? One feature of all tokens? A whole sentence?",
        ),
        draw=lambda dice: (dice.random.choice(KINDS), *dice.sizes(3)),
    ),
    Exercise(
        "addnorm-3",
        layer_norm,
        [ (torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), torch.ones(2), torch.zeros(2), 1e-5),
            (torch.tensor([[[1.0, 2.0, 6.0]]]), torch.ones(3), torch.zeros(3), 0.5),
            (torch.tensor([[[1.0, 2.0], [2.0, 3.0]]]), torch.ones(2), torch.zeros(2), 1e-5),
            (torch.full((1, 2, 3), 2.0), torch.ones(3), torch.zeros(3), 1e-5),
            (
                torch.tensor([[[1.0, 2.0, 6.0]]]),
                torch.tensor([1.0, 2.0, 3.0]),
                torch.tensor([1.0, 0.0, -1.0]),
                1e-5,
            ),
            _norm_case(2, 3, 4, 1e-5),
            _norm_case(2, 4, 6, 0.5),
        ],
        {
            "a variance divided by d - 1 instead of d": _unbiased,
            'layer normalisation over steps and features; '
            'see "Which numbers enter the mean"': lambda X, w, b, e: (
                _over(X, w, b, e, (1, 2))
            ),
            'batch normalisation; '
            'see "Which numbers enter the mean"': lambda X, w, b, e: _over(X, w, b, e, (0, 1)),
            "an eps outside the root": lambda X, w, b, e: (
                (X - X.mean(-1, keepdim=True)) / (X.std(-1, correction=0, keepdim=True) + e) * w + b
            ),
            'a division without eps; see "Normalise"': lambda X, w, b, e: layer_norm(X, w, b, 0.0),
            "a division by the root mean square, without the mean taken off": lambda X, w, b, e: (
                X / torch.sqrt(X.square().mean(-1, keepdim=True) + e) * w + b
            ),
            "a division by d - 1, and an eps outside the root": lambda X, w, b, e: (
                (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True) + e) * w + b
            ),
            "a division by the variance instead of its root": lambda X, w, b, e: (
                (X - X.mean(-1, keepdim=True))
                / (X.var(-1, correction=0, keepdim=True) + e) * w + b
            ),
            "a normalisation without the shift": lambda X, w, b, e: layer_norm(X, w, 0.0, e),
            "a normalisation without the scale": lambda X, w, b, e: layer_norm(X, 1.0, b, e),
            "a shift before the scale": lambda X, w, b, e: (_norm(X, e) + b) * w,
            "a normalisation without scale and shift": lambda X, w, b, e: _norm(X, e),
            "an eps of 1e-5, whatever is given": lambda X, weight, bias, eps: layer_norm(
                X, weight, bias, 1e-5
            ),
            "the square of eps": lambda X, weight, bias, eps: layer_norm(
                X, weight, bias, eps**2
            ),
        },
        (
            "Mean and variance are means over the last axis; keepdim=True keeps them aligned.",
            "The variance is the mean of the squared deviations: divide by d, not by d - 1.",
            "The root is of variance and eps together. Which of weight and bias comes first?",
        ),
        properties=tuple(
            lambda answer, holds=holds: holds(
                lambda X, mask=None: answer(X, torch.ones(8), torch.zeros(8), 1e-5),
                _draw(2, 4, 8),
            )
            for holds in (properties.batch_independent, properties.permutation_equivariant)
        ),
        draw=_drawn_norm_case,
    ),
    Exercise(
        "addnorm-4",
        add_norm,
        [
            _equal_case(),
            (*_add_case(1, 1, 4, 0.5)[:2], torch.tensor([[[True, False, True, True]]]), 0.5),
            _add_case(2, 1, 3, 0.0),
            _add_case(2, 3, 4, 0.1),
            _add_case(2, 4, 8, 0.5),
        ],
        {
            'dropout on the sum; see "Dropout stays on the branch"': lambda X, Y, keep, p: (
                _norm((X + Y) * keep / (1 - p))
            ),
            "dropout on the result": lambda X, Y, keep, p: _norm(X + Y) * keep / (1 - p),
            "dropout on the shortcut": lambda X, Y, keep, p: _norm(X * keep / (1 - p) + Y),
            "dropout that does not make up for what it drops": lambda X, Y, keep, p: (
                _norm(X + Y * keep)
            ),
            "dropout that multiplies by 1 - p instead of dividing": lambda X, Y, keep, p: (
                _norm(X + Y * keep * (1 - p))
            ),
            "dropout that divides by p; what is left is 1 - p": lambda X, Y, keep, p: (
                _norm(X + Y * keep / p)
            ),
            "a sum without a norm": lambda X, Y, keep, p: X + Y * keep / (1 - p),
            "dropout that keeps what it should drop": lambda X, Y, keep, p: (
                add_norm(X, Y, ~keep, p)
            ),
            "a sum without dropout": lambda X, Y, keep, p: _norm(X + Y),
            "a branch without the shortcut": lambda X, Y, keep, p: _norm(Y * keep / (1 - p)),
            "a norm of the branch alone": lambda X, Y, keep, p: X + _norm(Y * keep / (1 - p)),
            'layer normalisation over steps and features; '
            'see "Which numbers enter the mean"': lambda X, Y, keep, p: (
                _over(X + Y * keep / (1 - p), 1.0, 0.0, 1e-5, (1, 2))
            ),
            'batch normalisation in place of layer normalisation; '
            'see "Which numbers enter the mean"': (
                lambda X, Y, keep, p: _over(X + Y * keep / (1 - p), 1.0, 0.0, 1e-5, (0, 1))
            ),
        },
        (
            "Which of the two, X or Y, may lose elements? The shortcut must stay whole.",
            "Y * keep sets the dropped elements to 0. The others are divided by 1 - dropout.",
            "What is kept of Y is divided by 1 - dropout. Over which axis is the sum normalised?",
        ),
        draw=_drawn_add_case,
    ),
    Exercise(
        "addnorm-5",
        pre_norm,
        [
            (_draw(1, 1, 2), ()),
            (_draw(1, 2, 3), _branches(3, 1)),
            (_draw(2, 3, 4), _branches(4, 3)),
        ],
        {
            'post-norm; see "Before or after"': post_norm,
            'pre-norm without the last norm; see "Before or after"': without_last_norm,
            "a shortcut that starts after the norm": through_the_norm,
            "a norm of what comes out of the branch": norm_of_the_branch,
            "a stack without shortcuts": without_shortcut,
            "a last norm only if there are branches": norm_only_with_branches,
            "norms before and after each branch": norm_before_and_after,
            "a single norm at the end, none before the branches": norm_at_the_end_only,
            "branches that all read the input, side by side": side_by_side,
        },
        (
            "The shortcut carries X itself; only the branch sees the normalised X.",
            "One branch: X = X + branch(norm(X)). Nothing has normalised the last sum.",
            "What does a branch read, X or its norm, and to what is its output added?",
        ),
        draw=_stack_case,
    ),
    Exercise(
        "addnorm-6",
        mean_of_the_sentence,
        [
            (torch.tensor([[[1.0, 3.0], [5.0, 9.0]]]), torch.zeros(1, 2, 2)),
            (torch.tensor([[[1.0, 3.0], [5.0, 9.0]], [[0.0, 1.0], [2.0, 7.0]]]),
                torch.ones(2, 2, 2)),
            (_draw(2, 3, 4), _draw(2, 3, 4, seed=1)),
        ],
        {
            "add & norm without a mistake": lambda X, Y: _norm(X + Y),
            "mean and variance of the sentence: one of the two is each token's own": (
                _both_of_the_sentence
            ),
            "the variance of the sentence and each token's own mean: it is the other way": (
                _variance_of_the_sentence
            ),
        },
        (
            "With Y = 0 it is a norm of X alone. Does check.causal hold for it?",
            "Look at each output token: is its mean 0? Is its variance 1?",
            "Compare what was taken away with means over one axis and over two. And the variance?",
        ),
        draw=_two_tensors_case,
        unseen=True,
    ),
    Exercise(
        "addnorm-7",
        kind_of_block,
        [_block(kind) for kind in BLOCKS],
        {
            "an experiment that confuses the two blocks that end with a norm": _by_the_mean,
            "post-norm and pre-norm exchanged": lambda block: {
                "post-norm": "pre-norm", "pre-norm": "post-norm", "no shortcut": "no shortcut",
            }[kind_of_block(block)],
            "the belief that every block is a pre-norm block": lambda block: "pre-norm",
        },
        (
            "f is never larger than 1. Which input makes it negligible?",
            "With X a thousand times as large, what is left of X + f(norm(X))? Of norm(X + f(X))?",
            "Compare the output for a huge X with X itself, then with the norm of X.",
        ),
        draw=lambda dice: _block(dice.random.choice(BLOCKS), dice.number(0, 10**6)),
    ),
]  # fmt: skip


def _by_hand_deviations():
    return torch.tensor([[-2.0, 2, -2, 2], [0, 0, 0, 0], [-1, -1, -1, 3]])
