"""Exercises of chapter 4."""

import math

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.masks import causal_mask


def one_back(num_steps):
    """Query i is e_i, and key j is e_(j + 1), scaled to ten times the square root."""
    return 10 * num_steps * torch.eye(num_steps), torch.eye(num_steps).roll(1, dims=1)


def smallest_weight_one_back(matrices, num_steps):
    """The smallest weight given to the position before, up to 0.9, and where each looks:"""
    Q, K = matrices  # the input is the identity: X W = W
    scores = Q @ K.T / math.sqrt(num_steps)
    weights = torch.softmax(
        scores.masked_fill(~causal_mask(num_steps), -math.inf), dim=-1
    )
    places = weights[1:].argmax(dim=-1).tolist()
    return [min(weights.diagonal(-1).min().item(), 0.9), places]


def self_attention(X, W_q, W_k, W_v, mask, root_of=None, dim=-1, hidden=-math.inf):
    """One head, for one sentence; other values of the last three are mistakes."""
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    scores = Q @ K.T / math.sqrt(root_of or K.shape[1])
    weights = torch.softmax(scores.masked_fill(~mask, hidden), dim=dim)
    return weights @ V


def _masked_afterwards(X, W_q, W_k, W_v, mask):
    """Zero the weights of hidden keys after the softmax."""
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return torch.softmax(Q @ K.T / math.sqrt(K.shape[1]), dim=-1) * mask @ V


def merged(output1, log_sum1, output2, log_sum2):
    """Combine attention to each half of the keys: the output, and the log of the sum."""
    share = torch.softmax(torch.stack([log_sum1, log_sum2]), dim=0)[..., None]
    share = share.nan_to_num()  # both halves hidden
    return share[0] * output1 + share[1] * output2, torch.logaddexp(log_sum1, log_sum2)


def _mixed(output1, weight1, output2, weight2):
    """Average two outputs with normalised weights."""
    mixed = weight1[:, None] * output1 + weight2[:, None] * output2
    return mixed / (weight1 + weight2)[:, None]


def _half(output, log_sum):
    return torch.tensor(output), torch.tensor(log_sum)


def _far_below():
    """Two words whose scores of themselves, the only ones in sight, are -20,000 each."""
    eye = torch.eye(2)
    return eye, -2e4 * 2**0.5 * eye, eye, eye, torch.eye(2, dtype=torch.bool)


def _sentence(steps, d, d_k, seed=0, hide=True):
    """A sentence, three matrices, and a mask that leaves each row the next key."""
    source = torch.Generator().manual_seed(seed)
    X = torch.randn(steps, d, generator=source)
    W_q, W_k = torch.randn(2, d, d_k, generator=source)
    W_v = torch.randn(d, d, generator=source)
    seen = torch.rand(steps, steps, generator=source) < (0.5 if hide else 1)
    return X, W_q, W_k, W_v, seen | torch.eye(steps, dtype=torch.bool).roll(1, dims=1)


def _halves_case(dice):
    queries, width = dice.sizes(2)
    outputs, log_sums = dice.normal(2, queries, width), 3 * dice.normal(2, queries)
    return outputs[0], log_sums[0], outputs[1], log_sums[1]


def _divided(queries, keys, values, root_of):
    scores = queries @ keys.T / math.sqrt(root_of)
    return torch.softmax(scores, dim=-1) @ values


def divided_by_the_number_of_keys(queries, keys, values):
    """Dot-product attention whose scores are divided by the root of the number of keys."""
    return _divided(queries, keys, values, len(keys))


def _three(seed, num_keys, num_hiddens, num_queries):
    """Queries, keys and values."""
    source = torch.Generator().manual_seed(seed)
    rows = num_queries, num_keys, num_keys
    return tuple(torch.randn(n, num_hiddens, generator=source) for n in rows)


