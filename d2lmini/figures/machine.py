"""The encoder-decoder, block by block."""

import matplotlib.figure

from d2lmini.chapters import CHAPTERS
from d2lmini.figures.weights import floats, pack
from d2lmini.figures.widget import Figure

# What a part of a block is: its name in the picture, what it does, its class, the chapter and
# section that show the class, and what a number of its output is the sum of.
HEADS = "products of the heads' outputs with W_o"


PARTS = {
    "embedding": ("embedding + positions", "an id's row of the table, times √d, plus its position",
                  "TokenEmbedding", ("transformer", "encoder-decoder-and-both"),
                  "the id's number times √d, and the position's"),
    "attention": ("self-attention", "a weighted mean of what all positions offer",
                  "MultiHeadAttention", ("attention", "the-class"), HEADS),
    "self_attention": ("causal self-attention",
                       "a weighted mean of what this and earlier positions offer",
                       "MultiHeadAttention", ("attention", "the-class"), HEADS),
    "cross_attention": ("cross-attention", "a weighted mean of what the encoder's positions offer",
                        "MultiHeadAttention", ("attention", "the-class"), HEADS),
    "addnorm": ("add & norm", "the part's input is added, and each position is normalised",
                "AddNorm", ("addnorm", "add-norm"), ""),
    "ffn": ("feed-forward", "two layers with a ReLU between, at each position alone",
            "PositionWiseFFN", ("ffn", "a-network-for-one-token-by-hand"),
            "products of the units that are awake with dense2, and its bias"),
    "output": ("output layer", "a score for each word of the target vocabulary",
               "nn.Linear", ("transformer", "encoder-decoder-and-both"),
               "products of the features with the word's weights, and its bias"),
}  # fmt: skip


TRIES = [
    (
        "Where the sides meet",
        "cross_attention",
        "Rows are words of the translation, columns words of the source: no other block sees both.",
    ),
    (
        "No look ahead",
        "self_attention",
        "Above the diagonal every weight is 0: no position sees a later one.",
    ),
    (
        "The next word",
        "output",
        "In the last row, the word with the largest score is the one to write next.",
    ),
]


def explore_machine(state_dict, src_tokens, tgt_tokens, num_heads, pairs) -> Figure:
    """The encoder-decoder as a picture; a sentence can be stepped through its blocks.

    Args:
        state_dict: of a small EncoderDecoder of chapter 7.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        pairs: sentences of known tokens, and what the decoder has written so far.
    Source: chapter 7.
    """
    numbers = {
        name: tensor.detach().float().cpu() for name, tensor in state_dict.items()
    }
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
        name, does, class_name, (slug, section), sums = PARTS[part]
        chapter = CHAPTERS[slug]
        blocks.append({
            "side": side, "part": part.removesuffix("_attention"), "kind": part, "name": name,
            "does": does, "class_name": class_name, "sums": sums,
            "shown": f"{chapter.page}#{section}", "page": chapter.page, "chapter": chapter.number,
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
    kinds = [block["kind"] for block in blocks]
    tries = [
        (name, {"block": kinds.index(kind)}, notice) for name, kind, notice in TRIES
    ]
    state = {"sentence": 0, "block": 0}
    return Figure("machine.js", state, picture, alt, data, floats(numbers), tries)


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
            axis.annotate(
                "", (x - 0.22, y), (0.18, rows["encoder"] - 1), arrowprops=arrow
            )
        rows[block["side"]] += 1
    axis.set(xlim=(-0.7, 2.1), ylim=(-0.7, max(rows.values()) - 0.3))
    axis.axis("off")
    return figure
