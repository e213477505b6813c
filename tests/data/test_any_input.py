"""Files and strings of any kind: a result, or an error that says what is wrong, without delay.

D2LMINI_EXAMPLES=10000 tries ten thousand of each; without it there are fewer.
"""

import gzip
import os
import random
import time
import warnings

import pytest
import torch
from conftest import SRC, TGT, random_net
from hypothesis import example, given, settings
from hypothesis import strategies as st

from d2lmini import load_data_nmt, predict_seq2seq, read_pairs, translate_all
from d2lmini.data import label_batches, read_labelled
from d2lmini.data.catalogue import LABELLED, PAIRS, POSITIONS, TEXTS
from d2lmini.data.paths import path_windows, read_tracks
from d2lmini.data.registry import LONGEST_LINE, find_paths, read_lines
from d2lmini.data.subwords import Subwords, join, learn_merges
from d2lmini.data.text import Vocab, encode, normalise
from d2lmini.data.texts import mistake_in, read_texts
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.classification import Classifier, classify
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.transformer import TransformerEncoder

pytestmark = pytest.mark.thorough

SLOW = 2.0  # seconds of work, whatever else this machine does; nothing may take longer


def examples(usually):
    """How many examples a test tries."""
    return settings(max_examples=int(os.environ.get("D2LMINI_EXAMPLES", usually)))


# What breaks programs: what ends a line or a string, what cannot be seen or turns the text
# around, half a character, what changes its length in lower case, words that mean something.
ODD = [*"\0\t\n\r\x0b\x0c\x1b\x1c\x85\u2028\u2029\ufeff\u200b\u202e\u00a0\u202f\u3000\u0301",
       "\ud800", "\udfff", "\udcff", "😀", "👩‍👩‍👧", *"ßİſΣ▁’'\"\\<>&;,.!?…«»()", "\r\n", " ",
       "<pad>", "<unk>", "<eos>", "</script>", "<img src=x onerror=alert(1)>", "__proto__",
       "constructor", "%s{}", "a", "b", "c", "go", "the", "0", "1", "-1",
       "1e999", "nan", "٣", "9" * 30]  # fmt: skip
CHARACTERS = st.characters(exclude_categories=())  # lone surrogates, too
PART = st.one_of(st.sampled_from(ODD), st.text(CHARACTERS, max_size=5))
REPEATED = st.sampled_from(["a", "a ", "▁", "😀", ".", "\t"])
LONG = REPEATED.map(lambda part: part * 5000)
STRING = st.one_of(
    st.lists(st.sampled_from(ODD), max_size=8).map("".join),
    st.text(CHARACTERS, max_size=30),
    st.lists(PART, max_size=4).map(" ".join),
    st.tuples(st.integers(0, 9), LONG, PART).map(lambda t: t[1] if not t[0] else t[2]),
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Small nets gain nothing from more threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def answer(call, *about):
    """Return the result of a call, or None after an error that names what is wrong."""
    start = time.thread_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except (TypeError, ValueError) as error:
        assert any(name in str(error) for name in about), f"unclear: {error!r}"
    finally:
        assert time.thread_time() - start < SLOW


# Files

CELL = st.one_of(
    st.sampled_from(["Go.", "Va !", "1", "0", "2.5", "7", "", " ", "10", "780"]),
    st.integers(-(10**25), 10**25).map(str),
    st.floats().map(str),
    PART,
    st.sampled_from(["9" * 5000, "1" * 400, "a" * 20_000]),
)
LINE = st.one_of(
    st.lists(CELL, min_size=2, max_size=2).map("\t".join),
    st.lists(CELL, max_size=5).map("\t".join),
    st.lists(CELL, min_size=4, max_size=4).map(" ".join),
    st.tuples(*[st.integers(0, 3)] * 2, st.floats(), st.floats()).map(
        lambda row: " ".join(map(str, row))
    ),
)
END = st.sampled_from(["\n", "\r\n", "\r", "\n\n", ""])
ENCODING = ["utf-8"] * 5 + ["utf-8-sig", "utf-16", "utf-32", "cp037", "utf-7"]
ENCODING = st.sampled_from(ENCODING)
LINES = st.builds(
    lambda lines, end, encoding: end.join(lines).encode(encoding, "replace"),
    st.one_of(st.lists(LINE, max_size=5), st.lists(LINE, max_size=1)),
    END,
    ENCODING,
)
CONTENT = st.one_of(LINES, LINES, LINES, st.binary(max_size=60))


@st.composite
def spoiled(draw, content):
    """Bytes as they are, or with one changed, or cut."""
    body = bytearray(draw(content))
    how = draw(st.integers(0, 4))
    if how == 1 and body:
        body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    elif how == 2:
        body = body[: draw(st.integers(0, len(body)))]
    return bytes(body)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def read_in_every_way(path):
    """Each loader of a file of one's own; what one returns can be used."""
    name = str(path)
    pairs = answer(lambda: read_pairs(path), name)
    if pairs is not None:
        assert pairs and all(source and target for source, target in pairs)
        for min_freq in (1, 2):
            batch, *vocabs = load_data_nmt(4, 5, None, path, min_freq)
            src, src_lens, tgt, tgt_lens = next(iter(batch))
            assert len(src) == len(tgt) == min(4, len(pairs))
            for ids, lens, vocab in zip(
                (src, tgt), (src_lens, tgt_lens), vocabs, strict=True
            ):
                assert ids.min() >= 0 and ids.max() < len(vocab)
                assert lens.min() >= 1 and lens.max() <= 5
    texts = answer(lambda: read_labelled(path), name)
    if texts is not None:
        vocab = Vocab([normalise(text) for text, _ in texts])
        for _, _, labels in label_batches(texts, vocab, 4, 5):
            assert {*labels.tolist()} <= {label for _, label in texts}
    tracks = answer(lambda: read_tracks(path), name)
    if tracks is not None:
        for track in tracks:
            assert track.positions.isfinite().all()
        answer(lambda: path_windows(tracks, 2, spacing=1), "num_steps")
    lines = answer(lambda: read_texts(path), name)
    assert lines is None or all(line.strip() for line in lines)


@examples(500)
@given(spoiled(CONTENT))
def test_any_file_is_read_or_refused(folder, content):
    path = folder / "own.tsv"
    path.write_bytes(content)
    read_in_every_way(path)


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz"])
def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path, suffix):
    """Of 100 kB, unpacked 100 MB."""
    path = tmp_path / f"own{suffix}"
    with (gzip.open if suffix == ".tsv.gz" else open)(path, "wb") as file:
        file.write(b"a\tb\n")
        for _ in range(100):
            file.write(bytes(10**6))
    lines = read_lines(path)
    assert next(lines) == "a\tb\n"
    with pytest.raises(ValueError, match=rf"own.*, line 2 must be .* {LONGEST_LINE}"):
        next(lines)


