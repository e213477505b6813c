"""The corpus of this project: its splits, and the grammar that writes it."""

import runpy
from collections import Counter
from pathlib import Path

import pytest
from conftest import for_each

from d2lmini import normalise, read_pairs
from d2lmini.data.registry import CORPORA

ROOT = Path(__file__).parents[2]
SPLITS = "train", "val", "test"


@pytest.fixture(scope="module")
def grammar():
    return runpy.run_path(str(ROOT / "tools" / "corpora" / "make_eng_fra_mini.py"))


@pytest.fixture(scope="module")
def everything(grammar):
    """All pairs of all constructions: english -> its translations."""
    translations = {}
    for construction, _ in grammar["CONSTRUCTIONS"]:
        for english, translation in construction():
            translations.setdefault(english, set()).add(translation)
    return translations


@pytest.fixture(scope="module")
def compositional():
    """kind -> list of (english, french)"""
    kinds = {"pair": [], "long": []}
    path = CORPORA / "eng-fra-mini" / "compositional.tsv"
    for line in path.read_text(encoding="utf-8").splitlines():
        *pair, kind = line.split("\t")
        kinds[kind].append(tuple(normalise(side) for side in pair))
    return kinds


def tokenized(split):
    return [tuple(normalise(side) for side in pair) for pair in read_pairs(split=split)]


def test_the_grammar_writes_the_files(grammar):
    texts = grammar["files"]()
    assert set(texts) == {*SPLITS, "compositional"}
    for split, text in texts.items():
        path = CORPORA / "eng-fra-mini" / f"{split}.tsv"
        assert path.read_text(encoding="utf-8") == text


@for_each([0, 1])
def test_held_out_sentences_are_new_and_their_words_are_not(side):
    train, val, test = ({pair[side] for pair in tokenized(split)} for split in SPLITS)
    assert not train & val and not train & test and not val & test
    counts = Counter(word for sentence in train for word in sentence.split())
    for sentence in val | test:
        assert min(counts[word] for word in sentence.split()) >= 2, sentence


def test_a_sentence_has_one_translation(everything):
    english = Counter(english for split in SPLITS for english, _ in tokenized(split))
    assert max(english.values()) == 1
    assert [e for e, translations in everything.items() if len(translations) > 1] == []


# Agreement, elision, negation, word order, inversion: some of each.
SAID = """
she was happy . = elle était heureuse .
they're happy . = ils sont heureux .
mary isn't afraid . = marie n’a pas peur .
she left . = elle est partie .
tom doesn't have a bird . = tom n’a pas d’oiseau .
he saw an old tree . = il a vu un vieil arbre .
he saw the old house . = il a vu la vieille maison .
i want a red car . = je veux une voiture rouge .
she loves me . = elle m’aime .
they don't know us . = ils ne nous connaissent pas .
did mary sleep ? = marie a-t-elle dormi ?
are you in bed ? = es-tu au lit ?
don't listen . = n’écoute pas !
don't leave . = ne pars pas !
let's go . = allons-y !
he can't sleep . = il ne peut pas dormir .
"""


def test_the_grammar(everything):
    for line in SAID.strip().splitlines():
        english, translation = line.split(" = ")
        assert everything.get(english) == {translation}


@for_each([0, 1])
def test_the_compositional_split_is_new_and_its_words_are_not(side, compositional):
    pairs = compositional["pair"] + compositional["long"]
    sentences = [pair[side] for pair in pairs]
    assert len(set(sentences)) == len(sentences) == 200
    for split in SPLITS:
        assert not set(sentences) & {pair[side] for pair in tokenized(split)}
    counts = Counter(w for pair in tokenized("train") for w in pair[side].split())
    assert all(counts[word] >= 2 for s in sentences for word in s.split())
