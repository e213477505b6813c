import gzip
import hashlib
import itertools
import re
from collections import Counter

import pytest
import torch

from d2lmini import Vocab, batches, encode, load_data_nmt, normalise, read_pairs
from d2lmini.data import label_batches, read_labelled, registry, within_one_word
from d2lmini.data.buckets import buckets
from d2lmini.data.catalogue import PAIRS, DataSet, File
from d2lmini.data.registry import CORPORA
from d2lmini.data.subwords import Subwords, learn_merges, merge, spelt
from tools.corpora import make_deu_eng_mini


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "own.tsv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("sentence", "normalised"),
    [
        ("He’s calm!", "he's calm !"),
        ("Ça alors\u202f!", "ça alors !"),
        ("Où est-il\u00a0?", "où est-il ?"),
        ("«\u00a0Non\u00a0», dit-elle.", "« non » , dit-elle ."),
        ("  ", ""),
        ("De\u0301jà.", "déjà ."),  # é as two characters
        ("“Ja”, „nein“", "“ ja ” , „ nein “"),
        ("¿Qué? ¡No!", "¿ qué ? ¡ no !"),
        ("‚Ja‘ ‹Oui› J‘aime", "‚ ja ‘ ‹ oui › j'aime"),
    ],
)
def test_normalise(sentence, normalised):
    assert normalise(sentence) == normalised
    assert normalise(normalised) == normalised


def test_vocab():
    vocab = Vocab(["b a", "a c", "a b"], min_freq=2)
    assert vocab.idx_to_token == ["<pad>", "<unk>", "<bos>", "<eos>", "a", "b"]
    assert vocab[["a", "c", "b"]] == [4, vocab.unk, 5]
    assert vocab["b"] == 5 and vocab["c"] == vocab.unk
    assert vocab.to_tokens([2, 4, 1]) == ["<bos>", "a", "<unk>"]
    assert len(vocab) == 6 and "c" not in vocab


def test_encode_ends_pads_and_cuts():
    vocab = Vocab(["a b"])
    ids, valid_lens = encode(["a", "b a b"], vocab, 3)
    assert ids.tolist() == [[4, vocab.eos, vocab.pad], [5, 4, 5]]
    assert valid_lens.tolist() == [2, 3]


def test_batches_hold_each_row_once_in_a_new_order_each_time():
    loader = batches([torch.arange(10), torch.arange(10) * 2], batch_size=4)
    first, second = ([tuple(batch) for batch in loader] for _ in range(2))
    assert [len(x) for x, _ in first] == [4, 4, 2]
    assert all(torch.equal(y, 2 * x) for x, y in first)
    order = [torch.cat([x for x, _ in run]).tolist() for run in (first, second)]
    assert order[0] != order[1] and sorted(order[0]) == list(range(10))


def test_your_own_file(tmp_path):
    text = "\ufeffGo.\tVa !\r\n\r\nHe runs.\tIl court.\tattribution\r\n"
    path = write(tmp_path, text)
    assert read_pairs(path) == [("Go.", "Va !"), ("He runs.", "Il court.")]
    train_iter, src_vocab, tgt_vocab = load_data_nmt(2, 5, name=str(path), min_freq=1)
    src, src_lens, tgt, tgt_lens = next(iter(train_iter))
    assert src.shape == tgt.shape == (2, 4)  # the fifth step would be padding only
    assert sorted(src_lens.tolist()) == [3, 4] and sorted(tgt_lens.tolist()) == [3, 4]
    assert "runs" in src_vocab and "court" in tgt_vocab


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "1276\tLet's try.\tEssayons.",
            "source '1276', target \"Let's try.\"; is source",
        ),
        ("Go.\thttps://tatoeba.org/42", "is target really"),
        ("eng_1\tGo.\tVa !", "is source really"),
        ("0.93\tGo.\tVa !", "is source really"),
        ("Go.\tgo.wav\tVa !", "is target really"),
        ("2020-01-01\tGo.\tVa !", "is source really"),
        ("eng\tGo.\tfra\tVa !", "is source really"),
        ("English\tFrench", "is source really"),
        ("CC-BY 2.0 (France)\tGo.", "is source really"),
        ("CK\tGo.", "is source really"),
        ("en-GB\tGo.", "is source really"),
        ("train\tGo.", "is source really"),
    ],
)
def test_a_file_with_other_columns_is_read_with_a_warning(tmp_path, line, said):
    path = write(tmp_path, f"\n{line}\n{line}\n")
    with pytest.warns(UserWarning, match=re.escape(said)) as warned:
        assert len(read_pairs(path)) == 2
    assert len(warned) == 1 and "own.tsv, line 2" in str(warned[0].message)


