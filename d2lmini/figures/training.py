"""The figure of a training run, epoch by epoch."""

from textwrap import fill

from d2lmini.data import normalise
from d2lmini.figures.colours import POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure
from d2lmini.support.arguments import check_count


def explore_training(losses, checkpoints, pairs, brief=False) -> Figure:
    """Show a training run, epoch by epoch: loss, translations, cross-attention.

    Args:
        losses: the loss of every epoch, in nats.
        checkpoints: epoch -> for each pair, what predict_seq2seq returned after that epoch.
        pairs: sentences and their reference translations.
        brief: show the epochs and the translations alone.
    Raises:
        ValueError: there is nothing to show.
    Source: chapter 9.
    """
    given = {"losses": losses, "checkpoints": checkpoints, "pairs": pairs}
    for name, values in given.items():
        check_count(f"{name}: length", len(values))
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
            # a page of its own is large
            rounded = cross.double().round(decimals=3).tolist()
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
    last = len(shown) - 1
    kept = [shown[n] for n in sorted({0, last // 3, 2 * last // 3, last})]
    texts = {one["epoch"]: one["outputs"][0]["text"] for one in kept}
    picture = learned(sentences[0]["english"], texts)
    alt = (
        f"What a network makes of '{sentences[0]['english']}' while it learns: "
        + "; ".join(f"after epoch {n} '{text}'" for n, text in texts.items())
        + f". The loss falls from {losses[0]:.1f} to {losses[-1]:.2f} nats per token."
    )
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
    return Figure("training.js", state, picture, alt, data, tries=tries, brief=brief)


def learned(sentence, texts):
    """Draw a sentence and its translations, epoch -> text, as a matplotlib figure."""
    figure, [[axis]] = empty()
    axis.axis("off")
    axis.set(xlim=(0, 1), ylim=(len(texts) + 0.5, -0.5))
    axis.text(0, 0, sentence, fontsize=13, weight="bold", va="center")
    for row, (epoch, text) in enumerate(texts.items(), 1):
        axis.text(
            0.12, row, epoch, fontsize=12, color="#888888", ha="right", va="center"
        )
        axis.text(0.18, row, fill(text, 40), fontsize=11, color=POSITIVE, va="center")
    return figure
