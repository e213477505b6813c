"""The figure of where the heads of a translator look while each word is written."""

from d2lmini.figures.stills import panels
from d2lmini.figures.widget import Figure


def explore_looks(translations) -> Figure:
    """Show cross-attention as tinted words, a row for each head of a layer.

    Args:
        translations: of each sentence, (English as typed, the words read, the words written,
            weights (heads, written, read)); the first is shown initially.
    Source: chapter 11.
    """
    sentences = [
        {
            "english": english,
            "read": list(read),
            "written": list(written),
            "weights": [
                [[round(weight, 2) for weight in row] for row in head]
                for head in weights.tolist()
            ],
        }
        for english, read, written, weights in translations
    ]
    english, read, written, weights = translations[0]
    picture = panels(weights[:1].cpu(), ["head 0"], written, read)
    alt = (
        f"Cross-attention of a head while a net translates '{english}' as "
        f"'{' '.join(written)}': a row for each word written, a column for each word read."
    )
    # The word at which the heads look apart most begins.
    places = weights.argmax(-1).T.tolist()  # (written, heads)
    apart = [len({*heads}) for heads in places]
    state = {"sentence": 0, "word": apart.index(max(apart))}
    return Figure("looks.js", state, picture, alt, {"sentences": sentences}, brief=True)
