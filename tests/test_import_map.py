"""The picture of the imports in docs/ is that of the imports."""

from html import unescape

from import_map import ROOT, imports, listed  # of tools/


def test_the_picture_is_that_of_the_imports():
    picture = unescape((ROOT / "docs" / "imports.svg").read_text("utf-8"))
    assert listed(imports()) in picture, "run python tools/import_map.py"
