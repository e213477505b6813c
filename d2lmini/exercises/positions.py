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


def side(num_hiddens, hands=1, slowest=True):
    """A quarter turn of the slowest hands, or of the fastest."""
    M = torch.zeros(num_hiddens, num_hiddens)
    for j in range(hands):
        a = num_hiddens - 2 - 2 * j if slowest else 2 * j
        M[a, a + 1], M[a + 1, a] = 1, -1
    return M


def sides_of_places(M, num_hiddens):
    """Whether p_i M p_j is positive, for 40 of a thousand positions i and j:"""
    places = torch.cat([torch.arange(10), torch.arange(10, 1000, 33)])
    P = sinusoidal_table(1000, num_hiddens)[places]
    return (P @ M @ P.T > 0).fill_diagonal_(False)


def _random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _trembling(position, num_hiddens):
    noise = 0.2 * _random(num_hiddens, seed=position)
    return sinusoidal_table(1000, num_hiddens)[position] + noise


def _embedding_case(dice):
    batch, steps, half = dice.sizes(3)
    return dice.normal(batch, steps, 2 * half), dice.number(0, 50)


def _clock_case(dice):
    row = sinusoidal_table(1000, 64)[dice.number(0, 999)]
    return (row + 0.2 * dice.normal(64),)


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
        [(0, 2), (1, 2), (1, 4), (-3, 4), (21, 8)],
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
        + [(_trembling(i, 64),) for i in (0, 2, 40, 333, 901, 999)],
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
        side,
        [(8,), (10,), (64,)],
        {
            "the dot product, which is the same on both sides": torch.eye,
            "the other side: positive where j stands to the right": lambda d: -side(d),
            "a quarter turn of the fastest hand, which soon comes round": lambda d: (
                side(d, slowest=False)
            ),
            "a quarter turn of every hand: the fast ones drown the slowest": lambda d: (
                side(d, d // 2)
            ),
            "a turn by one position, which says how near and not on which side": lambda d: (
                turn(-1, d)
            ),
        },
        (
            "A sine has a sign that tells the sides apart: sin(a - b) = sin a cos b - cos a sin b.",
            "Two columns hold sine and cosine of a hand. Which 2 x 2 matrix makes sin(w (i - j))?",
            "Which hand has not come round after a thousand positions? All others get zeros.",
        ),
        effect=sides_of_places,
        draw=lambda dice: (2 * dice.number(4, 40),),
    ),
    Exercise(
        "positions-5",
        counted_from_the_end,
        [
            (torch.zeros(1, 2, 2),),
            (torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]),),
            (torch.zeros(1, 3, 4),),
            (_random(2, 9, 6),),
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
