"""The figure of the runs of words that a translation shares with the reference."""

from d2lmini.figures.choices import check_between
from d2lmini.figures.colours import POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure
from d2lmini.support.arguments import check_strings, check_words

TRIES = [
    ("Pairs", {"longest": 2}, "Who loses most, and why?"),
    (
        "Runs of four",
        {"longest": 4},
        "This is BLEU. Two are level: what does it not know about them?",
    ),
]


def explore_bleu(reference, translations, scores, longest=1) -> Figure:
    """Show translations beside a reference, the runs of words found in it, and the score.

    The last translation can be edited; it begins as the first one.

    Args:
        reference: tokens separated by spaces.
        translations: name -> tokens separated by spaces.
        scores: the BLEU of each, for the still picture.
        longest: length of the longest run that counts, 1 to 4.
    Raises:
        ValueError: longest is none of these.
    Source: chapter 10.
    """
    check_words("reference", reference)
    check_strings("translations", [*translations.values()])
    check_between("longest", longest, 1, 4)
    first = next(iter(translations.values()))
    picture, [[axis]] = empty()
    axis.barh([*translations], scores, color=POSITIVE)
    axis.set(xlim=(0, 102), xticks=[0, 50, 100], title="BLEU")
    axis.tick_params(left=False, labelsize=11)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    alt = f"Bars: the BLEU of translations of “{reference}”: " + ", ".join(
        f"{name} {score:.0f}" for name, score in zip(translations, scores, strict=True)
    )
    words, middle = reference.split(), len(reference.split()) // 2
    words[middle - 1 : middle + 1] = words[middle - 1 : middle + 1][::-1]
    exchanged = (
        "Two words exchanged",
        {"longest": 4, "yours": " ".join(words)},
        "The reference, with two neighbours in its middle exchanged. Which runs break?",
    )
    state = {"longest": longest, "yours": first}
    data = {"reference": reference, "others": [*translations.items()], "most": 4}
    return Figure(
        "bleu.js",
        state,
        picture,
        alt,
        data,
        tries=[*TRIES, exchanged],
        name="what-bleu-counts",
    )
