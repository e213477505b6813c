"""The chapters of the book: one table that the package, the tests and the tools read."""

from typing import NamedTuple


class Chapter(NamedTuple):
    """One chapter, in the order of the book."""

    number: int
    slug: str  # in the names of its exercises ("masks-2"), and of their module
    title: str
    file: str  # in book/, without the ending
    exercises: int  # how many

    @property
    def page(self) -> str:
        """The file of the built page, as other pages of the book link to it."""
        return f"{self.file}.html"


CHAPTERS = {
    row[0]: Chapter(number, *row)
    for number, row in enumerate(
        [
            ("codes", "From one code to attention", "01-from-codes-to-attention", 6),
            ("masks", "Masks", "02-masks", 8),
            ("positions", "Positional encoding", "03-positions", 6),
            ("attention", "Attention", "04-attention", 6),
            ("ffn", "The position-wise feed-forward network", "05-feed-forward", 7),
            (
                "addnorm",
                "Residual connection and layer normalisation",
                "06-add-and-norm",
                7,
            ),
            ("transformer", "The Transformer", "07-transformer", 8),
            ("training", "Training a translator", "08-training", 8),
            ("maps", "Looking at attention", "09-attention-maps", 6),
        ],
        start=1,
    )
}
