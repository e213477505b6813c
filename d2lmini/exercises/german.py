"""Exercises of chapter 14."""

import itertools
import math

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Listener


def two_perplexities():
    """Three tokens with a mean loss of ln 2 and one with ln 32: over tokens, and over batches."""
    return [4.0, 8.0]


def heard():
    """The number of German words heard before each English word can be said."""
    return [1, 2, 4, 5, 5, 7, 10, 10, 10, 10]


def best_hypothesis(log_probs, lengths, alpha):
    """The index of the hypothesis with the largest log_prob / ((5 + length) / 6) ** alpha."""
    return _best(log_probs, lengths, lambda n: ((5 + n) / 6) ** alpha)


def _best(log_probs, lengths, penalty):
    scores = [p / penalty(n) for p, n in zip(log_probs, lengths, strict=True)]
    return scores.index(max(scores))


def _hypotheses_case(dice):
    number = dice.number(2, 5)
    lengths = [dice.number(2, 30) for _ in range(number)]
    log_probs = [-round(n * dice.number(10, 60) / 100, 2) for n in lengths]
    return log_probs, lengths, dice.number(0, 12) / 10


def influence(mask, num_layers):
    """(steps, steps): whether position j can affect position i after the last layer."""
    return _chains(mask | torch.eye(len(mask), dtype=torch.bool), num_layers)


def _chains(mask, number):
    reach = torch.eye(len(mask))
    for _ in range(number):
        reach = mask.float() @ reach
    return reach > 0


def _mask(text):
    """A mask from rows of 0 and 1, such as "10 11"."""
    return torch.tensor([[int(cell) for cell in row] for row in text.split()]).bool()


def _chain(steps):
    """Each position reads the next one."""
    return torch.eye(steps).roll(1, dims=1).triu().bool()


def _mask_case(dice):
    steps = dice.number(3, 6)
    return dice.true(0.3, steps, steps), dice.number(1, 4)


def _every_length(mask, num_layers):
    return influence(mask, len(mask))


def positions_in_turn(table, start, steps):
    """Rows of a table of positions, which repeats after its last row."""
    return table[torch.arange(start, start + steps) % len(table)]


def _table(rows, width, start, steps):
    return torch.arange(1.0, rows * width + 1).view(rows, width), start, steps


def _table_case(dice):
    rows, width = dice.sizes(2)
    return dice.normal(rows, width), dice.number(0, rows), dice.number(rows, 2 * rows)


def _clamped(table, start, steps):
    return table[torch.arange(start, start + steps).clamp(max=len(table) - 1)]


def _and_zeros(table, start, steps):
    longer = torch.cat([table, torch.zeros(start + steps, table.shape[1])])
    return longer[start : start + steps]


def _back_again(table, start, steps):
    """After the last row, the rows in reverse."""
    both = torch.cat([table, table.flip(0)])
    return positions_in_turn(both, start, steps)


WORDS = "mann", "zieht", "mantel"
ORDERS = [*itertools.permutations(range(4))]  # of the words and a particle after them


def what_it_hears(net):
    """[whether a different particle changes the number, whether a different order does]."""
    return _heard_in(net, ORDERS)


def _numbers(net, orders):
    """For each particle, the numbers for all orders."""
    return {
        particle: [net([[*WORDS, particle][i] for i in order]) for order in orders]
        for particle in ("an", "aus")
    }


def _heard_in(net, orders, particles=("an", "aus")):
    """Like what_it_hears, but only for some orders, and for some particles in the second answer."""
    numbers = _numbers(net, orders)
    moves = any(len(set(numbers[particle])) > 1 for particle in particles)
    return [numbers["an"] != numbers["aus"], moves]


def _particle_in(orders):
    """Try the particle only in some orders, but the order in all."""
    return lambda net: [_heard_in(net, orders)[0], what_it_hears(net)[1]]


def _order_in(orders, particles=("an", "aus")):
    """Try the order only in some orders, but the particle in all."""
    return lambda net: [what_it_hears(net)[0], _heard_in(net, orders, particles)[1]]


def _as_sets(net):
    """Compare the numbers of both particles as sets."""
    an, aus = map(set, _numbers(net, ORDERS).values())
    return [an != aus, what_it_hears(net)[1]]


def _left_out(net):
    """Drop the particle instead of replacing it."""
    sentences = [
        [[*WORDS, p][i] for i in order] for order in ORDERS for p in ("an", "aus")
    ]
    without = [[w for w in words if w not in ("an", "aus")] for words in sentences]
    differs = any(net(a) != net(b) for a, b in zip(sentences, without, strict=True))
    return [differs, what_it_hears(net)[1]]


ROTATIONS = [tuple((i + k) % 4 for i in range(4)) for k in range(4)]


def _listener(*terms, per_word=0.25):
    return (Listener(list(terms), per_word),)


def _drawn_listener(dice):
    terms = []
    for word in dice.random.sample(["an", "aus", "zieht", "mann"], dice.number(0, 2)):
        place = dice.random.choice([None, None, 0, 1, 3, "mantel"])
        terms.append((word, place, dice.number(1, 8) / 4))
    return _listener(*terms, per_word=dice.number(0, 2) / 4)


