"""The figure of the table of sinusoidal positions."""

from matplotlib.patches import Circle

from d2lmini.figures.choices import check_one_of
from d2lmini.figures.colours import NEGATIVE, POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure
from d2lmini.positions import sinusoidal_table
from d2lmini.support.arguments import check_at_most

TRIES = [
    (
        "The slowest wave",
        {"width": 16, "column": 14},
        "In 32 positions it hardly moves: one turn takes some twenty thousand. The fast columns "
        "tell neighbours apart, this one tells what lies far away.",
    ),
    (
        "A base of 10",
        {"width": 16, "base": 10, "column": 14},
        "Every wave is fast now, and the likeness of two positions falls off sooner.",
    ),
    (
        "The same offset elsewhere",
        {"position": 20},
        "Another position, the same turn: it depends on the offset alone.",
    ),
]


def explore_positions(
    width=16, base=10000, column=4, position=6, offset=3, brief=False
) -> Figure:
    """Show the table of sinusoidal positions and what it does.

    Args:
        width: 4, 8, 16 or 32.
        base: a power of ten, from 10 to 100,000.
        column: the column of the table to show as a wave.
        position, offset: the rotation of a hand starts at position and covers offset steps.
        brief: show a hand alone.
    Raises:
        ValueError: an argument is none of these, or outside of the table.
    Source: chapter 3.
    """
    check_one_of("width", width, (4, 8, 16, 32))
    check_one_of("base", base, (10, 100, 1000, 10_000, 100_000))
    check_at_most("column", column, "width - 1", width - 1)
    check_at_most("position", position, "the last one", 31)
    check_at_most("position + offset", position + offset, "the last one", 31)
    state = {
        "width": width,
        "base": base,
        "column": column,
        "position": position,
        "offset": offset,
    }
    pair = column // 2
    hands = slice(2 * pair, 2 * pair + 2) if brief else slice(None)
    picture = clocks(sinusoidal_table(32, width)[[position, position + offset], hands])
    what = (
        "A clock" if brief else f"{width // 2} clocks, each slower than the one before"
    )
    alt = (
        f"{what}. A dashed hand shows position {position}, a full one position "
        f"{position + offset}."
    )
    return Figure("positions.js", state, picture, alt, tries=TRIES, brief=brief)


def clocks(codes):
    """Draw two rows of the table, (2, width), as hands of clocks, from fast to slow."""
    pairs = codes.unflatten(1, (-1, 2))  # (2, clocks, sine and cosine)
    wide = min(4, pairs.shape[1])
    figure, grid = empty(pairs.shape[1] // wide, wide)
    for axis, hands in zip(grid.flat, pairs.unbind(1), strict=True):
        axis.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
        axis.axis("off")
        axis.add_patch(Circle((0, 0), 1, facecolor="#EEEEEE", edgecolor="#888888"))
        for (sine, cosine), dashes, colour in zip(
            hands.tolist(), (":", "-"), (POSITIVE, NEGATIVE), strict=True
        ):
            axis.plot([0, sine], [0, cosine], dashes, color=colour, linewidth=4)
    return figure
