"""The forward pass in the browser is that of the package: same logits, same attention."""

import base64
import copy
import json
import random
import re
from pathlib import Path

import pytest
import torch

from d2lmini import LearnedPositionalEncoding, PositionWiseFFN, figures, read_labelled
from d2lmini.data.pairs import load_data_nmt, read_pairs
from d2lmini.data.square import simulate_paths
from d2lmini.data.text import Vocab, encode, normalise
from d2lmini.data.texts import PRONOUNS, mistake_in, read_texts
from d2lmini.figures import depth as depth_figure
from d2lmini.figures.caption import BITS
from d2lmini.figures.weights import bits_of, floats, in_bits, pack, whole_numbers
from d2lmini.figures.widget import as_lists
from d2lmini.generation import beam_search, greedy_search
from d2lmini.losses import shift_right
from d2lmini.modern import LanguageModel
from d2lmini.support.eight_bits import from_bytes, to_bytes
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.classification import Classifier, classify
from d2lmini.tasks.trajectories import Forecaster, PathEncoder, constant_velocity
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.training import train_seq2seq
from d2lmini.transformer import EncoderDecoder, TransformerDecoder, TransformerEncoder
from d2lmini.translation import corpus_bleu

NUM_HEADS, NUM_LAYERS, NUM_STEPS = 4, 2, 10


