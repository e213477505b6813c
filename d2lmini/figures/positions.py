"""The table of sinusoidal positions."""

from d2lmini.figures.stills import panels
from d2lmini.figures.widget import Figure
from d2lmini.positions import sinusoidal_table

TRIES = [
    (
        "The slowest wave",
        {"column": 15},
        "In 32 positions it hardly moves: one turn takes some twenty thousand. The fast columns "
        "tell neighbours apart, this one what lies far from each other.",
    ),
    (
        "A base of 10",
        {"base": 10},
        "Every wave is fast now, and the likeness of two positions falls off sooner.",
    ),
    (
        "The same offset elsewhere",
        {"position": 20},
        "Another position, the same turn: it depends on the offset alone.",
    ),
]


def explore_positions(width=16, base=10000, column=4, position=6, offset=3) -> Figure:
    """The table of sinusoidal positions and what it does.

    Args:
        width: 4, 8, 16 or 32.
        base: a power of ten, from 10 to 100,000.
        column: of the table, shown as a wave.
        position, offset: between which a hand is turned.
    Source: chapter 3.
    """
    state = {
        "width": width,
        "base": base,
        "column": column,
        "position": position,
        "offset": offset,
    }
    table = sinusoidal_table(32, width)
    picture = panels([table, table @ table.T], ["positions", "dot products"])
    alt = (
        f"The table of 32 positions at width {width}, whose columns are waves, slower from left to "
        "right, and the dot products of all pairs of positions, which fall off the diagonal."
    )
    return Figure("positions.js", state, picture, alt, tries=TRIES)
