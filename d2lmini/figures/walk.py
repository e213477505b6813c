"""The figure of a trained path forecaster that runs in the browser."""

from d2lmini.data.paths import STEP_SECONDS
from d2lmini.data.square import FOUNTAIN, HALF, KIOSK
from d2lmini.figures.square import draw_square
from d2lmini.figures.stills import empty
from d2lmini.figures.weights import in_bits, on_cpu, pack
from d2lmini.figures.widget import Figure

TRIES = [
    (
        "A bent path",
        {"moved": [[0, 0], [0, 0], [1.5, 0]]},
        "The walker has turned. Does the forecast go on straight, or on the curve?",
    ),
    (
        "A zigzag",
        {"zigzag": 0.2},
        "Nobody in training walked like this. Has the circle grown?",
    ),
    (
        "Half of them",
        {"probability": 0.5},
        "This circle should hold half of the walkers; the one before, nine tenths.",
    ),
]


def explore_walk(state_dict, num_heads, num_layers, examples, seen, first) -> Figure:
    """Show the forecasts of a trained net, in the browser, for an observed path to drag.

    Args:
        state_dict: of a Forecaster of chapter 13 with a PathEncoder.
        num_heads, num_layers: of the encoder.
        examples: name -> (past, future), each (steps, 2), on the square of data/square.py.
        seen: (paths, steps, 2), drawn in grey: where people walk.
        first: the forecast for the first example, means (steps, 2), for the still picture.
    Source: chapter 13.
    """
    numbers = on_cpu(state_dict)
    data = {
        **pack(numbers, num_heads, num_layers, bits=8),
        "num_steps": len(first),
        "step_seconds": STEP_SECONDS,
        "examples": [
            {"name": name, "past": _rounded(past), "future": _rounded(future)}
            for name, (past, future) in examples.items()
        ],
        "seen": [_rounded(path) for path in seen],
        "fountain": FOUNTAIN,
        "kiosk": list(KIOSK),
        "half": HALF,
    }
    state = {
        "example": 0,
        "moved": [[0, 0], [0, 0], [0, 0]],
        "ahead": len(first) - 1,
        "probability": 0.9,
        "zigzag": 0.0,
    }
    (name, (past, future)), *_ = examples.items()
    picture, [[axis]] = empty()
    axis.plot(seen[..., 0].T, seen[..., 1].T, color="#BBBBBB", linewidth=0.8)
    draw_square(axis, past, {"forecast": first, "what happened": future})
    axis.set(xlim=(-16, 16), ylim=(-10, 10), xlabel="", ylabel="")
    axis.axis("off")
    for line in axis.lines[len(seen) :]:
        line.set_linewidth(3.5)
    alt = (
        f"A square with a fountain, seen from above. A pedestrian was observed ({name}); the "
        "forecast and the real path continue from there, among the thin lines of other paths."
    )
    return Figure("walk.js", state, picture, alt, data, in_bits(numbers), TRIES)


def _rounded(path):
    """A path as nested lists, rounded to centimetres."""
    return path.double().round(decimals=2).tolist()
