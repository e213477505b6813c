"""The table of chapters, read by the package, the tests and the tools."""

from typing import NamedTuple


class Chapter(NamedTuple):
    """A chapter, or another page with exercises."""

    number: int | str  # exercises are numbered 2.1, P.1, ...
    slug: str  # exercises are named masks-2, ...; also the name of their module
    title: str
    file: str  # in book/, without extension
    exercises: int  # number of exercises

    @property
    def page(self) -> str:
        """Name of the built HTML page."""
        return f"{self.file}.html"

    @property
    def exercise_names(self) -> list[str]:
        """Names of the exercises in order, such as masks-1."""
        return [f"{self.slug}-{n}" for n in range(1, self.exercises + 1)]

    @property
    def called(self) -> str:
        """How a sentence refers to this page."""
        return f"chapter {self.number}" if isinstance(self.number, int) else "this page"


CHAPTERS = {
    row[0]: Chapter(number, *row)
    for number, row in enumerate(
        [
            ("codes", "From one code to attention", "01-from-codes-to-attention", 6),
            ("masks", "Masks", "02-masks", 8),
            ("positions", "Positional encoding", "03-positions", 6),
            ("attention", "Attention", "04-attention", 4),
            ("heads", "Several heads", "05-several-heads", 4),
            ("ffn", "The position-wise feed-forward network", "06-feed-forward", 6),
            (
                "addnorm",
                "Residual connection and layer normalisation",
                "07-add-and-norm",
                7,
            ),
            ("transformer", "The Transformer", "08-transformer", 8),
            ("training", "Training a translator", "09-training", 4),
            ("judging", "How good is it?", "10-how-good-is-it", 4),
            ("maps", "Looking at attention", "11-attention-maps", 6),
            ("sentiment", "Reading a verdict", "12-reading-a-verdict", 6),
            ("paths", "Walking on", "13-walking-on", 6),
            ("german", "From German", "14-from-german", 6),
            ("language", "Language models", "15-language-models", 4),
            ("long", "Long texts, and what they cost", "16-long-texts", 6),
            ("reward", "A reward", "17-a-reward", 3),
        ],
        start=1,
    )
}

EXERCISE_PAGES = CHAPTERS | {
    "puzzles": Chapter("P", "puzzles", "Masks in one line", "mask-puzzles", 12)
}
