"""Exercises of chapter 3."""

import math

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.positions import PositionalEncoding, sinusoidal_table


def two_speeds(n):
    """One hand comes round in about the root of n positions, the other not quite in n."""
    fast = math.ceil(math.sqrt(n))
    return 2 * math.pi / fast, 2 * math.pi / (n + fast)


def smallest_distance(speeds, n):
    """The number of hands, and the smallest distance of two positions, up to 0.5:"""
    speeds = torch.as_tensor(speeds, dtype=torch.float64)  # (hands,)
    angles = torch.arange(n)[:, None] * speeds
    distances = torch.pdist(torch.cat([angles.sin(), angles.cos()], dim=1))
    return [len(speeds), min(distances.min().item(), 0.5)]


def _wavelength(column, num_hiddens):
    return 2 * math.pi * 10000 ** (2 * (column // 2) / num_hiddens)


def encode(X, start):
    """Add the sinusoidal positions start, start + 1, ... to X."""
    return PositionalEncoding(X.shape[-1], 0.0)(X, start)


def encode_by(X, start, angles):
    """Like encode, from angles (steps, num_hiddens): sine in even columns, cosine in odd ones."""
    P = angles.sin()
    P[:, 1::2] = angles[:, 1::2].cos()
    return X + P


def angles(X, start, exponents):
    """The angle of each position and column, from the exponents of the columns."""
    steps = torch.arange(start, start + X.shape[1], dtype=torch.float32)
    return steps[:, None] / 10000**exponents


def apart(X):
    """Reorder features: 0, 2, 4, ... first, then 1, 3, 5, ..."""
    return torch.cat([X[..., 0::2], X[..., 1::2]], dim=-1)


def read_position(p):
    """The position below 1000 whose row is most similar to p."""
    return int((sinusoidal_table(1000, len(p)) @ p).argmax())


def hand(p, pair):
    """The position according to one pair of columns."""
    angle = math.atan2(p[2 * pair], p[2 * pair + 1]) % (2 * math.pi)
    return round(angle * _wavelength(2 * pair, len(p)) / (2 * math.pi))


def offset_only(table):
    """Whether the dot product of two rows depends only on their distance."""
    products = table @ table.T
    return bool(torch.allclose(products[1:, 1:], products[:-1, :-1], atol=1e-4))


def _random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _trembling(position, num_hiddens):
    noise = 0.2 * _random(num_hiddens, seed=position)
    return sinusoidal_table(1000, num_hiddens)[position] + noise


def _unpaired(num_steps, num_hiddens):
    """A table whose cosines have different exponents."""
    X = torch.zeros(1, num_steps, num_hiddens)
    return encode_by(X, 0, angles(X, 0, torch.arange(num_hiddens) / num_hiddens))[0]


def _rows(*rows):
    return torch.tensor(rows, dtype=torch.float32)


def _embedding_case(dice):
    batch, steps, half = dice.sizes(3)
    return dice.normal(batch, steps, 2 * half), dice.number(0, 50)


def _clock_case(dice):
    row = sinusoidal_table(1000, 64)[dice.number(0, 999)]
    return (row + 0.2 * dice.normal(64),)


def _table_case(dice):
    """The sinusoidal table in rotated axes, which preserves dot products; or a different table."""
    rows, half = dice.number(4, 9), dice.number(1, 4)
    axes = torch.linalg.qr(dice.normal(2 * half, 2 * half))[0]
    table = sinusoidal_table(rows, 2 * half) @ axes
    if dice.number(0, 1):
        table[dice.number(0, rows - 1)] *= 1.5
    return (table,)


def turn(offset, num_hiddens):
    """The matrix that takes each row of the table to the row offset places further on."""
    angles = offset * 10000 ** -(torch.arange(0, num_hiddens, 2) / num_hiddens)
    hands = [torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]]) for a in angles]
    return torch.block_diag(*hands)


def turn_apart(offset, num_hiddens):
    """The same for a table with all sines first, then all cosines."""
    order = apart(torch.arange(num_hiddens))
    return turn(offset, num_hiddens)[order][:, order]


