"""The figure of a caption translator that runs in the browser, with a line for each weight."""

import matplotlib.figure

from d2lmini.data import normalise
from d2lmini.figures.arcs import add_curve
from d2lmini.figures.colours import CYCLE
from d2lmini.figures.weights import in_bits, on_cpu, pack
from d2lmini.figures.widget import Figure

BITS = 7  # per weight; weights are half of the page
POSITIONS = {f"{side}.embedding.positions.P" for side in ("encoder", "decoder")}


def explore_caption(
    state_dict,
    src_tokens,
    tgt_tokens,
    num_heads,
    num_steps,
    examples,
    translation,
    cross,
) -> Figure:
    """Show which word attends to which in a trained encoder-decoder that runs in the browser.

    Args:
        state_dict: of an EncoderDecoder of chapter 8.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        num_steps: maximum length of source and target, including <eos>.
        examples: captions; the first is shown initially.
        translation: the network's translation of the first caption, for the still picture.
        cross: its cross-attention, (layers, heads, queries, keys).
    Source: chapter 14.
    """
    numbers = on_cpu(state_dict)
    for name in numbers.keys() & POSITIONS:
        numbers[name] = numbers[name][:num_steps]  # other rows are not used
    num_layers = len(cross)
    data = {
        **pack(numbers, num_heads, num_layers, BITS),
        "src_tokens": src_tokens,
        "tgt_tokens": tgt_tokens,
        "num_steps": num_steps,
        "examples": list(examples),
    }
    read = [*normalise(examples[0]).split(), "<eos>"]
    # The German word begins whose place in English is farthest from its own.
    written_at = cross[-1].mean(0).argmax(0).tolist()  # for each German token
    places = range(min(len(read) - 1, len(written_at)))  # without <eos>
    farthest = max(places, key=lambda j: abs(written_at[j] - j))
    state = {
        "text": examples[0],
        "layer": num_layers - 1,
        "head": "head 0",
        "side": "german",
        "chosen": farthest,
    }
    written = [*translation.split(), "<eos>"][: cross.shape[2]]
    picture = _lines(cross[-1, :1].cpu(), read, written)
    alt = (
        f"The words of '{examples[0]}' in a column on the left, those of its translation "
        f"'{translation}' in one on the right. A line from each English word to the German "
        "words that the last layer's first head looks at to write it; some of them cross."
    )
    tries = [
        (
            "All heads",
            {"head": "all heads"},
            "Lines cross where the German is read in another order. Which head does it most?",
        ),
        (
            "The layer below",
            {"layer": 0},
            "The first layer's lines. Are they as neat as the last one's?",
        ),
        (
            "From the English side",
            {"side": "english", "chosen": 1},
            "What one English word was read from. Walk down the column.",
        ),
    ]
    weights = in_bits(numbers, BITS)
    return Figure("caption.js", state, picture, alt, data, weights, tries)


def _lines(weights, read, written):
    """Draw two columns of words, and a line for each large weight (heads, written, read)."""
    rows = max(len(read), len(written))
    figure = matplotlib.figure.Figure(figsize=(4.2, 0.27 * rows), layout="constrained")
    axis = figure.subplots()
    axis.set(xlim=(-0.5, 1.5), ylim=(rows - 0.5, -0.5))
    axis.axis("off")
    for x, words, side in ((-0.04, read, "right"), (1.04, written, "left")):
        for y, word in enumerate(words):
            axis.text(x, y, word, ha=side, va="center", fontsize=9)
    for head, matrix in enumerate(weights.tolist()):
        for to, row in enumerate(matrix):
            for start, weight in enumerate(row[: len(read)]):
                if weight > 0.3:
                    beside = 0.12 * (head - 1.5)
                    y0, y1 = start + beside, to + beside
                    points = [(0, y0), (0.4, y0), (0.6, y1), (1, y1)]
                    add_curve(axis, points, CYCLE[head % 4], 2.5 * weight)
    return figure
