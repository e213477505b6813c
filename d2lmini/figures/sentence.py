"""The figure of a translator, trained on real sentences, that runs in the browser."""

from d2lmini.figures.arcs import arcs
from d2lmini.figures.weights import pack_pieces, pieces_and_numbers
from d2lmini.figures.widget import Figure

NUM_LIKELY = 3  # most likely words shown for each word written


def explore_sentence(parts, examples, look) -> Figure:
    """Show a subword translator: type English, and see which word attends to which.

    Args:
        parts: see SubwordTranslator.parts.
        examples: English sentences; the first is shown initially.
        look: the translation of the first: see SubwordTranslator.look.
    Source: the front page.
    """
    tokens = parts["tokens"]
    best = look.probabilities.topk(NUM_LIKELY, dim=-1)
    weights = look.cross[-1].mean(dim=0)  # (written, read)
    data = {
        **pack_pieces(**parts),
        "examples": [*examples],
        # Shown until the net has loaded.
        "first": {
            "read": look.read,
            "written": look.written,
            "weights": weights.double().round(decimals=3).tolist(),
            "likely": [
                [
                    [tokens[i], round(p, 3)]
                    for i, p in zip(ids.tolist(), ps.tolist(), strict=True)
                ]
                for ps, ids in zip(*best, strict=True)
            ],
        },
    }
    state = {"text": examples[0], "chosen": -1}
    alt = (
        f"'{examples[0]}' above its translation, '{' '.join(look.written[:-1])}', and a line "
        "from each written piece to those it was read from, thicker where the attention is "
        "larger."
    )
    picture = arcs(look.read, look.written, weights)
    return Figure("sentence.js", state, picture, alt, data, pieces_and_numbers(parts))
