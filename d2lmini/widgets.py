"""Interactive figures: live in a notebook, and in the built page without a kernel or a network.

Each is a module of static/, in plain JavaScript, run by anywidget in a notebook and by the
book's own loader in a page. The functions take numbers and words, never modules.
"""

import base64
import html
import io
import math
import re
from pathlib import Path

import anywidget
import ipywidgets
import matplotlib
import matplotlib.figure
import torch
import traitlets
from torch.nn.functional import batch_norm, layer_norm

from d2lmini.data import normalise
from d2lmini.masks import causal_mask, masked_softmax, padding_mask
from d2lmini.positions import sinusoidal_table

STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+\.js)";\n', flags=re.MULTILINE)


def browser_module(name: str) -> str:
    """The text of a module of static/ with what it imports put before it, as one module.

    A page from the disk may not import files, and a notebook has no address to import from.
    """
    parts = {}  # file name -> text, what is needed first

    def add(name):
        text = (STATIC / name).read_text(encoding="utf-8")
        for needed in IMPORT.findall(text):
            if needed not in parts:
                add(needed)
        parts[name] = IMPORT.sub("", text)

    add(name)
    *shared, own = parts.values()
    return "".join(text.replace("\nexport ", "\n") for text in shared) + own


class Figure(anywidget.AnyWidget):
    """An interactive figure, and a still picture for where no script runs.

    Args:
        module: file name in static/.
        state: the values of the controls. A reader's changes arrive here: figure.state.
        picture: a matplotlib figure of the first state.
        alt: what the picture shows, in words.
        data: numbers and words that the browser needs and does not change.
        weights: numbers of a model, float32.
    Source: chapter 2.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)

    def __init__(self, module, state, picture, alt, data=None, weights=b""):
        super().__init__(
            _esm=browser_module(module),
            _css=(STATIC / "figure.css").read_text(encoding="utf-8"),
            state=state,
            data=data or {},
            weights=weights,
        )
        self.still = still(picture, alt)

    def _repr_mimebundle_(self, **kwargs):
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self.still}, metadata


def still(picture, alt: str, kind: str = "d2lmini-still") -> str:
    """A matplotlib figure as HTML that needs nothing else."""
    file = io.BytesIO()
    # Without a salt the names in it are random; letters as letters, not as outlines, are small.
    with matplotlib.rc_context({"svg.hashsalt": "d2lmini", "svg.fonttype": "none"}):
        picture.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode()
    image = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'
    return f'<div class="{kind}">{image}</div>'


class Live(ipywidgets.VBox):
    """Controls that run PyTorch anew when they are moved; without a kernel, the first picture.

    Args:
        draw: called with the values of the controls, by name; returns a matplotlib figure.
        alt: what the pictures show, in words.
        controls: name -> an ipywidgets control with a description.
    Source: chapter 4.
    """

    def __init__(self, draw, alt, **controls):
        self.draw, self.alt, self.controls = draw, alt, controls
        self.screen = ipywidgets.HTML()
        super().__init__([*controls.values(), self.screen])
        for control in controls.values():
            control.style.description_width = "initial"
            if control.has_trait("continuous_update"):
                control.continuous_update = False  # one training a move, not one a pixel
            control.observe(self.redraw, "value")
        self.redraw()

    def redraw(self, change=None):
        """Compute and show the picture for the present values."""
        values = {name: control.value for name, control in self.controls.items()}
        self.screen.value = still(self.draw(**values), self.alt, "d2lmini-first")

    def _repr_mimebundle_(self, **kwargs):
        bundle = super()._repr_mimebundle_(**kwargs)
        names = ", ".join(control.description for control in self.controls.values())
        how = (
            f"<p>In a running notebook this cell has controls ({html.escape(names)}), and each "
            "move computes it anew; the preface says how to run one. Above: its first state.</p>"
        )
        return bundle | {"text/html": self.screen.value + how}


def panels(matrices, titles, rows=None, columns=None):
    """Matrices side by side, as a matplotlib figure that no notebook shows by itself."""
    figure = matplotlib.figure.Figure(
        figsize=(2.3 * len(matrices), 2.4), layout="constrained"
    )
    figure.set_facecolor("white")
    for axis, matrix, title in zip(
        figure.subplots(1, len(matrices), squeeze=False)[0], matrices, titles, strict=True
    ):
        axis.imshow(matrix.numpy())
        axis.set_title(title, fontsize=9)
        if columns is not None:
            axis.set_xticks(range(len(columns)), columns, rotation=90, fontsize=8)
        if rows is not None:
            axis.set_yticks(range(len(rows)), rows, fontsize=8)
    return figure


def explore_masks(sentences=("the cat sat down", "we slept"), valid_lens=(4, 2)) -> Figure:
    """Two sentences under a padding and a causal mask.

    A score is the number of letters that two words share.

    Args:
        sentences: two, at most eight words each.
        valid_lens: how many words of each are real.
    Source: chapter 2.
    """
    state = {
        "sentences": list(sentences),
        "valid_lens": list(valid_lens),
        "padding": True,
        "causal": True,
    }
    steps = max(len(sentence.split()) for sentence in sentences)
    words = sentences[0].split()
    words += ["<pad>"] * (steps - len(words))
    scores = torch.tensor([[float(len({*q} & {*k})) for k in words] for q in words])
    mask = causal_mask(steps) & padding_mask(torch.tensor(valid_lens[:1]), steps)[0, 0]
    masked = scores.masked_fill(~mask, math.nan)
    picture = panels(
        [scores, masked, masked_softmax(scores, mask)],
        ["scores", "masked scores", "weights"],
        words,
        words,
    )
    alt = (
        f"Three matrices for the sentence '{sentences[0]}': its scores, the same with what "
        "the masks hide left white, and the weights, which are zero there."
    )
    return Figure("masks.js", state, picture, alt)


def explore_positions(width=16, base=10000, column=4, position=6, offset=3) -> Figure:
    """The table of sinusoidal positions and what it does.

    Args:
        width: 4, 8, 16 or 32.
        base: a power of ten, from 10 to 100,000.
        column: of the table, shown as a wave.
        position, offset: between which a hand is turned.
    Source: chapter 3.
    """
    state = {
        "width": width,
        "base": base,
        "column": column,
        "position": position,
        "offset": offset,
    }
    table = sinusoidal_table(32, width)
    picture = panels([table, table @ table.T], ["positions", "dot products"])
    alt = (
        f"The table of 32 positions at width {width}, whose columns are waves, slower from left to "
        "right, and the dot products of all pairs of positions, which fall off the diagonal."
    )
    return Figure("positions.js", state, picture, alt)


def explore_attention(query=(1.0, 1.0), similarity="dot", scaled=True, d_k=2) -> Figure:
    """A query that can be dragged among keys in the plane; the values are the keys.

    Args:
        query: (x, y), each between -3 and 3.
        similarity: "dot", "cosine" or "additive".
        scaled: whether the dot product is divided by the square root of d_k.
        d_k: number of features that the dot product stands for, a power of two up to 1024.
    Source: chapter 4.
    """
    state = {
        "query": list(query),
        "similarity": similarity,
        "scaled": scaled,
        "d_k": d_k,
    }
    words = ["cat", "dog", "bird", "stone", "idea"]
    keys = [[1.8, 1.4], [2.2, 0.4], [0.3, 2.0], [-1.8, 0.6], [-0.9, -1.9]]
    scores = torch.tensor([query]) @ torch.tensor(keys).T * math.sqrt(d_k / 2)
    scores = scores / math.sqrt(d_k) if scaled else scores
    weights = masked_softmax(scores)  # (1, keys)
    picture = matplotlib.figure.Figure(figsize=(3.2, 3.2), layout="constrained")
    axis = picture.subplots()
    axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    for (x, y), word, weight in zip(keys, words, weights[0].tolist(), strict=True):
        axis.scatter(x, y, s=900 * weight + 5, alpha=0.5, color="#0072B2")
        axis.annotate(f"{word} {weight:.2f}", (x, y), fontsize=8)
    axis.annotate("", query, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "#D55E00"})
    alt = (
        f"Five keys in the plane and a query at {query}; the area of each key is its weight, "
        "larger the more it points in the direction of the query."
    )
    return Figure("attention.js", state, picture, alt, {"words": words, "keys": keys})


def explore_heads(num_heads=2, order="project", feature=0, amount=2.0) -> Figure:
    """Multi-head attention of width 8: which features of its input does each head read?

    Args:
        num_heads: 1, 2, 4 or 8.
        order: "project", as MultiHeadAttention does; "split", as bugs.SplitThenProject, whose
            heads share one small matrix; "own", the same with a matrix for each head.
        feature, amount: which feature of the first word is changed, and by how much.
    Source: chapter 4.
    """
    state = {"num_heads": num_heads, "order": order, "feature": feature, "amount": amount}
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(3, 8, generator=generator)
    W_q, W_k, W_v = torch.randn(3, 8, 8, generator=generator) * 0.5
    words = ["we", "like", "cats"]
    data = {"words": words, "X": X, "W_q": W_q, "W_k": W_k, "W_v": W_v}
    size = 8 // num_heads
    rows = torch.stack([W_q, W_k, W_v]).view(3, num_heads, size, 8)
    if order == "split":
        rows = rows[:, :1, :, :size].repeat(1, num_heads, 1, num_heads)
    if order != "project":
        own = torch.eye(num_heads).repeat_interleave(size, dim=1)
        rows = rows * own[:, None]
    reads = rows.square().sum((0, 2)).sqrt()  # (heads, features)
    picture = panels(
        [reads], ["what a head reads"], [f"head {h}" for h in range(num_heads)]
    )
    alt = (
        "A matrix of heads by features of the input. If one projects first, each head reads all "
        "features; if one splits first, each reads its own slice only."
    )
    return Figure("heads.js", state, picture, alt, as_lists(data))


def explore_layers(layer="layer", position=2, amounts=(2.0, 0.0, 0.0, 0.0)) -> Figure:
    """A layer on two sentences of three tokens: one token changes, and which positions notice?

    Args:
        layer: "ffn", "layer", "batch" or "wrong", the last for steps and features at once.
        position: which token is changed, 0 to 5.
        amounts: what is added to each of its four features.
    Source: chapters 5 and 6.
    """
    state = {"layer": layer, "position": position, "amounts": list(amounts)}
    generator = torch.Generator().manual_seed(0)
    X, Y = torch.randn(2, 6, 4, generator=generator)
    positions = ["a0", "a1", "a2", "b0", "b1", "b2"]
    data = {
        "X": X,
        "Y": Y,
        "positions": positions,
        "sentence": [name[0] for name in positions],
        "W_1": torch.randn(8, 4, generator=generator),
        "b_1": torch.randn(8, generator=generator),
        "W_2": torch.randn(4, 8, generator=generator) * 0.5,
        "b_2": torch.randn(4, generator=generator),
    }
    compute = {
        "ffn": lambda X: (
            torch.relu(X @ data["W_1"].T + data["b_1"]) @ data["W_2"].T + data["b_2"]
        ),
        "layer": lambda X: layer_norm(X + Y, [4]),
        "batch": lambda X: batch_norm(X + Y, None, None, training=True),
        "wrong": lambda X: layer_norm((X + Y).view(2, 3, 4), [3, 4]).view(6, 4),
    }[layer]
    changed = X.clone()
    changed[position] += torch.tensor(amounts)
    output = compute(changed)
    change = (output - compute(X)).abs()
    picture = panels([changed, output, change], ["input X", "output", "change"], positions)
    noticed = ", ".join(
        name for name, row in zip(positions, change, strict=True) if row.max() > 1e-5
    )
    alt = (
        "Six positions of two sentences with four features each: the input, in which "
        f"{positions[position]} has changed, the output, and the change of the output. "
        f"Rows that have changed: {noticed}."
    )
    return Figure("layers.js", state, picture, alt, as_lists(data))


def as_lists(data: dict) -> dict:
    """Tensors as nested lists, which a page can hold."""
    return {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in data.items()}


# What a part of a block is: its name in the picture, what it does, its class, the place where a
# chapter shows the class, and what a number of its output is the sum of.
HEADS = "products of the heads' outputs with W_o"
PARTS = {
    "embedding": ("embedding + positions", "an id's row of the table, times √d, plus its position",
                  "TokenEmbedding", "07-transformer.html#tokens-in",
                  "the id's number times √d, and the position's"),
    "attention": ("self-attention", "a weighted mean of what all positions offer",
                  "MultiHeadAttention", "04-attention.html#the-class", HEADS),
    "self_attention": ("causal self-attention",
                       "a weighted mean of what this and former positions offer",
                       "MultiHeadAttention", "04-attention.html#the-class", HEADS),
    "cross_attention": ("cross-attention", "a weighted mean of what the encoder's positions offer",
                        "MultiHeadAttention", "04-attention.html#the-class", HEADS),
    "addnorm": ("add & norm", "the part's input is added, and each position is normalised",
                "AddNorm", "06-add-and-norm.html#add-norm", ""),
    "ffn": ("feed-forward", "two layers with a ReLU between, at each position alone",
            "PositionWiseFFN", "05-feed-forward.html#a-network-for-one-token-by-hand",
            "products of the units that are awake with dense2, and its bias"),
    "output": ("output layer", "a score for each word of the target vocabulary",
               "nn.Linear", "07-transformer.html#encoder-decoder-and-both",
               "products of the features with the word's weights, and its bias"),
}  # fmt: skip


def explore_machine(state_dict, src_tokens, tgt_tokens, num_heads, pairs) -> Figure:
    """The encoder-decoder as a picture; a sentence can be stepped through its blocks.

    Args:
        state_dict: of a small EncoderDecoder of chapter 7.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        pairs: sentences of known tokens, and what the decoder has written so far.
    Source: chapter 7.
    """
    numbers = {name: tensor.detach().float().cpu() for name, tensor in state_dict.items()}
    layers = 1 + max(int(name.split(".")[3]) for name in numbers if ".blocks." in name)
    order = {
        "encoder": ["attention", "addnorm1", "ffn", "addnorm2"],
        "decoder": ["self_attention", "addnorm1", "cross_attention", "addnorm2", "ffn", "addnorm3"],
    }  # fmt: skip
    paths = []
    for side, parts in order.items():
        paths.append((side, f"{side}.embedding"))
        paths += [
            (side, f"{side}.stack.blocks.{n}.{p}") for n in range(layers) for p in parts
        ]
    paths.append(("decoder", "decoder.output"))
    blocks = []
    for side, path in paths:
        part = path.rpartition(".")[2].rstrip("0123456789")
        name, does, class_name, shown, sums = PARTS[part]
        blocks.append({
            "side": side, "part": part.removesuffix("_attention"), "kind": part, "name": name,
            "does": does, "class_name": class_name, "shown": shown, "sums": sums,
            "page": shown.partition("#")[0], "chapter": int(shown[:2]),
            "from": "the block before" if part != "embedding" else "the vocabulary",
            "parameters": sum(
                t.numel() for key, t in numbers.items() if key.startswith(f"{path}.")
            ),
        })  # fmt: skip
    sentences = []
    for source, target in pairs:
        words = [*source.split(), "<eos>"], ["<bos>", *target.split()]
        ids = [
            [v.index(w) for w in ws]
            for ws, v in zip(words, (src_tokens, tgt_tokens), strict=True)
        ]
        keys = "source", "target", "source_ids", "target_ids"
        sentences.append(dict(zip(keys, (*words, *ids), strict=True)))
    data = {
        **pack(numbers, num_heads, layers),
        "blocks": blocks,
        "sentences": sentences,
        "tgt_tokens": tgt_tokens,
    }
    picture = block_diagram(blocks)
    alt = (
        "Two columns of blocks, computed from the bottom up. "
        + " ".join(
            f"{side.capitalize()}: "
            + ", ".join(block["name"] for block in blocks if block["side"] == side)
            + "."
            for side in order
        )
        + " The encoder's last block leads to each cross-attention."
    )
    return Figure(
        "machine.js", {"sentence": 0, "block": 0}, picture, alt, data, floats(numbers)
    )


def block_diagram(blocks):
    """The blocks of encoder and decoder from the bottom upwards, as a matplotlib figure."""
    figure = matplotlib.figure.Figure(figsize=(5.4, 5.2), layout="constrained")
    axis = figure.subplots()
    middle, rows = {"encoder": 0.0, "decoder": 1.4}, {"encoder": 0, "decoder": 0}
    arrow = {"arrowstyle": "-|>", "color": "#444444"}
    for block in blocks:
        x, y = middle[block["side"]], rows[block["side"]]
        box = {"boxstyle": "round", "facecolor": "#EEEEEE", "edgecolor": "#444444"}
        axis.text(x, y, block["name"], ha="center", va="center", fontsize=8, bbox=box)
        if y:
            axis.annotate("", (x, y - 0.12), (x, y - 0.88), arrowprops=arrow)
        if block["part"] == "cross":
            axis.annotate("", (x - 0.22, y), (0.18, rows["encoder"] - 1), arrowprops=arrow)
        rows[block["side"]] += 1
    axis.set(xlim=(-0.7, 2.1), ylim=(-0.7, max(rows.values()) - 0.3))
    axis.axis("off")
    return figure


def pack(numbers, num_heads, num_layers):
    """What forward.js needs to find its way in the numbers of a state_dict."""
    # Pairs and no dict: Jupyter sorts the keys of a dict when it saves a notebook.
    shapes = [(name, list(tensor.shape)) for name, tensor in numbers.items()]
    return {"shapes": shapes, "num_heads": num_heads, "num_layers": num_layers}


def floats(numbers):
    """The numbers of a state_dict, one after the other, as float32."""
    return b"".join(t.numpy().astype("<f4").tobytes() for t in numbers.values())


def explore_training(losses, checkpoints, pairs) -> Figure:
    """A training run, epoch by epoch: loss, translations, cross-attention.

    Args:
        losses: of every epoch, in nats.
        checkpoints: epoch -> for each pair, what predict_seq2seq returned after that epoch.
        pairs: sentences and their translations.
    Source: chapter 8.
    """
    sentences = [
        {
            "english": english,
            "french": normalise(french),
            "tokens": [*normalise(english).split(), "<eos>"],
        }
        for english, french in pairs
    ]
    shown = []
    for epoch, outputs in checkpoints.items():
        entries = []
        for sentence, (text, weights) in zip(sentences, outputs, strict=True):
            cross = weights.cross[..., : len(sentence["tokens"])].flatten(0, 1).cpu()
            reads = ["<bos>", *text.split()][: cross.shape[1]]
            rounded = (
                cross.double().round(decimals=3).tolist()
            )  # a page of its own is large
            entries.append({"text": text, "reads": reads, "weights": rounded})
        shown.append({"epoch": epoch, "outputs": entries})
    layers, heads = weights.cross.shape[:2]
    data = {
        "losses": losses,
        "checkpoints": shown,
        "sentences": sentences,
        "head_names": [f"layer {n}, head {h}" for n in range(layers) for h in range(heads)],
    }
    state = {"checkpoint": 0, "sentence": 0, "head": (layers - 1) * heads}
    picture = matplotlib.figure.Figure(figsize=(4.5, 2.6), layout="constrained")
    axis = picture.subplots()
    axis.plot(range(1, len(losses) + 1), losses, color="#0072B2")
    axis.set(xlabel="epoch", ylabel="loss, nats per token", yscale="log")
    alt = (
        f"The loss of a training run over {len(losses)} epochs, which falls from "
        f"{losses[0]:.1f} to {losses[-1]:.2f} nats per token."
    )
    return Figure("replay.js", state, picture, alt, data)


def explore_translator(
    state_dict, src_tokens, tgt_tokens, num_heads, num_steps, examples, translation, cross
) -> Figure:
    """A trained encoder-decoder that runs in the browser, with all of its attention.

    Args:
        state_dict: of an EncoderDecoder of chapter 7.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        num_steps: longest source and target, <eos> included.
        examples: pairs of a sentence and its translation; the first is shown at the start.
        translation: of the first by the net, for the still picture,
        cross: and its cross-attention, (layers, heads, queries, keys).
    Source: chapter 9.
    """
    numbers = {name: tensor.detach().float().cpu() for name, tensor in state_dict.items()}
    num_layers = len(cross)
    data = {
        **pack(numbers, num_heads, num_layers),
        "src_tokens": src_tokens,
        "tgt_tokens": tgt_tokens,
        "num_steps": num_steps,
        "examples": [list(pair) for pair in examples],
    }
    state = {
        "text": examples[0][0],
        "kind": "cross",
        "layer": num_layers - 1,
        "head": 0,
        "step": 0,
        "view": "weights",
        "padding": 0,
        "beam": 1,
        "hypothesis": 0,
        "off": [],
    }
    read = [*normalise(examples[0][0]).split(), "<eos>"]
    written = [*translation.split(), "<eos>"][: cross.shape[2]]
    names = [f"head {h}" for h in range(num_heads)]
    picture = panels(cross[-1, ..., : len(read)].cpu(), names, written, read)
    alt = (
        f"Cross-attention of the last layer's {num_heads} heads while the net translates "
        f"'{examples[0][0]}' as '{translation}': a row for each word written, a column for each "
        "word read."
    )
    return Figure("translator.js", state, picture, alt, data, floats(numbers))
