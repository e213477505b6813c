"""Exercises of chapter 2."""

import torch

from d2lmini.check import bugs, properties
from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Model
from d2lmini.masks import causal_mask, masked_softmax, padding_mask


def count_allowed(valid_lens, num_steps):
    """The number of (query, key) pairs that a decoder's self-attention mask allows."""
    mask = padding_mask(valid_lens, num_steps) & causal_mask(num_steps)
    return int(mask.sum())


def _scores(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def mask_up_to(tokens, eos):
    """The padding mask for token ids: all up to the first eos, included, is real."""
    num_before = torch.zeros_like(tokens)
    num_before[:, 1:] = (tokens == eos).cumsum(dim=1)[:, :-1]
    return (num_before == 0)[:, None, None]


def window_mask(valid_lens, num_steps, width):
    """A causal mask limited to the last width keys, without padding."""
    causal = causal_mask(num_steps)
    return causal & ~causal.tril(-width) & padding_mask(valid_lens, num_steps)


def _lengths_case(dice):
    batch, steps = dice.sizes(2)
    return dice.lengths(batch, steps, shortest=0), steps


def _tokens_case(dice):
    """Sentences that end with eos and are filled up with it; some are cut off."""
    batch, steps = dice.sizes(2)
    eos = dice.number(0, 9)
    words = (eos + 1 + dice.below(9, batch, steps)) % 10
    before_eos = padding_mask(dice.lengths(batch, steps, shortest=0), steps)[:, 0, 0]
    return words.where(before_eos, torch.tensor(eos)), eos


def _scores_case(dice):
    """Scores and a mask in which one query sees no key."""
    shape = dice.sizes(4)
    mask = dice.true(0.6, *shape)
    mask[0, 0, dice.number(0, shape[2] - 1)] = False
    return dice.normal(*shape), mask


def _past_case(dice):
    queries, keys = sorted(dice.sizes(2))
    return queries, keys


def _window_case(dice):
    batch, steps, width = dice.sizes(3)
    return dice.lengths(batch, steps), steps, width


def one_mask_for_all(X, mask):
    """Self-attention that hides only keys that are hidden in every sentence."""
    return self_attention(X, mask.any(dim=0, keepdim=True))


def self_attention(X, mask):
    """Dot products, masked softmax, weighted sum; mask (batch, 1, 1, steps)."""
    return masked_softmax(X @ X.mT, mask[:, 0]) @ X


def next_tokens(tokens, valid_lens):
    """The inputs, the targets, and which predictions count."""
    real = padding_mask(valid_lens - 1, tokens.shape[1] - 1)[:, 0, 0]
    return tokens[:, :-1], tokens[:, 1:], real


def _real_inputs(tokens, valid_lens):
    read, due, _ = next_tokens(tokens, valid_lens)
    return (
        read,
        due,
        padding_mask(valid_lens.clamp(max=read.shape[1]), read.shape[1])[:, 0, 0],
    )


def _padded_case(dice):
    """Sentences with their mask: the first is the shortest, and all share some padding."""
    batch, steps, features = dice.sizes(3, low=3)
    lens = dice.lengths(batch, steps - 1)
    lens[0], lens[1] = 1, steps - 1
    return dice.normal(batch, steps, features), padding_mask(lens, steps)


def _sequences_case(dice):
    batch, steps = dice.sizes(2, low=3)
    return 3 + dice.below(9, batch, steps), dice.lengths(batch, steps)


def how_far_ahead(model):
    """How many positions ahead a model looks, from changes of single positions."""
    return max(_reach_back(model, t) for t in range(12))


def _reach_back(model, t):
    """How far before position t a change of it alone shows."""
    X = torch.zeros(1, 12, FEATURES)
    changed = X.clone()
    changed[0, t] = 1.0
    moved = (model(X) != model(changed)).any(-1)[0].nonzero()  # positions
    return t - int(moved[0])


FEATURES = 3


def _model(ahead, until=12, seed=0, since=0):
    generator = torch.Generator().manual_seed(seed)
    W = torch.randn(FEATURES, FEATURES, generator=generator)
    return (Model(ahead, W, until, since),)


def _first_position_only(model):
    """Check only changes of the first output."""
    X = torch.zeros(1, 12, FEATURES)
    for ahead in range(11, 0, -1):
        changed = X.clone()
        changed[0, ahead] = 1.0
        if (model(X) != model(changed))[0, 0].any():
            return min(ahead, 1)
    return 0


EXERCISES = [
    Exercise(
        "masks-1",
        count_allowed,
        [
            (torch.tensor([1]), 2),
            (torch.tensor([3, 1]), 4),
            (torch.tensor([0, 5, 2]), 5),
        ],
        {
            "a count of the pairs that are hidden": lambda lens, n: (
                len(lens) * n * n - count_allowed(lens, n)
            ),
            "a causal mask without the padding mask": lambda lens, n: (
                len(lens) * n * (n + 1) // 2
            ),
            "a padding mask without the causal mask": lambda lens, n: (
                int(lens.sum()) * n
            ),
            "a count that leaves out the padded queries, which attend too": lambda lens, n: (
                int((lens * (lens + 1)).sum()) // 2
            ),
            "pairs that one of the two masks allows, not both": lambda lens, n: int(
                (padding_mask(lens, n) | causal_mask(n)).sum()
            ),
        },
        (
            "Count one sentence first. Query i may see keys 0 to i.",
            "Of these keys only the first valid_len are real: min(i + 1, valid_len).",
            "Now sum over the queries. Do padded queries count, too?",
        ),
        tolerance=0.0,
        draw=_lengths_case,
    ),
    Exercise(
        "masks-2",
        mask_up_to,
        [
            (torch.tensor([[3, 1]]), 1),
            (torch.tensor([[0, 2, 2]]), 2),
            (torch.tensor([[5, 7, 2, 1], [4, 1, 1, 1], [3, 4, 5, 6]]), 1),
        ],
        {
            'a mask with its meaning swapped; see "One convention"': lambda t, eos: (
                ~mask_up_to(t, eos)
            ),
            'padding masked on the query axis; see "One convention"': lambda t, eos: (
                mask_up_to(t, eos).mT
            ),
            "a mask without the axes for heads and queries": lambda t, eos: mask_up_to(
                t, eos
            )[:, 0, 0],
            "a mask that hides every <eos>, the real one as well": lambda t, eos: (
                t != eos
            )[:, None, None],
            "a mask that shows one <eos> too many": lambda t, eos: (
                (t == eos).cumsum(1) < 3
            )[:, None, None],
            "a mask that hides all of a sentence without <eos>": lambda t, eos: (
                mask_up_to(t, eos) & (t == eos).any(1)[:, None, None, None]
            ),
            "a mask that takes 0 for <eos>, whatever eos is": lambda t, eos: mask_up_to(
                t, 0
            ),
        },
        (
            "A token is real if no <eos> stands before it. What counts along a row?",
            "cumsum(dim=1) counts the <eos> up to each token, its own included.",
            "Up to the first <eos> that count is 0 or 1. And from the second on?",
        ),
        draw=_tokens_case,
    ),
    Exercise(
        "masks-3",
        masked_softmax,
        [
            (torch.zeros(1, 2), torch.tensor([[True, False]])),
            (torch.zeros(1, 2), torch.tensor([[False, False]])),
            (torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])),
            (torch.tensor([[-2e4, 0.0]]), torch.tensor([[True, False]])),
            (torch.tensor([[100.0, 101.0]]), torch.tensor([[True, True]])),
            (_scores(2, 2), torch.tensor([[True, False], [True, True]])),
            (_scores(2, 1, 3, 3) * 50, padding_mask(torch.tensor([3, 1]), 3)),
        ],
        {
            'a mask with its meaning swapped; see "One convention"': lambda s, m: (
                masked_softmax(s, ~m)
            ),
            "softmax over the wrong axis; see chapter 4": bugs.softmax_over_queries,
            "uniform weights where all is hidden, as a large negative number gives; "
            'see "A row with nothing left"': bugs.minus_1e9,
            "minus infinity in a row in which all is hidden: 0 / 0; "
            'see "A row with nothing left"': lambda s, m: torch.softmax(
                s.masked_fill(~m, -torch.inf), dim=-1
            ),
            "weights that are masked after the softmax, and no longer sum to 1; "
            'see "How to hide a key"': lambda s, m: torch.softmax(s, dim=-1) * m,
            'hidden scores of zero, which are scores like any other; see "How to hide a key"': (
                lambda s, m: torch.softmax(s * m, dim=-1)
            ),
            "a correct masked softmax, but over the wrong axis": (
                lambda s, m: torch.softmax(
                    s.masked_fill(~m, -torch.inf), dim=-2
                ).masked_fill(~m, 0.0)
            ),
        },
        (
            "A masked score should be as if it were not there: its exponential must be 0.",
            "exp overflows for large scores: subtract the largest visible score of each row first.",
            "In a row of nothing but -inf, what is the largest score, and what is the sum of exp?",
        ),
        properties=(
            lambda answer: properties.rows_sum_to_one(
                answer, _scores(3, 3), causal_mask(3)
            ),
            lambda answer: properties.rows_sum_to_one(
                answer,
                _scores(2, 2) - 1000,
                torch.tensor([[True, False], [False, False]]),
            ),
        ),
        draw=_scores_case,
    ),
    Exercise(
        "masks-4",
        causal_mask,
        [(1, 2), (2, 2), (2, 5), (4, 4)],
        {
            'a mask with its meaning swapped; see "One convention"': lambda q, k: (
                ~causal_mask(q, k)
            ),
            "a causal mask without the offset: the queries are taken for the first positions": (
                lambda q, k: torch.ones(q, k, dtype=torch.bool).tril()
            ),
            "a causal mask that is too strict: a query may see its own position, too": (
                lambda q, k: torch.ones(q, k, dtype=torch.bool).tril(k - q - 1)
            ),
            "an offset that is one too large: a query sees one word of the future": (
                lambda q, k: torch.ones(q, k, dtype=torch.bool).tril(k - q + 1)
            ),
            "a mask that hides nothing": lambda q, k: torch.ones(
                q, k, dtype=torch.bool
            ),
        },
        (
            "Query 0 is not position 0. Which position is it?",
            "It is position num_keys - num_queries; a query sees keys up to its own position.",
            "Compare torch.arange(num_keys) with the queries' positions as a column.",
        ),
        draw=_past_case,
    ),
    Exercise(
        "masks-5",
        window_mask,
        [
            (torch.tensor([2]), 2, 1),
            (torch.tensor([2]), 2, 2),
            (torch.tensor([3]), 3, 2),
            (torch.tensor([2, 1]), 2, 2),
            (torch.tensor([1]), 3, 2),
            (torch.tensor([3, 1]), 3, 2),
            (torch.tensor([9, 4]), 9, 6),
        ],
        {
            "a window that is one too wide": lambda lens, n, w: window_mask(
                lens, n, w + 1
            ),
            "a window that is one too narrow; the word itself counts": lambda lens, n, w: (
                window_mask(lens, n, w)
                & ~torch.ones(n, n, dtype=torch.bool).tril(1 - w)
            ),
            "padded queries that are hidden, too; they are queries like others": (
                lambda lens, n, w: window_mask(lens, n, w) & padding_mask(lens, n).mT
            ),
            "a window over the future instead of the past": (
                lambda lens, n, w: (
                    window_mask(torch.full_like(lens, n), n, w).mT
                    & padding_mask(lens, n)
                )
            ),
            "a window that forgets the padding": lambda lens, n, w: window_mask(
                torch.full_like(lens, n), n, w
            ),
            "a causal mask without a window": lambda lens, n, w: window_mask(
                lens, n, n
            ),
        },
        (
            "First without padding: how far back does a key lie from a query?",
            "Let distance = steps[:, None] - steps. What may it be at least, and at most?",
            "Now the padding: which keys does it leave, and how do two masks become one?",
        ),
        draw=_window_case,
    ),
    Exercise(
        "masks-6",
        one_mask_for_all,
        [
            (torch.eye(2)[None], padding_mask(torch.tensor([1]), 2)),
            (
                torch.tensor([[[1.0, 0], [0, 1]], [[1, 1], [0, 1]]]),
                padding_mask(torch.tensor([2, 1]), 2),
            ),
            (torch.eye(3).expand(2, 3, 3), padding_mask(torch.tensor([3, 1]), 3)),
            (_scores(3, 4, 2), padding_mask(torch.tensor([2, 3, 1]), 4)),
        ],
        {
            "attention without a mistake: each sentence has its own mask": self_attention,
            "attention without a mask": lambda X, mask: self_attention(
                X, torch.ones_like(mask)
            ),
            "a key that is hidden in all sentences if it is hidden in one": lambda X, mask: (
                self_attention(X, mask.all(dim=0, keepdim=True))
            ),
            "the mask of the first sentence for all": lambda X, mask: self_attention(
                X, mask[:1]
            ),
        },
        (
            "Give check.padding_invariant a batch with two lengths, then one sentence alone.",
            "A short sentence sees its padding if its batch holds a longer one. Up to where?",
            "So all share one mask. Is it True where any sentence has a word, or where all have?",
        ),
        draw=_padded_case,
        unseen=True,
    ),
    Exercise(
        "masks-7",
        next_tokens,
        [
            (torch.tensor([[5, 6]]), torch.tensor([2])),
            (torch.tensor([[5, 3, 9]]), torch.tensor([2])),
            (torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]), torch.tensor([4, 2])),
        ],
        {
            "a mask of what is read; it must say which predictions count": _real_inputs,
            "targets that are not shifted: each token would predict itself": lambda t, n: (
                t[:, :-1],
                t[:, :-1],
                next_tokens(t, n)[2],
            ),
            "inputs and targets exchanged": lambda t, n: (
                t[:, 1:],
                t[:, :-1],
                next_tokens(t, n)[2],
            ),
            "a loss mask that counts predictions of padding": lambda t, n: (
                *next_tokens(t, n)[:2],
                torch.ones_like(t[:, 1:], dtype=torch.bool),
            ),
            "a mask that leaves out the last real prediction": lambda t, n: (
                *next_tokens(t, n)[:2],
                next_tokens(t, (n - 1).clamp(min=1))[2],
            ),
        },
        (
            "The token at position i is read to predict the one at position i + 1.",
            "So the inputs lack the last token, the targets the first.",
            "A sentence of n tokens has n - 1 targets: positions below n - 1 count.",
        ),
        draw=_sequences_case,
    ),
    Exercise(
        "masks-8",
        how_far_ahead,
        [
            _model(0),
            _model(1),
            _model(3),
            _model(5),
            _model(2, until=4),
            _model(1, until=4),
            _model(2, since=6),
        ],
        {
            "an experiment that finds whether a model looks ahead, but not how far": (
                _first_position_only
            ),
            "a count that takes the position itself for a future one": lambda model: (
                how_far_ahead(model) + 1
            ),
            "a change of the last position alone, where the leak may lie elsewhere": (
                lambda model: _reach_back(model, 11)
            ),
            "the belief that every model is causal": lambda model: 0,
        },
        (
            "Change one position, and nothing else. Which outputs move?",
            "An output that moves before the changed position has looked ahead. How far?",
            "Not every position need look ahead: change each of the twelve in its turn.",
        ),
        draw=lambda dice: _model(
            dice.number(0, 5), dice.number(4, 12), dice.number(0, 10**6)
        ),
    ),
]
