"""The translator that is ready for use."""

from pathlib import Path

import pytest
import torch

from benchmarks.baselines import make_gru, nearest
from benchmarks.captions import make_source, run_pieces
from d2lmini import normalise, padding_mask, read_pairs
from d2lmini.data.subwords import join, learn_merges
from d2lmini.eight_bits import from_bytes, to_bytes
from d2lmini.translator import SubwordTranslator

RESULTS = Path(__file__).parents[1] / "results"
SIZES = 16, 32, 2, 2, 0.1


@pytest.fixture
def translator():
    pairs = read_pairs(num_examples=200)
    sentences = [normalise(text) for pair in pairs for text in pair]
    merges = learn_merges(sentences, 60)
    torch.manual_seed(0)
    pieces = SubwordTranslator(merges, [], SIZES)
    tokens = {piece for s in sentences for piece in pieces.subwords.split(s).split()}
    return SubwordTranslator(merges, sorted(tokens), SIZES)


def test_one_table_serves_three_times(translator):
    net = translator.net
    tables = {
        net.encoder.embedding.embedding.weight.data_ptr(),
        net.decoder.embedding.embedding.weight.data_ptr(),
        net.decoder.output.weight.data_ptr(),
    }
    assert len(tables) == 1
    assert len({id(p) for p in net.parameters()}) == len([*net.parameters()])


def test_pieces_have_ids(translator):
    ids, lens = translator.encode(["He’s calm!", "xyz"])
    pieces = translator.vocab.to_tokens(ids[0, : lens[0] - 1].tolist())
    assert "".join(pieces).replace("▁", " ").strip() == "he's calm !"
    assert translator.vocab.unk not in ids[0]


def test_translations_are_words(translator):
    found = translator.translate(["He is calm.", "Go!"])
    assert len(found) == 2 and all(isinstance(text, str) for text in found)
    assert "▁" not in "".join(found)
    assert translator.translate(["He is calm."], beam_size=3) != []


def test_a_look_is_at_the_translation_that_is_made(translator):
    (french,) = translator.translate(["He is calm."])
    look = translator.look("He is calm.")
    assert join(" ".join(look.written).removesuffix(" <eos>")) == french
    assert look.read[-1] == "<eos>" and "".join(look.read[:-1]) == "▁he▁is▁calm▁."
    layers, heads, *places = look.cross.shape
    assert [layers, heads] == [2, 2] and places == [len(look.written), len(look.read)]
    torch.testing.assert_close(
        look.cross.sum(dim=-1), torch.ones(look.cross.shape[:-1])
    )
    best = translator.vocab.to_tokens(look.probabilities.argmax(dim=-1).tolist())
    assert best == look.written
    with pytest.raises(ValueError, match="at least one word"):
        translator.look(" ")


def test_what_is_saved_comes_back(translator, tmp_path):
    path = tmp_path / "translator.pt"
    translator.save(path, licence="none")
    again = SubwordTranslator.load(path)
    assert again.about == {"licence": "none"} and again.sizes == SIZES
    assert again.vocab.idx_to_token == translator.vocab.idx_to_token
    assert again.subwords.ranks == translator.subwords.ranks
    for name, weights in translator.net.state_dict().items():
        got = again.net.state_dict()[name]
        step = weights.abs().amax(dim=-1, keepdim=True) / 127
        assert ((got - weights).abs() <= 0.51 * step + 1e-9).all(), name
    number = sum(p.numel() for p in translator.net.parameters())
    assert path.stat().st_size < 2 * number + 60_000
    tables = (
        again.net.decoder.output.weight,
        again.net.encoder.embedding.embedding.weight,
    )
    assert tables[0] is tables[1]


def test_bytes_are_off_by_half_a_scale():
    weights = torch.tensor([[1.0, -0.5, 0.013], [0.0, 0.0, 0.0]])
    numbers, scale = to_bytes(weights)
    assert numbers.dtype == torch.int8 and numbers[0].tolist() == [127, -64, 2]
    assert ((from_bytes(numbers, scale) - weights).abs() <= scale / 2 + 1e-9).all()
    vector = torch.randn(4)
    assert torch.equal(from_bytes(*to_bytes(vector)), vector)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"net": torch.ones(2)}, path)
    with pytest.raises(
        ValueError, match=r"must be a file that SubwordTranslator\.save wrote"
    ):
        SubwordTranslator.load(path)


