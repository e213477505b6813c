"""Exercises of chapter 5."""

import itertools
import math

import torch

from d2lmini.attention import scaled_dot_product_attention
from d2lmini.check.exercise import Exercise
from d2lmini.masks import causal_mask, masked_softmax, padding_mask


def merge_heads(H):
    """(batch, heads, steps, head_size) -> (batch, steps, heads * head_size)."""
    return H.transpose(1, 2).flatten(2)


def without_head(W_q, W_k, W_v, W_o, num_heads, i):
    """The matrices of a layer without head i."""
    kept = torch.arange(num_heads) != i
    kept = kept.repeat_interleave(len(W_q) // num_heads)
    return W_q[:, kept], W_k[:, kept], W_v[:, kept], W_o[kept]


def _interleaved(W_q, W_k, W_v, W_o, num_heads, i):
    kept = (torch.arange(num_heads) != i).repeat(len(W_q) // num_heads)
    return W_q[:, kept], W_k[:, kept], W_v[:, kept], W_o[kept]


def _rows_everywhere(W_q, W_k, W_v, W_o, num_heads, i):
    *rows, columns = without_head(W_q.T, W_k.T, W_v.T, W_o.T, num_heads, i)
    return *(W.T for W in rows), columns.T


def _with_zeros(W_q, W_k, W_v, W_o, num_heads, i):
    size = len(W_q) // num_heads
    W_q, W_k, W_v, W_o = (W.clone() for W in (W_q, W_k, W_v, W_o))
    W_o[i * size : (i + 1) * size] = 0
    return W_q, W_k, W_v, W_o


def _own(case):
    """The columns of head i, for a case of exercise 5.1."""
    return (torch.arange(case[4]) == case[5]).repeat_interleave(len(case[0]) // case[4])


def _layer_of(num_heads, size, i, seed=0):
    d = num_heads * size
    return *_random(4, d, d, seed=seed), num_heads, i


def _drawn_layer(dice):
    heads, size = dice.number(2, 4), dice.number(1, 4)
    d = heads * size
    return *dice.normal(4, d, d), heads, dice.number(0, heads - 1)


def stay_copies(W_q, W_k, W_v, W_o, num_heads, matrices=4, neighbours=False, least=2):
    """Whether so many heads own the same in the first matrices, of which W_o is the last."""
    owned = torch.stack([W_q, W_k, W_v, W_o.T][:matrices])  # (matrices, d, d)
    # (heads, matrices, d, d_k)
    owned = owned.unflatten(2, (num_heads, -1)).movedim(2, 0)
    if neighbours:
        return any(torch.equal(a, b) for a, b in itertools.pairwise(owned))
    return max(sum(torch.equal(a, b) for b in owned) for a in owned) >= least


def _with_copies(sizes, *copies, matrices=4, own=0, seed=0, drawn=None):
    """A layer (heads, head_size) whose heads in copies own the same in the first matrices.

    Without the first so many of own, which stay as they are drawn.
    """
    heads, size = sizes
    Ws = _random(4, heads * size, heads * size, seed=seed) if drawn is None else drawn
    owned = torch.stack([*Ws[:3], Ws[3].T]).unflatten(2, sizes)  # (4, d, heads, d_k)
    for i in copies[1:]:
        owned[own:matrices, :, i] = owned[own:matrices, :, copies[0]]
    *projections, W_o = owned.flatten(2)
    return *projections, W_o.T, heads


def _but_for_one(k):
    """Two heads that own the same but for matrix k."""
    layer = [*_with_copies((2, 2), 0, 1)]
    layer[k] = _random(4, *layer[k].shape, seed=9)[k]
    return tuple(layer)


def _by_turns():
    """Three heads: the first two own the same of the projections, the last two of W_o."""
    *projections, _, heads = _with_copies((3, 2), 0, 1, matrices=3)
    return *projections, _with_copies((3, 2), 1, 2)[3], heads


def _first_alike(part):
    """Two heads of two columns that are alike in one part of each matrix alone."""
    *Ws, heads = _with_copies((2, 2))
    for W in (*Ws[:3], Ws[3].T):
        first, second = part(W).chunk(2, dim=1)  # of the two heads
        second.copy_(first)
    return *Ws, heads


def _turned(layer, *which):
    return *(W.T if k in which else W for k, W in enumerate(layer[:4])), layer[4]


def _copied_layer(dice):
    heads, size = dice.number(2, 4), dice.number(1, 3)
    drawn = dice.normal(4, heads * size, heads * size)
    copies = dice.random.sample(range(heads), 2) if dice.number(0, 3) else ()
    return _with_copies((heads, size), *copies, matrices=dice.number(3, 4), drawn=drawn)


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


def in_neighbours(K, num_heads):
    """The groups (batch, groups, ...), each for as many heads in a row."""
    return K.repeat_interleave(num_heads // K.shape[1], dim=1)


def shared_keys(
    X, W_q, W_k, W_v, W_o, num_heads, num_groups, mask,
    split=_split, share=in_neighbours, merge=merge_heads,
):  # fmt: skip
    """Multi-head self-attention whose heads share keys and values in groups."""
    Q = split(X @ W_q, num_heads)  # (batch, heads, steps, head_size)
    K, V = (share(split(X @ W, num_groups), num_heads) for W in (W_k, W_v))
    output, _ = scaled_dot_product_attention(Q, K, V, mask)
    return merge(output) @ W_o


def _matrices(d, num_heads, num_groups, seed):
    W_q, W_o = _random(2, d, d, seed=seed)
    narrow = _random(2, d, d // num_heads * num_groups, seed=seed + 1)
    return W_q, *narrow, W_o, num_heads, num_groups


def _layer_case(dice):
    batch, steps, groups, size = dice.sizes(4)
    heads = groups * dice.number(1, 3)
    d = heads * size
    mask = padding_mask(dice.lengths(batch, steps), steps)
    # scores of any size would be a question of rounding
    wide, narrow = (dice.normal(2, d, n) / d**0.5 for n in (d, groups * size))
    return dice.normal(batch, steps, d), wide[0], *narrow, wide[1], heads, groups, mask


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
        without_head,
        [
            (*torch.arange(16.0).view(4, 2, 2), 2, 0),
            _layer_of(2, 2, 1),
            _layer_of(3, 2, 1),
        ],
        {
            "a head whose features lie in turns with those of the others": _interleaved,
            "the next head, instead of head i": lambda *x: without_head(*x[:5], (x[5] + 1) % x[4]),
            "head i alone, without the others": lambda *x: tuple(
                W[..., _own(x)] if k < 3 else W[_own(x)] for k, W in enumerate(x[:4])
            ),
            "rows of W_q and columns of W_o; in X W a head owns columns": _rows_everywhere,
            "a head that is silent, but still there: its matrices should go": _with_zeros,
            "a W_o that has kept all its rows": lambda *x: (*without_head(*x)[:3], x[3]),
        },
        (
            "Which columns of X @ W_q are the queries of head i?",
            "Head i owns d_k columns, from i * d_k on. Its output meets d_k rows of W_o.",
            "Keep all other columns of W_q, W_k and W_v. Which rows of W_o do they meet?",
        ),
        draw=_drawn_layer,
    ),
    Exercise(
        "heads-2",
        stay_copies,
        [
            _with_copies((2, 1), 0, 1),
            _with_copies((2, 1), 0, 1, matrices=3),
            _with_copies((2, 2)),
            _with_copies((3, 2), 0, 2),
            _with_copies((4, 1), 1, 3),
            _with_copies((3, 2), 0, 1, matrices=2),
            _with_copies((2, 2), 0, 1, own=2),
            _with_copies((3, 2), 0, 1),
            _turned(_with_copies((2, 1), 0, 1), 3),
            _turned(_with_copies((2, 2), 0, 1), 0, 1, 2),
            *(_but_for_one(k) for k in range(3)),
            _by_turns(),
            _first_alike(lambda W: W[:, ::2]),
            _first_alike(lambda W: W[:1]),
        ],
        {
            "a test that leaves W_o out: its rows tell the heads apart": (
                lambda *x: stay_copies(*x, matrices=3)
            ),
            "a test of neighbouring heads only": lambda *x: stay_copies(*x, neighbours=True),
            "True only if all heads are copies of one another; two are enough": (
                lambda *x: stay_copies(*x, least=x[4])
            ),
            "a test that compares columns of W_o; in X W a head owns rows of it": (
                lambda *x: stay_copies(*x[:3], x[3].T, x[4])
            ),
            "a test that compares rows of W_q, W_k, W_v; in X W a head owns columns": (
                lambda *x: stay_copies(*(W.T for W in x[:3]), x[3], x[4])
            ),
            "a test of the queries alone": lambda *x: stay_copies(*x, matrices=1),
            "the belief that heads part, whatever they are given": lambda *x: False,
            "a test that takes every layer for one with copies": lambda *x: True,
        },
        (
            "Two heads stay copies as long as their gradients are equal.",
            "The gradient of a head comes back through its own rows of W_o.",
            "Compare columns of W_q, W_k, W_v and rows of W_o. Of neighbours only, or of any two?",
        ),
        draw=_copied_layer,
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
            (torch.eye(2)[None], *[torch.eye(2)] * 4, 1, 1, None),
            (_random(1, 3, 4), *_matrices(4, 2, 1, seed=1), None),
            (_random(2, 3, 8), *_matrices(8, 4, 2, seed=3), padding_mask(_TWO, 3)),
            (_random(1, 4, 6), *_matrices(6, 3, 3, seed=5), causal_mask(4)),
        ],
        {
            _VIEWED: lambda *x: shared_keys(*x, split=_viewed),
            "heads that are joined without bringing each token's features together": (
                lambda *x: shared_keys(*x, merge=lambda H: H.reshape(len(H), H.shape[2], -1))
            ),
            "heads 0, 2, 4, ... in one group (repeat): neighbours share (repeat_interleave)": (
                lambda *x: shared_keys(
                    *x, share=lambda K, n: K.repeat(1, n // K.shape[1], 1, 1)
                )
            ),
            "one set of keys and values for all heads, whatever num_groups is": (
                lambda *x: shared_keys(*x, share=lambda K, n: K[:, :1].expand(-1, n, -1, -1))
            ),
            "heads side by side, without W_o": lambda X, Q, K, V, W_o, *x: (
                shared_keys(X, Q, K, V, torch.eye(X.shape[-1]), *x)
            ),
            "a mask that is not passed on": lambda *x: shared_keys(*x[:-1], None),
            "values that are made by W_k": lambda X, Q, K, V, *x: shared_keys(X, Q, K, K, *x),
        },
        (
            "Queries are cut into num_heads heads. Into how many are keys and values cut?",
            "Each group serves num_heads / num_groups heads in a row: repeat it along axis 1.",
            "tensor.repeat or tensor.repeat_interleave? Which gives 0, 0, 1, 1?",
        ),
        draw=_layer_case,
    ),
]  # fmt: skip
