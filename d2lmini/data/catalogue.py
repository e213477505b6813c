"""The data sets known to this package: contents, licences and addresses."""

from typing import NamedTuple

# The columns of a line
PAIRS = "source", "target"
LABELLED = "text", "label"
POSITIONS = "frame", "pedestrian", "x", "y"
TEXTS = ("text",)


class File(NamedTuple):
    """One file of a data set on the web, alone or in a zip archive."""

    path: str  # in the data folder and in the archive
    url: str  # of the file, or of the archive
    sha256: str  # of the file
    num_bytes: int  # of the file
    archive_hash: str | None = (
        None  # algorithm:hex digest; None = url is the file itself
    )


class DataSet(NamedTuple):
    """A data set on the web: its licence, the columns of its lines, and split -> files."""

    licence: str
    columns: tuple[str, ...]
    splits: dict[str, tuple[File, ...]]


# Folders of corpora/.
EMBEDDED = {
    "eng-fra-mini": PAIRS,
    "deu-eng-mini": PAIRS,
    "reviews-mini": LABELLED,
    "stories-mini": TEXTS,
}


SST2 = "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/master/data"


def sst2(name: str, sha256: str, num_bytes: int) -> tuple[File]:
    """One split of the Stanford Sentiment Treebank with two classes."""
    return (File(f"sst2/{name}.tsv", f"{SST2}/SST2/{name}.tsv", sha256, num_bytes),)


ETH_UCY = (
    "https://raw.githubusercontent.com/FGiuliari/Trajectory-Transformer/master/datasets"
)


def eth_ucy(name: str, sha256: str, num_bytes: int) -> File:
    """One file of ETH and UCY: positions at 2.5 a second."""
    url = f"{ETH_UCY}/raw/all_data/{name}.txt"
    return File(f"eth-ucy/{name}.txt", url, sha256, num_bytes)


MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"


def multi30k(name: str, *hashes_and_sizes: tuple[str, int]) -> tuple[File, File]:
    """One split of Multi30k: a file of German sentences, and a file of their English."""
    return tuple(
        File(
            f"multi30k/{name}.{language}.gz", f"{MULTI30K}/{name}.{language}.gz", *known
        )
        for language, known in zip(("de", "en"), hashes_and_sizes, strict=True)
    )


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
    "eth-ucy": DataSet(
        licence="for research; pedestrians of Pellegrini et al. 2009 and Lerner et al. 2007",
        columns=POSITIONS,
        # By scene: the usual protocol tests on one and trains on all the others.
        splits={
            "eth": (
                eth_ucy(
                    "biwi_eth",
                    "cf8d3fd342a15f409ebc2a1fc76b91a0f06390bd21f1e11410f3859331ab082b",
                    116_970,
                ),
            ),
            "hotel": (
                eth_ucy(
                    "biwi_hotel",
                    "9caa771bb9153d6b809dd0916b6f86761b641e6bbb15e766c1de3133fbbb7fcf",
                    143_799,
                ),
            ),
            "univ": (
                eth_ucy(
                    "students001",
                    "a6d87f278d94136fe39b8be91555487a29ac77259ae403b9dba2d5c18caf7b5b",
                    879_714,
                ),
                eth_ucy(
                    "students003",
                    "e25798b660634330aa89f8bb259425de720e84d0873902726c1d1f4ccff21d6c",
                    724_279,
                ),
            ),
            "zara1": (
                eth_ucy(
                    "crowds_zara01",
                    "1147a1962a09abfb86f28c6cddcac862e095a0cf129b3016385b69eacdd09d85",
                    205_711,
                ),
            ),
            "zara2": (
                eth_ucy(
                    "crowds_zara02",
                    "8a649d0f8c9ae75c87c4d23a85f892786b0aa30266e996c7be03e69dafff22ff",
                    392_227,
                ),
            ),
            "others": (
                eth_ucy(
                    "crowds_zara03",
                    "16b3e899932c4baacd07f45013d5b921f90bc5a29eb2b0fe42f4d7c904ac3108",
                    199_834,
                ),
                eth_ucy(
                    "uni_examples",
                    "61f432c0ab3070ed0ef150fbeabcd7baf839cab5495a46e6105bd747f0a092a7",
                    109_307,
                ),
            ),
        },
    ),
    "multi30k": DataSet(
        licence="for research; Elliott et al. 2016, captions of Flickr30k in two languages",
        columns=PAIRS,
        splits={
            "train": multi30k(
                "train",
                (
                    "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
                    637_044,
                ),
                (
                    "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
                    568_929,
                ),
            ),
            "val": multi30k(
                "val",
                (
                    "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
                    24_681,
                ),
                (
                    "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
                    21_650,
                ),
            ),
            "test": multi30k(
                "test_2016_flickr",
                (
                    "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
                    22_890,
                ),
                (
                    "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
                    21_077,
                ),
            ),
        },
    ),
}
