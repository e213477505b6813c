import math
import warnings

import pytest
import sacrebleu
import torch
from conftest import SRC, TGT, random_net
from hypothesis import given
from hypothesis import strategies as st

from d2lmini import Vocab, beam_search, beam_search_batch, encode, greedy_search
from d2lmini.translation import bleu, corpus_bleu, predict_seq2seq

pytestmark = pytest.mark.usefixtures("each_device")

CPU = torch.device("cpu")


def score(net, src, lens, tokens):
    """Log-probability of a translation, from one full pass."""
    logits = net(src, torch.tensor([tokens[:-1]]), lens)
    log_probs = logits[0].log_softmax(-1)
    return log_probs[range(len(tokens) - 1), tokens[1:]].sum().item()


@given(st.integers(0, 2**31))
def test_a_beam_of_one_is_greedy(seed):
    net = random_net(seed)
    src, lens = torch.randint(11, (1, 5)), torch.tensor([4])
    search = net, src, lens, Vocab.bos, Vocab.eos, 6
    greedy, (beam,) = greedy_search(*search), beam_search(*search, beam_size=1)
    assert beam.tokens == greedy.tokens
    assert beam.log_prob == pytest.approx(greedy.log_prob, abs=1e-4)


@given(st.integers(0, 2**31))
def test_hypotheses_tell_their_probability(seed):
    net = random_net(seed)
    src, lens = torch.randint(11, (1, 5)), torch.tensor([4])
    beams = beam_search(net, src, lens, Vocab.bos, Vocab.eos, 5, beam_size=3)
    assert len(beams) == 3
    for tokens, log_prob in beams:
        assert log_prob == pytest.approx(score(net, src, lens, tokens), abs=1e-4)
        assert tokens[0] == Vocab.bos and len(tokens) <= 6
        assert Vocab.eos not in tokens[1:-1]
    ended = [h for h in beams if h.tokens[-1] == Vocab.eos]
    assert beams[: len(ended)] == ended
    for group in (ended, beams[len(ended) :]):
        ranks = [log_prob / (len(tokens) - 1) for tokens, log_prob in group]
        assert ranks == sorted(ranks, reverse=True)


def test_a_wide_beam_finds_the_best():
    """All translations of a net that end within two tokens, by exhaustion."""
    net = random_net(3)
    src, lens = torch.tensor([[4, 5, 3]]), torch.tensor([3])
    beams = beam_search(net, src, lens, Vocab.bos, Vocab.eos, 2, beam_size=200)
    others = [t for t in range(13) if t != Vocab.eos]
    every = [[Vocab.bos, Vocab.eos]] + [[Vocab.bos, a, Vocab.eos] for a in others]
    best = max(every, key=lambda ids: score(net, src, lens, ids) / (len(ids) - 1))
    assert beams[0].tokens == best


def test_predict_gives_words_and_the_weights_of_the_pass():
    net = random_net(0)
    translation, weights = predict_seq2seq(
        net, "a b", SRC, TGT, 6, torch.get_default_device()
    )
    steps = weights.decoder.shape[-1]
    assert len(translation.split()) in (steps, steps - 1)
    assert weights.encoder.shape == (2, 2, 6, 6)
    assert weights.decoder.shape == (2, 2, steps, steps)
    assert weights.cross.shape == (2, 2, steps, 6)
    assert (weights.cross[..., 3:] == 0).all()  # a, b, <eos>; the rest is padding
    torch.testing.assert_close(weights.cross.sum(-1), torch.ones(2, 2, steps))
    device = torch.get_default_device()
    src, lens = (array.to(device) for array in encode(["a b"], SRC, 6))
    tokens = greedy_search(net, src, lens, Vocab.bos, Vocab.eos, 6).tokens
    net(src, torch.tensor([tokens[:-1]]), lens)  # <bos>, and all tokens but the last
    masks, cross = net.decoder.attention_weights
    torch.testing.assert_close(weights.decoder, masks[:, 0])
    torch.testing.assert_close(weights.cross, cross[:, 0])


def test_unknown_words_are_translated_with_a_warning_that_names_them():
    said = r"not in the vocabulary, read as <unk>: \['qux', 'zip'\]"
    with pytest.warns(UserWarning, match=said):
        translation, _ = predict_seq2seq(random_net(0), "qux zip", SRC, TGT, 6, CPU)
    assert isinstance(translation, str)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict_seq2seq(random_net(0), "a b", SRC, TGT, 6, CPU)


def test_a_long_sentence_is_cut_with_a_warning():
    with pytest.warns(UserWarning, match=r"8 tokens are cut to num_steps \(6\)"):
        predict_seq2seq(random_net(0), "a b c d e f g", SRC, TGT, 6, CPU)


