"""The puzzles: masks in one line each."""

import torch

from d2lmini.check.exercise import Exercise


def grid(num_queries, num_keys):
    """The indices of queries, as a column, and of keys."""
    return torch.arange(num_queries)[:, None], torch.arange(num_keys)


def never_myself(n):
    """All positions except the query's own."""
    i, j = grid(n, n)
    return i != j


def chunks(n, size):
    """The positions in the query's chunk of this size."""
    i, j = grid(n, n)
    return i // size == j // size


def chunks_so_far(n, size):
    """The positions in the query's chunk of this size, and in those before."""
    i, j = grid(n, n)
    return j // size <= i // size


def prefix(n, length):
    """The prefix for all queries; after it, causal."""
    i, j = grid(n, n)
    return (j <= i) | (j < length)


def sinks(n, width, first):
    """The last width positions and the first ones; causal."""
    i, j = grid(n, n)
    return (j <= i) & ((i - j < width) | (j < first))


def strides(n, step):
    """The query's own position, and every step-th one before it."""
    i, j = grid(n, n)
    return (j <= i) & ((i - j) % step == 0)


def padded_left(valid_lens, n):
    """The last valid_lens of n positions, (batch, 1, 1, n)."""
    return (torch.arange(n) >= n - valid_lens[:, None])[:, None, None]


def padded_right(valid_lens, n):
    """The first valid_lens of n positions, (batch, 1, 1, n)."""
    return (torch.arange(n) < valid_lens[:, None])[:, None, None]


def wait(num_queries, num_keys, ahead):
    """Word i may read the first i + ahead words of the source."""
    i, j = grid(num_queries, num_keys)
    return j < i + ahead


def documents(ids):
    """Causal within each document; (batch, 1, steps, steps)."""
    i, j = grid(ids.shape[1], ids.shape[1])
    return _same(ids) & (j <= i)


def _same(ids):
    return ids[:, None, :, None] == ids[:, None, None, :]


def windows(widths, n):
    """Head h sees the last widths[h] positions; (1, heads, n, n)."""
    i, j = grid(n, n)
    return ((j <= i) & (i - j < widths[:, None, None]))[None]


def turns(turn):
    """Positions of earlier turns, and the query's own."""
    return turn <= turn[:, None]


def tree(parents):
    """The node itself and all its ancestors; the root is its own parent."""
    up_or_stay = _parent(parents) + torch.eye(len(parents))
    return torch.linalg.matrix_power(up_or_stay.double(), len(parents)) > 0


def _parent(parents):
    """1 for the parent of each node but the root."""
    i, j = grid(len(parents), len(parents))
    return 1.0 * ((parents[:, None] == j) & (j < i))


def _size(dice):
    return (dice.number(2, 9),)


def _sizes(low):
    """A length above 2, and a smaller number from low on."""

    def draw(dice):
        smaller = dice.number(low, 3)
        return dice.number(smaller + 2, 9), smaller

    return draw


def _sinks_case(dice):
    width, first = dice.number(1, 3), dice.number(1, 2)
    return dice.number(width + first + 1, 9), width, first


def _lengths_case(dice):
    batch, n = dice.sizes(2)
    return dice.lengths(batch, n, shortest=0), n


def _wait_case(dice):
    targets, sources = dice.sizes(2, low=3)
    return targets, sources, dice.number(2, 3)


def _documents_case(dice):
    """Documents whose numbers are not sorted."""
    batch, steps = dice.sizes(2, low=3)
    number = torch.randperm(9, generator=dice.generator)
    return (number[dice.below(3, batch, steps).sort(dim=1).values],)


def _windows_case(dice):
    heads, n = dice.sizes(2, low=3)
    return 1 + dice.below(n, heads), n


def _turns_case(dice):
    n = dice.number(3, 8)
    return (torch.randperm(n, generator=dice.generator),)


def _tree_case(dice):
    return (
        torch.tensor([dice.number(0, max(0, k - 1)) for k in range(dice.number(4, 8))]),
    )


LENS = torch.tensor([1, 3])
# As an order of turns, this is not its own inverse.
ORDER = torch.tensor([2, 0, 1])

