"""The data sets that this package knows: what is in them, on what terms, and where they lie."""

from typing import NamedTuple

# What the two columns of a line are.
PAIRS = "english", "french"
LABELLED = "text", "label"


class File(NamedTuple):
    """One file of a data set on the web, alone or in a zip archive."""

    path: str  # below the data folder, and inside the archive
    url: str  # of the file, or of the archive
    sha256: str  # of the file
    num_bytes: int  # of the file
    archive_hash: str | None = None  # algorithm:hex digest; None = url is the file itself


class DataSet(NamedTuple):
    """A data set on the web: its licence, the columns of its lines, and split -> files."""

    licence: str
    columns: tuple[str, str]
    splits: dict[str, tuple[File, ...]]


EMBEDDED = {"eng-fra-mini": PAIRS, "reviews-mini": LABELLED}  # folders of corpora/


SST2 = "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/master/data"


def sst2(name: str, sha256: str, num_bytes: int) -> tuple[File]:
    """One split of the Stanford Sentiment Treebank with two classes."""
    return (File(f"sst2/{name}.tsv", f"{SST2}/SST2/{name}.tsv", sha256, num_bytes),)


REGISTRY = {
    "fra-eng": DataSet(
        licence="CC BY 2.0 France; sentences from tatoeba.org by way of manythings.org/anki",
        columns=PAIRS,
        splits={
            "train": (
                File(
                    path="fra-eng/fra.txt",
                    url="http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
                    sha256="0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
                    num_bytes=11_669_748,
                    archive_hash="sha1:94646ad1522d915e7b0f9296181140edcf86a4f5",
                ),
            )
        },
    ),
    "sst2": DataSet(
        licence="Stanford Sentiment Treebank, for research; film reviews from rottentomatoes.com",
        columns=LABELLED,
        splits={
            "train": sst2(
                "train",
                "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920",
                720_259,
            ),
            "val": sst2(
                "dev",
                "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359",
                92_057,
            ),
            "test": sst2(
                "test",
                "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7",
                188_749,
            ),
        },
    ),
}
