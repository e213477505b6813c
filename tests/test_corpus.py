"""The corpus of this project: its splits, and that the grammar still writes it."""

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

from d2lmini import normalise, read_pairs
from d2lmini.data.registry import EMBEDDED

ROOT = Path(__file__).parents[1]
SPLITS = "train", "val", "test"


def tokenized(split):
    return [tuple(normalise(side) for side in pair) for pair in read_pairs(split=split)]


def test_the_grammar_writes_the_files():
    grammar = runpy.run_path(str(ROOT / "tools" / "make_eng_fra_mini.py"))
    for split, text in grammar["files"]().items():
        assert (EMBEDDED / "eng-fra-mini" / f"{split}.tsv").read_text(
            encoding="utf-8"
        ) == text


def test_english_articles():
    for split in SPLITS:
        for english, _ in tokenized(split):
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", english), english


def test_size_and_length():
    assert [len(tokenized(split)) for split in SPLITS] == [1800, 200, 200]
    longest = max(
        len(side.split()) for s in SPLITS for pair in tokenized(s) for side in pair
    )
    assert longest <= 9  # with <eos>, 10 steps


def test_the_source_chapter_s_sentences_are_in_it():
    for pair in [
        ("go .", "va !"),
        ("i lost .", "j'ai perdu ."),
        ("he's calm .", "il est calme ."),
        ("i'm home .", "je suis chez moi ."),
    ]:
        assert pair in tokenized("train")


@pytest.mark.parametrize("side", [0, 1])
def test_held_out_sentences_are_new_and_their_words_are_not(side):
    train, val, test = ({pair[side] for pair in tokenized(split)} for split in SPLITS)
    assert not train & val and not train & test and not val & test
    counts = Counter(word for sentence in train for word in sentence.split())
    for sentence in val | test:
        assert min(counts[word] for word in sentence.split()) >= 2, sentence


def test_a_sentence_has_one_translation():
    english = Counter(english for split in SPLITS for english, _ in tokenized(split))
    assert max(english.values()) == 1


@pytest.mark.parametrize(
    ("english", "translation"),
    [  # agreement, elision, negation, word order, inversion: one of each
        ("she was happy .", "elle était heureuse ."),
        ("they're happy .", "ils sont heureux ."),
        ("i'm hungry .", "j’ai faim ."),
        ("mary isn't afraid .", "marie n’a pas peur ."),
        ("she left .", "elle est partie ."),
        ("we didn't come .", "nous ne sommes pas venus ."),
        ("tom doesn't have a bird .", "tom n’a pas d’oiseau ."),
        ("he saw an old tree .", "il a vu un vieil arbre ."),
        ("he saw the old tree .", "il a vu le vieil arbre ."),
        ("he saw the old house .", "il a vu la vieille maison ."),
        ("i want a red car .", "je veux une voiture rouge ."),
        ("she loves me .", "elle m’aime ."),
        ("they don't know us .", "ils ne nous connaissent pas ."),
        ("did mary sleep ?", "marie a-t-elle dormi ?"),
        ("are you in bed ?", "es-tu au lit ?"),
        ("don't listen .", "n’écoute pas !"),
        ("tom chases jerry .", "tom poursuit jerry ."),
    ],
)
def test_the_grammar(english, translation):
    grammar = runpy.run_path(str(ROOT / "tools" / "make_eng_fra_mini.py"))
    everything = {}
    for construction, _ in grammar["CONSTRUCTIONS"]:
        everything.update(construction())
    assert everything.get(english) == translation