EXERCISES = [
    Exercise(
        "attention-1",
        one_back,
        [(2,), (3,), (6,), (30,), (500,)],
        {
            "a head that looks at itself": lambda n: (
                10 * n * torch.eye(n),
                torch.eye(n),
            ),
            "the right pairs, with scores too small to decide": lambda n: (
                torch.eye(n),
                torch.eye(n).roll(1, dims=1),
            ),
            "W_q and W_k exchanged: the head looks ahead, where the mask hides everything": (
                lambda n: (torch.eye(n).roll(1, dims=1), 10 * n * torch.eye(n))
            ),
            "scores that are all alike: every position takes the mean of those before": (
                lambda n: (torch.zeros(n, n), torch.zeros(n, n))
            ),
            "a head that looks at the token itself or farther back: the one before is avoided": (
                lambda n: (-10 * n * torch.eye(n), torch.eye(n).roll(1, dims=1))
            ),
        },
        (
            "X is the identity: row i of W_q is query i, row j of W_k is key j. Which must match?",
            "Query i and key i - 1. If query i is e_i, then key j must be e_(j + 1).",
            "W_q can be a multiple of the identity. What is W_k then, and how large the multiple?",
        ),
        effect=smallest_weight_one_back,
        draw=lambda dice: (dice.number(4, 12),),
    ),
    Exercise(
        "attention-2",
        self_attention,
        [
            _sentence(2, 3, 2, hide=False),
            _sentence(4, 3, 2),
            _sentence(6, 8, 3),
            _far_below(),
        ],
        {
            "scores that are not divided": lambda *inputs: self_attention(
                *inputs, root_of=1
            ),
            "a division by d_k itself, without the root": lambda *inputs: (
                self_attention(*inputs, root_of=inputs[2].shape[1] ** 2)
            ),
            "the root of the width of X, where that of the keys belongs": (
                lambda *inputs: self_attention(*inputs, root_of=inputs[0].shape[1])
            ),
            "a softmax down the columns: the queries compete for a key": (
                lambda *inputs: self_attention(*inputs, dim=0)
            ),
            "queries and keys exchanged": lambda X, W_q, W_k, W_v, mask: self_attention(
                X, W_k, W_q, W_v, mask
            ),
            "the words themselves as values, without W_v": (
                lambda X, W_q, W_k, W_v, mask: self_attention(
                    X, W_q, W_k, torch.eye(X.shape[1]), mask
                )
            ),
            "a mask turned round: True hides": lambda X, W_q, W_k, W_v, mask: (
                self_attention(X, W_q, W_k, W_v, ~mask)
            ),
            "a score of 0 for hidden keys, in place of minus infinity": (
                lambda *inputs: self_attention(*inputs, hidden=0.0)
            ),
            "weights zeroed after the softmax: a row no longer sums to 1": (
                _masked_afterwards
            ),
            "a token that always sees itself, where the mask may hide it": (
                lambda X, W_q, W_k, W_v, mask: self_attention(
                    X, W_q, W_k, W_v, mask | torch.eye(len(X), dtype=torch.bool)
                )
            ),
            "no mask": lambda X, W_q, W_k, W_v, mask: self_attention(
                X, W_q, W_k, W_v, torch.ones_like(mask)
            ),
        },
        (
            "Queries, keys and values are three products of X. Which two meet in the scores?",
            "A row of scores for each query. Which keys must not count, and before which step?",
            "Divide, hide, softmax along the keys: what is left to do with the weights?",
        ),
        draw=lambda dice: _sentence(
            dice.number(3, 7),
            dice.number(4, 8),
            dice.number(2, 3),
            dice.number(0, 10**6),
        ),
    ),
    Exercise(
        "attention-3",
        merged,
        [
            (*_half([[2.0]], [0.0]), *_half([[4.0]], [0.0])),
            (*_half([[2.0]], [0.0]), *_half([[4.0]], [math.log(3)])),
            (*_half([[0.0]], [-math.inf]), *_half([[4.0]], [1.0])),
            (*_half([[0.0]], [-math.inf]), *_half([[0.0]], [-math.inf])),
            (*_half([[2.0]], [200.0]), *_half([[4.0]], [201.0])),
            (*_half([[2.0]], [900.0]), *_half([[4.0]], [901.0])),
            (*_half([[2.0]], [-900.0]), *_half([[4.0]], [-901.0])),
            (
                *_half([[2.0], [1.0]], [200.0, -200.0]),
                *_half([[4.0], [3.0]], [201.0, -199.0]),
            ),
            (
                *_half([[1.0, 2.0], [3.0, 4.0]], [-1.0, 2.0]),
                *_half([[0.0, 1.0]] * 2, [1.0, 0.5]),
            ),
        ],
        {
            "a plain mean of the two outputs": lambda o, a, p, b: (
                (o + p) / 2,
                torch.logaddexp(a, b),
            ),
            "weights proportional to the logarithms; it is the sums that count": (
                lambda o, a, p, b: (_mixed(o, a, p, b), torch.logaddexp(a, b))
            ),
            "halves exchanged: each output gets the weight of the other": lambda o, a, p, b: (
                merged(p, a, o, b)
            ),
            "logarithms that are added; it is the sums that add up": lambda o, a, p, b: (
                merged(o, a, p, b)[0],
                a + b,
            ),
            "the sum of the exponentials, where its logarithm is due": lambda o, a, p, b: (
                merged(o, a, p, b)[0],
                a.exp() + b.exp(),
            ),
            "exponentials that overflow: exp(200) is infinite in float32": lambda o, a, p, b: (
                _mixed(o, a.exp(), p, b.exp()),
                (a.exp() + b.exp()).log(),
            ),
            "exponentials that overflow in the weights: exp(200) is infinite in float32": (
                lambda o, a, p, b: (
                    _mixed(o, a.exp(), p, b.exp()),
                    torch.logaddexp(a, b),
                )
            ),
            "outputs that are added; each is a mean already": lambda o, a, p, b: (
                o + p,
                torch.logaddexp(a, b),
            ),
        },
        (
            "An output times its sum is what that half had added up before the division.",
            "So each output weighs as much as its sum of exponentials: a softmax of the two "
            "logarithms.",
            "Stack the two logarithms for the softmax. torch.logaddexp adds what they stand for.",
        ),
        draw=_halves_case,
    ),
    Exercise(
        "attention-4",
        divided_by_the_number_of_keys,
        [_three(1, 4, 2, 3), _three(2, 9, 4, 1), _three(3, 2, 16, 5)],
        {
            "attention without a mistake": lambda q, k, v: _divided(
                q, k, v, q.shape[-1]
            ),
            "attention that is not divided at all": lambda q, k, v: _divided(
                q, k, v, 1
            ),
            "a division by the number of keys itself; how large is it for four times the keys?": (
                lambda q, k, v: _divided(q, k, v, len(k) ** 2)
            ),
            "a division by the number of features, not by its root": lambda q, k, v: (
                _divided(q, k, v, q.shape[-1] ** 2)
            ),
            "a division by the root of the number of queries; ask with one query": (
                lambda q, k, v: _divided(q, k, v, len(q))
            ),
        },
        (
            "Give it one query that matches one key and no other, and read its weight off the "
            "output. Then add keys.",
            "The odds of two keys are exp of the difference of their scores. What is the score "
            "divided by for 4 keys, for 16, for 64?",
            "The divisor doubles when the keys are four times as many. Of what is it the root?",
        ),
        draw=lambda dice: _three(
            dice.number(1, 99), *(dice.number(2, 9) for _ in range(3))
        ),
        unseen=True,
    ),
]
