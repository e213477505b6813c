"""A training run, epoch by epoch."""

import matplotlib.figure

from d2lmini.data import normalise
from d2lmini.figures.colours import POSITIVE
from d2lmini.figures.widget import Figure


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
        "head_names": [
            f"layer {n}, head {h}" for n in range(layers) for h in range(heads)
        ],
    }
    state = {"checkpoint": 0, "sentence": 0, "head": (layers - 1) * heads}
    picture = matplotlib.figure.Figure(figsize=(4.5, 2.6), layout="constrained")
    axis = picture.subplots()
    axis.plot(range(1, len(losses) + 1), losses, color=POSITIVE)
    axis.set(xlabel="epoch", ylabel="loss, nats per token", yscale="log")
    alt = (
        f"The loss of a training run over {len(losses)} epochs, which falls from "
        f"{losses[0]:.1f} to {losses[-1]:.2f} nats per token."
    )
    last = len(shown) - 1
    tries = [
        ("Half way", {"checkpoint": last // 2}, "Which words are right already?"),
        (
            "The last epoch",
            {"checkpoint": last},
            "Does each word of the translation look at the word it translates?",
        ),
        (
            "Another head",
            {"checkpoint": last, "head": layers * heads - 1},
            "The same sentence, another head: does it look where the other did?",
        ),
    ]
    return Figure("training.js", state, picture, alt, data, tries=tries)