# Strings


@examples(300)
@given(STRING, STRING)
@example("~who-is-this", "train")  # a home folder that does not exist
def test_any_name_of_a_data_set_or_a_split(name, split):
    for columns in (PAIRS, LABELLED, POSITIONS, TEXTS):
        answer(lambda c=columns: find_paths(name, columns=c), "name (")
    for known in ("eng-fra-mini", "reviews-mini"):
        answer(lambda n=known: read_pairs(n, split), "split (", "name (")


@examples(1000)
@given(STRING, STRING)
def test_any_string_becomes_ids_and_comes_back(text, other):
    sentence = normalise(text)
    assert sentence == normalise(sentence) == " ".join(sentence.split())
    vocab = Vocab([sentence, normalise(other)])
    words = sentence.split()
    steps = max(1, len(words) + 1)
    ids, valid_lens = encode([sentence], vocab, steps)
    assert valid_lens.tolist() == [len(words) + 1] and ids[0, -1] == vocab.eos
    # A reserved word in a text counts as unknown.
    read = [word if word not in vocab.reserved else "<unk>" for word in words]
    assert vocab.to_tokens(ids[0, : len(words)].tolist()) == read
    assert encode([text, other], vocab, 3)[0].shape == (2, 3)
    assert mistake_in(text) is None or isinstance(mistake_in(text), str)


@examples(1000)
@given(STRING, STRING)
def test_any_string_falls_into_pieces_that_can_be_joined(text, other):
    sentence = normalise(text)
    subwords = Subwords(learn_merges([sentence, normalise(other)], 20))
    assert join(subwords.split(sentence)) == sentence.replace("▁", "_")
    assert isinstance(subwords.split(text), str)


NET = random_net(0)
CRITIC = Classifier(TransformerEncoder(len(SRC), 8, 16, 2, 2, 0.0), 8, 2, 0.0).eval()
WORDS = st.lists(st.sampled_from([*"abcdefg", "<pad>", "."]), max_size=5)
MIXED = st.tuples(STRING, WORDS).map(lambda t: " ".join([t[0], *t[1]]))
TYPED = st.one_of(STRING, MIXED)


@examples(100)
@given(TYPED, st.sampled_from([None, 2]))
def test_any_string_is_translated_and_judged_or_refused(text, beam_size):
    how = SRC, TGT, 4, torch.device("cpu"), beam_size
    found = answer(lambda: predict_seq2seq(NET, text, *how), "src_sentence (")
    same = answer(lambda: translate_all(NET, [text] * 2, *how), "sentences (")
    assert (found is None) == (same is None) == (not text.split())
    if found is not None:
        assert same == [found[0]] * 2
        assert {*found[0].split()} <= {*TGT.idx_to_token}
    judged = answer(lambda: classify(CRITIC, text, SRC, 6, "cpu"), "text (")
    assert judged is None or judged.label in (0, 1)


@pytest.fixture(scope="module")
def translator():
    return SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")


@settings(max_examples=max(2, examples(100).max_examples // 100))
@given(st.lists(STRING, min_size=100, max_size=100))
def test_any_sentences_are_translated_at_once(translator, sentences):
    found = translator.translate(sentences)
    assert len(found) == 100 and all(isinstance(text, str) for text in found)


def test_a_word_of_many_letters_is_no_reason_to_wait(translator):
    letters = "".join(random.Random(0).choices("etaoinshrdlu", k=30_000))
    start = time.thread_time()
    ids, _ = translator.encode([letters])
    assert time.thread_time() - start < SLOW
    assert ids.equal(translator.encode([letters[:1500]])[0])