@pytest.fixture(scope="module")
def translator():
    """A translator, trained for a few epochs, and its vocabularies."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data, src_vocab, tgt_vocab = load_data_nmt(64, NUM_STEPS, num_examples=None)
    sizes = 32, 64, NUM_HEADS, NUM_LAYERS, 0.1
    encoder = TransformerEncoder(len(src_vocab), *sizes)
    net = EncoderDecoder(encoder, TransformerDecoder(len(tgt_vocab), *sizes))
    train_seq2seq(net, data, 0.005, 6, tgt_vocab, torch.device("cpu"))
    return net.eval(), src_vocab, tgt_vocab


@pytest.fixture(scope="module")
def page(browser, translator):
    """A page in which the module lies as `forward`, and the net as `net`."""
    net, src_vocab, tgt_vocab = translator
    words = src_vocab.idx_to_token, tgt_vocab.idx_to_token
    cross = torch.zeros(NUM_LAYERS, NUM_HEADS, 3, 3)
    sizes, first = (NUM_HEADS, NUM_STEPS), ([("go .", "va !")], "va !", cross)
    figure = figures.explore_translator(net.state_dict(), *words, *sizes, *first)
    return open_page(browser, figure)


def open_page(browser, figure, module="translation.js", make="makeNet"):
    """A page in which forward.js lies as `forward`, and the net of a figure as `net`."""
    page = browser.new_page()
    names = "makeNet, normalise, maskedSoftmax, attend, layerNorm, sinusoid"
    text = re.sub(r"\bexport (default .*)?", "", figures.browser_module(module))
    searches = ", search, lossOf" if "function* searching" in text else ""
    page.add_script_tag(content=text + f"\nconst forward = {{{names}{searches}}};")
    data = figure.data["nets"][0][1] if "nets" in figure.data else figure.data
    bytes_ = base64.b64encode(figure.weights).decode()
    page.evaluate(
        """([data, text]) => {
            const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            window.net = (MAKE)(data, new DataView(bytes.buffer));
        }""".replace("MAKE", make),
        # As Jupyter saves it: with the keys sorted.
        [json.loads(json.dumps(data, sort_keys=True)), bytes_],
    )
    return page


def page_of(browser, module):
    """A page in which the names of a module are known."""
    page = browser.new_page()
    text = re.sub(r"\bexport (default .*)?", "", figures.browser_module(module))
    page.add_script_tag(content=text)
    return page


def in_page(net, bits):
    """Round the weights of a net as a page stores them."""
    for weight in net.parameters():
        whole, scales = whole_numbers(weight.data, bits)
        weight.data = whole * scales


@pytest.fixture(scope="module")
def sentences():
    pairs = read_pairs("eng-fra-mini", split="test")[:200]
    assert len(pairs) == 200
    return pairs


def in_browser(page, program, argument):
    return json.loads(page.evaluate(f"(x) => JSON.stringify(({program})(x))", argument))


def equal(got, due, deviation=1e-5):
    """What the page computes, by name, is what the package does."""
    for name, tensor in due.items():
        assert (torch.tensor(got[name]) - tensor).abs().max() < deviation, name


def test_logits_and_every_attention_matrix_agree(page, translator, sentences):
    net, src_vocab, tgt_vocab = translator
    # float32 itself errs by up to 1e-5 where logits are 10
    net = copy.deepcopy(net).double()
    for english, french in sentences:
        src, src_lens = encode([normalise(english)], src_vocab, NUM_STEPS)
        tgt, tgt_lens = encode([normalise(french)], tgt_vocab, NUM_STEPS)
        n, m = src_lens.item(), tgt_lens.item()
        read = shift_right(tgt, tgt_vocab.bos)
        with torch.no_grad():
            logits = net(src, read, src_lens)[0, :m]
        self_weights, cross = net.decoder.attention_weights
        due = {  # (layers, heads, queries, keys), without padding
            "logits": logits,
            "encoder": net.encoder.attention_weights[:, 0, :, :n, :n],
            "decoder": self_weights[:, 0, :, :m, :m],
            "cross": cross[:, 0, :, :m, :n],
        }
        got = in_browser(
            page,
            """([src, tgt]) => {
                const encoded = net.encode(src), decoded = net.decode(tgt, encoded);
                const weights = (layers) => layers.map((heads) => heads.map((h) => h.weights));
                return { logits: decoded.logits, encoder: weights(encoded.attention),
                    decoder: weights(decoded.self), cross: weights(decoded.cross) };
            }""",
            [src[0, :n].tolist(), read[0, :m].tolist()],
        )
        equal(got, due)


def test_padding_has_no_influence(page, translator, sentences):
    """Padded in the browser, too: what nobody may attend to has a weight of 0."""
    net, src_vocab, tgt_vocab = translator
    src, lens = encode([normalise(sentences[0][0])], src_vocab, NUM_STEPS)
    read = torch.tensor([[tgt_vocab.bos, 5, 6]])
    n = lens.item()
    assert n < NUM_STEPS
    with torch.no_grad():
        due = net(src, read, lens)[0]
    got = in_browser(
        page,
        """([src, tgt, validLen]) => {
            const encoded = net.encode(src, new Set(), [], validLen);
            const { logits, cross } = net.decode(tgt, encoded);
            const [{ raw, weights }] = cross[1];
            return { logits, raw, weights, encoder: encoded.attention[0][0].weights };
        }""",
        [src[0].tolist(), read[0].tolist(), n],
    )
    _, cross = net.decoder.attention_weights
    encoder = net.encoder.attention_weights[0, 0, 0]
    equal(got, {"logits": due, "weights": cross[1, 0, 0], "encoder": encoder})
    assert (torch.tensor(got["raw"])[:, n:] != 0).all()  # a score like any other


def test_what_a_number_is_the_sum_of(page, translator):
    """The trace of chapter 8's figure: each number is the sum of its terms, or normalised."""
    _, src_vocab, tgt_vocab = translator
    src, lens = encode(["go ."], src_vocab, NUM_STEPS)
    got = in_browser(
        page,
        """([src, tgt]) => {
            const trace = [];
            net.decode(tgt, net.encode(src, undefined, trace), null, trace);
            return trace.map(({ X, Y, terms, shortcut, branch }) => ({
                number: Y[1][2], known: Boolean(terms || shortcut),
                sum: terms ? terms(1, 2).reduce((a, b) => a + b) : null,
                entering: shortcut ? [X[1][2], shortcut[1][2] + branch[1][2]] : [0, 0] }));
        }""",
        [src[0, : lens.item()].tolist(), [tgt_vocab.bos, 5, 6]],
    )
    assert len(got) == 2 + NUM_LAYERS * (4 + 6) + 1  # embeddings, blocks, output layer
    for entry in got:
        assert entry["known"]
        if entry["sum"] is not None:
            assert entry["sum"] == pytest.approx(entry["number"], abs=1e-9)
        assert entry["entering"][0] == pytest.approx(entry["entering"][1], abs=1e-9)


