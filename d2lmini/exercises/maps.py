"""Exercises of chapter 11."""

import itertools

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Loss


def _weights(*shape, seed=0):
    """Random rows that sum to 1."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator).softmax(-1)


def leak(weights, num_real):
    """The mean weight that real queries give to padded keys."""
    return weights[:, :, :num_real, num_real:].sum(-1).mean().item()


def _set_zero(weight, rows=slice(None), columns=slice(None)):
    weight = weight.clone()
    weight[rows, columns] = 0
    return weight


def _slice_of(weight, head, num_heads):
    size = len(weight) // num_heads
    return slice(head * size, (head + 1) * size)


def query_weight(weight, head, num_heads):
    """Set the rows of one head to zero."""
    return _set_zero(weight, rows=_slice_of(weight, head, num_heads))


def _lengths_case(dice):
    real, src_steps = sorted(dice.sizes(2))
    return real, src_steps, dice.number(2, 9)


def _maps_case(dice):
    layers, heads, steps = dice.sizes(3)
    return dice.weights(layers, heads, steps, steps), dice.number(1, steps)


def _matrix_case(dice):
    size, num_heads = dice.sizes(2)
    width = size * num_heads
    return dice.normal(width, width), dice.number(0, num_heads - 1), num_heads


def _rows_case(dice):
    shape = dice.sizes(2)
    return dice.weights(*shape), dice.weights(*shape)


def most_looked_at(weights, num_real):
    """An incorrect sharpness that takes the maximum over the queries."""
    return weights[:, :, :num_real, :num_real].amax(dim=-2).mean(dim=-1)


def sharpness(weights, num_real):
    """For each head, the largest weight of a query, averaged over the real queries."""
    return weights[:, :, :num_real, :num_real].amax(dim=-1).mean(dim=-1)


def smallest_that_matters(loss, num_heads):
    """The smallest set of heads whose removal raises the loss by more than 1, sorted."""
    for size in (1, 2):
        for heads in itertools.combinations(range(num_heads), size):
            if loss(heads) > loss(()) + 1:
                return list(heads)
    return []


def _loss(*groups, base=0.2):
    return Loss([(set(heads), cost) for heads, cost in groups], base)


def _heads_case(dice):
    """Two redundant heads, a cheap head and, sometimes, an expensive one."""
    num_heads = dice.number(5, 9)
    one, two, alone, cheap = dice.random.sample(range(num_heads), 4)
    groups = [({one, two}, 3.0), ({cheap}, 0.4)]
    if dice.number(0, 1):
        groups.append(({alone}, 2.0))
    return _loss(*groups), num_heads


def _one_by_one(loss, num_heads):
    return next(([h] for h in range(num_heads) if loss([h]) > loss(()) + 1), [])


def _most_expensive(loss, num_heads):
    return [max(range(num_heads), key=lambda head: loss([head]))]


EXERCISES = [
    Exercise(
        "maps-1",
        lambda real, src, tgt: [
            src * (src - real),
            tgt * (tgt - 1) // 2,
            tgt * (src - real),
        ],
        [(1, 2, 2), (3, 5, 4), (4, 4, 3)],
        {
            "a mask of the padded rows, too": lambda real, src, tgt: [
                src * src - real * real,
                tgt * (tgt - 1) // 2,
                tgt * (src - real),
            ],
            "a causal mask that hides the position itself": lambda real, src, tgt: [
                src * (src - real),
                tgt * (tgt + 1) // 2,
                tgt * (src - real),
            ],
            "real queries only; padded ones are rows like others": lambda real, src, tgt: [
                real * (src - real),
                tgt * (tgt - 1) // 2,
                tgt * (src - real),
            ],
            "the cells that are not zero": lambda real, src, tgt: [
                src * real,
                tgt * (tgt + 1) // 2,
                tgt * real,
            ],
            "a cross-attention with queries of the source": lambda real, src, tgt: [
                src * (src - real),
                tgt * (tgt - 1) // 2,
                src * (src - real),
            ],
        },
        (
            "Padding is hidden as keys: whole columns, in every row.",
            "The decoder hides what lies above the diagonal.",
            "In cross-attention there are tgt_steps rows and src_steps columns.",
        ),
        draw=_lengths_case,
    ),
    Exercise(
        "maps-2",
        leak,
        [
            (_weights(1, 1, 2, 2), 1),
            (_weights(2, 1, 2, 3), 1),
            (_weights(2, 3, 4, 4), 3),
            (_weights(2, 2, 5, 5), 2),
            (_weights(1, 2, 3, 3), 3),
        ],
        {
            "a mean that counts padded queries, too": lambda w, n: (
                w[..., n:].sum(-1).mean().item()
            ),
            "a total instead of a mean over the queries": lambda w, n: (
                w[:, :, :n, n:].sum((-1, -2)).mean().item()
            ),
            "a mean over the cells: sum over the keys first": lambda w, n: (
                w[:, :, :n, n:].mean().item()
            ),
            "the largest weight of a query on padding: sum them": lambda w, n: (
                w[:, :, :n, n:].max(-1)[0].mean().item()
            ),
            "the weight of the last key only": lambda w, n: (
                w[:, :, :n, -1].mean().item()
            ),
            "the weight of the real keys": lambda w, n: (
                w[:, :, :n, :n].sum(-1).mean().item()
            ),
            "what padded queries give to real keys: rows are queries": lambda w, n: (
                w[:, :, n:, :n].sum(-1).mean().item()
            ),
        },
        (
            "Rows are queries, columns are keys.",
            "Keep the first num_real rows, and of them the columns from num_real on.",
            "Each row loses that much. Which axis is summed, and over which is the mean?",
        ),
        draw=_maps_case,
    ),
    Exercise(
        "maps-3",
        query_weight,
        [(torch.ones(2, 2), 0, 2), (torch.ones(4, 4), 1, 2), (_weights(8, 8), 2, 4)],
        {
            "columns set to zero: those are what the matrix reads": lambda w, h, n: (
                _set_zero(w, columns=_slice_of(w, h, n))
            ),
            "a query that is zero for all heads": lambda w, h, n: torch.zeros_like(w),
            "a single row set to zero: a head has head_size of them": lambda w, h, n: (
                _set_zero(w, rows=slice(h, h + 1))
            ),
            "every num_heads-th row set to zero: a head's rows stand together": lambda w, h, n: (
                _set_zero(w, rows=slice(h, None, n))
            ),
            "the rows of all the other heads set to zero": lambda w, h, n: (
                w - query_weight(w, h, n)
            ),
        },
        (
            "The softmax is even if all scores of a row are equal. Which query does that?",
            "A query of zeros. The head's query is a slice of what W_q gives.",
            "Outputs are rows of a weight: rows head * head_size to (head + 1) * head_size.",
        ),
        draw=_matrix_case,
    ),
    Exercise(
        "maps-4",
        lambda A, B: (A - B).abs().sum(-1).mean().item() / 2,
        [
            (torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])),
            (torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])),
            (torch.full((1, 4), 0.25), torch.tensor([[0.5, 0.5, 0.0, 0.0]])),
            (_weights(3, 4), _weights(3, 4, seed=1)),
        ],
        {
            "a weight that is counted twice, where it left and where it arrived": lambda A, B: (
                (A - B).abs().sum(-1).mean().item()
            ),
            "a mean over the cells instead of the rows": lambda A, B: (
                (A - B).abs().mean().item() / 2
            ),
            "the largest difference of a row: weight may move from and to several places": (
                lambda A, B: (A - B).abs().max(-1)[0].mean().item()
            ),
            "a mean over the cells, without the half": lambda A, B: (
                (A - B).abs().mean().item()
            ),
            "squared differences": lambda A, B: (
                (A - B).square().sum(-1).mean().item() / 2
            ),
            "a total over the rows": lambda A, B: (A - B).abs().sum().item() / 2,
            "differences that cancel": lambda A, B: (A - B).sum(-1).mean().item() / 2,
        },
        (
            "Sum the absolute differences of a row. What is it for rows without overlap?",
            "It gives 2: the weight is missing in one place and too much in another.",
            "By what must it be divided, to give 1? And the rows make one number together.",
        ),
        draw=_rows_case,
    ),
    Exercise(
        "maps-5",
        most_looked_at,
        [
            (torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), 2),
            (_weights(1, 2, 2, 2), 1),
            (_weights(2, 3, 4, 4), 3),
        ],
        {
            "a measure without a mistake: the largest weight of each query": sharpness,
            "padding that counts, too": lambda w, n: w.amax(dim=-2).mean(dim=-1),
            "padded queries that count": lambda w, n: (
                w[..., :n].amax(dim=-2).mean(dim=-1)
            ),
            "the largest weight of all instead of a mean": lambda w, n: w[
                :, :, :n, :n
            ].amax(dim=(-2, -1)),
        },
        (
            "Try a head that looks at the first word only, and one that looks straight ahead.",
            "Both give one key all of a query's weight. Which does the measure call blurred?",
            "Over which axis should the maximum run, and over which one does it?",
        ),
        draw=_maps_case,
        unseen=True,
    ),
    Exercise(
        "maps-6",
        smallest_that_matters,
        [
            (_loss(({1}, 2.0)), 3),
            (_loss(({0, 2}, 3.0)), 3),
            (_loss(({0, 1}, 3.0)), 3),
            (_loss(({1, 3}, 3.0), ({0}, 0.4)), 4),
            (_loss(({2}, 1.2), ({0}, 0.7), base=1.5), 3),
            (_loss(({1}, 1.0), base=0.5), 3),  # 1 is not more than 1
            (_loss(({0}, -1.5), ({1}, 0.3)), 3),
            (_loss(({0}, 0.6), ({2}, 0.6)), 3),
            (_loss(({0, 8}, 3.0)), 9),
            (_loss(({0, 1, 2}, 3.0), ({0, 1}, 0.7)), 3),  # neither a head nor a pair
        ],
        {
            "heads removed one at a time: one may stand in for the other": _one_by_one,
            "the single head whose removal costs the most": _most_expensive,
            "all heads at once, which says nothing of each": lambda loss, n: list(
                range(n)
            ),
            "a search that goes on to sets of three": lambda loss, num_heads: next(
                (
                    list(heads)
                    for size in (1, 2, 3)
                    for heads in itertools.combinations(range(num_heads), size)
                    if loss(heads) > loss(()) + 1
                ),
                [],
            ),
            "a loss above 1, where the rise counts": lambda loss, num_heads: (
                smallest_that_matters(
                    lambda removed: loss(removed) if removed else 0.0, num_heads
                )
            ),
            "a search that misses pairs, such as those of numbers far apart": (
                lambda loss, num_heads: (
                    _one_by_one(loss, num_heads)
                    or next(
                        (
                            [h, h + 1]
                            for h in range(num_heads - 1)
                            if loss([h, h + 1]) > loss(()) + 1
                        ),
                        [],
                    )
                )
            ),
        },
        (
            "Remove each head alone. What if nothing happens?",
            "Two heads may do the same work. Then only the loss without both rises.",
            "How many pairs of heads are there? Try them only if no head alone is enough.",
        ),
        draw=_heads_case,
    ),
]