@pytest.mark.parametrize(
    ("pred", "label", "k", "value"),
    [
        ("va !", "va !", 2, 1),
        # 1-grams 3 of 4, 2-grams 2 of 3.
        ("il est malade .", "il est calme .", 1, (3 / 4) ** 0.5),
        ("il est calme !", "il est calme .", 2, (3 / 4) ** 0.5 * (2 / 3) ** 0.25),
        # Shorter than the label: exp(1 - 4 / 2).
        ("il est", "il est calme .", 2, math.exp(-1)),
        # A word counts as often as the label has it.
        ("il il il .", "il est calme .", 1, (2 / 4) ** 0.5),
        # Longer than the label: that costs in the 1-grams, and nothing more.
        ("va va !", "va !", 1, (2 / 3) ** 0.5),
        # One word has no 2-grams: it is judged by its 1-gram.
        ("va", "va !", 2, math.exp(-1)),
        ("", "va !", 2, 0),
        ("non", "va !", 2, 0),
    ],
)
def test_bleu_by_hand(pred, label, k, value):
    assert bleu(pred, label, k) == pytest.approx(value)


def test_an_unfinished_hypothesis_does_not_outrank_a_finished_one():
    """A net that likes to go on: after <bos> 'r' or <eos>, after 'r' always 's'."""
    probabilities = torch.full((13, 13), 1e-6)
    first, second, third = TGT["r"], TGT["s"], TGT["t"]
    probabilities[Vocab.bos, [first, Vocab.eos]] = torch.tensor([0.55, 0.44])
    probabilities[first, [second, Vocab.eos]] = torch.tensor([0.9, 0.1])
    probabilities[second, third] = 1.0

    class Stub(torch.nn.Module):
        def encoder(self, src, lens):
            return torch.zeros(1, src.shape[1], 8)

        def decoder(self, tokens, memory, mask):
            return probabilities[tokens].log(), None

    search = torch.zeros(1, 2).long(), torch.tensor([2]), 2, 3, 2
    beams = beam_search(Stub(), *search, beam_size=2)
    # The beginning "r s" is more probable than both, and is no translation.
    due = [[Vocab.bos, Vocab.eos], [Vocab.bos, first, Vocab.eos]]
    assert [h.tokens for h in beams] == due


@pytest.mark.parametrize("beam_size", [1, 2, 3])
def test_a_search_stops_when_enough_hypotheses_have_ended(beam_size):
    """Every word is as likely as <eos>: a beam of n has n ended ones after a few steps."""
    steps = []

    class Stub(torch.nn.Module):
        def encoder(self, src, lens):
            return torch.zeros(1, src.shape[1], 8)

        def decoder(self, tokens, memory, mask):
            steps.append(tokens.shape[1])
            logits = torch.zeros(*tokens.shape, 13)
            logits[..., Vocab.eos] = 1.0
            return logits, None

    search = torch.zeros(1, 2).long(), torch.tensor([2]), Vocab.bos, Vocab.eos, 50
    beams = beam_search(Stub(), *search, beam_size)
    # One ends at the first step; at each later one, as many as are growing, and one at least.
    assert all(h.tokens[-1] == Vocab.eos for h in beams) and len(beams) == beam_size
    assert steps == list(range(1, len(steps) + 1)) and len(steps) <= beam_size


sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8).map(" ".join)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6))
def test_corpus_bleu_equals_sacrebleu(pairs):
    predictions, references = (list(side) for side in zip(*pairs, strict=True))
    plain = {"tokenize": "none", "smooth_method": "none", "force": True}
    due = sacrebleu.corpus_bleu(predictions, [references], **plain).score
    assert corpus_bleu(predictions, references) == pytest.approx(due, abs=1e-6)


def test_searches_need_no_float64_on_the_device(monkeypatch):
    """MPS has none: tensors must move to the CPU before double()."""
    real_cpu, real_double = torch.Tensor.cpu, torch.Tensor.double

    def cpu(self):
        found = real_cpu(self)
        found.is_here = True
        return found

    def double(self):
        assert getattr(self, "is_here", False), "double() before cpu()"
        return real_double(self)

    monkeypatch.setattr(torch.Tensor, "cpu", cpu)
    monkeypatch.setattr(torch.Tensor, "double", double)
    src, lens = torch.randint(11, (1, 5)), torch.tensor([4])
    search = random_net(0), src, lens, Vocab.bos, Vocab.eos
    assert beam_search(*search, 6, 3) and beam_search_batch(*search, 6, 3)
