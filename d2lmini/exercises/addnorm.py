"""Exercises of chapter 7."""

import torch
from torch import nn

from d2lmini.check.drawing import Branch
from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Block, DroppingAddNorm


def terms_of_the_score(X, branches, w):
    """What the input and each branch of a residual stream contribute to the score X @ w."""
    terms = [X @ w]
    for branch in branches:
        update = branch(X)
        terms.append(update @ w)
        X = X + update
    return torch.stack(terms)


def _scores_so_far(X, branches, w):
    return terms_of_the_score(X, branches, w).cumsum(0)


def _reading_the_input(X, branches, w):
    return torch.stack([X @ w, *(branch(X) @ w for branch in branches)])


def _without_shortcuts(X, branches, w):
    terms = [X @ w]
    for branch in branches:
        X = branch(X)
        terms.append(X @ w)
    return torch.stack(terms)


def by_hand():
    """Layer normalisation of (1, 5, 1, 5), (2, 2, 2, 2) and (0, 0, 0, 4)."""
    third = 1 / 3**0.5  # mean 1, deviations (-1, -1, -1, 3), variance 3
    return [[-1.0, 1.0, -1.0, 1.0], [0.0] * 4, [-third, -third, -third, 3 * third]]


def fold(scale, shift, W, b):
    """Weight and bias of a linear layer that also does a norm's scale and shift."""
    return W * scale, b + W @ shift


def on_the_branch(add_norm):
    """Give dropout nothing to drop but the stream."""
    X = _draw(1, 20, 20, seed=5)
    return torch.allclose(add_norm(X, torch.zeros_like(X)), _norm(X), atol=1e-3)


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


def _norm(X):
    return nn.functional.layer_norm(X, X.shape[-1:])


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _fold_case(num_hiddens, num_outputs):
    return (
        _draw(num_hiddens),
        _draw(num_hiddens, seed=1),
        _draw(num_outputs, num_hiddens, seed=2),
        _draw(num_outputs, seed=3),
    )


def _drawn_fold_case(dice):
    num_hiddens, num_outputs = dice.sizes(2)
    return (
        dice.normal(num_hiddens),
        dice.normal(num_hiddens),
        dice.normal(num_outputs, num_hiddens),
        dice.normal(num_outputs),
    )


def _branches(num_hiddens, number):
    return tuple(Branch(W) for W in _draw(number, num_hiddens, num_hiddens, seed=3))


def _stack_case(dice):
    batch, steps, num_hiddens, number = dice.sizes(4)
    branches = tuple(
        Branch(dice.normal(num_hiddens, num_hiddens)) for _ in range(number)
    )
    return dice.normal(batch, steps, num_hiddens), branches


def _score_case(dice):
    X, branches = _stack_case(dice)
    return X, branches, dice.normal(X.shape[-1])


PLACES = "branch", "input", "sum", "result"


def _with_ones(add_norm):
    X = torch.ones(1, 20, 20)
    return torch.equal(add_norm(X, X), add_norm(X, X))


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
        terms_of_the_score,
        [
            (_draw(1, 1, 2), _branches(2, 1), _draw(2, seed=4)),
            (_draw(1, 2, 3), _branches(3, 2), _draw(3, seed=4)),
            (_draw(2, 3, 4), _branches(4, 3), _draw(4, seed=4)),
        ],
        {
            "branches that all read the input, instead of the stream": _reading_the_input,
            "the score of the stream after each branch, not the branch's own term": _scores_so_far,
            'a stack without shortcuts; see "The residual stream"': _without_shortcuts,
            "the branches alone: the input has a term, too": lambda X, branches, w: (
                terms_of_the_score(X, branches, w)[1:]
            ),
            "the score itself: the terms are wanted, before they are added": (
                lambda X, branches, w: terms_of_the_score(X, branches, w).sum(0)
            ),
        },
        (
            "The terms must add up to the score at the top. Do they, summed over axis 0?",
            "Look at the loop above: each branch reads the stream, which has grown meanwhile.",
            "A branch's term is read off what it adds, not off the stream. Which term comes first?",
        ),
        draw=_score_case,
    ),
    Exercise(
        "addnorm-2",
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
        "addnorm-3",
        fold,
        [_fold_case(1, 1), _fold_case(2, 1), _fold_case(2, 3), _fold_case(3, 3)],
        {
            "the shift has no effect: the linear layer used to see it": lambda g, s, W, b: (
                W * g, b
            ),
            "a shift that is scaled: the norm adds it after it has scaled": lambda g, s, W, b: (
                W * g, b + W * g @ s
            ),
            "the weight without the scale": lambda g, s, W, b: (W, b + W @ s),
            "the old weight and bias": lambda g, s, W, b: (W, b),
            "bias and weight exchanged": lambda g, s, W, b: (b + W @ s, W * g),
            "a scale that is divided out instead of multiplied in": lambda g, s, W, b: (
                W / g, b + W @ s
            ),
        },
        (
            "Write the linear layer's output for the token scale * x + shift. What belongs to x?",
            "The part without x is the new bias. Does the scale occur in it?",
            "Each input feature has its own scale. Is that a row of W or a column?",
        ),
        draw=_drawn_fold_case,
    ),
    Exercise(
        "addnorm-4",
        on_the_branch,
        [(DroppingAddNorm(place, 0.1),) for place in PLACES],
        {
            "the belief that dropout is where it belongs": lambda add_norm: True,
            "a test that nothing passes, since the branch is not silent": lambda add_norm: False,
            "a test that finds only dropout on the result: the norm of equal features is 0": (
                _with_ones
            ),
        },
        (
            "Which Y leaves dropout nothing to strike, if it strikes Y alone?",
            "With that Y you know the result: a norm of X. When does it differ from it?",
            "Has X enough entries for dropout to strike one? Do the features of a token differ?",
        ),
        draw=lambda dice: (
            DroppingAddNorm(dice.random.choice(PLACES), dice.number(1, 5) / 10),
        ),
    ),
    Exercise(
        "addnorm-5",
        pre_norm,
        [
            (_draw(1, 1, 2), ()),
            (torch.ones(1, 2, 3), ()),
            (0.01 * torch.tensor([[[1.0, 2.0, 4.0]]]), ()),
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
            (torch.tensor([[[1.0, 1.0], [5.0, 9.0]]]), torch.zeros(1, 2, 2)),
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
