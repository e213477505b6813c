from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from d2lmini.figures import colours, show_curves, show_flow, show_heatmaps
from d2lmini.figures.vectors import short_names


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def drawn(show, *args, **kwargs):
    """Axes of the figure that a function shows."""
    show(*args, **kwargs)
    return plt.gcf().axes


def test_heatmaps_show_the_numbers_on_one_scale():
    matrices = torch.rand(2, 3, 4, 5)
    labels = {"titles": list("abc"), "xticks": list("vwxyz")}
    axes = drawn(show_heatmaps, matrices, "keys", "queries", **labels)
    images = [image for axis in axes for image in axis.get_images()][:6]
    for image, matrix in zip(images, matrices.flatten(0, 1), strict=True):
        assert np.array_equal(image.get_array(), matrix)
        assert image.get_clim() == (0, matrices.max().item())
    assert [axis.get_title() for axis in axes[:3]] == list("abc")
    assert [tick.get_text() for tick in axes[3].get_xticklabels()] == list("vwxyz")


def test_heatmaps_write_numbers_and_hatch_nan():
    matrices = np.array([[[[0.25, np.nan, -0.01], [1.0, 2.0, 0.0]]]])
    axis = drawn(show_heatmaps, matrices, "k", "q", digits=1)[0]
    written = [text.get_text() for text in axis.texts]
    assert written == ["0.2", "0.0", "1.0", "2.0", "0.0"]
    inks = [text.get_color() for text in axis.texts[:4]]
    assert inks == ["black", "black", "white", "white"]
    assert axis.patch.get_hatch()  # to be seen where there is no number
    assert axis.get_images()[0].get_clim() == (0, 2.0)


def test_plots_and_figures_have_the_same_colours():
    css = (Path(colours.__file__).parent / "figure.css").read_text(encoding="utf-8")
    # without the dark theme
    light, _ = css.split(".d2lmini-figure p {")[0].split(":is(html")
    assert f"--positive: {colours.POSITIVE.lower()};" in light
    assert f"--negative: {colours.NEGATIVE.lower()};" in light
    for n, colour in enumerate(colours.CYCLE[2:4], start=2):
        assert f".curve-{n} {{ stroke: {colour.lower()};" in css
    for scale, zero in ((colours.SEQUENTIAL, 0.0), (colours.DIVERGING, 0.5)):
        assert scale(zero)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    greys = colours.SEQUENTIAL(np.linspace(0, 1, 50))[:, :3] @ [0.2126, 0.7152, 0.0722]
    # darker with each step, for a printer without colours
    assert (np.diff(greys) < 0).all()


def test_curves_show_mean_and_spread():
    runs = np.array([[1.0, 2], [3, 4]])
    (axis,) = drawn(show_curves, [1, 2], {"a": runs, "b": runs[0]}, "x", "y")
    assert axis.lines[0].get_ydata().tolist() == [2, 3]
    assert axis.lines[1].get_ydata().tolist() == [1, 2]
    assert len(axis.collections) == 1  # one band: a single run has no spread
    names = {text.get_text(): text.get_position()[1] for text in axis.texts}
    assert names.keys() == {"a", "b"} and names["a"] > names["b"]  # a ends above b


def test_the_names_of_curves_that_meet_stand_apart():
    curves = {name: [0, 1] for name in "abcd"}
    (axis,) = drawn(show_curves, [1, 2], curves, "x", "y")
    places = sorted(text.get_position()[1] for text in axis.texts)
    assert (np.diff(places) > 0.04).all() and places[-1] <= 1


def test_the_band_of_a_curve_stays_where_runs_were():
    """Mean less standard deviation is -1, which a loss cannot be."""
    runs = np.array([[0.0, 0], [0, 0], [0, 0], [4, 4]])
    (axis,) = drawn(show_curves, [1, 2], {"a": runs}, "x", "y")
    (path,) = axis.collections[0].get_paths()
    assert path.vertices[:, 1].min() == 0 and path.vertices[:, 1].max() == 3


def test_a_logarithmic_axis_of_few_decades_has_plain_numbers():
    (axis,) = drawn(show_curves, [1, 2], {"a": [0.05, 5]}, "x", "y", yscale="log")
    assert {"0.1", "0.5", "2"} <= {text.get_text() for text in axis.get_yticklabels()}
    (axis,) = drawn(show_curves, [1, 2], {"a": [1e-9, 5]}, "x", "y", yscale="log")
    assert "0.1" not in {text.get_text() for text in axis.get_yticklabels()}


def test_flow():
    boxes = {"a": (0, 0, 1, 0.3, "from", "plain"), "b": (0, 1, 1, 0.3, "to", "norm")}
    (axis,) = drawn(show_flow, boxes, [([(0.5, 0.3), (0.5, 1)], "(2, 3)")], (2, 2))
    assert [text.get_text() for text in axis.texts] == ["from", "to", "(2, 3)"]
    assert {text.get_color() for text in axis.texts} == {"black"}


def test_what_flows_has_its_hue_where_it_can_be_read():
    keys, W = (0, 0, 1, 0.3, "keys", "plain", "K"), (0, 1, 1, 0.3, "W", "norm", "K")
    boxes = {"a": keys, "b": W}
    arrows = [([(0.5, 0.3), (0.5, 1)], "(2, 3)", "K")]
    (axis,) = drawn(show_flow, boxes, arrows, (2, 2))
    texts = [text.get_color() for text in axis.texts]
    assert texts == [colours.HUES["K"], "black", colours.HUES["K"]]
    assert axis.lines[0].get_color() == colours.HUES["K"]
    edges = {to_hex(patch.get_edgecolor()) for patch in axis.patches}
    assert edges == {colours.HUES["K"]}


def test_six_curves_have_a_dash_and_a_colour_each_and_may_keep_those_of_another_plot():
    curves = {name: [1, 2] for name in "abcdef"}
    (axis,) = drawn(show_curves, [1, 2], curves, "x", "y", hues={"b": 0})
    colours_of = [line.get_color() for line in axis.lines[:6]]
    assert colours_of[1] == colours_of[0] == colours.CYCLE[0]
    assert colours_of[2:5] == colours.CYCLE[2:5] and colours_of[5] == colours.CYCLE[0]


def test_names_in_a_picture_are_short_and_different():
    text = '<path id="m609799d7b5"/><use href="#m609799d7b5"/><g clip-path="url(#p119ee1164b)"/>'
    short = '<path id="m60979"/><use href="#m60979"/><g clip-path="url(#p119ee)"/>'
    assert short_names(text) == short
    alike = text.replace("p119ee1164b", "m609790000b")
    assert short_names(alike) == alike
