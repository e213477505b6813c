"""The figure of a trained translator that runs in the browser."""

from d2lmini.data import normalise
from d2lmini.figures.stills import panels
from d2lmini.figures.weights import (
    bits_of,
    floats,
    on_cpu,
    pack,
    pack_pieces,
    pieces_and_numbers,
)
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
    large=None,
    large_examples=(),
    large_step=0,
) -> Figure:
    """Show a trained encoder-decoder that runs in the browser, with all of its attention.

    Optionally also a large one that works on subwords.

    Args:
        state_dict: of an EncoderDecoder of chapter 8.
        src_tokens, tgt_tokens: the vocabularies' tokens, by id.
        num_heads: of the net.
        num_steps: maximum length of source and target, including <eos>.
        examples: pairs of a sentence and its translation; the first is shown initially.
        translation: the network's translation of the first example, for the still picture.
        cross: its cross-attention, (layers, heads, queries, keys).
        step: of the word whose alternatives are shown initially.
        large: the large translator: see SubwordTranslator.parts.
        large_examples: English sentences for it.
        large_step: like step, for the first of them.
    Source: chapter 11.
    """
    numbers = on_cpu(state_dict)
    num_layers, bits = len(cross), bits_of(numbers)
    small = {
        **pack(numbers, num_heads, num_layers, bits),
        "src_tokens": src_tokens,
        "tgt_tokens": tgt_tokens,
        "num_steps": num_steps,
        "examples": [list(pair) for pair in examples],
    }
    nets = [("small", small)]  # pairs, as Jupyter sorts the keys of a dict
    if large:
        nets += [
            (
                "large",
                pack_pieces(**large) | {"examples": [[e] for e in large_examples]},
            )
        ]
    state = {
        "net": "small",
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
    # one head, the first: a page should be light
    picture = panels(cross[-1, :1, :, : len(read)].cpu(), ["head 0"], written, read)
    alt = (
        "Cross-attention of a head of the last layer while the net translates "
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
    ]
    if large:
        tries += [
            (
                "The large network",
                {
                    "net": "large",
                    "text": large_examples[0],
                    "layer": nets[1][1]["num_layers"] - 1,
                    "step": large_step,
                },
                "This one reads any word, in pieces; a piece that begins no word has a dotted "
                "line on its left. What else could have come here, and where did the heads look?",
            )
        ]
    else:
        tries += [
            (
                "Padding",
                {"padding": 3, "view": "masked"},
                "Three padded positions: their scores are −∞, and the translation is the same.",
            )
        ]
    return Figure(
        "translator.js",
        state,
        picture,
        alt,
        {"nets": nets},
        floats(numbers, bits),
        tries,
        pieces_and_numbers(large) if large else b"",
    )