EXERCISES = [
    Exercise(
        "german-1",
        heard,
        [()],
        {
            "places of the German words, which fall back: what was heard stays heard": (
                lambda: [1, 2, 4, 5, 5, 7, 10, 10, 8, 9]
            ),
            "the first half of the verb alone: hebt may still become something else": (
                lambda: [1, 2, 4, 5, 5, 7, 7, 7, 8, 9]
            ),
            "a picking that does not wait: hebt may still become something else": (
                lambda: [1, 2, 4, 5, 5, 7, 7, 10, 10, 10]
            ),
            "a table read from left to right: picking waits, and what was heard stays heard": (
                lambda: [1, 2, 4, 5, 5, 7, 7, 10, 8, 9]
            ),
            "commas that are not counted": lambda: [1, 2, 3, 4, 4, 5, 8, 8, 8, 8],
            "places counted from 0": lambda: [0, 1, 3, 4, 4, 6, 9, 9, 9, 9],
            "the whole sentence, full stop included, for each word": lambda: [11] * 10,
            "one German word for each English one": lambda: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            "“is” waiting for the particle, although “hebt” is enough": (
                lambda: [1, 2, 4, 5, 5, 10, 10, 10, 10, 10]
            ),
        },
        (
            "Take one English word after the other. Which German word is the last that it needs?",
            "“picking” needs both “hebt” and “auf”.",
            "What comes after it was heard long ago, but has to be said after it.",
        ),
    ),
    Exercise(
        "german-2",
        two_perplexities,
        [()],
        {
            "the two exchanged": lambda: [8.0, 4.0],
            "nats, before the exponential": lambda: [2 * math.log(2), 3 * math.log(2)],
            "the mean of two perplexities, 2 and 32": lambda: [4.0, 17.0],
            "a mean over tokens in both": lambda: [4.0, 4.0],
            "a mean over batches in both": lambda: [8.0, 8.0],
            "perplexities of the tokens, averaged": lambda: [9.5, 17.0],
            "sums of nats that are not divided": lambda: [256.0, 64.0],
            "powers of 2, where 2 to that power is asked for": lambda: [2.0, 3.0],
            "nats in the second number, where a perplexity is asked for": lambda: [
                4.0,
                3 * math.log(2),
            ],
        },
        (
            "How many nats do the four tokens cost together? Write ln 32 as a multiple of ln 2.",
            "By token: divide by four. By batch: average the two means.",
            "The perplexity is e to that power; e to the power n ln 2 is 2 to the power n.",
        ),
    ),
    Exercise(
        "german-3",
        best_hypothesis,
        [
            ([-2.0, -3.0], [4, 12], 0.0), ([-2.0, -3.0], [4, 12], 1.0),
            ([-2.0, -2.5], [6, 7], 1.0), ([-8.75, -8.25, -7.75], [3, 24, 21], 0.8),
            ([-2.25, -2.5, -4.75], [4, 2, 10], 1.2), ([-2.0, -7.5, -1.75], [24, 7, 13], 1.0),
            ([-5.0, -7.75, -0.75], [26, 13, 2], 1.2), ([-7.0, -8.75, -3.75], [21, 30, 12], 1.2),
            ([-1.75, -15.25, -3.5], [7, 30, 19], 1.5), ([-5.25, -2.75, -15.5], [28, 6, 26], 1.5)],
        {
            "log probabilities that are multiplied by the penalty": lambda p, n, a: _best(
                p, n, lambda k: (6 / (5 + k)) ** a
            ),
            "no penalty: the likeliest": lambda p, n, a: _best(p, n, lambda k: 1),
            "nats per token, whatever alpha is": lambda p, n, a: _best(p, n, lambda k: k),
            "alpha = 1, whatever alpha is": lambda p, n, a: _best(p, n, lambda k: (5 + k) / 6),
            "length to the power alpha, without the 5 and the 6": lambda p, n, a: _best(
                p, n, lambda k: k**a
            ),
            "a bracket in another place: 5 + length / 6": lambda p, n, a: _best(
                p, n, lambda k: (5 + k / 6) ** a
            ),
            "integer division": lambda p, n, a: _best(
                p, n, lambda k: ((5 + k) // 6) ** a
            ),
            "probabilities, where their logarithms are asked for": lambda p, n, a: _best(
                [math.exp(x) for x in p], n, lambda k: ((5 + k) / 6) ** a
            ),
            "the worst instead of the best": lambda p, n, a: _best(
                p, n, lambda k: -(((5 + k) / 6) ** a)
            ),
            "the shortest": lambda p, n, a: n.index(min(n)),
            "the longest": lambda p, n, a: n.index(max(n)),
            "a count from 1": lambda p, n, a: best_hypothesis(p, n, a) + 1,
            "the score of the best, not its number": lambda p, n, a: max(
                x / ((5 + k) / 6) ** a for x, k in zip(p, n, strict=True)
            ),
        },
        (
            "The penalty of a hypothesis is ((5 + length) / 6) ** alpha.",
            "Divide each log probability by its penalty. All are negative: longer ones gain.",
            "scores.index(max(scores)) is the number of the best.",
        ),
        draw=_hypotheses_case,
    ),
    Exercise(
        "german-4",
        influence,
        [
            (_mask("10 11"), 1), (_mask("010 001 000"), 1), (_mask("010 001 000"), 2),
            (_mask("0100 0010 0001 0000"), 3), (_mask("0100 0010 0001 0000"), 2),
            (_mask("110 011 001"), 2), (_mask("000 100 010"), 2), (_chain(6), 3), (_chain(6), 4),
            (_chain(6), 5), (torch.ones(4, 4).bool(), 5)],
        {
            "one layer, whatever num_layers is": lambda mask, n: influence(mask, 1),
            "no shortcut: a position keeps what it had": _chains,
            "one layer too many": lambda mask, n: influence(mask, n + 1),
            "one layer too few": lambda mask, n: influence(mask, n - 1),
            "as many layers as positions": _every_length,
            "queries and keys exchanged": lambda mask, n: influence(mask, n).mT,
            "a matrix that is squared in each layer: that doubles the length of the chains": (
                lambda mask, n: influence(mask, 2 ** (n - 1))
            ),
            "numbers of paths instead of True and False": lambda mask, n: (
                torch.linalg.matrix_power(mask.float() + torch.eye(len(mask)), n)
            ),
            "everything, whatever the mask says": lambda mask, n: torch.ones_like(mask),
        },
        (
            "After one layer, position i knows something of every j in its row, and of itself.",
            "After two, it knows something of everything that those positions knew.",
            "Put True on the diagonal, multiply the matrix by itself as numbers, compare with 0.",
        ),
        draw=_mask_case,
    ),
    Exercise(
        "german-5",
        positions_in_turn,
        [
            _table(4, 3, 0, 4), _table(4, 3, 0, 6), _table(4, 3, 2, 5), _table(3, 2, 0, 8),
            _table(3, 2, 4, 2), _table(3, 2, 10, 2), _table(3, 2, 0, 20),
            _table(5, 2, 3, 4), _table(3, 2, 1000, 2)],
        {
            "the last row again and again": _clamped,
            "zeros past the end": _and_zeros,
            "the rows in reverse past the end": _back_again,
            "a table that is read from its first row, whatever start is": (
                lambda table, start, steps: positions_in_turn(table, 0, steps)
            ),
            "a start added after the wrap-around: it must wrap, too": (
                lambda table, start, steps: (
                    table[(torch.arange(steps) % len(table) + start).clamp(max=len(table) - 1)]
                )
            ),
            "rows for fewer steps than were asked for": lambda table, start, steps: (
                table[start : start + steps]
            ),
            "one row too far": lambda table, start, steps: (
                positions_in_turn(table, start + 1, steps)
            ),
        },
        (
            "Let row i of the table hold the number i everywhere, and print what comes back.",
            "Ask for many more steps than the table has rows. Which row comes after the last?",
            "Try a start past the end of the table as well.",
        ),
        draw=_table_case,
        unseen=True,
    ),
    Exercise(
        "german-6",
        what_it_hears,
        [
            _listener(), _listener(("an", None, 1.0), ("aus", None, -1.0)),
            _listener(("an", 3, 1.0)), _listener(("zieht", 0, 1.0)),
            _listener(("an", None, 1.0), ("aus", None, 1.0)),
            _listener(("aus", 1, 0.5)), _listener(("an", 1, 0.5)),
            _listener(("mann", 2, 1.0), ("an", None, 0.5)), _listener(("mann", "mantel", 0.75)),
            _listener(("an", 2, 1.0), ("aus", 2, 1.0)), _listener(("an", 0, 1.0), ("aus", 3, 1.0)),
            _listener(("aus", "mann", 1.0)), _listener(per_word=0.0),
            _listener(("an", "zieht", 1.0)), _listener(("an", 0, 1.0)),
            _listener(("aus", 0, 0.25))],
        {
            "one sentence alone: the particle may count in another place": (
                _particle_in([(0, 1, 2, 3)])
            ),
            "a particle that is left out: that also makes the sentence shorter": _left_out,
            "numbers that are compared as sets, not place by place": _as_sets,
            "the sentence backwards, and no other order": _order_in([(0, 1, 2, 3), (3, 2, 1, 0)]),
            "four orders, each the one before turned by one word": _order_in(ROTATIONS),
            "the order tried with an alone": _order_in(ORDERS, ["an"]),
            "the order tried with aus alone": _order_in(ORDERS, ["aus"]),
            "the two answers exchanged": lambda net: what_it_hears(net)[::-1],
            "an order that counts as soon as the particle does": lambda net: (
                [what_it_hears(net)[0], any(what_it_hears(net))]
            ),
            "the belief that a network hears everything": lambda net: [True, True],
            "the belief that a network hears nothing": lambda net: [False, False],
        },
        (
            "Particle: put “aus” in the place of “an”, and keep everything else.",
            "Order: compare sentences of the same four words, once with an and once with aus.",
            "Four words have 24 orders: itertools.permutations lists them. Try them all.",
        ),
        draw=_drawn_listener,
    ),
]  # fmt: skip
