"""The figure of a trained review classifier that runs in the browser."""

from matplotlib.patches import Rectangle

from d2lmini.data import normalise
from d2lmini.figures.colours import SEQUENTIAL
from d2lmini.figures.stills import empty
from d2lmini.figures.weights import floats, on_cpu, pack
from d2lmini.figures.widget import Figure


def explore_verdict(
    state_dict, tokens, num_heads, num_layers, num_steps, examples, labels, first
) -> Figure:
    """Show the verdict of a trained classifier, in the browser, and the effect of each word on it.

    Args:
        state_dict: of a Classifier of chapter 12 with a TransformerEncoder.
        tokens: the vocabulary's tokens, by id.
        num_heads, num_layers: of the encoder.
        num_steps: maximum length of a review, including <eos>.
        examples: reviews; the first is shown initially.
        labels: the names of the classes.
        first: the result of classify on the first example, for the still picture.
    Source: chapter 12.
    """
    numbers = on_cpu(state_dict)
    data = {
        **pack(numbers, num_heads, num_layers),
        "tokens": tokens,
        "num_steps": num_steps,
        "examples": list(examples),
        "labels": list(labels),
    }
    heaviest = max(range(len(first.tokens)), key=lambda i: first.weights[i])
    state = {
        "text": examples[0],
        "chosen": heaviest,
        "layer": num_layers - 1,
        "head": 0,
    }
    verdict = f"{labels[first.label]} {max(first.probabilities):.3f}"
    picture = weighed(first.tokens, first.weights, labels[first.label])
    alt = (
        f"The review '{examples[0]}', with the network's verdict: {verdict}. Below it, the "
        "weight of each word in the pooling."
    )
    longest = max(examples, key=len)
    tries = [
        (
            "A longer review",
            {"text": longest},
            "Point at its words: which one would you leave out to turn the verdict?",
        ),
        (
            "One word",
            {"text": normalise(examples[0]).split()[-2]},
            "The last word of the first review, alone. Is it enough for a verdict?",
        ),
        (
            "The other way round",
            {"text": " ".join(normalise(examples[0]).split()[::-1])},
            "The same words, the last one first. A bag of words would see no difference.",
        ),
    ]
    return Figure("verdict.js", state, picture, alt, data, floats(numbers), tries)


def weighed(words, weights, label):
    """Draw words coloured by their weights, and the verdict, as a matplotlib figure."""
    figure, [[axis]] = empty()
    axis.axis("off")
    wide = 3
    rows = (len(words) + wide - 1) // wide
    axis.set(xlim=(-0.5, wide - 0.5), ylim=(rows - 0.3, -1.5))
    axis.text(-0.45, -1, label, fontsize=17, weight="bold", va="center")
    shades = [weight / max(weights) for weight in weights]
    for n, (word, shade) in enumerate(zip(words, shades, strict=True)):
        place = n % wide, n // wide
        corner = place[0] - 0.46, place[1] - 0.4
        box = Rectangle(
            corner, 0.92, 0.8, facecolor=SEQUENTIAL(shade), edgecolor="#888888"
        )
        axis.add_patch(box)
        colour = "white" if shade > 0.48 else "black"
        axis.text(*place, word, fontsize=12, color=colour, ha="center", va="center")
    return figure