def test_the_translator_of_the_ledger_is_small_and_translates():
    path = RESULTS / "fra-eng-full.pt"
    assert path.stat().st_size < 2_000_000
    translator = SubwordTranslator.load(path)
    assert "tatoeba.org" in translator.about["data"]
    found = translator.translate(
        ["Where is the library?", "Tom doesn't see the red car."]
    )
    assert found == ["où est la bibliothèque ?", "tom ne voit pas la voiture rouge ."]


def test_the_gru_that_it_is_compared_with_reads_no_future_and_no_padding():
    torch.manual_seed(0)
    net = make_gru(vocab_size=20, num_hiddens=8, dropout=0.1).eval()
    src, lens = torch.randint(4, 20, (2, 6)), torch.tensor([6, 3])
    tgt = torch.randint(4, 20, (2, 5))
    logits = net(src, tgt, lens)
    alone = net(src[1:, :3], tgt[1:], lens[1:])
    assert torch.allclose(logits[1:], alone, atol=1e-6)
    memory, mask = net.encoder(src, lens), padding_mask(lens, 6)
    state, steps = None, []
    for i in range(5):
        step, state = net.decoder(tgt[:, i : i + 1], memory, mask, state)
        steps.append(step)
    assert torch.allclose(logits, torch.cat(steps, dim=1), atol=1e-6)


def test_the_nearest_sentence_shares_rare_words_and_their_order():
    known = ["the cat sees the dog .", "the dog sees the cat .", "a bird sings ."]
    assert nearest(["the dog sees the bird .", "a cat sings ."], known) == [1, 2]


def test_the_net_of_the_source_has_its_number_of_parameters():
    """As the source prints, for vocabularies of 7,855 and 5,893 tokens; and its dropouts."""
    net = make_source([range(7855), range(5893)], "learned", is_exact=True)
    assert sum(p.numel() for p in net.parameters()) == 9_038_853
    # In each block: one in the attention and one behind each part; and one inside the network.
    encoder, decoder = (
        sum(isinstance(module, torch.nn.Dropout) for module in stack.modules())
        for stack in (net.encoder.stack, net.decoder.stack)
    )
    ours = make_source([range(20), range(20)], "learned")
    plain = sum(isinstance(module, torch.nn.Dropout) for module in ours.modules())
    assert encoder + decoder + 2 == plain + 3 + 3  # and one behind each embedding


@pytest.mark.parametrize("num_merges", [None, 60])
@pytest.mark.parametrize("is_tied", [True, False])
def test_a_translator_of_captions_is_trained_in_words_or_pieces(num_merges, is_tied):
    pairs = [(normalise(a), normalise(b)) for a, b in read_pairs("deu-eng-mini")[:128]]
    splits = {"train": pairs, "val": pairs[:4], "test": pairs[:6]}
    training = {"label_smoothing": 0.1, "batch_size": 64, "lr": 0.01}
    run = run_pieces(
        0,
        splits,
        num_merges,
        SIZES,
        is_tied=is_tied,
        **training,
        warmup_steps=4,
        num_epochs=6,
    )
    assert run["curve"][-1]["loss"] < run["curve"][0]["loss"]
    assert len(run["greedy_translations"]) == len(run["beam_translations"]) == 6
    assert not any("▁" in text for text in run["greedy_translations"])


def test_tables_that_are_not_tied_learn_on_their_own():
    pairs = [(normalise(a), normalise(b)) for a, b in read_pairs("deu-eng-mini")[:64]]
    splits = dict.fromkeys(("train", "val", "test"), pairs)
    training = {"label_smoothing": 0.0, "batch_size": 64, "lr": 0.01}
    tied, free = (
        run_pieces(
            0,
            splits,
            60,
            SIZES,
            is_tied=is_tied,
            **training,
            warmup_steps=1,
            num_epochs=1,
        )["parameters"]
        for is_tied in (True, False)
    )
    vocabulary = (free - tied) / (2 * 16)  # two more tables of width 16
    assert vocabulary == int(vocabulary) > 60
