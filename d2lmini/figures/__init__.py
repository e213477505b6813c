"""Interactive figures, each with its JavaScript module next to it, and plots.

Builders take numbers and words, never modules.
"""

from importlib import import_module

# Name -> the module that defines it. Loaded at first use, so that only the chapters that use a
# figure are rerun after a change and spend time importing it.
HOMES = {
    f"explore_{name}": name
    for name in (
        "attention", "bleu", "caption", "depth", "heads", "layers", "looks", "machine", "masks",
        "positions",
        "recall", "rounds", "sentence", "training", "translator", "units", "verdict", "walk",
        "writer",
    )
} | {
    "Live": "live",
    "Figure": "widget", "browser_module": "widget",
    "panels": "stills", "still": "stills",
    "COLOURS": "plots", "STYLE": "plots", "show_curves": "plots", "show_flow": "plots",
    "show_heatmaps": "plots", "show_table": "plots",
    "show_square": "square",
    "show_part": "architecture", "show_transformer": "architecture",
}  # fmt: skip
__all__ = sorted(HOMES)


def __getattr__(name):
    if name in HOMES:
        return getattr(import_module(f"d2lmini.figures.{HOMES[name]}"), name)
    raise AttributeError(f"module 'd2lmini.figures' has no attribute {name!r}")
