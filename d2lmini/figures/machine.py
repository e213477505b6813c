"""The figure of the encoder-decoder, block by block."""

from matplotlib.patches import Rectangle

from d2lmini.figures.plots import COLOURS
from d2lmini.figures.stills import empty
from d2lmini.figures.weights import floats, on_cpu, pack
from d2lmini.figures.widget import Figure
from d2lmini.support.chapters import CHAPTERS

# For each part of a block: its name in the picture, what it does, its class, the chapter and
# section that show the class, the terms whose sum is an output, and its formula
HEADS = "products of the heads' outputs with W_o"
LOOK = (
    "A = softmax(Q K^T / √{{size}}) in each head;  Y = [A V of all heads] W_o;  "
    "Q = X W_q, K = {0} W_k, V = {0} W_v"
)


PARTS = {
    "embedding": ("embedding + positions", "an id's row of the table, times √d, plus its position",
                  "TokenEmbedding", ("transformer", "assemble-it-and-let-it-write"),
                  "the id's number times √d, and the position's",
                  "Y = √{d} · E[id] + P[position]"),
    "attention": ("self-attention", "a weighted mean of what all positions offer",
                  "MultiHeadAttention", ("heads", "the-class"), HEADS, LOOK.format("X")),
    "self_attention": ("causal self-attention",
                       "a weighted mean of what this and earlier positions offer",
                       "MultiHeadAttention", ("heads", "the-class"), HEADS, LOOK.format("X")),
    "cross_attention": ("cross-attention", "a weighted mean of what the encoder's positions offer",
                        "MultiHeadAttention", ("heads", "the-class"), HEADS,
                        LOOK.format("memory")),
    "addnorm": ("add & norm", "the part's input is added, and each position is normalised",
                "AddNorm", ("addnorm", "add-norm"), "",
                "Y = (X − mean) / √variance · gain + bias;  X = shortcut + branch"),
    "ffn": ("feed-forward", "two layers with a ReLU between, at each position alone",
            "PositionWiseFFN", ("ffn", "a-conclusion-by-hand"),
            "products of the units that are awake with dense2, and its bias",
            "Y = max(0, X W_1 + b_1) W_2 + b_2"),
    "output": ("output layer", "a score for each word of the target vocabulary",
               "nn.Linear", ("transformer", "assemble-it-and-let-it-write"),
               "products of the features with the word's weights, and its bias",
               "Y = X W + b;  probabilities = softmax(Y), row by row"),
}  # fmt: skip

# Part of a block -> kind of its box in plots.py
KINDS = {"embedding": "embedding", "attention": "attention", "self": "attention",
         "cross": "attention", "addnorm": "norm", "ffn": "network",
         "output": "output"}  # fmt: skip

TRIES = [
    (
        "Where the sides meet",
        "cross_attention",
        "Rows are French, columns English: no other block sees both. Where does the row that "
        "reads “tom” and writes “la” look?",
    ),
    (
        "No look ahead",
        "self_attention",
        "Above the diagonal every weight is 0: no position sees a later one.",
    ),
    (
        "The next word",
        "output",
        "In each row, the word with the largest logit is the one to write next.",
    ),
]


def explore_machine(
    state_dict, src_tokens, tgt_tokens, num_heads, sentence, brief=False
) -> Figure:
    """Show the encoder-decoder as a diagram; the reader's sentence passes through its blocks.

    Args:
        state_dict: of a small EncoderDecoder of chapter 8.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        sentence: the first one shown, of known tokens.
        brief: show the sentence and what is written alone.
    Source: chapter 8.
    """
    numbers = on_cpu(state_dict)
    width = numbers["encoder.embedding.embedding.weight"].shape[1]
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
        name, does, class_name, (slug, section), sums, formula = PARTS[part]
        chapter = CHAPTERS[slug]
        blocks.append({
            "side": side, "part": part.removesuffix("_attention"), "kind": part, "name": name,
            "does": does, "class_name": class_name, "sums": sums,
            "formula": formula.format(d=width, size=width // num_heads),
            "shown": f"{chapter.page}#{section}", "page": chapter.page, "chapter": chapter.number,
            "from": "the block before" if part != "embedding" else "the vocabulary",
            "parameters": sum(
                t.numel() for key, t in numbers.items() if key.startswith(f"{path}.")
            ),
        })  # fmt: skip
    data = {
        **pack(numbers, num_heads, layers),
        "blocks": blocks,
        "src_tokens": src_tokens,
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
    state = {"text": sentence, "block": 0, "step": 0}
    weights = floats(numbers)
    return Figure("machine.js", state, picture, alt, data, weights, tries, brief=brief)


def block_diagram(blocks):
    """Draw the blocks of encoder and decoder from the bottom up, as a matplotlib figure.

    An add & norm is a thin line above its block.
    """
    figure, [[axis]] = empty()
    tops, left = {}, {"encoder": 0, "decoder": 1.2}
    for block in blocks:
        side, kind = block["side"], block["part"]
        thin = kind == "addnorm"
        bottom = tops.get(side, 0) + (0 if thin else 0.15)
        tops[side] = bottom + (0.22 if thin else 1)
        corner, height = (left[side], bottom), tops[side] - bottom
        colours = {"facecolor": COLOURS[KINDS[kind]], "edgecolor": "#444444"}
        axis.add_patch(Rectangle(corner, 1, height, **colours))
        if not thin:
            middle = left[side] + 0.5, bottom + 0.45
            axis.text(*middle, block["name"], fontsize=9.5, ha="center", va="center")
        if kind == "cross":
            arrow = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.5}
            axis.annotate(
                "", (1.2, bottom + 0.5), (1, tops["encoder"] - 0.11), arrowprops=arrow
            )
    axis.set(xlim=(-0.02, 2.22), ylim=(0, max(tops.values()) + 0.1))
    axis.axis("off")
    return figure