@pytest.mark.parametrize(
    "line", ["no tab here", "no french\t", "\tno english", " \tb", "\tb\tc", "a  b"]
)
def test_a_bad_line_is_named(tmp_path, line):
    path = write(tmp_path, f"Go.\tVa !\n\n{line}\n")
    with pytest.raises(ValueError, match=r"own.tsv, line 3: expected"):
        read_pairs(path)


def test_only_as_many_lines_are_read_as_are_wanted(tmp_path):
    """The corpus with 167,130 pairs takes no longer than 600 of them."""
    path = write(tmp_path, "a\tb\n" * 3 + "a line without a tab\n")
    assert len(read_pairs(path, num_examples=3)) == 3
    with pytest.raises(ValueError, match="line 4"):
        read_pairs(path)


def test_load_data_takes_the_first_pairs_and_frequent_tokens(tmp_path):
    path = write(tmp_path, "a b\tx\na c\tx y\nd d\tz z\n")
    train_iter, src_vocab, tgt_vocab = load_data_nmt(9, 4, num_examples=2, name=path)
    assert len(next(iter(train_iter))[0]) == 2
    assert src_vocab.idx_to_token[4:] == ["a"] and tgt_vocab.idx_to_token[4:] == ["x"]
    assert len(load_data_nmt(9, 4, None, path, min_freq=1)[1]) == 4 + 4


def test_reserved_words_in_a_text_are_words_like_others():
    vocab = Vocab(["go now ."])
    ids, valid_lens = encode(["go <pad> now .", "go <eos> ."], vocab, 8)
    assert valid_lens.tolist() == [5, 4]
    assert ids[0, 1] == ids[1, 1] == vocab.unk and ids[0, 4] == vocab.eos
    seen = Vocab(["<pad> a <unk>"])
    assert seen.idx_to_token == [*Vocab.reserved, "a"]  # and none of them twice
    assert encode(["<pad> a"], seen, 3)[0].tolist() == [[vocab.unk, 4, vocab.eos]]


def test_within_one_word():
    training = ["he is calm .", "we ran ."]
    near = ["he is sad .", "he is very calm .", "he is .", "we ran ."]
    far = ["he was very calm .", "ran we .", "she is sad ."]
    assert within_one_word(near, training) == len(near)
    assert within_one_word(far, training) == 0


def test_the_real_corpus(fra_eng):
    pairs = read_pairs("fra-eng", num_examples=600)
    assert pairs[0] == ("Go.", "Va !")
    assert ("I lost.", "J'ai perdu.") in pairs
    assert ("I'm home.", "Je suis chez moi.") in pairs
    assert len(read_pairs("fra-eng")) == 167_130
    # One spelling of "j'ai": both apostrophes are in the file.
    _, _, tgt_vocab = load_data_nmt(64, 10, 600, "fra-eng")
    assert "j'ai" in tgt_vocab and "j’ai" not in tgt_vocab


# Labelled texts


def test_labelled_texts(tmp_path):
    own = tmp_path / "own.tsv"
    own.write_text("Good.\t1\n\nBad.\t0\tan extra column\n", encoding="utf-8")
    assert read_labelled(own) == [("Good.", 1), ("Bad.", 0)]
    assert read_labelled(own, num_examples=1) == [("Good.", 1)]
    for text, said in [
        ("Good.\t1\nBad.\n", "line 2: expected text<TAB>label, got 'Bad.'"),
        ("Good.\tyes\n", r"line 1: label \('yes'\) must be a whole number"),
        ("Good.\t-1\n", "line 1: label"),
        ("", "must hold at least one line of text<TAB>label"),
    ]:
        own.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            read_labelled(own)


def test_label_batches_are_cut_to_their_longest():
    texts = [("One two.", 1), ("One.", 0)]
    vocab = Vocab(["one two ."])
    ((tokens, valid_lens, labels),) = label_batches(texts, vocab, 2, num_steps=9)
    assert tokens.shape == (2, 4) and sorted(valid_lens.tolist()) == [3, 4]
    assert dict(zip(valid_lens.tolist(), labels.tolist(), strict=True)) == {4: 1, 3: 0}


# Buckets


