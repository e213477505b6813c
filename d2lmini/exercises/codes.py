"""Exercises of chapter 1."""

import torch

from d2lmini.check.exercise import Exercise


def _draw(*shapes, seed=0):
    """Random tensors of the given shapes."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=generator) for shape in shapes)


def twin(inputs):
    """Another list of the same length with the same code: two more, then one less."""
    return [*inputs[:-2], inputs[-2] + 2, inputs[-1] - 1]


def code_and_length(twin, inputs):
    """The code, the length, and whether the list is another one:"""
    code = 0.0
    for x in twin:
        code = code / 2 + float(x) / 2
    return [code, len(twin), [*map(float, twin)] != [*map(float, inputs)]]


def attention(query, keys, values):
    """Softmax of dot products, weighted sum."""
    return torch.softmax(keys @ query, dim=0) @ values


def _both_sides(query, away, step):
    """Two queries of length 1, a step from this one's direction to either side."""
    query, away = query / query.norm(), away / away.norm()
    pair = torch.stack([query + step * away, query - step * away])
    return pair / pair.norm(dim=-1, keepdim=True)


def jump(keys, step=4e-4):
    """Queries on either side of the place where both keys score the same."""
    away = keys[0] - keys[1]
    return _both_sides(keys[0] - keys[0] @ away / (away @ away) * away, away, step)


def unit_near_and_different(queries, keys):
    """Whether both have length 1, lie at most 0.001 apart, and choose unlike keys:"""
    lengths = queries.norm(dim=-1)
    return [
        bool((lengths - 1).abs().max() < 1e-3),
        bool((queries[0] - queries[1]).norm() <= 1.001e-3),
        len(set((queries @ keys.T).argmax(-1).tolist())) == 2,
    ]


def additive_scores(queries, keys, W_q, W_k, w):
    """w . tanh(q W_q + k W_k) for all pairs."""
    return torch.tanh((queries @ W_q)[:, None] + keys @ W_k) @ w


def deciding_query(keys, wanted):
    """A query in the direction of the wanted key, long enough to dominate."""
    return 1000 * keys[wanted]


def wanted_weight(query, keys, wanted):
    """The weight of the key that is wanted, up to 0.9:"""
    return min(torch.softmax(keys @ query, dim=0)[wanted].item(), 0.9)


def passes_of_attention(X, passes, axis=-1, adds=False, old_keys=False):
    """Weights of the last of several passes in which words are queries, keys and values."""
    first = X
    for _ in range(passes):
        weights = torch.softmax(X @ (first if old_keys else X).T, dim=axis)
        X = weights @ X + (X if adds else 0)
    return weights


def _unit(*shape):
    return torch.nn.functional.normalize(*_draw(shape), dim=-1)


def _close(number):
    """Directions of which each two have a cosine of 0.99, as close as the exercise allows."""
    mean = torch.ones(number, number) / number**0.5
    return torch.nn.functional.normalize(9.7 * mean + torch.eye(number), dim=-1)


def _query_case(dice):
    features, n, width = dice.sizes(3)
    return dice.normal(features), dice.normal(n, features), dice.normal(n, width)


def _two_keys_case(dice):
    """Two keys that do not lie on one line."""
    keys = dice.normal(2, dice.number(2, 4))
    while torch.nn.functional.cosine_similarity(*keys, dim=0).abs() > 0.95:
        keys = dice.normal(2, keys.shape[1])
    return (keys,)


def _additive_case(dice):
    m, n, a, b, s = dice.sizes(5)
    shapes = (m, a), (n, b), (a, s), (b, s), (s,)
    return tuple(dice.normal(*shape) for shape in shapes)


def _directions_case(dice):
    """Directions with cosines of at most 0.99, as the exercise promises."""
    n, features = dice.sizes(2)
    while True:
        keys = dice.directions(n, features)
        if (keys @ keys.T - 2 * torch.eye(n)).max() <= 0.99:
            return keys, dice.number(0, n - 1)


def one_on(query, keys, values):
    """Attention whose weights are applied to the next value."""
    return torch.softmax(keys @ query, dim=0).roll(1) @ values


