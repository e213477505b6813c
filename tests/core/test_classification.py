"""The classifier of chapter 12, and the reviews that it reads."""

import math
import runpy
from pathlib import Path

import pytest
import torch
from conftest import tiny_net

from d2lmini import Vocab, evaluate
from d2lmini.data import label_batches
from d2lmini.data.registry import CORPORA
from d2lmini.tasks.classification import (
    AttentionPooling,
    Classifier,
    classification_accuracy,
    classify,
)

ROOT = Path(__file__).parents[2]
SPLITS = "train", "val", "test"
CPU = torch.device("cpu")


@pytest.fixture
def net():
    return Classifier(tiny_net().encoder, 8, 2, 0.0).eval()


# Pooling and net


def test_pooling_by_hand(each_device):
    X = torch.tensor([[[6.0, 0.0], [0.0, 6.0], [6.0, 6.0]]])
    pooling = AttentionPooling(2)
    with torch.no_grad():
        pooling.query.weight.copy_(torch.tensor([[0.0, math.log(2) / 6]]))
    # scores 0, ln 2, ln 2
    assert torch.allclose(pooling(X), torch.tensor([[18 / 5, 24 / 5]]))
    assert torch.allclose(pooling.weights, torch.tensor([[0.2, 0.4, 0.4]]))
    mask = torch.tensor([[[True, True, False]]])
    assert torch.allclose(pooling(X, mask), torch.tensor([[2.0, 4.0]]))
    assert torch.equal(pooling(X, mask & False), torch.zeros(1, 2))


def test_padding_has_no_vote(net):
    tokens = torch.tensor([[4, 5, 6, 0, 0], [7, 8, 9, 10, 3]])
    lens = torch.tensor([3, 5])
    before = net(tokens, lens)
    tokens[0, 3:] = 9
    assert torch.equal(net(tokens, lens), before)
    assert torch.allclose(net(tokens[:1, :3], lens[:1]), before[:1], atol=1e-6)


def test_accuracy_of_a_data_set_counts_texts_not_batches(net):
    texts = [("a b", 0), ("b c", 0), ("c d", 0), ("d e f", 1), ("f", 1)]
    vocab = Vocab([text for text, _ in texts])
    batches = label_batches(texts, vocab, batch_size=2, num_steps=4)
    with torch.no_grad():
        net.output.weight.zero_()
        net.output.bias.copy_(torch.tensor([1.0, 0.0]))  # everything is of class 0
    assert evaluate(net, batches, classification_accuracy, CPU) == pytest.approx(3 / 5)


def test_a_verdict_says_what_was_read(net):
    vocab = Vocab(["the plot is dull ."])
    verdict = classify(net, "The plot is NOT dull.", vocab, 30, CPU)
    assert verdict.tokens == ["the", "plot", "is", "<unk>", "dull", ".", "<eos>"]
    assert len(verdict.weights) == 7 and sum(verdict.weights) == pytest.approx(1)
    assert sum(verdict.probabilities) == pytest.approx(1)
    assert verdict.probabilities[verdict.label] == max(verdict.probabilities)
    cut = classify(net, "The plot is dull.", vocab, 3, CPU)
    assert cut.tokens == ["the", "plot", "<eos>"]
    with pytest.raises(ValueError, match="must hold a word of the vocabulary"):
        classify(net, "something the plot", vocab, 2, CPU)


# The reviews


def test_the_grammar_writes_the_files():
    made = runpy.run_path(str(ROOT / "tools" / "corpora" / "make_reviews_mini.py"))
    files = made["files"]()
    assert set(files) == set(SPLITS)
    for split, text in files.items():
        assert (CORPORA / "reviews-mini" / f"{split}.tsv").read_text("utf-8") == text