@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_searches_agree(page, translator, sentences, beam_size):
    net, src_vocab, tgt_vocab = translator
    bos, eos = tgt_vocab.bos, tgt_vocab.eos
    for english, _ in sentences[::5]:
        src, lens = encode([normalise(english)], src_vocab, NUM_STEPS)
        search = net, src, lens, bos, eos, NUM_STEPS
        is_greedy = beam_size == 1
        due = [greedy_search(*search)] if is_greedy else beam_search(*search, beam_size)
        got = in_browser(
            page,
            """([src, bos, eos, numSteps, beamSize]) =>
                forward.search(net, net.encode(src), { bos, eos, numSteps, beamSize })
                    .map(({ ids, logProb }) => ({ ids, logProb }))""",
            [src[0, : lens.item()].tolist(), bos, eos, NUM_STEPS, beam_size],
        )
        assert [h["ids"] for h in got] == [h.tokens for h in due]
        for ours, theirs in zip(got, due, strict=True):
            assert ours["logProb"] == pytest.approx(theirs.log_prob, abs=1e-4)


def test_a_head_that_is_off_adds_nothing(page, translator, sentences):
    """Off means that its columns of W_o count as zero, as in chapter 11."""
    net, src_vocab, tgt_vocab = translator
    weight = net.decoder.stack.blocks[1].cross_attention.W_o.weight
    kept = weight.detach().clone()
    src, lens = encode([normalise(sentences[0][0])], src_vocab, NUM_STEPS)
    tgt = torch.tensor([[tgt_vocab.bos, 5, 6]])
    with torch.no_grad():
        weight[:, 8:16] = 0
        due = net(src, tgt, lens)[0]
        weight.copy_(kept)
    got = in_browser(
        page,
        "([s, t]) => net.decode(t, net.encode(s, new Set(['cross.1.1']))).logits",
        [src[0, : lens.item()].tolist(), tgt[0].tolist()],
    )
    torch.testing.assert_close(torch.tensor(got), due, atol=1e-5, rtol=0)


def test_a_loss_is_in_nats_per_token(page, translator, sentences):
    net, src_vocab, tgt_vocab = translator
    english, french = map(normalise, sentences[1])
    src, lens = encode([english], src_vocab, NUM_STEPS)
    ids = [tgt_vocab.bos, *tgt_vocab[french.split()], tgt_vocab.eos]
    with torch.no_grad():
        logits = net(src, torch.tensor([ids[:-1]]), lens)
    due = torch.nn.functional.cross_entropy(logits[0], torch.tensor(ids[1:])).item()
    program = "([s, ids]) => forward.lossOf(net, net.encode(s), ids)"
    got = in_browser(page, program, [src[0, : lens.item()].tolist(), ids])
    assert got == pytest.approx(due, abs=1e-5)


def test_sentences_are_normalised_alike(page, sentences):
    odd = ["He’s calm!", "  Go.\u202f", "Qui ?", "", "« Oui » (non); A:B…", "don't",
           "“Ja” „nein“ ¿No? ¡Ay!", "‚Ja‘ ‹Oui› J‘aime", "Cafe\u0301 E\u0301TE\u0301"]  # fmt: skip
    for text in [*odd, *(s for pair in sentences for s in pair)]:
        found = in_browser(page, "(text) => forward.normalise(text)", text)
        assert found == normalise(text)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_numbers_arrive_as_they_are(browser, bits):
    """Also the smallest that 16 bits can hold, and 0 with a sign."""
    torch.manual_seed(0)
    numbers = torch.randn(4, 5) * 10.0 ** torch.randint(-7, 4, (4, 5))
    numbers[0, :2] = torch.tensor([0.0, -0.0])
    if bits == 16:
        numbers = numbers.half().float()
    if bits == 8:
        numbers = from_bytes(*to_bytes(numbers))
    parts = {"W": numbers, "b": numbers[2]}
    assert bits_of(parts) == bits
    assert arrived(browser, parts, bits) == [numbers.tolist(), numbers[2].tolist()]