EXERCISES = [
    Exercise(
        "puzzles-1",
        never_myself,
        [(2,), (3,), (5,)],
        {
            "a mask that shows each position only itself": lambda n: ~never_myself(n),
            "a mask that hides the future, too": lambda n: (
                torch.ones(n, n).tril(-1) > 0
            ),
            "a mask that hides the past, too": lambda n: torch.ones(n, n).triu(1) > 0,
        },
        (
            "Where in the picture is the one key that a query may not see?",
            "There i and j are the same number.",
            "All other places have two different numbers. Which comparison is True there?",
        ),
        draw=_size,
    ),
    Exercise(
        "puzzles-2",
        chunks,
        [(2, 1), (3, 2), (6, 2), (7, 3), (9, 4)],
        {
            "positions with the same place in their chunks": lambda n, size: (
                grid(n, n)[0] % size == grid(n, n)[1] % size
            ),
            "a window around each position": lambda n, size: (
                (grid(n, n)[0] - grid(n, n)[1]).abs() < size
            ),
            "chunks whose future is hidden": lambda n, size: chunks(n, size).tril(),
        },
        (
            "Give each position the number of its chunk.",
            "Whole division does that: torch.arange(4) // 2 is 0, 0, 1, 1.",
            "When are query and key in one chunk? Compare the numbers of their chunks.",
        ),
        draw=_sizes(1),
    ),
    Exercise(
        "puzzles-3",
        chunks_so_far,
        [(2, 1), (3, 2), (6, 2), (7, 3)],
        {
            "chunks that do not look back": chunks,
            "a causal mask, which hides the rest of the chunk": lambda n, size: prefix(
                n, 0
            ),
            "chunks that look ahead": lambda n, size: chunks_so_far(n, size).mT,
            "chunks that see the earlier ones, but not themselves": lambda n, size: (
                ~chunks_so_far(n, size).mT
            ),
        },
        (
            "It is a causal mask for chunks. What is the number of a position's chunk?",
            "Whole division gives it: i // size for the query, j // size for the key.",
            "The chunk of the key must not come later. How do the two numbers compare?",
        ),
        draw=_sizes(1),
    ),
    Exercise(
        "puzzles-4",
        prefix,
        [(2, 2), (3, 2), (5, 0), (5, 3)],
        {
            "a causal mask: what is given sees its own past only": lambda n, length: (
                prefix(n, 0)
            ),
            "both conditions at once, & in place of |": lambda n, length: (
                prefix(n, 0) & (grid(n, n)[1] < length)
            ),
            "queries that see all, instead of keys that all see": lambda n, length: (
                prefix(n, 0) | (grid(n, n)[0] < length)
            ),
            "a prefix that is one too long": lambda n, length: prefix(n, length + 1),
        },
        (
            "Two reasons allow a key: it is past, or it was given.",
            "The first is j <= i. The second says something about j alone.",
            "Which of & and | joins two reasons of which one is enough?",
        ),
        draw=_sizes(0),
    ),
    Exercise(
        "puzzles-5",
        sinks,
        [(3, 1, 1), (4, 1, 2), (5, 2, 1), (6, 3, 1), (8, 4, 3)],
        {
            "a window without the first positions": lambda n, w, first: sinks(n, w, 0),
            "the past, all of it": lambda n, w, first: prefix(n, 0),
            "first positions that all see, even those before them": lambda n, w, f: (
                sinks(n, w, f) | (grid(n, n)[1] < f)
            ),
            "a window that is one too wide": lambda n, w, first: sinks(n, w + 1, first),
            "a window that is one too narrow; the query itself counts": lambda n, w, f: (
                sinks(n, w - 1, f)
            ),
        },
        (
            "One condition always holds, and of two others one is enough.",
            "Always j <= i. Then either i - j < width, or j is one of the first.",
            "(j <= i) & (... | ...): mind the parentheses, & binds before |.",
        ),
        draw=_sinks_case,
    ),
    Exercise(
        "puzzles-6",
        strides,
        [(2, 1), (3, 2), (6, 2), (7, 3), (9, 4)],
        {
            "strides counted from the start, not back from the query": lambda n, step: (
                prefix(n, 0) & (grid(n, n)[1] % step == 0)
            ),
            "strides into the future, too": lambda n, step: (
                (grid(n, n)[0] - grid(n, n)[1]) % step == 0
            ),
            "what the stride should skip": lambda n, step: (
                prefix(n, 0) & ~strides(n, step)
            ),
            "the past, all of it": lambda n, step: prefix(n, 0),
        },
        (
            "How far back are the keys that query i sees?",
            "0, step, 2 * step, ...: the distance leaves no remainder.",
            "% gives the remainder. And what hides the keys that come later?",
        ),
        draw=_sizes(2),
    ),
    Exercise(
        "puzzles-7",
        padded_left,
        [(torch.tensor([1]), 2), (LENS, 4), (torch.tensor([0, 5, 2]), 5)],
        {
            "padding on the right, as in chapter 2": padded_right,
            "a mask that shows the padding and hides the words": lambda lens, n: (
                ~padded_left(lens, n)
            ),
            "one word too few": lambda lens, n: padded_left(lens - 1, n),
            "one padded position too many": lambda lens, n: padded_left(lens + 1, n),
            "padding that is hidden on the axis of queries": lambda lens, n: (
                padded_left(lens, n).mT
            ),
            "a mask without the axes for heads and queries": lambda lens, n: (
                padded_left(lens, n)[:, 0, 0]
            ),
        },
        (
            "How many positions of a sentence are padding? They come first.",
            "Position j is a word if j >= n - valid_lens, for each sentence.",
            "Compare torch.arange(n) with a column of n - valid_lens. Which axes are missing then?",
        ),
        draw=_lengths_case,
    ),
    Exercise(
        "puzzles-8",
        wait,
        [(1, 2, 1), (1, 3, 2), (2, 4, 2), (3, 4, 2), (5, 3, 1), (2, 7, 4)],
        {
            "a causal mask: ahead does not count": lambda q, k, ahead: wait(q, k, 1),
            "one word of the source too many": lambda q, k, ahead: wait(
                q, k, ahead + 1
            ),
            "one word of the source too few": lambda q, k, ahead: wait(q, k, ahead - 1),
            "queries and keys exchanged": lambda q, k, ahead: (
                grid(q, k)[0] < grid(q, k)[1] + ahead
            ),
            "the first words of the source, the same for all": lambda q, k, ahead: (
                grid(q, k)[1] < ahead
            ).expand(q, k),
        },
        (
            "How many words of the source has word 0 seen? Word 1?",
            "Before word i is written, i + ahead words have been heard: which keys are they?",
            "So which is the first word that query i may not see?",
        ),
        draw=_wait_case,
    ),
    Exercise(
        "puzzles-9",
        documents,
        [
            (torch.tensor([[0, 1]]),),
            (torch.tensor([[0, 0, 1]]),),
            (torch.tensor([[0, 0, 1, 1, 1], [5, 2, 2, 7, 7]]),),
            (torch.zeros(1, 8, dtype=torch.long),),
        ],
        {
            "documents that see their own future": _same,
            "a past that reaches into other documents": lambda ids: (
                _same(ids) | True
            ).tril(),
            "only what does not belong to the document": lambda ids: (
                ~_same(ids)
            ).tril(),
            "a mask without the axis for heads": lambda ids: documents(ids)[:, 0],
        },
        (
            "Write the numbers of the documents once as a column and once as a row.",
            "ids[:, :, None] == ids[:, None, :] is (batch, steps, steps): no axis for heads yet.",
            "Put the axis of heads in at place 1. And what hides the future within a document?",
        ),
        draw=_documents_case,
    ),
    Exercise(
        "puzzles-10",
        windows,
        [
            (torch.tensor([1]), 2),
            (torch.tensor([1, 2]), 3),
            (torch.tensor([4, 1, 2]), 4),
        ],
        {
            "windows that are one too wide": lambda widths, n: windows(widths + 1, n),
            "windows that are one too narrow; the query itself counts": lambda w, n: (
                windows(w - 1, n)
            ),
            "windows that are open to the future": lambda widths, n: (
                grid(n, n)[0] - grid(n, n)[1] < widths[:, None, None]
            )[None],
            "heads on the axis of the batch": lambda widths, n: windows(widths, n)[0][
                :, None
            ],
            "a mask without the axis for the batch": lambda widths, n: windows(
                widths, n
            )[0],
        },
        (
            "With one width for all it would be (j <= i) & (i - j < width).",
            "widths[:, None, None] is (heads, 1, 1): broadcast, it gives a square for each head.",
            "Last of all, put the batch axis in front with [None].",
        ),
        draw=_windows_case,
    ),
    Exercise(
        "puzzles-11",
        turns,
        [(torch.tensor([1, 0]),), (ORDER,), (torch.tensor([3, 0, 2, 1]),)],
        {
            "later turns in place of earlier ones": lambda turn: turns(turn).mT,
            "a position that does not see itself": lambda turn: turn < turn[:, None],
            "a causal mask, whatever the order": lambda turn: prefix(len(turn), 0),
            "a list of positions; but turn[i] is the turn in which position i is written": (
                lambda turn: turns(turn.argsort())
            ),
        },
        (
            "With turn = 0, 1, 2, ... it is the causal mask: i and j are the turns.",
            "The turn of query i must not be before that of key j.",
            "Compare turn as a row (keys) with turn as a column (queries).",
        ),
        draw=_turns_case,
    ),
    Exercise(
        "puzzles-12",
        tree,
        [
            (torch.tensor([0, 0]),),
            (torch.tensor([0, 0, 0]),),
            (torch.tensor([0, 0, 1]),),
            (torch.tensor([0, 0, 0, 1, 1, 3]),),
            (torch.tensor([0, *range(29)]),),
            (torch.tensor([0, *range(9)]),),
        ],
        {
            "parents, and no further ancestors": lambda parents: (
                _parent(parents) + torch.eye(len(parents)) > 0
            ),
            "ancestors up to the grandparents": lambda parents: (
                (_parent(parents) + torch.eye(len(parents))).matrix_power(2) > 0
            ),
            "descendants in place of ancestors": lambda parents: tree(parents).mT,
            "a causal mask, whatever the branches": lambda parents: prefix(
                len(parents), 0
            ),
        },
        (
            "Let A be the matrix of parents. What does A @ A say of a position?",
            "Let a step lead to the parent or stay where it is: whom can two steps reach, and n?",
            "torch.linalg.matrix_power wants floats, .double(); and a mask asks only: above 0?",
        ),
        draw=_tree_case,
    ),
]
