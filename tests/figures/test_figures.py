"""The figures as the package makes them: one module, first state, still picture."""

import base64
import re
from functools import partial

import pytest
import torch
from conftest import for_each, tiny_net
from torch import nn

from d2lmini import LearnedPositionalEncoding, TransformerEncoder, figures
from d2lmini.data.square import simulate_paths
from d2lmini.figures.depth import WIRINGS, stack, start
from d2lmini.modern import LanguageModel
from d2lmini.tasks.classification import Classifier, Verdict
from d2lmini.tasks.trajectories import Forecaster, PathEncoder
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.translation import AttentionWeights

WORDS = ["<pad>", "<unk>", "<bos>", "<eos>", "go", "</script>"]


def machine(**form):
    torch.manual_seed(0)
    state = tiny_net(len(WORDS), len(WORDS)).state_dict()
    return figures.explore_machine(state, WORDS, WORDS, 2, "go </script>", **form)


def translator():
    torch.manual_seed(0)
    net = tiny_net(len(WORDS), len(WORDS))
    cross = torch.full((2, 2, 3, 3), 1 / 3)
    shown = 2, 6, [("go go", "go")], "go stop", cross
    two = {"large": large().parts(), "large_examples": ["go gog", "go"]}
    return figures.explore_translator(net.state_dict(), WORDS, WORDS, *shown, **two)


def large():
    """A translator on pieces of words."""
    pieces = [("▁g", "o")], ["▁go", "g", "</script>"]
    return SubwordTranslator(*pieces, (8, 16, 2, 2, 0.0), 6)


def training(**form):
    weights = AttentionWeights(None, None, torch.full((2, 2, 2, 4), 0.25))
    checkpoints = {1: [("go", weights)], 2: [("go go", weights)], 3: [("", weights)]}
    shown = [2.0, 1.0, 0.5], checkpoints, [("Go!", "Va!")]
    return figures.explore_training(*shown, **form)


def rounds():
    told = ("go . </script> .", "</script>"), ("go . go .", None)
    shares = {"true": [0.5, 0.6, 0.7, 0.8], "with a gift": [0.9, 0.1, 0.1, 0.0]}
    column = {"shares": shares, "words": [40.0] * 4, "loss": [0.5] * 4}
    names = "all", "true", "true, with a gift"
    return figures.explore_rounds(
        dict.fromkeys(names, column | {"stories": [told] * 4})
    )


def verdict():
    torch.manual_seed(0)
    net = Classifier(TransformerEncoder(len(WORDS), 8, 16, 2, 2, 0.0), 8, 2, 0.0)
    first = Verdict(1, [0.25, 0.75], ["go", "go", "<eos>"], [0.5, 0.25, 0.25])
    examples = ["</script> go", "</script> go go"]
    shown = 2, 2, 8, examples, ["no", "yes"], first
    return figures.explore_verdict(net.state_dict(), WORDS, *shown)


def walk():
    torch.manual_seed(0)
    net = Forecaster(PathEncoder(8, 16, 2, 2, 0.0), 8, 4)
    paths, _ = simulate_paths(3, seed=0, num_steps=10)
    examples = {"straight </script>": (paths[0, :6], paths[0, 6:])}
    first = net(paths[:1, :6])[0][0].detach()
    return figures.explore_walk(net.state_dict(), 2, 2, examples, paths, first)


def caption():
    torch.manual_seed(0)
    net = tiny_net(len(WORDS), len(WORDS))
    for side in (net.encoder, net.decoder):
        side.embedding.positions = LearnedPositionalEncoding(8, 0.0, max_len=10)
    cross = torch.full((2, 2, 3, 3), 1 / 3)
    shown = 2, 8, ["go go", "</script> go"], "go stop", cross
    return figures.explore_caption(net.state_dict(), WORDS, WORDS, *shown)


def sentence():
    torch.manual_seed(0)
    translator, examples = large(), ["go go", "</script> go"]
    look = translator.look("go go")
    return figures.explore_sentence(translator.parts(), examples, look)


