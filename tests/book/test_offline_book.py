"""What a page carries for its figures: what two have in common, once."""

import json

from ipywidgets.embed import dependency_state

from d2lmini import figures
from tools.extensions.offline_book import light_state


def test_equal_modules_and_weights_are_saved_once():
    brief, whole = figures.explore_depth(brief=True), figures.explore_depth()
    other = figures.explore_masks()
    shown = [brief, other, whole]
    saved = {"state": dependency_state(shown, drop_defaults=False)}
    text = light_state(saved)
    first, second, third = json.loads(text)["state"].values()
    assert third["module"] == brief.model_id and not third["state"]["_esm"]
    assert "module" not in first and "module" not in second
    (place,) = [b["same"] for b in third["buffers"] if "same" in b]
    shared = first["buffers"][place[1]]
    assert place[0] == brief.model_id and len(shared["data"]) > 10_000
    assert text.count(shared["data"]) == 1
