"""The translator that was trained on sentences people wrote, in the browser."""

from d2lmini.figures.arcs import arcs
from d2lmini.figures.weights import eighths, pack
from d2lmini.figures.widget import Figure

NUM_LIKELY = 3  # words that could have come, for each one written


def explore_sentence(
    numbers, tied, tokens, merges, num_heads, num_steps, examples, look
) -> Figure:
    """A translator on pieces of words: type English, and see which word looked at which.

    Args:
        numbers: name -> parameter, each once; of an EncoderDecoder of chapter 7.
        tied: name -> name of the parameter that is used there as well.
        tokens: of the vocabulary, which both languages share, by id.
        merges: see Subwords.
        num_heads: of the net.
        num_steps: longest source and target in pieces, <eos> included.
        examples: English sentences; the first is shown at the start.
        look: what the net makes of the first: see SubwordTranslator.look.
    Source: the front page; chapter 9.
    """
    numbers = {name: tensor.detach().float().cpu() for name, tensor in numbers.items()}
    best = look.probabilities.topk(NUM_LIKELY, dim=-1)
    weights = look.cross[-1].mean(dim=0)  # (written, read)
    data = {
        **pack(numbers, num_heads, len(look.cross), bits=8),
        "tied": [*tied.items()],
        "tokens": tokens,
        "merges": [*merges],
        "num_steps": num_steps,
        "examples": [*examples],
        # Shown before the net has come.
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
    return Figure("sentence.js", state, picture, alt, data, eighths(numbers))