def bleu():
    return figures.explore_bleu(
        "a b </script> .", {"go": "a b .", "<b>": "b </script>"}, [50.0, 20.0]
    )


def looks():
    numbers = torch.Generator().manual_seed(0)
    weights = torch.rand(4, 3, 2, generator=numbers).softmax(-1)
    others = ("</script>", ["</script>", "<eos>"], ["b", "c", "<eos>"], weights)
    return figures.explore_looks(
        [("go", ["go", "<eos>"], ["va", "!", "<eos>"], weights), others]
    )


def writer():
    torch.manual_seed(0)
    net = LanguageModel(len(WORDS), 8, 16, 4, 2, 2, max_len=6)
    return figures.explore_writer(net, WORDS, ["go go", ""])


def copier(num_seen):
    """A copier as chapter 1 has it: its numbers."""
    parts = {name: nn.GRU(4, 6, batch_first=True) for name in ("encoder", "decoder")}
    parts |= {"embedding": nn.Embedding(11, 4), "output": nn.Linear(num_seen, 10)}
    return nn.ModuleDict(parts).state_dict()


def recall(written=None):
    torch.manual_seed(0)
    each = [torch.rand(length) for length in range(2, 17)]
    right = None if written else {"one code": each, "attention": each}
    return figures.explore_recall(copier(6), copier(12), right, written)


def live(compute, same, **form):
    text = "What a run of a network of some width shows, for two seeds."
    choices = {"width": ("Hidden units", (5, 10, 20, 40), (10, 40))}
    choices["seed"] = "Seed", range(2), range(2)
    tries = [("More", {"width": 40}, "Is it lower?"), ("Another", {"seed": 1}, "Same?")]
    tries.append(("Both", {"width": 40, "seed": 1}, "And now?"))
    return figures.Live("Runs", "Choose.", compute, text, choices, same, tries, **form)


def note(width, seed):
    return f"{width} units, seed {seed}."


def live_curves():
    def compute(width, seed):
        return {"note": note(width, seed), "curves": {"loss": [1.0, seed, 2 / width]}}

    return live(compute, {"x": [0, 5, 10], "x_is": "step", "y_is": "loss"})


def live_matrix(**form):
    def compute(width, seed):
        matrix = torch.ones(2, width) * (seed + 1) / 2
        return {"note": note(width, seed), "matrix": matrix}

    same = {"title": "weights", "rows": ["a", "<b>"], "rows_are": "words",
            "columns_are": "places", "group": 4, "group_is": "head"}  # fmt: skip
    return live(compute, same, **form)


WITH_NETS = (bleu, caption, looks, machine, recall, rounds, sentence, training, translator, verdict,
             walk, writer)  # fmt: skip
NAMES = [name for name in figures.__all__ if name.startswith("explore_")]
FIGURES = {name: getattr(figures, name) for name in NAMES}
FIGURES |= {f"explore_{make.__name__}": make for make in WITH_NETS}
FIGURES |= {"Live, curves": live_curves, "explore_matrix": live_matrix}
BRIEF = ("attention", "depth", "machine", "masks", "matrix", "positions", "training",
         "units")  # fmt: skip
FIGURES |= {f"brief {n}": partial(FIGURES[f"explore_{n}"], brief=True) for n in BRIEF}
WRITTEN = dict.fromkeys(("read", "one code", "attention"), "3141")
FIGURES["brief recall"] = partial(recall, WRITTEN)

each_figure = for_each(FIGURES.values())


@each_figure
def test_a_module_stands_alone_and_defines_each_name_once(make):
    text = make()._esm
    assert "import " not in re.sub(r"//.*", "", text)
    assert text.count("export ") == 1 and "export default { render };" in text
    names = re.findall(r"^(?:const|let|(?:async )?function\*?) (\w+)", text, re.M)
    assert len(names) == len(set(names))