def test_whole_numbers_of_few_bits_arrive_as_they_are(browser):
    """7 bits, in rows whose bits fill no whole number of bytes; the largest and an empty row."""
    torch.manual_seed(0)
    W, b = torch.randn(5, 11), torch.randn(4)
    W[3] = 0
    whole, scales = whole_numbers(W, 7)
    assert whole.abs().amax(1).tolist() == [63, 63, 63, 0, 63]
    assert ((whole * scales - W).abs() <= 0.51 * scales).all()
    due = [(whole * scales).tolist(), b.half().float().tolist()]
    assert arrived(browser, {"W": W, "b": b}, 7) == due


def arrived(browser, parts, bits):
    """A matrix W and a vector b, as the browser has them."""
    data = pack(parts, 1, 1, bits)
    sent = in_bits(parts, bits) if bits < 8 else floats(parts, bits)
    page = page_of(browser, "recall.js")
    got = page.evaluate(
        """([data, numbers]) => {
            const P = numbersOf(data, new DataView(Uint8Array.from(numbers).buffer));
            return [P.W.map((row) => [...row]), [...P.b]];
        }""",
        [data, list(sent)],
    )
    return got


@pytest.fixture(scope="module")
def real_translator():
    return SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")


@pytest.fixture(scope="module")
def real_page(browser, real_translator):
    examples = ["Where is the library?"]
    look = real_translator.look(*examples)
    figure = figures.explore_sentence(real_translator.parts(), examples, look)
    make = """(data, bytes) => {
        const { words, numbers } = wordsAndNumbers(bytes);
        window.split = makeSubwords(words.merges);
        return makeNet(data, numbers);
    }"""
    return open_page(browser, figure, "sentence.js", make)


def test_the_real_translator_writes_the_same(real_page, real_translator, sentences):
    """Pieces read and written, and all of cross-attention, for 200 held-out sentences."""
    vocab = real_translator.vocab
    for sentence, _ in sentences:
        split = "(text) => normalise(text).split(' ').flatMap(split)"
        pieces = in_browser(real_page, split, sentence)
        look = real_translator.look(sentence)
        assert [p if p in vocab else "<unk>" for p in pieces] == look.read[:-1]
        ends = {"bos": vocab.bos, "eos": vocab.eos}
        ends["numSteps"] = real_translator.num_steps
        found = in_browser(
            real_page,
            """({ ids, ends }) => {
                const encoded = net.encode(ids);
                const [best] = search(net, encoded, { ...ends, beamSize: 1 });
                const { cross } = net.decode(best.ids.slice(0, -1), encoded);
                return [best.ids.slice(1), cross.map((layer) => layer.map((h) => h.weights))];
            }""",
            {"ids": vocab[look.read], "ends": ends},
        )
        assert vocab.to_tokens(found[0]) == look.written, sentence
        assert (torch.tensor(found[1]) - look.cross).abs().max() < 1e-4


def test_the_classifier_s_verdict_agrees(browser):
    """Logits, pooling weights and attention of a Classifier, for each review of a split."""
    texts = read_labelled("reviews-mini", "val")
    vocab = Vocab([normalise(text) for text, _ in texts])
    torch.manual_seed(1)
    encoder = TransformerEncoder(len(vocab), 32, 64, 4, 2, 0.1)
    net = Classifier(encoder, 32, 2, 0.1).eval()
    first = classify(net, texts[0][0], vocab, 30, torch.device("cpu"))
    shown = 4, 2, 30, [texts[0][0]], ["no", "yes"], first
    figure = figures.explore_verdict(net.state_dict(), vocab.idx_to_token, *shown)
    page = open_page(browser, figure)
    net = net.double()
    for text, _ in texts:
        ids, lens = encode([normalise(text)], vocab, 30)
        with torch.no_grad():
            logits = net(ids, lens)[0]
        n = lens.item()
        got = in_browser(
            page,
            """(ids) => {
                const { memory, attention } = net.encode(ids);
                const weights = attention.map((heads) => heads.map((h) => h.weights));
                return { ...net.classify(memory), attention: weights };
            }""",
            ids[0, :n].tolist(),
        )
        due = {"logits": logits, "weights": net.pooling.weights[0, :n]}
        due["attention"] = net.encoder.attention_weights[:, 0, :, :n, :n]
        equal(got, due)


