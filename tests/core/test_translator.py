"""The ready-made translator."""

import errno
import os
import struct

import pytest
import torch
from conftest import for_each

from d2lmini import normalise, read_pairs
from d2lmini.data.subwords import join, learn_merges
from d2lmini.support.files import read_tensors, write_file, write_tensors
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator

SIZES = 16, 32, 2, 2, 0.1


@pytest.fixture
def translator():
    sentences = [normalise(s) for pair in read_pairs(num_examples=200) for s in pair]
    merges = learn_merges(sentences, 60)
    torch.manual_seed(0)
    pieces = SubwordTranslator(merges, [], SIZES)
    tokens = {piece for s in sentences for piece in pieces.subwords.split(s).split()}
    return SubwordTranslator(merges, sorted(tokens), SIZES)


def test_nothing_is_translated_to_nothing(translator):
    (french,) = translator.translate(["He is calm."])
    assert translator.translate(["", "He is calm.", "   "]) == ["", french, ""]
    assert translator.translate([]) == [] and translator.translate(["\u00a0"]) == [""]


def test_a_look_is_at_the_translation_that_is_made(translator):
    (french,) = translator.translate(["He is calm."])
    look = translator.look("He is calm.")
    assert join(" ".join(look.written).removesuffix(" <eos>")) == french
    assert look.read[-1] == "<eos>" and "".join(look.read[:-1]) == "▁he▁is▁calm▁."
    layers, heads, *places = look.cross.shape
    assert [layers, heads] == [2, 2] and places == [len(look.written), len(look.read)]
    sums = look.cross.sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    best = translator.vocab.to_tokens(look.probabilities.argmax(dim=-1).tolist())
    assert best == look.written
    with pytest.raises(ValueError, match="at least one word"):
        translator.look(" ")


def test_what_is_saved_comes_back(translator, tmp_path):
    path = tmp_path / "translator.safetensors"
    translator.save(str(path), licence="none")
    again = SubwordTranslator.load(path)
    assert again.about == {"licence": "none"} and again.sizes == SIZES
    assert again.num_steps == translator.num_steps and not again.net.training
    assert again.vocab.idx_to_token == translator.vocab.idx_to_token
    assert again.subwords.ranks == translator.subwords.ranks
    for name, weights in translator.net.state_dict().items():
        got = again.net.state_dict()[name]
        step = weights.abs().amax(dim=-1, keepdim=True) / 127
        assert ((got - weights).abs() <= 0.51 * step + 1e-9).all(), name
    number = sum(p.numel() for p in translator.net.parameters())
    assert path.stat().st_size < 2 * number + 30_000
    decoder, encoder = again.net.decoder, again.net.encoder
    tables = decoder.output.weight, encoder.embedding.embedding.weight
    assert tables[0] is tables[1]


def refused(path, said):
    """Check that a file is refused with this message, and is left as it was."""
    before = path.read_bytes()
    with pytest.raises(ValueError, match=said) as caught:
        SubwordTranslator.load(path)
    assert f"path ({path})" in str(caught.value)
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


def test_a_file_that_was_cut_short_is_refused(translator, tmp_path):
    path = tmp_path / "translator.safetensors"
    translator.save(path)
    whole = path.read_bytes()
    start = 8 + struct.unpack("<Q", whole[:8])[0]  # of the first tensor
    for length in (0, 1, 8, 100, start, (start + len(whole)) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(path, "must be a safetensors file; it is truncated, or is not one")
    path.write_bytes(whole + b"0")
    refused(path, "must be a safetensors file")


def test_changed_numbers_are_refused(translator, tmp_path):
    path = tmp_path / "translator.safetensors"
    translator.save(path)
    whole = bytearray(path.read_bytes())
    whole[-500] ^= 1  # one bit of one number
    path.write_bytes(whole)
    refused(path, "is damaged: its numbers are not those written")


def test_another_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "weights.safetensors"
    torch.save({"net": torch.ones(2)}, path)
    refused(path, "must be a safetensors file")
    write_tensors(path, {"net": torch.ones(2)}, {})
    refused(path, r"must be a file that SubwordTranslator\.save wrote")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"weights\.safetensors"):
        SubwordTranslator.load(path)
    with pytest.raises(OSError, match=tmp_path.name):  # a folder
        SubwordTranslator.load(tmp_path)


