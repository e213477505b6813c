import base64
import io
import re

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from contrast import contrast
from nbclient import NotebookClient
from PIL import Image

from d2lmini.figures import COLOURS, colours, show_heatmaps, show_transformer
from d2lmini.figures.vectors import plot_as_svg
from tools.extensions import dark_plots


def drawn(show, *args, **kwargs):
    """The SVG of what a function shows."""
    show(*args, **kwargs)
    svg = plot_as_svg(plt.gcf())
    plt.close("all")
    return svg


def dots(svg):
    """The first heat-map in a picture, (rows, columns, 4)."""
    data = re.search(r'data:image/png;base64,([^"]+)', svg)[1]
    return np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


NUMBERS = np.linspace(0, 1, 64).reshape(1, 1, 8, 8)


def test_a_notebook_shows_a_plot_as_svg():
    code = "from d2lmini import *\nshow_curves([1, 2], {'a': [3, 4]}, 'x', 'y')"
    cell = nbformat.v4.new_code_cell(code)
    NotebookClient(nbformat.v4.new_notebook(cells=[cell])).execute()
    ((output),) = cell.outputs
    assert set(output.data) == {"image/svg+xml", "text/plain"}


def test_an_svg_is_the_same_each_time_and_complete():
    labels = "key", "query", ["a title"]
    once, again = (drawn(show_heatmaps, NUMBERS, *labels, digits=2) for _ in "ab")
    assert once == again
    names = re.findall(r'\bid="([^"]+)"', once)
    assert len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', once)) == set(names)
    texts = re.findall(r"<text[^>]*>([^<]+)<", once)
    assert texts.count("0.02") == 1 and {"a title", "key", "query"} <= set(texts)
    # One dot a number, which a browser does not blur.
    assert dots(once).shape == (8, 8, 4) and "image-rendering:pixelated" in once


def test_text_of_a_dark_plot_reads_on_a_dark_page_and_in_its_boxes():
    partner = dark_plots.PARTNER
    assert contrast(dark_plots.TEXT, dark_plots.GROUND) > 10
    for colour in (*colours.CYCLE, "#888888"):
        assert contrast(partner[colour.lower()], dark_plots.GROUND) > 4.5, colour
    for kind, colour in COLOURS.items():
        if kind != "plain":
            assert contrast(dark_plots.TEXT, partner[colour.lower()]) > 4.5, kind
    dark = dark_plots.dark(drawn(show_transformer))
    assert dark.startswith(f'<svg fill="{dark_plots.TEXT}"')
    assert not re.search("(fill|stroke):#(000000|444444|ffffff)", dark)


@pytest.mark.parametrize("is_dark", [False, True])
def test_a_number_reads_on_its_cell(is_dark):
    svg = drawn(show_heatmaps, NUMBERS, "key", "query", digits=2)
    svg = dark_plots.dark(svg) if is_dark else svg
    plain = dark_plots.TEXT if is_dark else "#000000"
    texts = re.findall(r'<text style="([^"]*)"[^>]*>(\d\.\d\d)<', svg)
    assert [float(number) for _, number in texts] == list(NUMBERS.round(2).flat)
    for (style, _), cell in zip(texts, dots(svg).reshape(-1, 4), strict=True):
        colour = re.search(r"fill:(#\w+)", style)
        assert contrast(colour[1] if colour else plain, cell[:3] / 255) > 4


def test_a_larger_number_is_lighter_on_a_dark_page_and_what_is_hidden_stays_hatched():
    matrix = NUMBERS.copy()
    matrix[..., 0, 3] = np.nan
    svg = drawn(show_heatmaps, matrix, "key", "query")
    light, dark = dots(svg), dots(dark_plots.dark(svg))
    assert (light[..., 3] == dark[..., 3]).all() and not dark[0, 3, 3]
    assert tuple(dark[0, 0, :3]) == tuple(bytes.fromhex(dark_plots.GROUND[1:]))
    greys = dark.reshape(-1, 4)[dark.reshape(-1, 4)[:, 3] > 0, :3] @ [0.21, 0.72, 0.07]
    assert (np.diff(greys) > 0).all()
    assert re.search("<pattern.*<path[^>]*stroke:#626262", dark_plots.dark(svg))


def test_a_colour_without_a_partner_stops_the_build():
    with pytest.raises(ValueError, match="must have a partner for the dark theme"):
        dark_plots.dark('<svg><path style="fill:#123456"/></svg>')