@each_figure
def test_a_still_picture_with_a_text_comes_along(make):
    figure = make()
    bundle, _ = figure._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    image = r'alt="[^"]{40,}" src="data:image/svg\+xml;base64,([^"]+)"'
    (data,) = re.search(image, bundle["text/html"]).groups()
    assert "<svg" in base64.b64decode(data).decode()
    # in every build; a bool, so that pytest does not print both
    same = make().still == figure.still
    assert same


@each_figure
def test_figures_on_one_page_share_nothing(make):
    first, second = make(), make()
    name = next(iter(first.state))
    first.state = {**first.state, name: "other"}
    assert second.state[name] != "other" and make().state[name] != "other"


def test_what_is_said_of_deep_stacks_is_so():
    """The things to try in chapter 7's figure, and the text around it."""

    def exits(what, depth, scale):
        stacks = {kind: stack(kind, start(), depth, scale) for kind in WIRINGS}
        return {kind: found[what][-1] for kind, found in stacks.items()}

    usual, better = (exits("spread", 32, scale) for scale in (1.0, 2.45))
    assert usual["plain"] < 1e-12 and better["plain"] > 1e-3
    assert better["shortcuts"] > 1e3
    silent = exits("spread", 32, 0.0)
    assert silent.pop("plain") == 0 and min(silent.values()) > 0.1
    for scale in (1.0, 2.45):
        spread = exits("spread", 100, scale)
        assert all(0.01 < spread[kind] < 10 for kind in ("post-norm", "pre-norm"))
        assert spread["shortcuts"] > 100


@pytest.mark.parametrize("make", [live_curves, live_matrix])
def test_a_live_cell_has_what_is_ready_and_computes_the_rest(make):
    figure = make()
    assert {*figure.runs} == {"1 0", "1 1", "3 0", "3 1"}
    assert "10 units, seed 0" in figure.runs["1 0"]["note"]
    figure.state = {**figure.state, "width": 20, "seed": 1}
    assert len(figure.runs) == 5 and "20 units, seed 1" in figure.runs["2 1"]["note"]
    before = figure.runs
    figure.state = {**figure.state, "width": 40}  # ready
    figure.state = {**figure.state, "width": 77}  # not offered
    assert figure.runs is before


def test_names_and_texts_cannot_leave_the_alternative_text():
    panels = figures.panels([torch.eye(2)], ["t"])
    html = figures.still(panels, 'a "quote", <b> and </script>')
    assert "&quot;quote&quot;, &lt;b&gt; and &lt;/script&gt;" in html


def test_a_picture_is_made_light_and_its_numbers_stay():
    html = figures.still(figures.panels([torch.eye(2)], ["loss 0.0254"]), "a loss")
    svg = base64.b64decode(re.search('base64,([^"]+)', html)[1]).decode()
    assert "loss 0.0254" in svg
    # In a transform, a small number may scale a large one.
    svg = re.sub('transform="[^"]*"|0.0254', "", svg)
    assert not re.search(r'[" ]\d+\.\d{3,}', svg)


@for_each(
    {
        "similarity": lambda: figures.explore_attention(similarity="cosine!"),
        "query": lambda: figures.explore_attention(query=(4, 0)),
        "d_k": lambda: figures.explore_attention(d_k=3),
        "order": lambda: figures.explore_heads(order="nope"),
        "num_heads": lambda: figures.explore_heads(num_heads=3),
        "feature": lambda: figures.explore_heads(feature=8),
        "position": lambda: figures.explore_layers(position=17),
        "column": lambda: figures.explore_positions(column=99),
        "base": lambda: figures.explore_positions(base=-1),
        "offset": lambda: figures.explore_positions(position=30, offset=2),
        "depth": lambda: figures.explore_depth(depth=0),
        "scale": lambda: figures.explore_depth(scale=4.0),
        "losses": lambda: figures.explore_training([], {}, []),
    }.items()
)
def test_a_builder_refuses_what_its_figure_cannot_show(case):
    name, build = case
    with pytest.raises(ValueError, match=rf"{name}.* \(.*\) must "):
        build()