def test_buckets_give_each_row_once_and_little_padding():
    lengths = torch.randint(1, 60, (1000,))
    rows = torch.arange(1000)
    data = buckets([rows, lengths], lengths, 10)
    first, second = ([b[0] for b in data] for _ in range(2))
    assert len(first) == len(data) == 100
    assert sorted(torch.cat(first).tolist()) == list(range(1000))
    assert not torch.equal(torch.cat(first), torch.cat(second))

    def padding(batches):
        return sum((lens.max() - lens).sum().item() for _, lens in batches)

    assert padding(data) < padding(batches([rows, lengths], 10)) / 5
    longest = torch.tensor([lengths[batch].max() for batch in first])
    rises = (longest.diff() > 0).float().mean()
    assert 0.3 < rises < 0.7  # not the short ones first
    rows = [[tuple(sorted(batch.tolist())) for batch in run] for run in (first, second)]
    together = [*map(set, rows)]
    assert len(together[0] & together[1]) < 10  # other neighbours, too


@pytest.mark.parametrize(
    ("rows", "size"), [(1, 3), (7, 3), (150, 3), (151, 3), (149, 3)]
)
def test_as_many_buckets_as_they_say(rows, size):
    lengths = torch.ones(rows, dtype=torch.long)
    data = buckets([lengths], lengths, size)
    assert len(data) == len(list(data))


# Two files side by side, and German


def gzipped(path, lines):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def two_files(tmp_path, monkeypatch):
    """A data set of two gzipped files a split, which lie where they should."""

    def make(german, english):
        files = []
        for language, lines in (("de", german), ("en", english)):
            path = gzipped(tmp_path / f"own.{language}.gz", lines)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            size = path.stat().st_size
            files.append(File(path.name, "https://example.org", digest, size))
        known = DataSet("none", PAIRS, {"train": tuple(files)})
        monkeypatch.setitem(registry.REGISTRY, "own", known)
        monkeypatch.setenv("D2LMINI_DATA", str(tmp_path))
        return tmp_path

    return make


def test_two_files_are_read_side_by_side(two_files):
    two_files(["Ein Hund.", "Zwei."], ["A dog.", "Two."])
    assert read_pairs("own") == [("Ein Hund.", "A dog."), ("Zwei.", "Two.")]
    assert read_pairs("own", num_examples=1) == [("Ein Hund.", "A dog.")]


def test_a_gzip_file_that_was_cut_short_is_refused(tmp_path):
    path = gzipped(tmp_path / "own.tsv.gz", [f"{i}\tnumber {i}" for i in range(999)])
    assert len(read_pairs(path)) == 999
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"own.tsv.gz must be a whole gzip file"):
        read_pairs(path)


def test_two_files_of_different_length_are_refused(two_files):
    two_files(["Ein Hund.", "Zwei.", "Drei."], ["A dog."])
    with pytest.raises(ValueError, match=r"own.de.gz \(3 lines\) and .*own.en.gz \(1"):
        read_pairs("own")


def test_the_german_corpus_is_what_its_grammar_writes():
    for split, text in make_deu_eng_mini.files().items():
        path = CORPORA / "deu-eng-mini" / f"{split}.tsv"
        assert path.read_text(encoding="utf-8") == text


# Subwords


def test_merges_by_hand():
    """Twice "low", twice "lower": lo, low, then what follows."""
    merges = learn_merges(["low low lower lower"], num_merges=2)
    assert merges == [("▁l", "o"), ("▁lo", "w")]
    assert Subwords(merges).split("lower low slow") == "▁low e r ▁low ▁s l o w"
    assert learn_merges(["low low lower lower"], 99)[-1] == ("▁lowe", "r")
    assert learn_merges(["low lower"], 99) == merges  # none of what occurs once


def slowly(sentences, num_merges):
    """learn_merges in its shortest form: count anew after each merge."""
    words = Counter(" ".join(sentences).split())
    pieces = {word: spelt(word) for word in words}
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, times in words.items():
            for pair in itertools.pairwise(pieces[word]):
                pairs[pair] += times
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < 2:
            break
        merges.append(best)
        pieces = {word: merge(parts, best) for word, parts in pieces.items()}
    return merges


def test_counting_what_changes_gives_the_same_as_counting_anew():
    sentences = [normalise(french) for _, french in read_pairs()]
    assert learn_merges(sentences, 150) == slowly(sentences, 150)


def test_merging_does_not_overlap():
    assert merge(list("aaaa"), ("a", "a")) == ["aa", "aa"]
    assert merge(list("aaa"), ("a", "a")) == ["aa", "a"]


def test_what_was_merged_first_is_merged_first():
    subwords = Subwords([("b", "c"), ("▁a", "b")])
    assert subwords.split("abc") == "▁a bc"