def test_the_forecast_agrees(browser):
    """Means, widths and the last position's attention, for paths of every behaviour."""
    paths, _ = simulate_paths(50, seed=4)
    past, future = paths.split([15, 25], dim=1)
    torch.manual_seed(1)
    net = Forecaster(PathEncoder(32, 64, 4, 2, 0.1), 32, 25).eval()
    torch.nn.init.normal_(net.output.weight)
    with torch.no_grad():
        first = net(past)[0][0]
    examples = {"first": (past[0], future[0])}
    figure = figures.explore_walk(net.state_dict(), 4, 2, examples, paths[:3], first)
    page = open_page(browser, figure)
    in_page(net, 8)
    module = (Path(figures.__file__).parent / "forecast.js").read_text(encoding="utf-8")
    module = re.sub("^import.*$", "", module, flags=re.M).replace("export ", "")
    page.add_script_tag(content=module)
    net = net.double()
    for path in past.double():
        with torch.no_grad():
            means, log_sigmas = net(path[None])
        blocks = net.encoder.stack.blocks
        weights = [block.attention.attention_weights for block in blocks]
        got = in_browser(page, "(path) => forecast(net, path, 0.4)", path.tolist())
        due = {
            "means": means[0],
            "sigmas": log_sigmas[0].exp(),
            "straight": constant_velocity(path[None], 25)[0],
            "attention": torch.cat(weights)[:, :, -1].flatten(0, 1),
        }
        equal(got, due)


def test_the_translator_of_captions_agrees(browser):
    """Logits and cross-attention, with learned positions and weights in few bits."""
    pairs = [[*map(normalise, pair)] for pair in read_pairs("deu-eng-mini", "val")]
    vocabs = [Vocab([pair[side] for pair in pairs]) for side in (0, 1)]
    torch.manual_seed(1)
    sizes = 16, 32, 4, 2, 0.1
    encoder = TransformerEncoder(len(vocabs[0]), *sizes)
    net = EncoderDecoder(encoder, TransformerDecoder(len(vocabs[1]), *sizes)).eval()
    for side in (net.encoder, net.decoder):
        side.embedding.positions = LearnedPositionalEncoding(16, 0.0, max_len=30)
    cross = torch.zeros(2, 4, 3, 3)
    words = [vocab.idx_to_token for vocab in vocabs]
    shown = 4, 26, [pairs[0][0]], "a b", cross
    figure = figures.explore_caption(net.state_dict(), *words, *shown)
    page = open_page(browser, figure)
    in_page(net, BITS)
    net = net.double()
    for german, english in pairs[:30]:
        src, lens = encode([german], vocabs[0], 26)
        reads = torch.tensor([[vocabs[1].bos, *vocabs[1][english.split()]]])
        with torch.no_grad():
            logits = net(src, reads, lens)
        n = lens.item()
        got = in_browser(
            page,
            """([s, t]) => {
                const { logits, cross } = net.decode(t, net.encode(s));
                return { logits, cross: cross.map((heads) => heads.map((h) => h.weights)) };
            }""",
            [src[0, :n].tolist(), reads[0].tolist()],
        )
        cross = net.decoder.attention_weights[1][:, 0, :, :, :n]
        due = {"logits": logits[0], "cross": cross}
        equal(got, due)


