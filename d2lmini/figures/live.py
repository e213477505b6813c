"""Controls that run PyTorch in a running notebook."""

import html

import ipywidgets

from d2lmini.figures.stills import still


class Live(ipywidgets.VBox):
    """Controls that run PyTorch anew when they are moved; without a kernel, the first picture.

    Args:
        draw: called with the values of the controls, by name; returns a matplotlib figure.
        alt: what the pictures show, in words.
        controls: name -> an ipywidgets control with a description.
    Source: chapter 4.
    """

    def __init__(self, draw, alt, **controls):
        self.draw, self.alt, self.controls = draw, alt, controls
        self.screen = ipywidgets.HTML()
        super().__init__([*controls.values(), self.screen])
        for control in controls.values():
            control.style.description_width = "initial"
            if control.has_trait("continuous_update"):
                control.continuous_update = (
                    False  # one training a move, not one a pixel
                )
            control.observe(self.redraw, "value")
        self.redraw()

    def redraw(self, change=None):
        """Compute and show the picture for the present values."""
        values = {name: control.value for name, control in self.controls.items()}
        self.screen.value = still(self.draw(**values), self.alt, "d2lmini-first")

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        names = ", ".join(control.description for control in self.controls.values())
        how = (
            f"<p>In a running notebook this cell has controls ({html.escape(names)}), and each "
            "move runs it again; the preface says how to run one. Above: its first state.</p>"
        )
        return bundle | {"text/html": self.screen.value + how}
