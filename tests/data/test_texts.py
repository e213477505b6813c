"""Unlabelled texts, and the stories, which can be checked."""

import runpy
from pathlib import Path

from conftest import for_each

from d2lmini import normalise
from d2lmini.data.registry import CORPORA
from d2lmini.data.texts import mistake_in, read_texts

ROOT = Path(__file__).parents[2]
SPLITS = "train", "val", "test"


def test_the_grammar_writes_the_files_again():
    made = runpy.run_path(str(ROOT / "tools" / "corpora" / "make_stories_mini.py"))
    files = made["files"]()
    assert set(files) == set(SPLITS)
    for split, text in files.items():
        assert (CORPORA / "stories-mini" / f"{split}.tsv").read_text("utf-8") == text


def test_no_story_is_told_twice_and_each_is_right():
    told = (story for split in SPLITS for story in read_texts(split=split))
    stories = [normalise(story) for story in told]
    assert len(set(stories)) == len(stories) == 4600
    assert not any(mistake_in(story) for story in stories)


START = "Anna has a cup. Ben has a key. "


@for_each(
    [
        ("", None),
        ("Anna gives the cup to Ben. He is happy. Who has the cup? Ben.", None),
        ("Anna gives the key to Ben.", "anna gives the key to ben"),
        ("Anna gives the cup to Anna.", "anna gives the cup to anna"),
        ("Anna gives the cup to Tom.", "anna gives the cup to tom"),
        ("Anna gives the cup to Ben. She is happy.", "she is happy"),
        ("Ben goes to the park. He reads there. She sings there.", "she sings there"),
        ("Ben has a cup.", "ben has a cup"),
        ("Who has the cup? Ben.", "who has the cup ? ben"),
        ("Who has the hat? Ben.", "who has the hat ? ben"),
        ("He is happy.", "he is happy"),
        ("Ben. Ben.", "ben"),
        ("Anna gives the cup to", "anna gives the cup to"),
    ]
)
def test_a_story_is_checked_by_what_came_before(row):
    rest, wrong = row
    assert mistake_in(START + rest) == wrong


def test_a_file_of_your_own(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("one text\n\n  another  \n", encoding="utf-8")
    assert read_texts(path) == ["one text", "another"]
