"""A trained translator that runs in the browser."""

from d2lmini.data import normalise
from d2lmini.figures.stills import panels
from d2lmini.figures.weights import bits_of, floats, pack
from d2lmini.figures.widget import Figure


def explore_translator(
    state_dict,
    src_tokens,
    tgt_tokens,
    num_heads,
    num_steps,
    examples,
    translation,
    cross,
    step=0,
) -> Figure:
    """A trained encoder-decoder that runs in the browser, with all of its attention.

    Args:
        state_dict: of an EncoderDecoder of chapter 7.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        num_steps: longest source and target, <eos> included.
        examples: pairs of a sentence and its translation; the first is shown at the start.
        translation: the network's translation of the first, for the still picture.
        cross: its cross-attention, (layers, heads, queries, keys).
        step: of the word whose rivals are shown at the start.
    Source: chapter 9.
    """
    numbers = {
        name: tensor.detach().float().cpu() for name, tensor in state_dict.items()
    }
    num_layers, bits = len(cross), bits_of(numbers)
    data = {
        **pack(numbers, num_heads, num_layers, bits),
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
        "step": step,
        "view": "arcs",
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
    off = [f"cross.{n}.{h}" for n in range(num_layers) for h in range(num_heads)]
    tries = [
        (
            "French without English",
            {"off": off},
            "With all of cross-attention off, the decoder sees only what it has written. What "
            "does it write, and does it for another sentence, too?",
        ),
        (
            "Four candidates",
            {"beam": 4},
            "A beam of 4 ends with four translations. How far is the second behind the first?",
        ),
        (
            "Padding",
            {"padding": 3, "view": "masked"},
            "Three padded positions: their scores are −∞, and the translation is the same.",
        ),
    ]
    return Figure(
        "translator.js", state, picture, alt, data, floats(numbers, bits), tries
    )
