"""A corpus that is loaded fast is the one that is loaded readably."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d2lmini import fast_loading, load_data_nmt
from d2lmini.fast_loading import fast_load_data_nmt

# Words that a shortcut may take for something else.
WORD = st.sampled_from(
    [
        "END",
        "end",
        "<pad>",
        "<eos>",
        "a.b",
        "«c»",
        "’d",
        "É",
        "ΟΔΟΣ",
        "Σ",
        "İ",
        "...",
        "e",
    ]
)
SPACE = st.sampled_from([" ", "\u00a0", "\u2009", "  ", "\x0b", "\u2028"])
SENTENCE = st.tuples(WORD, st.lists(st.tuples(SPACE, WORD), max_size=6)).map(
    lambda parts: parts[0] + "".join(space + word for space, word in parts[1])
)


def assert_same(**settings):
    (slow, *slow_vocabs), (fast, *fast_vocabs) = (
        load(batch_size=8, **settings) for load in (load_data_nmt, fast_load_data_nmt)
    )
    for mine, theirs in zip(fast_vocabs, slow_vocabs, strict=True):
        assert mine.idx_to_token == theirs.idx_to_token
        assert mine.word_to_idx == theirs.word_to_idx
    for mine, theirs in zip(fast.dataset.tensors, slow.dataset.tensors, strict=True):
        assert mine.equal(theirs) and mine.dtype == theirs.dtype
    assert len(fast) == len(slow)


@pytest.mark.parametrize("num_steps", [1, 3, 10])
@pytest.mark.parametrize("num_examples", [1, 600, None])
@pytest.mark.parametrize("min_freq", [1, 3])
def test_vocabularies_and_arrays_are_the_same(num_steps, num_examples, min_freq):
    assert_same(
        num_steps=num_steps,
        num_examples=num_examples,
        min_freq=min_freq,
        name="eng-fra-mini",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=8))
def test_so_they_are_for_any_sentences(folder, pairs):
    path = folder / "pairs.tsv"
    lines = (f"{source}\t{target}\n" for source, target in pairs)
    path.write_bytes("".join(lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_loading, "AT_ONCE", 3)
        assert_same(num_steps=4, num_examples=None, min_freq=1, name=path)


def test_so_they_are_for_all_of_a_real_corpus(fra_eng):
    assert_same(num_steps=10, num_examples=None, name="fra-eng")


@pytest.mark.parametrize(
    "wrong", [{"num_steps": 0}, {"min_freq": 0}, {"num_examples": 0}, {"batch_size": 0}]
)
def test_what_one_refuses_the_other_refuses(wrong):
    arguments = {"batch_size": 8, "num_steps": 10, "name": "eng-fra-mini"} | wrong
    said = []
    for load in (load_data_nmt, fast_load_data_nmt):
        with pytest.raises(ValueError) as error:
            load(**arguments)
        said.append(str(error.value))
    assert said[0] == said[1]