def test_the_writer_agrees(browser):
    """Logits, caches and attention of the last token, with one head of keys or several."""
    tokens = ["<pad>", "<unk>", "<bos>", "<eos>", *"abcdefgh"]
    for num_kv_heads in (1, 2, 4):
        torch.manual_seed(num_kv_heads)
        net = LanguageModel(len(tokens), 16, 24, 4, num_kv_heads, 2, max_len=12).eval()
        for norm in (net.norm, net.blocks[0].norm1, net.blocks[1].norm2):
            torch.nn.init.normal_(norm.weight)  # else it is 1 everywhere
        figure = figures.explore_writer(net, tokens, ["a b c"])
        page = open_page(browser, figure, "today.js", "makeWriter")
        text = torch.randint(len(tokens), (1, 9))
        for weight in net.parameters():  # a page holds them in 8 bits
            weight.data = from_bytes(*to_bytes(weight.data))
        with torch.no_grad():
            logits, caches = net.double()(text)
        program = "(ids) => ids.reduce((past, id) => net.step(id, past), null)"
        got = in_browser(page, program, text[0].tolist())
        equal(got, {"logits": logits[0, -1]})
        for found, (K, V) in zip(got["caches"], caches, strict=True):
            equal(found, {"K": K[0], "V": V[0]})
        rows = torch.tensor(got["attention"])  # (layers, heads, steps)
        torch.testing.assert_close(rows.sum(-1), torch.ones(2, 4))


def test_a_story_is_judged_as_in_the_package(browser):
    """Real stories, and the same with another of their words in one place."""
    stories = [normalise(story) for story in read_texts("stories-mini", "test")[:200]]
    numbers = random.Random(0)
    for story in [*stories] * 2:
        words = story.split()
        places = [i for i, word in enumerate(words) if word != "."]
        words[numbers.choice(places)] = words[numbers.choice(places)]
        stories.append(" ".join(words))
    page = page_of(browser, "story.js")
    script = """([stories, pronouns]) => stories.map((story) => {
        const place = mistakeIn(story.split(" "), pronouns);
        return place && story.split(" ").slice(...place).join(" ");
    })"""
    found = in_browser(page, script, [stories, PRONOUNS])
    due = [mistake_in(story) for story in stories]
    assert found == [one and f"{one} ." for one in due]
    assert 50 < sum(one is not None for one in due) < 400
    half = ["anna", "has", "a", "cup", ".", "ben", "gives", "the", "cup"]
    assert in_browser(page, "(args) => mistakeIn(...args)", [half, PRONOUNS]) is None


def test_luck_is_drawn_by_the_probabilities(browser):
    net = LanguageModel(6, 8, 16, 2, 1, 1, max_len=5).eval()
    figure = figures.explore_writer(net, ["a", "b", "<bos>", "c", "d", "e"], [""])
    page = open_page(browser, figure, "today.js", "makeWriter")
    logits = torch.tensor([2.0, 0.0, 1.0, -1.0], dtype=torch.float64)
    for temperature, k in ((1.0, 4), (0.5, 4), (3.0, 2), (1.0, 1)):
        script = f"(logits) => probabilitiesOf(logits, {temperature}, {k})"
        got = in_browser(page, script, logits.tolist())
        least = logits.topk(k).values[-1]
        due = (logits / temperature).masked_fill(logits < least, -torch.inf).softmax(-1)
        torch.testing.assert_close(torch.tensor(got, dtype=torch.float64), due)
    script = "(p) => Array.from({length: 4000}, (_, i) => drawn(p, chance(i % 50, i)))"
    drawn = torch.tensor(in_browser(page, script, due_shares := [0.5, 0.3, 0.0, 0.2]))
    shares = drawn.bincount(minlength=4) / 4000
    assert (shares - torch.tensor(due_shares)).abs().max() < 0.03


def test_the_stacks_of_chapter_6_agree(browser):
    """Signal and gradient in every wiring, as autograd has them."""
    page = page_of(browser, "stack.js")
    for depth, scale in ((6, 1.0), (32, 2.45), (100, 0.5)):
        net = depth_figure.start()
        layers = net.pop("layers")
        data = as_lists(net | {"layers": layers[:depth].double() / 127 / 4})
        for kind in depth_figure.WIRINGS:
            due = depth_figure.stack(kind, net | {"layers": layers}, depth, scale)
            program = "([kind, d]) => measured(kind, d, d.points, d.targets)"
            got = in_browser(page, program, [kind, data | {"scale": scale}])
            for name, numbers in due.items():
                assert got[name] == pytest.approx(numbers, rel=1e-6), (kind, name)


