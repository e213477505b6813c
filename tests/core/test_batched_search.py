"""Searching many sentences at once gives what each gives alone."""

import pytest
import torch
from conftest import SRC, TGT, generator, random_net
from hypothesis import given
from hypothesis import strategies as st

from d2lmini import Vocab, beam_search_batch, generate, predict_seq2seq, translate_all
from d2lmini.generation import beam_search, greedy_search
from d2lmini.speed.batched_search import at_random, extend, most_probable

pytestmark = pytest.mark.usefixtures("each_device")

ENDS = Vocab.bos, Vocab.eos


def some_sentences(number=5, num_steps=6):
    """Sources of different lengths, with padding that must not be read."""
    src = torch.randint(4, len(SRC), (number, num_steps))
    return src, 1 + torch.randperm(num_steps)[:number]


def alone(src, lens):
    return [(src[i : i + 1, : lens[i]], lens[i : i + 1]) for i in range(len(src))]


@given(st.integers(0, 2**31), st.booleans())
def test_many_at_once_are_as_many_one_by_one(seed, padded):
    net, (src, lens) = random_net(seed), some_sentences()
    found = generate(net, src, lens if padded else None, *ENDS, 7)
    sentences = alone(src, lens) if padded else [(row[None], None) for row in src]
    for one, sentence in zip(found, sentences, strict=True):
        due = greedy_search(net, *sentence, *ENDS, 7)
        assert one.tokens == due.tokens
        assert one.log_prob == pytest.approx(due.log_prob, abs=1e-4)


@given(st.integers(0, 2**31), st.integers(1, 5))
def test_many_beams_at_once_are_as_many_one_by_one(seed, beam_size):
    net, (src, lens) = random_net(seed), some_sentences()
    found = beam_search_batch(net, src, lens, *ENDS, 6, beam_size)
    for beams, sentence in zip(found, alone(src, lens), strict=True):
        due = beam_search(net, *sentence, *ENDS, 6, beam_size)
        assert [h.tokens for h in beams] == [h.tokens for h in due]
        for one, other in zip(beams, due, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


class OfLength(torch.nn.Module):
    """Ends a translation after as many tokens as the source has; notes the rows of each step."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def encoder(self, src, lens):
        return lens[:, None, None].expand(-1, src.shape[1], 1).float()

    def decoder(self, tokens, memory, mask, caches):
        self.rows.append(len(tokens))
        done = len(self.rows) >= memory[:, 0, 0]
        logits = torch.zeros(len(tokens), 1, len(TGT))
        logits[:, 0, 4] = 5.0
        logits[done, 0, Vocab.eos] = 10.0
        return logits, []


def test_it_stops_when_all_have_ended_and_counts_what_came_before():
    net, lens = OfLength(), torch.tensor([3, 1, 2])
    found = generate(net, torch.zeros(3, 3).long(), lens, *ENDS, 50)
    assert net.rows == [3, 2, 1]  # finished sentences are dropped
    assert [len(h.tokens) - 1 for h in found] == [3, 1, 2]
    word, end = torch.zeros(2, len(TGT)).index_fill(1, torch.tensor(4), 5.0)
    end[Vocab.eos] = 10.0
    one = end.log_softmax(-1)[Vocab.eos].item()
    assert found[1].log_prob == pytest.approx(one, abs=1e-5)
    two = word.log_softmax(-1)[4].item() + one
    assert found[2].log_prob == pytest.approx(two, abs=1e-5)


@pytest.mark.parametrize("beam_size", [None, 3])
def test_translations_come_in_the_order_of_the_sentences(beam_size):
    net = random_net(0)
    device = torch.get_default_device()
    sentences = ["a b c d", "e", "f G", "a a a", "b", "d e f g a b"]
    found = translate_all(net, sentences, SRC, TGT, 6, device, beam_size, batch_size=4)
    how = SRC, TGT, 6, device, beam_size
    # predict_seq2seq would warn about the last one, which is truncated.
    due = [predict_seq2seq(net, sentence, *how)[0] for sentence in sentences[:-1]]
    assert found[:-1] == due
    assert len(set(found)) > 1
    assert translate_all(net, [], SRC, TGT, 6, device) == []


def test_a_cold_choice_and_a_choice_among_one_are_the_most_probable():
    log_probs = torch.randn(50, 9).log_softmax(-1)
    for choose in (at_random(temperature=1e-4), at_random(top_k=1)):
        assert torch.equal(choose(log_probs), most_probable(log_probs))


def test_a_choice_at_random_has_the_probabilities_of_the_net():
    row = torch.tensor([0.5, 0.25, 0.15, 0.1])
    numbers = generator(0)

    def shares(**settings):
        chosen = at_random(**settings, generator=numbers)(row.log().expand(20_000, 4))
        return chosen.bincount(minlength=4) / len(chosen)

    kept = {"temperature": 0.5}, {"top_k": 2}, {"top_k": 3}, {"top_k": 99}
    left = row**2, row * (row > 0.2), row * (row > 0.12), row
    for way, due in zip(({}, *kept), (row, *left), strict=True):
        found = shares(**way)
        torch.testing.assert_close(found, due / due.sum(), atol=0.02, rtol=0)
        assert found[due == 0].sum() == 0


def test_sampling_writes_different_texts_and_the_same_with_the_same_numbers():
    net, (src, lens) = random_net(1), some_sentences()

    def sampled(seed):
        choose = at_random(generator=generator(seed))
        return [h.tokens for h in generate(net, src, lens, *ENDS, 7, choose)]

    assert sampled(0) == sampled(0) != sampled(1)


def test_a_text_that_has_ended_goes_on_with_nothing_else():
    choices = iter([[5, 3], [3], [7]])

    def net(tokens, caches):
        return torch.zeros(*tokens.shape, 9), []

    begun, choose = torch.tensor([[1], [1]]), lambda _: torch.tensor(next(choices))
    texts, totals = extend(net, begun, 3, choose, eos=3)
    assert texts.tolist() == [[1, 5, 3], [1, 3, 3]]
    each = torch.tensor(9.0).log()
    torch.testing.assert_close(totals, torch.stack([-2 * each, -each]))


def test_a_vocabulary_of_the_other_language_is_noticed():
    """The sizes may agree, and then only the words tell."""
    with pytest.warns(
        UserWarning, match="2 of 2 words are not in src_vocab: is it that"
    ):
        translate_all(random_net(0), ["q w"], SRC, TGT, 5, "cpu")
