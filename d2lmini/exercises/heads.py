"""Exercises of chapter 5."""

import math

import torch

from d2lmini.attention import scaled_dot_product_attention
from d2lmini.check.exercise import Exercise
from d2lmini.masks import causal_mask, masked_softmax, padding_mask


def merge_heads(H):
    """(batch, heads, steps, head_size) -> (batch, steps, heads * head_size)."""
    return H.transpose(1, 2).flatten(2)


def _root(queries, keys):
    return math.sqrt(queries.shape[-1])


def _random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _inputs(batch, heads, num_queries, num_keys, head_size):
    """Queries, keys and values."""
    steps = num_queries, num_keys, num_keys
    return tuple(
        _random(batch, heads, n, head_size, seed=i) for i, n in enumerate(steps)
    )


def _split(X, num_heads):
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _viewed(X, num_heads):
    return X.view(len(X), num_heads, X.shape[1], -1)


def shared_keys(
    X, W_q, W_k, W_v, W_o, num_heads, mask, split=_split, merge=merge_heads
):
    """Multi-head self-attention whose heads share keys and values, (batch, steps, d)."""
    Q = split(X @ W_q, num_heads)  # (batch, heads, steps, head_size)
    K, V = ((X @ W)[:, None].expand_as(Q) for W in (W_k, W_v))
    output, _ = scaled_dot_product_attention(Q, K, V, mask)
    return merge(output) @ W_o