EXERCISES = [
    Exercise(
        "codes-1",
        twin,
        [([4, 0, 2],), ([3, 0],), ([0, 4, 1],), ([1, 2],), ([3, 1, 4, 1, 5, 9],)],
        {
            "the same list again": lambda inputs: [*inputs],
            "the list in reverse order: later inputs count for more": (
                lambda inputs: inputs[::-1]
            ),
            "as much more in one place as less in the other: they count differently": (
                lambda inputs: [*inputs[:-2], inputs[-2] + 1, inputs[-1] - 1]
            ),
            "twice as much in the last place, where it should be half as much": (
                lambda inputs: [*inputs[:-2], inputs[-2] + 1, inputs[-1] - 2]
            ),
            "one input more in front: a 0, which changes nothing": (
                lambda inputs: [0, *inputs]
            ),
            "the list of the text, whatever is given": lambda inputs: [0, 4, 1],
        },
        (
            "For how much does the last input count in the code, and the one before it?",
            "Change the last input by one: by how much does the code change?",
            "If the last one falls by 1, by how much must the one before it rise?",
        ),
        tolerance=1e-9,  # no number is rounded
        effect=code_and_length,
        draw=lambda dice: ([dice.number(0, 9) for _ in range(dice.number(2, 9))],),
    ),
    Exercise(
        "codes-2",
        deciding_query,
        [
            (torch.eye(2), 1),
            (torch.tensor([[1.0, 0.0], [0.99, 0.1411]]), 0),
            (_unit(3, 2), 0),
            (_unit(5, 3), 2),
            (_unit(20, 8), 7),
            (torch.tensor([[0.838, -0.546], [-0.973, -0.231], [-0.818, -0.575]]), 2),
            (torch.tensor([[-0.971, 0.238], [-1.0, -0.008], [0.338, 0.941]]), 1),
            (_close(20), 3),
        ],
        {
            "the key itself as the query: scores between -1 and 1 decide nothing": (
                lambda keys, wanted: keys[wanted]
            ),
            "a query in the opposite direction": lambda keys, wanted: (
                -100 * keys[wanted]
            ),
            "a query for the first key, whichever is wanted": lambda keys, wanted: (
                1000 * keys[0]
            ),
            "the mean of the keys, which favours none": lambda keys, wanted: keys.mean(
                0
            ),
            "a query that also points away from the others: it turns from the key": (
                lambda keys, wanted: 1000 * (2 * keys[wanted] - keys.sum(0))
            ),
        },
        (
            "All keys have length 1. With which of them has keys[wanted] the largest dot product?",
            "The direction is not enough: what does the softmax make of scores ten times as large?",
            "Scores are at least 0.01 * length apart. Which gap is enough against n - 1 others?",
        ),
        effect=wanted_weight,
        draw=_directions_case,
    ),
    Exercise(
        "codes-3",
        jump,
        [
            (torch.eye(2),),
            (torch.tensor([[2.0, 0.0], [0.0, 1.0]]),),
            (torch.tensor([[1.0, 0.0], [3.0, 3.0]]),),
            (torch.tensor([[0.0, 1.0, 0.0], [1.0, 1.0, 2.0]]),),
            (torch.tensor([[1.0, 2.0], [-3.0, 1.0]]),),
            (torch.tensor([[30.0, 0.0], [0.0, 20.0]]),),
        ],
        {
            "one query for each key, far apart": lambda keys: (
                keys / keys.norm(dim=-1, keepdim=True)
            ),
            "the same query twice": lambda keys: jump(keys, step=0),
            "queries around the middle of the two directions: the longer key wins there": (
                lambda keys: jump(keys / keys.norm(dim=-1, keepdim=True))
            ),
            "queries on either side, too far apart": lambda keys: jump(keys, step=0.01),
            "the right directions, of another length": lambda keys: 0.5 * jump(keys),
        },
        (
            "Hard attention changes its mind where both keys have the same dot product with q.",
            "There q . (k_1 - k_2) = 0: take from k_1 the part that lies along k_1 - k_2.",
            "Scale what is left to length 1. Which small step raises one score above the other?",
        ),
        effect=unit_near_and_different,
        draw=_two_keys_case,
    ),
    Exercise(
        "codes-4",
        one_on,
        [
            (
                torch.tensor([5.0]),
                torch.tensor([[1.0], [0.0]]),
                torch.tensor([[2.0], [4.0]]),
            ),
            (torch.tensor([1.0]), torch.tensor([[2.0], [1.0], [0.0]]), torch.eye(3)),
            _draw((3,), (4, 3), (4, 5)),
        ],
        {
            "attention without a mistake": attention,
            "weights shifted to the previous value; they go to the next": (
                lambda q, k, v: torch.softmax(k @ q, dim=0).roll(-1) @ v
            ),
            "values in reverse order": lambda q, k, v: attention(q, k, v.flip(0)),
            "a last value that is lost: it takes the first one's weight": lambda q, k, v: (
                attention(q, k, torch.cat([v[1:], 0 * v[:1]]))
            ),
            "the right move, of scores that are divided by the root of the size, too": (
                lambda q, k, v: one_on(q / len(q) ** 0.5, k, v)
            ),
        },
        (
            "With torch.eye(n) as values, what comes out are the weights themselves.",
            "Compare them with torch.softmax(keys @ query, dim=0). The same numbers, but where?",
            "All have moved by the same number of places. By how many, and what is first now?",
        ),
        draw=_query_case,
        unseen=True,
    ),
    Exercise(
        "codes-5",
        additive_scores,
        [
            _draw((1, 1), (2, 1), (1, 1), (1, 1), (1,)),
            (
                torch.eye(2),
                torch.eye(2),
                torch.tensor([[1.0, 0, 1], [2, 1, 0]]),
                torch.tensor([[0.0, 1, 2], [1, 1, 0]]),
                torch.tensor([1.0, 2, 3]),
            ),
            _draw((2, 2), (2, 2), (2, 2), (2, 2), (2,)),
            _draw((3, 2), (4, 5), (2, 6), (5, 6), (6,)),
        ],
        {
            "a sum without tanh": lambda q, k, W_q, W_k, w: (
                ((q @ W_q)[:, None] + k @ W_k) @ w
            ),
            "tanh after the sum over s instead of before": lambda q, k, W_q, W_k, w: (
                torch.tanh(((q @ W_q)[:, None] + k @ W_k) @ w)
            ),
            "scores (n, m), with queries and keys exchanged": lambda *x: (
                additive_scores(*x).T
            ),
            "tanh applied to query and key separately": lambda q, k, W_q, W_k, w: (
                (torch.tanh(q @ W_q)[:, None] + torch.tanh(k @ W_k)) @ w
            ),
        },
        (
            "Project both first: (m, s) and (n, s).",
            "To add every query to every key, give the queries an axis of size 1: (m, 1, s).",
            "Q[:, None] + K has the shape (m, n, s). What acts on it, and what sums over s?",
        ),
        draw=_additive_case,
    ),
    Exercise(
        "codes-6",
        passes_of_attention,
        [
            (torch.tensor([[1.0], [0.0]]), 1),
            (torch.tensor([[3.0, 0], [0, 3], [0, 0], [1, 0]]), 2),
            (_draw((3, 2))[0], 2),
            (_draw((4, 3), seed=1)[0], 3),
            (torch.tensor([[3.0, 0], [0, 3], [0, 0], [1, 0]]), 5),
        ],
        {
            "a single pass, whatever is asked for": lambda X, passes: (
                passes_of_attention(X, 1)
            ),
            "one pass more than asked for": lambda X, passes: passes_of_attention(
                X, passes + 1
            ),
            "columns that sum to 1, where rows should: each query shares out its weight": (
                lambda X, passes: passes_of_attention(X, passes, axis=0)
            ),
            "scores without a softmax": lambda X, passes: (
                passes_of_attention(X, passes) * 0 + X @ X.T
            ),
            "passes that add what they fetch to the words": lambda X, passes: (
                passes_of_attention(X, passes, adds=True)
            ),
            "queries that change while the keys stay those of the first pass": (
                lambda X, passes: passes_of_attention(X, passes, old_keys=True)
            ),
        },
        (
            "X @ X.T compares every word with every word.",
            "After a pass the words are weights @ X. The next pass compares these.",
            "Compute weights, then X, as often as there are passes. Which of the two is wanted?",
        ),
        draw=lambda dice: (dice.normal(*dice.sizes(2)), dice.number(1, 3)),
    ),
]
