"""The figure of a writer that is trained on those of its own stories that a reward keeps."""

from textwrap import fill

from d2lmini.figures.colours import NEGATIVE, POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure

TRIES = [
    (
        "Truth alone",
        {"reward": 1, "round": 8},
        "Nearly all are true. What do people no longer do in them?",
    ),
    (
        "With a gift",
        {"reward": 2, "round": 8},
        "Every story has a gift. Who owns the two things?",
    ),
    (
        "No reward",
        {"reward": 0, "round": 8},
        "Trained on all it writes: is anything gained?",
    ),
]


def explore_rounds(rewards) -> Figure:
    """Show rounds of writing, keeping and training: what is written, and four curves.

    Args:
        rewards: name of a reward -> "shares", curve -> a number for each round; "words" and
            "loss", a number for each round; and "stories", for each round some stories as pairs
            (story, its first mistake or None).
    Source: chapter 17.
    """
    named = [
        {
            "name": name,
            "curves": {key: columns[key] for key in ("shares", "words", "loss")},
            "stories": columns["stories"],
        }
        for name, columns in rewards.items()
    ]
    last = len(named[0]["stories"]) - 1
    tries = [
        (name, to | {"round": min(to["round"], last)}, notice)
        for name, to, notice in TRIES
    ]
    reward = min(1, len(named) - 1)
    name, stories = named[reward]["name"], named[reward]["stories"]
    picture = before_and_after(stories[0][:2], stories[last][:2], last)
    alt = (
        f"Stories before the first round and after round {last}, kept if {name}. Before: "
        + " ".join(text for text, _ in stories[0][:2])
        + " After: "
        + " ".join(text for text, _ in stories[last][:2])
    )
    state = {"reward": reward, "round": 0}
    return Figure("rounds.js", state, picture, alt, {"rewards": named}, tries=tries)


def before_and_after(before, after, last):
    """Draw stories before the first round and after the last, each with its first mistake."""
    figure, [[axis]] = empty()
    axis.axis("off")
    rows = [("before", *each) for each in before]
    rows += [(f"round {last}", *each) for each in after]
    axis.set(xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5))
    for y, (when, story, mistake) in enumerate(rows):
        axis.text(0, y, when, fontsize=10, color="#888888", va="center")
        colour = NEGATIVE if mistake else POSITIVE
        axis.text(0.17, y, fill(story, 58), fontsize=9, color=colour, va="center")
    return figure
