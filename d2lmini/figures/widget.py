"""Interactive figures: live in notebooks, and in built pages without a kernel or a network.

A figure is a Python builder and a plain JavaScript module next to it, which anywidget runs in a
notebook and loader.js in a page.
"""

import re
from pathlib import Path

import anywidget
import torch
import traitlets

from d2lmini.figures.stills import still

HERE = Path(__file__).parent


TRY = "name", "set", "notice"

# Comments are removed to keep pages small.
COMMENT = re.compile(r"^ *//.*\n", flags=re.MULTILINE)
CSS_COMMENT = re.compile(r"/\*.*?\*/\n", flags=re.DOTALL)
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', flags=re.MULTILINE)


def browser_module(name: str) -> str:
    """Bundle a module of this folder and its imports into one module.

    A page from the disk may not import files, and a notebook has no address to import from.
    """
    parts = {}  # file name -> text, dependencies first

    def add(name):
        text = (HERE / name).read_text(encoding="utf-8")
        for needed in IMPORT.findall(text):
            if needed not in parts:
                add(needed)
        parts[name] = IMPORT.sub("", text)

    add(name)
    *shared, own = parts.values()
    text = "".join(text.replace("\nexport ", "\n") for text in shared) + own
    return COMMENT.sub("", text)


class Figure(anywidget.AnyWidget):
    """An interactive figure, with a still picture for viewers without scripts.

    Args:
        module: file name in this folder.
        state: the values of the controls. A reader's changes arrive here: figure.state.
        picture: a matplotlib figure of the first state.
        alt: a description of the picture.
        data: constant numbers and words for the browser.
        weights: parameters of a model: see weights.py.
        large: those of a second, larger model, which a page loads once it is readable.
        tries: suggestions to try: for each the name of a button, its changes to the first state,
            and what to notice.
        brief: the small form at the head of a chapter: the controls and parts that the module
            names, and nothing to try.
        name: to link to the figure by; if empty, that of the module.
    Source: chapter 2.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)
    large = traitlets.Bytes().tag(sync=True)

    def __init__(
        self, module, state, picture, alt, data=None, weights=b"", tries=(), large=b"",
        brief=False, name="",
    ):  # fmt: skip
        super().__init__(
            _esm=browser_module(module),
            _css=CSS_COMMENT.sub("", (HERE / "figure.css").read_text(encoding="utf-8")),
            state=state,
            data=(data or {})
            | {
                "tries": [
                    dict(zip(TRY, one, strict=True)) for one in tries if not brief
                ],
                "brief": brief,
            },
            weights=weights,
            large=large,
        )
        name = name or module.removesuffix(".js")
        self.still = still(picture, alt, name="first" if brief else name)

    def _repr_mimebundle_(self, **kwargs):
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self.still}, metadata


def as_lists(data: dict) -> dict:
    """Convert tensors to nested lists, which a page can contain."""
    return {
        k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in data.items()
    }