TABLE = "encoder.embedding.embedding.weight"
BIAS = "decoder.output.bias"
# name, new value (None: removed), message
NOTES = [
    ("format", "photo", r"must be a file that SubwordTranslator\.save wrote"),
    ("version", 2, "has version 2; this d2lmini reads 1"),
    *((name, None, f"lacks {name}")
      for name in ("merges", "tokens", "sizes", "num_steps", "about")),
    ("merges", {}, r"merges \({}\) must be a list of pairs"),
    ("merges", ["ou"], r"merges: pair \('ou'\) must be \(piece, piece\)"),
    ("tokens", "abc", "tokens .* must be a list of strings"),
    ("tokens", ["a", "a"], "tokens must be pieces without spaces, each only once"),
    ("tokens", ["<pad>"], "tokens must be pieces without spaces"),
    ("tokens", [], "must be torch.float32 of shape"),
    ("tokens", [str(i) for i in range(100_000)], "too few numbers"),
    ("sizes", [16, 32, 2, 2], "sizes: not enough values"),
    ("sizes", [16, 32, "2", 2, 0.1], r"num_heads \('2'\) must be a whole number"),
    ("sizes", [16, 32, 3, 2, 0.1], r"num_hiddens \(16\) must be divisible"),
    ("sizes", [16, 32, 2, 1, 0.1], "has an unexpected tensor"),
    ("sizes", [16, 16, 2, 2, 0.1], "must be torch.float32 of shape"),
    ("sizes", [10**9, 32, 2, 2, 0.1], "too few numbers"),
    ("num_steps", 0, r"num_steps \(0\) must be at least 1"),
]  # fmt: skip
TENSORS = [
    (BIAS, None, f"lacks the tensor {BIAS}"),
    (TABLE, None, f"lacks the tensor {TABLE}"),
    (f"{TABLE}.scale", None, f"lacks the tensor {TABLE}.scale"),
    (BIAS, lambda x: x[1:], f"its {BIAS} must be torch.float32 of shape"),
    (BIAS, lambda x: x.half(), "must be torch.float32 .* is torch.float16"),
    (TABLE, lambda x: x.T.contiguous(), f"its {TABLE} must be torch.int8 of shape"),
    (TABLE, lambda x: x.float(), "must be torch.int8 .* is torch.float32"),
    (f"{TABLE}.scale", lambda x: x[:1], "must be torch.float32 of shape"),
]


@for_each(NOTES + TENSORS)
def test_a_file_that_save_would_not_write_is_refused(row, translator, tmp_path):
    name, change, said = row
    path = tmp_path / "translator.safetensors"
    translator.save(path)
    tensors, notes = read_tensors(path)
    parts = notes if name in notes else tensors
    parts[name] = change(parts[name]) if callable(change) else change
    if change is None:
        del parts[name]
    write_tensors(path, tensors, notes)
    refused(path, said)


def test_a_save_that_fails_leaves_the_old_file(translator, tmp_path, monkeypatch):
    path = tmp_path / "translator.safetensors"
    translator.save(path)
    before = path.read_bytes()

    def half(file):
        file.write(before[:1000])
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"path \(.*\) could not be written: .*No space"):
        write_file(path, half)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]
    with pytest.raises(TypeError, match=r"about .* must be serialisable as JSON"):
        translator.save(path, licence={"MIT"})
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]


def test_the_translator_of_the_ledger_is_small_and_translates():
    path = RESULTS / "fra-eng-full.safetensors"
    assert path.stat().st_size < 2_000_000
    translator = SubwordTranslator.load(path)
    assert "tatoeba.org" in translator.about["data"]
    found = translator.translate(["Where is the library?"])
    assert found == ["où est la bibliothèque ?"]