def test_the_units_of_chapter_5_agree(browser):
    """Output, hidden layer and the token's own matrix, which is the derivative."""
    page = page_of(browser, "units.js")
    torch.manual_seed(0)
    for relu in (True, False):
        for token in torch.rand(100, 2, dtype=torch.float64) * 2 - 0.5:
            ffn = PositionWiseFFN(2, 3, num_outputs=1).double()
            ffn.relu = ffn.relu if relu else torch.nn.Identity()
            with torch.no_grad():
                ffn.dense2.bias.zero_()
                hidden = ffn.relu(ffn.dense1(token))
            keys, values = ffn.dense1.weight, ffn.dense2.weight.T
            units = torch.cat([keys, ffn.dense1.bias[:, None], values], dim=1)
            program = "([token, units, relu]) => look(token, units, relu)"
            got = in_browser(page, program, [token.tolist(), units.tolist(), relu])
            J = torch.autograd.functional.jacobian(ffn, token)[0]
            output = ffn(token).item()
            assert got["output"] == pytest.approx(output)
            assert got["weights"] == pytest.approx(hidden.tolist())
            assert got["own"][:2] == pytest.approx(J.tolist())
            constant = output - (J @ token).item()
            assert got["own"][2] == pytest.approx(constant, abs=1e-12)


def test_the_copiers_agree(browser):
    """What each writes, how surely, and where it looks: strings of every length in training."""
    torch.manual_seed(1)
    nets = {"one code": Copier(32), "attention": Copier(64)}
    for net in nets.values():  # as the figure carries them: 16 bits
        net.half().float()
    right = {name: [torch.zeros(n) for n in range(2, 17)] for name in nets}
    figure = figures.explore_recall(*(n.state_dict() for n in nets.values()), right)
    page = open_page(browser, figure, "recall.js", "numbersOf")
    for length in range(2, 17):
        digits = torch.randint(10, (1, length))
        for name, net in nets.items():
            program = "([name, digits]) => copied(net, name, digits)"
            got = in_browser(page, program, [name, digits[0].tolist()])
            with torch.no_grad():
                due = net.double()(digits)
            found = torch.tensor([place["probabilities"] for place in got])
            assert (found - due[0]).abs().max() < 1e-6
            assert [place["digit"] for place in got] == due[0].argmax(-1).tolist()
            weights = [place["weights"] for place in got]
            if name == "one code":
                assert weights == [None] * length
            else:
                assert (torch.tensor(weights) - net.weights[0]).abs().max() < 1e-6


class Copier(torch.nn.Module):
    """The copiers of chapter 1, which read what they have written."""

    def __init__(self, num_seen):
        super().__init__()
        self.embedding = torch.nn.Embedding(11, 16)
        self.encoder = torch.nn.GRU(16, 32, batch_first=True)
        self.decoder = torch.nn.GRU(16, 32, batch_first=True)
        self.output = torch.nn.Linear(num_seen, 10)

    def forward(self, digits):
        states, h = self.encoder(self.embedding(digits))
        read, logits, weights = torch.tensor([[10]]), [], []
        for _ in range(digits.shape[1]):
            own, h = self.decoder(self.embedding(read), h)
            weights.append(torch.softmax(own @ states.mT, -1))
            if self.output.in_features > 32:
                own = torch.cat([own, weights[-1] @ states], -1)
            logits.append(self.output(own))
            read = logits[-1].argmax(-1)
        self.weights = torch.cat(weights, 1)
        return torch.cat(logits, 1).softmax(-1)


def test_bleu_agrees(browser):
    """Of random rearrangements, with words twice and words left out."""
    reference = "the cat sat on the mat and the dog sat on the rug ."
    due = reference.split()
    numbers = random.Random(0)
    page = page_of(browser, "runs.js")
    scores = set()
    for _ in range(200):
        said = due[numbers.randrange(4) :]
        for _ in range(numbers.randrange(4)):
            said[numbers.randrange(len(said))] = numbers.choice([*due, "new"])
        for longest in (1, 2, 4):
            got = in_browser(page, "(args) => bleu(...args)", [said, due, longest])
            score = corpus_bleu([" ".join(said)], [reference], longest)
            assert 100 * got["score"] == pytest.approx(score)
            scores.add(round(score))
    assert len(scores) > 30
