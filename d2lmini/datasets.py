"""Where sentence pairs lie: the corpus in this package, a registry of real ones, your own file."""

import hashlib
import os
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

EMBEDDED = Path(__file__).parent / "corpora"


@dataclass(frozen=True)
class Download:
    """A real data set: one member of a zip archive on the web."""

    url: str
    zip_hash: str  # algorithm:hex digest of the archive
    member: str  # path inside the archive, and below the data folder
    sha256: str  # of the member
    num_bytes: int  # of the member
    licence: str


REGISTRY = {
    "fra-eng": Download(
        url="http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip",
        zip_hash="sha1:94646ad1522d915e7b0f9296181140edcf86a4f5",
        member="fra-eng/fra.txt",
        sha256="0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
        num_bytes=11_669_748,
        licence="CC BY 2.0 France; sentences from tatoeba.org by way of manythings.org/anki",
    )
}


def data_folder() -> Path:
    """$D2LMINI_DATA, else ~/.cache/d2lmini."""
    return Path(os.environ.get("D2LMINI_DATA") or Path.home() / ".cache" / "d2lmini")


def find(name: str | Path, split: str = "train") -> Path:
    """Path of a file of sentence pairs; a registered data set that is missing is downloaded.

    Args:
        name: a corpus of this package ("eng-fra-mini"), a registered data set ("fra-eng"), or
            the path of your own file.
        split: "train", "val" or "test"; only the package's corpora have the last two.
    Raises:
        ValueError: the name or the split does not exist, or a file is not the one registered.
        OSError: the download failed.
    """
    embedded = sorted(folder.name for folder in EMBEDDED.iterdir())
    if name in embedded:
        path = EMBEDDED / name / f"{split}.tsv"
        if not path.exists():
            raise ValueError(f"split ({split!r}) must be 'train', 'val' or 'test'")
        return path
    if name not in REGISTRY and not Path(name).is_file():
        raise ValueError(
            f"name ({str(name)!r}) must be one of {embedded + sorted(REGISTRY)} "
            "or the path of a file with english<TAB>french lines"
        )
    if split != "train":
        raise ValueError(f"split ({split!r}) must be 'train': {str(name)!r} has no other")
    if name in REGISTRY:
        path = data_folder() / REGISTRY[name].member
        return verified(path, REGISTRY[name]) if path.exists() else download(name, path)
    return Path(name)


def verified(path: Path, source: Download) -> Path:
    """The path, if the file has the registered sha256; else a ValueError."""
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 != source.sha256:
        raise ValueError(
            f"{path} has sha256 {sha256}, registered is {source.sha256}: "
            "remove the file to have it downloaded, or set D2LMINI_DATA to another folder"
        )
    return path


def download(name: str, path: Path) -> Path:
    """Fetch a registered data set to path; on failure nothing is left behind."""
    import pooch  # only here: importing the package must not load a web client

    source = REGISTRY[name]
    megabytes = source.num_bytes / 1e6
    print(f"downloading {name} ({megabytes:.1f} MB unpacked; {source.licence})")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            archive = pooch.retrieve(
                source.url, source.zip_hash, path=scratch, progressbar=True
            )
            with zipfile.ZipFile(archive) as opened:
                part = Path(opened.extract(source.member, scratch))
            verified(part, source).replace(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise OSError(
            f"could not download {name} from {source.url}: {error}. "
            f"To go on without a download, put the file {source.member} of that archive "
            f"at {path} ({source.num_bytes} bytes, sha256 {source.sha256})"
        ) from error
    return path


def read_pairs(
    name: str | Path = "eng-fra-mini", split: str = "train", num_examples: int | None = None
) -> list[tuple[str, str]]:
    """The first sentence pairs of a corpus, in the order of its file.

    Args:
        name: "eng-fra-mini", "fra-eng", or the path of a file of english<TAB>french lines.
        split: "train"; "eng-fra-mini" also has "val" and "test".
        num_examples: how many pairs at the most; None = all.
    Returns:
        A list of (english, french) strings. Blank lines are skipped, columns after the second
        are ignored.
    Raises:
        ValueError: a line without a tab or with an empty side (file and line number), a file
            that is not UTF-8, or see find.
    Source: chapter 8.
    """
    if num_examples is not None and num_examples < 1:
        raise ValueError(
            f"num_examples ({num_examples}) must be at least 1, or None for all"
        )
    path = find(name, split)
    pairs = []
    try:
        with open(path, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if len(pairs) == num_examples:
                    break
                columns = [column.strip() for column in line.split("\t")]
                if len(columns) > 1 and columns[0] and columns[1]:
                    pairs.append((columns[0], columns[1]))
                elif columns != [""]:
                    raise ValueError(
                        f"{path}, line {number}: expected english<TAB>french, got {line.strip()!r}"
                    )
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8: {error}") from error
    if not pairs:
        raise ValueError(f"{path} must hold at least one sentence pair")
    return pairs