def _matrices(d, num_heads, seed):
    W_q, W_o = _random(2, d, d, seed=seed)
    return W_q, *_random(2, d, d // num_heads, seed=seed + 1), W_o, num_heads


def _layer_case(dice):
    batch, steps, heads, size = dice.sizes(4)
    d = heads * size
    mask = padding_mask(dice.lengths(batch, steps), steps)
    wide, narrow = dice.normal(2, d, d), dice.normal(2, d, size)
    return dice.normal(batch, steps, d), wide[0], *narrow, wide[1], heads, mask


_TWO = torch.tensor([3, 2])
_BOTH = torch.tensor([[True, True]])
_LENS = padding_mask(torch.tensor([4, 2]), 4)

_VIEWED = (
    "a view without the transpose, which mixes tokens; "
    'see "Cutting without mixing" in chapter 5'
)


def _heads_case(dice):
    """Queries, keys, values and a mask: a padding mask or, half the time, an arbitrary one."""
    batch, heads, num_queries, num_keys, size = dice.sizes(5)
    queries, keys = (batch, heads, num_queries, size), (batch, heads, num_keys, size)
    mask = padding_mask(dice.lengths(batch, num_keys), num_keys)
    if dice.number(0, 1):
        mask = dice.true(0.6, batch, 1, num_queries, num_keys)
    return dice.normal(*queries), dice.normal(*keys), dice.normal(*keys), mask


def mean_of_the_heads(queries, keys, values, mask):
    """Attention that returns the weights of each head, but mixes by their mean over the heads."""
    _, weights = scaled_dot_product_attention(queries, keys, values, mask)
    return weights.mean(dim=1, keepdim=True) @ values, weights


# Two heads of size 1, one query, two keys: small enough to check by hand
_BY_HAND = (
    torch.tensor([[[[1.0]], [[2.0]]]]),
    torch.tensor([[[[0.0], [1.0]], [[1.0], [-1.0]]]]),
    torch.tensor([[[[2.0], [4.0]], [[10.0], [20.0]]]]),
)

EXERCISES = [
    Exercise(
        "heads-1",
        merge_heads,
        [
            (torch.arange(8.0).view(1, 2, 2, 2),),
            (torch.arange(8.0).view(2, 2, 2, 1),),
            (_random(2, 4, 3, 5),),
            (_random(1, 1, 4, 2),),
        ],
        {
            _VIEWED: (lambda H: H.reshape(H.shape[0], H.shape[2], -1)),
            "features of the heads in turns instead of head after head": (
                lambda H: H.permute(0, 2, 3, 1).flatten(2)
            ),
            "a mean over the heads (they should stand side by side)": lambda H: H.mean(
                1
            ),
            "a transpose without putting the heads side by side": lambda H: H.transpose(
                1, 2
            ),
        },
        (
            "The features of one token lie in different heads. Which axis must go where?",
            "Bring heads next to head_size first: (batch, steps, heads, head_size).",
            "Which two axes change places, before the last two can become one?",
        ),
        draw=lambda dice: (dice.normal(*dice.sizes(4)),),
    ),
    Exercise(
        "heads-2",
        lambda: ["part", "stay"],  # the solution runs both
        [()],
        {
            "heads that stay copies although W_o differs: each is heard in its own way": (
                lambda: ["stay", "stay"]
            ),
            "heads that part although W_o is copied too: nothing tells them apart then": (
                lambda: ["part", "part"]
            ),
            "the two answers exchanged": lambda: ["stay", "part"],
        },
        (
            "Two heads stay copies as long as their gradients are equal.",
            "The gradient of a head comes back through its own columns of W_o.",
            "Random columns of W_o give different gradients; copied columns give equal ones.",
        ),
    ),
    Exercise(
        "heads-3",
        mean_of_the_heads,
        [
            (*_BY_HAND, _BOTH),
            (*_inputs(1, 2, 1, 2, 2), _BOTH),
            (*_inputs(2, 3, 2, 4, 5), _LENS),
        ],
        {
            "attention without a mistake": lambda q, k, v, mask: (
                scaled_dot_product_attention(q, k, v, mask)
            ),
            "attention that also reports mean weights; it should report each head's own": (
                lambda q, k, v, mask: (
                    mean_of_the_heads(q, k, v, mask)[0],
                    mean_of_the_heads(q, k, v, mask)[1]
                    .mean(1, True)
                    .expand(-1, q.shape[1], -1, -1),
                )
            ),
            "an output by the weights of the first head": lambda q, k, v, mask: (
                mean_of_the_heads(q, k, v, mask)[1][:, :1] @ v,
                mean_of_the_heads(q, k, v, mask)[1],
            ),
            "scores that are averaged over the heads, before the softmax": (
                lambda q, k, v, mask: (
                    masked_softmax((q @ k.mT / _root(q, k)).mean(1, True), mask) @ v,
                    mean_of_the_heads(q, k, v, mask)[1],
                )
            ),
            "values that are averaged over the heads": lambda q, k, v, mask: (
                mean_of_the_heads(q, k, v, mask)[1] @ v.mean(1, True),
                mean_of_the_heads(q, k, v, mask)[1],
            ),
            "an output by the weights of the last head": lambda q, k, v, mask: (
                mean_of_the_heads(q, k, v, mask)[1][:, -1:] @ v,
                mean_of_the_heads(q, k, v, mask)[1],
            ),
            "an output by the weights of the next head": lambda q, k, v, mask: (
                mean_of_the_heads(q, k, v, mask)[1].roll(1, 1) @ v,
                mean_of_the_heads(q, k, v, mask)[1],
            ),
        },
        (
            "Compare weights and output with those of scaled_dot_product_attention, one by one.",
            "With one head all is well. With two, let all scores of one head be equal.",
            "Compare the output with what the mean of all heads' weights would fetch.",
        ),
        draw=_heads_case,
        unseen=True,
    ),
    Exercise(
        "heads-4",
        shared_keys,
        [
            (torch.eye(2)[None], *[torch.eye(2)] * 4, 1, None),
            (_random(1, 3, 4), *_matrices(4, 2, seed=1), None),
            (_random(2, 3, 4), *_matrices(4, 2, seed=3), padding_mask(_TWO, 3)),
            (_random(1, 4, 6), *_matrices(6, 3, seed=5), causal_mask(4)),
        ],
        {
            _VIEWED: lambda *x: shared_keys(*x, split=_viewed),
            "heads that are joined without bringing each token's features together": (
                lambda *x: shared_keys(
                    *x, merge=lambda H: H.reshape(len(H), H.shape[2], -1)
                )
            ),
            "heads side by side, without W_o": lambda X, W_q, W_k, W_v, W_o, n, mask: (
                shared_keys(X, W_q, W_k, W_v, torch.eye(X.shape[-1]), n, mask)
            ),
            "queries that are shared as well: the heads are copies": (
                lambda X, W_q, W_k, W_v, W_o, n, mask: shared_keys(
                    X, W_q[:, : len(W_q) // n].repeat(1, n), W_k, W_v, W_o, n, mask
                )
            ),
            "a mask that is not passed on": lambda X, W_q, W_k, W_v, W_o, n, mask: (
                shared_keys(X, W_q, W_k, W_v, W_o, n, None)
            ),
            "values that are made by W_k": lambda X, W_q, W_k, W_v, W_o, n, mask: (
                shared_keys(X, W_q, W_k, W_k, W_o, n, mask)
            ),
        },
        (
            "Only the queries are cut into heads. What is the shape of X @ W_k?",
            "A token's one key serves every head: an axis of size 1, expanded to all heads.",
            "The heads' outputs go back side by side, as in exercise 5.1. What is left to apply?",
        ),
        draw=_layer_case,
    ),
]
