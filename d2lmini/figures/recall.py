"""The figure of two copiers of digits, one with a single code and one with attention."""

from d2lmini.figures.stills import curves, empty
from d2lmini.figures.weights import floats
from d2lmini.figures.widget import Figure

TRIES = [
    (
        "Four digits",
        {"digits": "3141"},
        "A short string fits into the code: both curves are near 1.",
    ),
    (
        "Sixteen digits",
        {"digits": "3141592653589793", "place": 12},
        "The first digits survive in one code, the later ones are guessed; attention hardly cares.",
    ),
    (
        "The last place",
        {"place": 7},
        "The eighth digit: the code is the same for each place, the weights are this one's own.",
    ),
]


def explore_recall(one_code, attention, right=None, written=None) -> Figure:
    """Show the copiers of chapter 1 repeating digits that the reader types.

    Args:
        one_code, attention: the state_dicts of the two networks.
        right: "one code" and "attention" -> for each length from 2 on, the accuracy at each
            position, (length,).
        written: instead of right, for the small form at the head of the chapter: "read" and the
            names of both networks -> digits.
    Source: chapter 1.
    """
    numbers = {f"one code.{name}": tensor for name, tensor in one_code.items()}
    numbers |= {f"attention.{name}": tensor for name, tensor in attention.items()}
    data = {"shapes": [(name, list(tensor.shape)) for name, tensor in numbers.items()]}
    if right is None:
        state = {"digits": written["read"][:4], "place": 0}
        lost = {
            name: sum(a != b for a, b in zip(digits, written["read"], strict=True))
            for name, digits in written.items()
        }
        alt = (
            f"The {len(written['read'])} digits {written['read']}, and what two networks repeat: "
            f"one code loses {lost['one code']}, attention {lost['attention']}."
        )
        picture = digit_rows(written)
        data["bits"] = 8  # as they were recorded
        weights = floats(numbers, bits=8)
        return Figure("recall.js", state, picture, alt, data, weights, brief=True)
    data["right"] = {
        name: [[round(share, 3) for share in shares.tolist()] for shares in lengths]
        for name, lengths in right.items()
    }
    means = {
        name: [s.mean().item() for s in lengths] for name, lengths in right.items()
    }
    x = range(2, 2 + len(means["attention"]))
    picture = curves(x, means, "digits", "share that is right", ylim=(0, 1.05))
    ends = [
        f"{name} {curve[0]:.2f} and {curve[-1]:.2f}" for name, curve in means.items()
    ]
    alt = (
        "The share of digits that two networks repeat correctly, by length. At the shortest and "
        f"the longest strings: {', '.join(ends)}."
    )
    return Figure(
        "recall.js",
        {"digits": "31415926", "place": 5},
        picture,
        alt,
        data | {"bits": 16},
        floats(numbers, bits=16),
        tries=TRIES,
    )


def digit_rows(written):
    """Draw the digits that were read, and those written below; the wrong ones struck out."""
    figure, [[axis]] = empty()
    axis.set(xlim=(-0.5, len(written["read"]) - 0.5), ylim=(3, 0))
    axis.axis("off")
    for row, (name, digits) in enumerate(written.items()):
        axis.text(-0.5, row + 0.3, name, fontsize=11, va="center")
        for i, (digit, due) in enumerate(zip(digits, written["read"], strict=True)):
            wrong = digit != due
            colour = "#D55E00" if wrong else "black"
            axis.text(
                i, row + 0.7, digit, fontsize=13, ha="center", va="center", color=colour
            )
            if wrong:
                axis.plot(
                    [i - 0.3, i + 0.3], [row + 0.7] * 2, color=colour, linewidth=2
                )
    return figure
