import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from d2lmini.figures import show_heatmaps
from d2lmini.figures.vectors import plot_as_svg
from tools.slides import figures_zip


@pytest.fixture
def svg():
    numbers = np.linspace(0, 1, 12).reshape(1, 1, 3, 4)
    show_heatmaps(numbers, "key", "query", ["a $d_k$"], digits=2)
    yield plot_as_svg(plt.gcf())
    plt.close("all")


def test_letters_become_outlines_in_their_place(svg):
    root = ElementTree.fromstring(figures_zip.standalone(svg))
    assert "<text" in svg
    assert not root.findall(".//{*}text")
    assert not root.findall(".//{*}tspan")
    assert "font-family" not in root.attrib
    letters = re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", svg)
    paths = root.findall(".//{*}path")
    outlined = [path for path in paths if "scale(" in path.get("transform", "")]
    assert len(outlined) == len(letters)


def test_links_are_those_of_svg_1_1_and_dots_are_squares(svg):
    text = figures_zip.standalone(svg)
    assert not re.search(r"(?<!xlink:)href=", text) and "xlink:href=" in text
    (link, *_) = re.findall(r'"(data:image/png;base64,[^"]+)"', svg)
    assert figures_zip.with_large_dots(link) in text and link not in text


def test_a_file_says_what_it_is_and_can_stand_within_a_page(svg):
    text = figures_zip.standalone(svg, "Keys & queries", "Three by four")
    assert "<svg" in text and "ns0:" not in text
    root = ElementTree.fromstring(text)
    said = [(part.tag.rpartition("}")[2], part.text) for part in root[:2]]
    assert said == [("title", "Keys & queries"), ("desc", "Three by four")]
