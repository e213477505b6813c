"""Exercises of chapter 16."""

import math

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Looker
from d2lmini.exercises.positions import encode
from d2lmini.modern import rotate


def _random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _offset_case(dice):
    half = dice.number(1, 4)
    return dice.normal(2 * half), dice.normal(2 * half), dice.number(0, 100)


def halves_of(d):
    """The first features of all pairs of neighbours, then the second ones."""
    return [*range(0, d, 2), *range(1, d, 2)]


def cache_by_hand():
    """3 layers, 8 heads of queries, 2 of keys and values, head size 16, 100 tokens."""
    return [2 * 3 * 2 * 16 * 100, 2 * 3 * 8 * 16 * 100]


def shared_in_turn(queries, keys):
    """Scores in which query head h uses key head h % num_kv_heads."""
    return _scores(queries, keys.repeat(1, queries.shape[1] // keys.shape[1], 1, 1))


def _scores(queries, keys):
    return queries @ keys.mT / queries.shape[-1] ** 0.5


def _in_groups(queries, keys):
    return keys.repeat_interleave(queries.shape[1] // keys.shape[1], dim=1)


def _heads(batch, heads, kv_heads, steps, size):
    generator = torch.Generator().manual_seed(heads)
    shapes = (batch, heads, steps, size), (batch, kv_heads, steps, size)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _heads_case(dice):
    batch, kv_heads, steps, size = dice.sizes(4, low=3)
    heads = kv_heads * dice.number(2, 3)
    return dice.normal(batch, heads, steps, size), dice.normal(
        batch, kv_heads, steps, size
    )


NUM_TOKENS, NUM_STEPS = 5, 12


def furthest(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """The largest distance back at which a different token changes the logits."""
    return max(_distances(net, values, places), default=0)


def _distances(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """All distances at which replacing 0 by one of the values changes the logits."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    before, found = net(tokens), set()
    for place in places:
        for value in values:
            other = tokens.clone()
            other[place] = value
            if not torch.allclose(net(other), before):
                found.add(NUM_STEPS - 1 - place)
    return found


def _until_a_gap(net):
    found, distance = _distances(net), 0
    while distance in found:
        distance += 1
    return max(distance - 1, 0)


def _shorter_texts(net):
    """Drop tokens at the beginning, and compare with the text one token shorter."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    for length in range(1, NUM_STEPS):
        if torch.allclose(net(tokens[-length:]), net(tokens[-length - 1 :])):
            return length - 1
    return NUM_STEPS - 1


def _looker(distances, odd, cancels=False, seed=0):
    """A net that distinguishes one token at each distance; at the furthest, it is odd.

    Args:
        cancels: whether it moves two logits in opposite directions, leaving the first unchanged.
    """
    generator, number = torch.Generator().manual_seed(seed), len(distances)
    # Fractions with few digits, whose sums are exact in any order
    steps = torch.randint(1, 2**12, (number, NUM_TOKENS), generator=generator) / 2**12
    if cancels:
        steps = steps[:, :1] * torch.tensor([0.0, 1.0, 0.0, 0.0, -1.0])
    tokens = (odd + torch.arange(number).flip(0)) % NUM_TOKENS
    table = torch.zeros(number, NUM_TOKENS, NUM_TOKENS)
    table[torch.arange(number), tokens] = steps
    return (Looker(distances, table),)


def _one_logit(distance, token, logit):
    """A net that notices one token, by one logit."""
    table = torch.zeros(1, NUM_TOKENS, NUM_TOKENS)
    table[0, token, logit] = 0.5
    return (Looker([distance], table),)


def _drawn_looker(dice):
    distances = sorted(dice.random.sample(range(NUM_STEPS), dice.number(1, 4)))
    odd, cancels = dice.number(0, NUM_TOKENS - 1), dice.number(0, 1) > 0
    return _looker(distances, odd, cancels, dice.number(0, 10**6))


def _never_put_back(net):
    """Change the same text cumulatively, from its end."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    before, found = net(tokens), 0
    for place in reversed(range(NUM_STEPS)):
        for value in range(NUM_TOKENS):
            tokens[place] = value
            if not torch.allclose(net(tokens), before):
                found = NUM_STEPS - 1 - place
    return found


def turned(X, positions=None):
    """Rotate each pair of features by the position times its angle."""
    frequencies = 10000 ** -(torch.arange(0, X.shape[-1], 2) / X.shape[-1])
    if positions is None:
        positions = torch.arange(X.shape[1])[:, None]
    angle = positions * frequencies  # (steps, pairs)
    x, y = X[..., 0::2], X[..., 1::2]
    pairs = [x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()]
    return torch.stack(pairs, dim=-1).flatten(2)  # (batch, steps, num_hiddens)


def offset_score(q, k, offset, speeds=None, sines=1):
    """Score of a query and a key, turned by their positions, from the distance alone."""
    if speeds is None:
        speeds = 10000 ** -(torch.arange(0, len(q), 2) / len(q))
    x, y, u, v = q[0::2], q[1::2], k[0::2], k[1::2]
    angles = offset * speeds
    scores = (x * u + y * v) * angles.cos() + sines * (x * v - y * u) * angles.sin()
    return scores.sum().item()


def turned_from(X, start):
    """Rotate X as if its first step were at position start."""
    return rotate(X[:, None], start)[:, 0]  # for one head


def rotary_scores(queries, keys):
    """Scores of queries at the last positions with all keys, both rotated by position."""
    queries = turned_from(queries, keys.shape[1] - queries.shape[1])
    return queries @ turned_from(keys, 0).mT / math.sqrt(keys.shape[-1])


def side_by_side(X):
    """The inverse of apart: interleave the two halves."""
    return torch.stack(X.chunk(2, dim=-1), dim=-1).flatten(-2)


def _scores_case(dice):
    batch, fewer, more, half = sorted(dice.sizes(4))
    return dice.normal(batch, fewer, 2 * half), dice.normal(batch, more, 2 * half)


EXERCISES = [
    Exercise(
        "long-1",
        offset_score,
        [
            (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), 1),
            (torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), 2),
            (_random(4), _random(4, seed=1), 3),
            (_random(8), _random(8, seed=1), 0),
            (_random(8), _random(8, seed=2), 100),
        ],
        {
            "a turn in the wrong direction: the key lies behind the query": (
                lambda q, k, offset: offset_score(q, k, -offset)
            ),
            "both turned by the offset, which changes no dot product": lambda q, k, offset: (
                q @ k
            ),
            "the cosine alone": lambda q, k, offset: offset_score(
                q, k, offset, sines=0
            ),
            "pairs that all turn at the same speed": (
                lambda q, k, offset: offset_score(
                    q, k, offset, speeds=torch.ones(len(q) // 2)
                )
            ),
            "an exponent that counts pairs: j / d instead of 2j / d": lambda q, k, offset: (
                offset_score(
                    q, k, offset, 10000 ** -(torch.arange(len(q) // 2) / len(q))
                )
            ),
            "pairs half the width apart, j and j + d / 2, not neighbours": (
                lambda q, k, offset: offset_score(
                    side_by_side(q), side_by_side(k), offset
                )
            ),
            "a score divided by the root of d, which is not asked for": (
                lambda q, k, offset: offset_score(q, k, offset) / len(q) ** 0.5
            ),
        },
        (
            "Begin with one pair: write out (x cos a - y sin a, x sin a + y cos a), the query "
            "turned by a, and its product with the key (u, v).",
            "Only the difference of the two turns is left: turn the query by the offset times "
            "the pair's speed, and leave the key as it is.",
            "Collect what stands before the cosine and what stands before the sine, for each "
            "pair; X[0::2] are all the x. Then add up the pairs.",
        ),
        draw=_offset_case,
    ),
    Exercise(
        "long-2",
        cache_by_hand,
        [()],
        {
            "keys alone, without the values": lambda: [9600, 38400],
            "one layer of the three": lambda: [6400, 25600],
            "the two numbers exchanged: sharing makes the cache smaller": (
                lambda: [76800, 19200]
            ),
            "four times too many: bytes, or a head size of 128 / 2": lambda: [
                76800,
                307200,
            ],
            "keys and values for every head in both cases": lambda: [76800, 76800],
            "queries, which are never needed again": lambda: [57600, 115200],
            "one head, without the others": lambda: [9600, 9600],
            "the cache of one token": lambda: [192, 768],
            "a share of the head for each query that uses it": lambda: [4800, 76800],
        },
        (
            "What is kept for one token, in one layer, for one head of keys and values?",
            "A key and a value of 16 numbers each.",
            "How many such pairs are kept: how many heads of keys and values, layers, tokens?",
        ),
    ),
    Exercise(
        "long-3",
        shared_in_turn,
        [
            _heads(1, 4, 2, 1, 2),
            _heads(2, 4, 2, 3, 5),
            _heads(1, 6, 2, 4, 3),
            _heads(1, 6, 3, 2, 4),
        ],
        {
            "scores without a mistake": lambda Q, K: _scores(Q, _in_groups(Q, K)),
            "the first head of keys for all": lambda Q, K: _scores(Q, K[:, :1]),
            "the last head of keys for all": lambda Q, K: _scores(Q, K[:, -1:]),
            "groups in the opposite order": lambda Q, K: _scores(
                Q, _in_groups(Q, K).flip(1)
            ),
            "heads in turn, beginning with the last": lambda Q, K: shared_in_turn(
                Q, K.flip(1)
            ),
            "the mean of all heads of keys": lambda Q, K: _scores(
                Q, K.mean(1, keepdim=True)
            ),
            "scores that are not divided by the root of the head size": lambda Q, K: (
                shared_in_turn(Q, K) * Q.shape[-1] ** 0.5
            ),
            "queries and keys exchanged": lambda Q, K: shared_in_turn(Q, K).mT,
        },
        (
            "Give each head of the keys a number of its own: 1 everywhere in head 0, 2 in head 1.",
            "Let all queries be alike, with four heads of queries and two of keys.",
            "Which keys does head 1 of the queries use? And head 2?",
        ),
        draw=_heads_case,
        unseen=True,
    ),
    Exercise(
        "long-4",
        rotary_scores,
        [
            (torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[0.0, 1.0]]])),
            (torch.tensor([[[0.0, 1.0], [0.0, 1.0]]]),) * 2,
            (torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[1.0, 1.0], [0.0, 2.0]]])),
            (_random(2, 3, 4), _random(2, 5, 4, seed=1)),
            (_random(1, 2, 8), _random(1, 40, 8, seed=1)),
            (_random(1, 2, 8), _random(1, 100, 8, seed=1)),
        ],
        {
            "queries that are taken for the first positions; they are the last": lambda q, k: (
                turned(q) @ turned(k).mT / math.sqrt(k.shape[-1])
            ),
            "keys that are not turned": lambda q, k: (
                turned_from(q, k.shape[1] - q.shape[1]) @ k.mT / math.sqrt(k.shape[-1])
            ),
            "queries that are not turned": lambda q, k: (
                q @ turned(k).mT / math.sqrt(k.shape[-1])
            ),
            "scores of queries and keys as they come, without a turn": lambda q, k: (
                q @ k.mT / math.sqrt(k.shape[-1])
            ),
            "scores that are not divided by the square root of the width": lambda q, k: (
                rotary_scores(q, k) * math.sqrt(k.shape[-1])
            ),
            "keys that are turned the other way: the score depends on the sum of the places": (
                lambda q, k: (
                    turned_from(q, k.shape[1] - q.shape[1])
                    @ turned(k, positions=-torch.arange(k.shape[1])[:, None]).mT
                    / math.sqrt(k.shape[-1])
                )
            ),
            "turns in the other direction, of both": lambda q, k: (
                turned(
                    q,
                    positions=-torch.arange(k.shape[1] - q.shape[1], k.shape[1])[
                        :, None
                    ],
                )
                @ turned(k, positions=-torch.arange(k.shape[1])[:, None]).mT
                / math.sqrt(k.shape[-1])
            ),
            "pairs half the width apart, j and j + d / 2, not neighbours": lambda q, k: (
                rotary_scores(side_by_side(q), side_by_side(k))
            ),
            "positions that are added to queries and keys, not turns": lambda q, k: (
                encode(q, k.shape[1] - q.shape[1])
                @ encode(k, 0).mT
                / math.sqrt(k.shape[-1])
            ),
        },
        (
            "Key j stands at position j. Where does the first of the queries stand?",
            "At keys.shape[1] - queries.shape[1]. Turn both as in 16.1, each by its place.",
            "Then queries @ keys.transpose(1, 2), divided by the square root of the width.",
        ),
        draw=_scores_case,
    ),
    Exercise(
        "long-5",
        furthest,
        [
            _looker([0], 2),
            _looker([0, 1, 2], 3, cancels=True),
            _looker([0, 4], 4),
            _looker([0, 1, 11], 1),
            _looker([3], 0),
            _looker([2, 7], 2),
            _looker([0, 1, 2, 3, 4, 5], 3),
            _looker([0, 11], 4),
            _looker([5, 6, 8], 1),
            _one_logit(7, 3, 2),
        ],
        {
            "a stop at the first distance that does not count: there may be gaps": _until_a_gap,
            "one other token alone, which the net may not tell from the first": lambda net: (
                furthest(net, values=[1])
            ),
            "token 4 that is never tried": lambda net: furthest(net, values=range(4)),
            "the number of distances, not the largest": lambda net: len(
                _distances(net)
            ),
            "the smallest distance that counts": lambda net: min(
                _distances(net), default=0
            ),
            "a count of tokens: the last one is at distance 0": lambda net: (
                furthest(net) + 1
            ),
            "the place in the text, counted from its beginning": lambda net: (
                NUM_STEPS - 1 - furthest(net)
            ),
            "a change that is not undone: the places after it inherit it": _never_put_back,
            "a first token that is never changed": lambda net: furthest(
                net, places=range(1, NUM_STEPS)
            ),
            "a text that gets shorter, until something changes: there may be gaps": (
                _shorter_texts
            ),
        },
        (
            "Start from a text of twelve tokens, and change one token at a time.",
            "Try every other token at every place: the network may treat two of them alike.",
            "Place i is at distance 11 - i. Return the largest that ever changes the logits.",
        ),
        draw=_drawn_looker,
    ),
    Exercise(
        "long-6",
        halves_of,
        [(2,), (4,), (6,), (16,)],
        {
            "the way back, from halves to neighbours": lambda d: [
                i // 2 + (i % 2) * (d // 2) for i in range(d)
            ],
            "an order that changes nothing": lambda d: [*range(d)],
            "the odd features before the even ones: each pair turns the other way": (
                lambda d: [*range(1, d, 2), *range(0, d, 2)]
            ),
            "halves in which the second runs backwards": lambda d: [
                *range(0, d, 2),
                *range(d - 1, 0, -2),
            ],
        },
        (
            "In the halves, places 0 and d / 2 are a pair. Which two features must stand there?",
            "Features 0 and 1, the fastest pair of rotate. The next pair is 2 and 3.",
            "Which features fill the first half, in which order, and which the second?",
        ),
        draw=lambda dice: (2 * dice.number(2, 12),),
    ),
]
