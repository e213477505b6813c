"""Recorded runs: as they are written, and as chapters read them."""

import json

import pytest

from benchmarks import readme
from benchmarks.recipes.common import summary
from d2lmini.support import ledger
from d2lmini.support.ledger import recorded_runs

RUNS = [
    {"setting": {"model": "small"}, "seed": 0, "bleu": 1.0},
    {"setting": {"model": "large"}, "seed": 0, "bleu": 2.0},
]


@pytest.fixture
def ledger_of_one(tmp_path, monkeypatch):
    """A ledger that has one recorded experiment."""
    (tmp_path / "mine.json").write_text(json.dumps({"runs": RUNS}), encoding="utf-8")
    monkeypatch.setattr(ledger, "RESULTS", tmp_path)


def test_a_row_a_run_with_its_setting(ledger_of_one):
    runs = recorded_runs("mine")
    assert runs.model.tolist() == ["small", "large"]
    assert runs.bleu.tolist() == [1.0, 2.0]
    assert runs.setting.tolist() == [run["setting"] for run in RUNS]


def test_a_file_that_was_cut_short_is_named(ledger_of_one):
    path = ledger.RESULTS / "mine.json"
    whole = path.read_text("utf-8")
    for text in (
        whole[:-5], "", "[]", "{}", '{"runs": null}', '{"runs": [{"bleu": 1}]}',
    ):  # fmt: skip
        path.write_text(text, encoding="utf-8")
        with pytest.raises(
            ValueError, match=r"mine\.json is no whole file of recorded"
        ):
            recorded_runs("mine")


SETTINGS = [{"model": "small"}, {"model": "large"}]


def test_a_summary_holds_mean_and_spread_of_every_number():
    runs = [
        {"setting": SETTINGS[0], "seed": seed, "is_kept": True, "texts": ["a"],
         "beam": {"bleu": bleu}}
        for seed, bleu in enumerate((1.0, 2.0, 3.0))
    ]  # fmt: skip
    due = [{"runs": 3, "beam.bleu": "2.000 ± 1.000"}, {"runs": 0}]
    assert summary(SETTINGS, runs) == due


def test_readme_and_docs_show_what_the_benchmarks_printed():
    for name, table in readme.tables().items():
        text = (readme.ROOT / name).read_text(encoding="utf-8")
        assert table in text, f"{name}: run python -m benchmarks.readme"
