"""Figures that show PyTorch runs with settings chosen by the reader."""

import re
from itertools import product

import torch
import traitlets

from d2lmini.figures.stills import curves, panels
from d2lmini.figures.widget import Figure, as_lists


class Live(Figure):
    """A figure that shows what compute returns for the settings that the reader chooses.

    A page contains precomputed results for some settings. A running notebook computes any
    others on demand.

    Args:
        title, help: of the figure.
        compute: called with the values of all controls by name; returns a dictionary with "note"
            and either "curves", label -> numbers, or "matrix", (rows, columns).
        alt: a description of the first picture.
        controls: name -> (description, values, precomputed values); the first precomputed value
            is shown initially.
        same: what all results share. For curves: x, x_is, y_is and, if the axis should not end at
            the largest number, high, and if the marker should not begin in the middle, at, an
            index; for a matrix: title, rows, rows_are, columns_are and either
            columns or, if these form groups, group (their size) and group_is.
        tries, brief: as for Figure.
    Source: chapter 5.
    """

    runs = traitlets.Dict().tag(sync=True)

    def __init__(
        self, title, help, compute, alt, controls, same, tries=(), brief=False
    ):
        self.compute = compute
        self.values = {name: list(values) for name, (_, values, _) in controls.items()}
        ready = {name: list(values) for name, (_, _, values) in controls.items()}
        runs = {}
        for values in product(*ready.values()):
            settings = dict(zip(ready, values, strict=True))
            runs[self.place(settings)] = as_lists(compute(**settings))
        state = {name: values[0] for name, values in ready.items()}
        first = runs[self.place(state)]
        if "x" in same:
            state["at"] = same.get("at", (len(same["x"]) - 1) // 2)
        listed = [
            {
                "name": name,
                "description": text,
                "values": list(values),
                "ready": ready[name],
            }
            for name, (text, values, _) in controls.items()
        ]
        data = {"title": title, "help": help, "controls": listed, "same": same}
        name = "-".join(re.findall(r"\w+", title.lower()))
        super().__init__(
            "live.js", state, picture(first, same), alt, data, tries=tries, brief=brief,
            name=name,
        )  # fmt: skip
        self.runs = runs
        self.observe(self.run, "state")

    def place(self, settings):
        """Settings as the key that the browser uses: the index of each value."""
        return " ".join(
            str(self.values[name].index(settings[name])) for name in self.values
        )

    def run(self, change):
        """Compute the chosen settings unless they are known."""
        settings = {name: change["new"][name] for name in self.values}
        known = all(v in self.values[name] for name, v in settings.items())
        if known and self.place(settings) not in self.runs:
            new = {self.place(settings): as_lists(self.compute(**settings))}
            self.runs = self.runs | new


def picture(run, same):
    """Draw a run as a matplotlib figure that notebooks do not show automatically."""
    if "matrix" in run:
        title = [same["title"]]
        return panels([torch.tensor(run["matrix"])], title, same["rows"])
    return curves(same["x"], run["curves"], same["x_is"], same["y_is"])