def shared_turn(offset, num_hiddens):
    """W_q and W_k that turn by half the offset each, in opposite directions."""
    return turn(offset / 2, num_hiddens), turn(-offset / 2, num_hiddens)


def counted_from_the_end(X):
    """Add the rows of the table in reverse to X: the last step is at position 0."""
    return X + sinusoidal_table(*X.shape[1:]).flip(0)


EXERCISES = [
    Exercise(
        "positions-1",
        two_speeds,
        [(2,), (7,), (40,), (91,), (100,)],
        {
            'the first two hands of "Hands of a clock", one of which hardly moves': lambda n: (
                1.0,
                0.01,
            ),
            "turns per position, where radians are asked for": lambda n: (
                1 / math.ceil(n**0.5),
                1 / n,
            ),
            "two hands of the same speed: the second tells nothing new": lambda n: (
                2 * math.pi / n,
                2 * math.pi / n,
            ),
            "positions for one round, not radians per position": lambda n: (
                math.ceil(n**0.5),
                n,
            ),
            "a slow hand that comes round after half of the positions": lambda n: (
                2 * math.pi / math.ceil(n**0.5),
                4 * math.pi / n,
            ),
            "a slow hand that is back when the last position comes: it looks like the first": (
                lambda n: (2 * math.pi / math.ceil(n**0.5), 2 * math.pi / n)
            ),
        },
        (
            "A slow hand that does not come round never repeats. Which positions does it confuse?",
            "Hours and minutes: let the other hand come round often. It tells neighbours apart.",
            "A turn in m positions: 2 * math.pi / m radians each. m is about the root of n, and n.",
        ),
        effect=smallest_distance,
        draw=lambda dice: (dice.number(2, 100),),
    ),
    Exercise(
        "positions-2",
        turn_apart,
        [(0, 2), (1, 2), (1, 4), (-3, 4), (5, 8)],
        {
            'sines and cosines side by side, as in the table of "Hands of a clock"': turn,
            "a turn in the other direction: to position i - offset": lambda k, d: (
                turn_apart(-k, d)
            ),
            "its rows in the new order, its columns in the old one": lambda k, d: turn(
                k, d
            )[apart(torch.arange(d))],
            "the same sign for both sines, which is no rotation": lambda k, d: (
                turn_apart(k, d).abs() * turn_apart(k, d).diagonal()[:1].sign()
            ),
            "one speed for all hands": lambda k, d: torch.kron(
                turn(k, 2), torch.eye(d // 2)
            ),
        },
        (
            "The sine of hand j stands in column j. Where is its cosine?",
            "sin(a + b) = sin a cos b + cos a sin b. What makes the new sine?",
            "There are four blocks, each a diagonal: two of cosines, two of sines. Which signs?",
        ),
        draw=lambda dice: (dice.number(-20, 20), 2 * dice.number(1, 8)),
    ),
    Exercise(
        "positions-3",
        read_position,
        [(sinusoidal_table(7, 8)[6],)]
        + [(_trembling(i, 64),) for i in (2, 40, 333, 901)],
        {
            "a reading of the fastest hand alone": lambda p: hand(p, 0),
            "a reading of the slowest hand alone": lambda p: hand(p, len(p) // 2 - 1),
            "a search for the most unlike row": lambda p: int(
                (sinusoidal_table(1000, len(p)) @ p).argmin()
            ),
            "a search for a row that is equal, where noise leaves only similar ones": lambda p: (
                int((sinusoidal_table(1000, len(p)) == p).all(1).int().argmax())
            ),
        },
        (
            "One hand is not enough: the fast one comes round again, the slow one hardly moves.",
            "All rows of the table have the same length. Which of them is most like p?",
            "Which row of the table has the largest dot product with p?",
        ),
        draw=_clock_case,
    ),
    Exercise(
        "positions-4",
        offset_only,
        [
            (torch.eye(2),),
            (torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0]]),),
            (torch.eye(3),),
            (torch.arange(4.0, 0, -1)[:, None],),
            (torch.diag(torch.tensor([1.0, 2.0])),),
            (torch.tensor([[1.0, 0.0], [1.02, 0.0]]),),
            (torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]),),
            (sinusoidal_table(9, 4),),
            (sinusoidal_table(9, 4)[:, 0::2],),
            (sinusoidal_table(9, 4) * torch.tensor([1.0, 2.0, 1.0, 1.0]),),
            (_unpaired(9, 4),),
            (torch.nn.functional.normalize(_random(9, 4), dim=1),),
            (torch.arange(1.0, 5.0)[:, None],),
            (_rows([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0.6, 0.8]),),
            (_rows([1, 0, 0, 0], [0, 1, 0, 0], [0, 0.6, 0.8, 0], [0, 0, 0, 1]),),
            # Only pairs three apart differ: 0.6 and 0.
            (
                _rows(
                    [1, 0, 0, 0, 0],
                    [0, 1, 0, 0, 0],
                    [0, 0, 1, 0, 0],
                    [0.6, 0, 0, 0.8, 0],
                    [0, 0, 0, 0, 1],
                ),
            ),
        ],
        {
            "a test that all rows have the same length": lambda table: bool(
                torch.allclose(table.norm(dim=1), table[0].norm(), atol=1e-4)
            ),
            "a test that the dot products are symmetric, which they always are": lambda table: (
                True
            ),
            "an exact comparison of floats, which rounding makes unequal": lambda table: (
                torch.equal((table @ table.T)[1:, 1:], (table @ table.T)[:-1, :-1])
            ),
            "a test of the step from each row to the next, not of longer ones": lambda table: (
                bool(
                    torch.allclose(
                        (table[1:] * table[:-1]).sum(1),
                        (table[1] * table[0]).sum(),
                        atol=1e-4,
                    )
                )
            ),
        },
        (
            "table @ table.T holds the dot products of all pairs of rows.",
            "Where in that matrix are the pairs of distance 0? Of distance 1?",
            "Each diagonal must be constant: compare products[1:, 1:] with products[:-1, :-1].",
        ),
        draw=_table_case,
    ),
    Exercise(
        "positions-5",
        counted_from_the_end,
        [
            (torch.zeros(1, 2, 2),),
            (torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),),
            (torch.zeros(1, 3, 4),),
            (_random(2, 5, 6),),
        ],
        {
            "an encoding without a mistake": lambda X: encode(X, 0),
            "positions from the end that stop at 1, not 0": lambda X: (
                X + sinusoidal_table(X.shape[1] + 1, X.shape[2])[1:].flip(0)
            ),
            "the columns in reverse, not the rows": lambda X: (
                X + sinusoidal_table(*X.shape[1:]).flip(1)
            ),
            "the sign turned: positions that are subtracted": lambda X: (
                X - sinusoidal_table(*X.shape[1:])
            ),
        },
        (
            "Give it zeros: what comes back is what it adds.",
            "Which rows of sinusoidal_table are these, and in which order?",
            "The rows that were added are those of the table. In which order?",
        ),
        draw=lambda dice: _embedding_case(dice)[:1],
        unseen=True,
    ),
    Exercise(
        "positions-6",
        shared_turn,
        [(1, 2), (-3, 4), (4, 8)],
        {
            "two turns in the same direction, which no score notices": lambda k, d: (
                turn(k / 2, d),
                turn(k / 2, d),
            ),
            "the whole turn in both: together they look twice as far": lambda k, d: (
                turn(k, d),
                turn(-k, d),
            ),
            "turns in the other direction: position i looks at i - k": lambda k, d: (
                turn(-k / 2, d),
                turn(k / 2, d),
            ),
            "the whole turn in the query, and none in the key": lambda k, d: (
                turn(k, d),
                torch.eye(d),
            ),
            "half of each number, not half of the angle": lambda k, d: (
                turn(k, d) / 2,
                turn(-k, d) / 2,
            ),
        },
        (
            "The score is p_i W_q (p_j W_k)^T. Which product of the two matrices stands in it?",
            "It is W_q W_k^T, and has to be turn(offset, num_hiddens). What is the transpose of a "
            "turn?",
            "The transpose is the turn back, so the angles are subtracted. Which two, equal but "
            "for their sign, leave the whole offset?",
        ),
        draw=lambda dice: (dice.number(1, 9), 2 * dice.number(1, 4)),
    ),
]
