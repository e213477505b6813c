"""Where data sets live: in this package, in the data folder, or on the web until first used.

To add a data set, add an entry to the catalogue.
"""

import gzip
import os
import re
import warnings
import zlib
from functools import partial
from itertools import zip_longest
from pathlib import Path

from d2lmini.data.catalogue import EMBEDDED, PAIRS, REGISTRY, File
from d2lmini.data.downloads import check_hash, download, one_at_a_time

CORPORA = Path(__file__).parents[1] / "corpora"  # a folder per corpus, a file per split
FIRST_LINES = 5  # in which columns that are no text are looked for
LONGEST_LINE = 1_000_000  # characters


def data_folder() -> Path:
    """$D2LMINI_DATA, or else the cache folder of this system."""
    try:
        import pooch  # only here: importing the package must not load a web client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'real data need two more packages: pip install "d2lmini[real-data]"'
        ) from error

    cache = pooch.os_cache("d2lmini")
    return Path(pooch.create(cache, base_url="", env="D2LMINI_DATA").abspath)


def columns_of(name: str) -> tuple[str, ...]:
    """The columns of a known data set."""
    return REGISTRY[name].columns if name in REGISTRY else EMBEDDED[name]


def splits_of(name: str | Path, columns: tuple[str, ...]) -> dict:
    """Map the splits of a data set to its files: on the web, in this package, or your own.

    Args:
        columns: the columns that its lines must have; your own file is not read yet.
    Raises:
        TypeError: name is neither a string nor a path.
        ValueError: there is no data set of this name with such lines, and no such file.
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name ({name!r}) must be a string or a path")
    known = {n for n in (*EMBEDDED, *REGISTRY) if columns_of(n) == columns}
    if name in known:
        if name in REGISTRY:
            return REGISTRY[name].splits
        return {path.stem: (path,) for path in sorted((CORPORA / name).glob("*.tsv"))}
    own = Path(os.path.expanduser(name))  # leaves "~nobody" unchanged
    if not os.path.isfile(own):  # False for impossible paths
        raise ValueError(
            f"name ({str(name)!r:.300}) must be one of {sorted(known)} or the path of a file with "
            f"{'<TAB>'.join(columns)} lines{', not of a folder' * os.path.isdir(own)}"
        )
    return {"train": (own,)}


def find_paths(
    name: str | Path, split: str = "train", columns: tuple[str, ...] = PAIRS
) -> tuple[Path, ...]:
    """Find the files of a split; download missing files of a registered data set.

    Args:
        name: a corpus of this package ("eng-fra-mini"), a registered data set ("fra-eng"), or
            the path of your own file.
        split: "train", or another that the data set has.
        columns: the columns of its lines, such as catalogue.PAIRS.
    Raises:
        TypeError, ValueError: see splits_of and fetch; or there is no such split.
        OSError: the download failed.
    """
    splits = splits_of(name, columns)
    if not isinstance(split, str) or split not in splits:
        raise ValueError(
            f"split ({split!r:.80}) must be one of {sorted(splits)}: {str(name)!r} has no other"
        )
    return tuple(
        fetch(file, REGISTRY[name].licence) if isinstance(file, File) else file
        for file in splits[split]
    )


def read_lines(path: Path):
    """Yield the lines of a UTF-8 file, gzipped or not.

    Raises:
        ValueError: it is not UTF-8, not a complete gzip file, or a line exceeds LONGEST_LINE.
    """
    is_gzipped = path.suffix == ".gz"
    try:
        with (gzip.open if is_gzipped else open)(
            path, "rt", encoding="utf-8-sig"
        ) as lines:
            # Bounded, so that a small gzip file without line ends cannot fill the memory.
            bounded = iter(partial(lines.readline, LONGEST_LINE + 1), "")
            for number, line in enumerate(bounded, start=1):
                if len(line) > LONGEST_LINE:
                    raise ValueError(
                        f"{path}, line {number} must be at most {LONGEST_LINE} characters long"
                    )
                yield line
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8: {error}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a whole gzip file: {error}") from error


def read_rows(name: str | Path, split: str, columns: tuple[str, str]):
    """Yield (path, line number, first column, second column) for each line of a split.

    Blank lines of a file with tabs are skipped, and columns after the second are ignored. If a
    split has two files, each contains one column.

    Raises:
        ValueError: a line without a tab or with an empty column (file and line number), an empty
            file, two files of different length, or see read_lines and find_paths.
    """
    paths = find_paths(name, split, columns)
    is_empty, is_told = True, False
    for number, cells in enumerate(_cells(*paths), start=1):
        if len(cells) > 1 and cells[0] and cells[1]:
            if not is_told and number <= FIRST_LINES:
                is_told = _warn_of_other_columns(paths[0], number, columns, cells)
            is_empty = False
            yield paths[0], number, cells[0], cells[1]
        elif cells != [""]:
            form, got = "<TAB>".join(columns), "\t".join(cells)
            raise ValueError(
                f"{paths[0]}, line {number}: expected {form}, got {got!r:.80}"
            )
    if is_empty:
        form = "<TAB>".join(columns)
        raise ValueError(f"{paths[0]} must hold at least one line of {form}")


# Not a sentence, if a column holds nothing else: an id, a number, a date, a file, an address;
NO_TEXT = re.compile(r"\S*[\d_/@]\S*|\S+\.\w+|CC-BY.*|[A-Z]{2,3}|[a-z]{2}-[A-Z]{2}")
# a language, or the name of a column.
NAMES = {
    "en", "eng", "english", "de", "deu", "ger", "german", "fr", "fra", "fre", "french", "es", "spa",
    "it", "ita", "nl", "nld", "pt", "por", "ru", "rus", "zh", "zho", "cmn", "ja", "jpn",
    "train", "val", "valid", "dev", "test", "id", "text", "label", "sentence", "source", "target",
    "src", "tgt",
}  # fmt: skip


def _warn_of_other_columns(path, number, columns, cells):
    """Say what is read if a column of text holds something else; return whether it does."""
    cells = dict(zip(columns, cells, strict=False))
    for column, cell in cells.items():
        is_text = column != "label"
        if is_text and (NO_TEXT.fullmatch(cell) or cell.lower() in NAMES):
            read = ", ".join(f"{name} {text!r:.40}" for name, text in cells.items())
            warnings.warn(
                f"{path}, line {number}: the first {len(columns)} columns are read as {read}; "
                f"is {column} really its text?",
                stacklevel=4,
            )
            return True
    return False


def _cells(path, second=None):
    """Yield the columns of each line, from a file with tabs or from two parallel files."""
    if second is None:
        for line in read_lines(path):
            yield [cell.strip() for cell in line.split("\t")]
        return
    counts = [0, 0]
    for row in zip_longest(read_lines(path), read_lines(second)):
        counts = [n + (line is not None) for n, line in zip(counts, row, strict=True)]
        if counts[0] == counts[1]:
            yield [line.strip() for line in row]
    if counts[0] != counts[1]:
        raise ValueError(
            f"{path} ({counts[0]} lines) and {second} ({counts[1]} lines) must be equally long"
        )


def fetch(file: File, licence: str) -> Path:
    """Return the path of a registered file in the data folder, verified; download it if missing.

    Raises:
        ValueError: a different file is in its place.
        OSError: the download failed; nothing is left of it.
    """
    path = data_folder() / file.path
    if not path.exists():
        try:
            with one_at_a_time(path.parent):
                if not path.exists():  # no other process has downloaded it meanwhile
                    size = f"{file.num_bytes / 1e6:.1f} MB"
                    print(f"downloading {file.path} ({size}; {licence})")
                    download(file, path)
        except (OSError, ValueError) as error:
            raise OSError(
                f"could not download {file.url}: {file.path} could not be fetched: {error}. To go "
                f"on without a download, put that file at {path} ({file.num_bytes} bytes, sha256 "
                f"{file.sha256})"
            ) from error
    if problem := mismatch(path, file):
        raise ValueError(
            f"{problem}: move it away to have the registered file downloaded, "
            "or set D2LMINI_DATA to another folder"
        )
    return path


def mismatch(path: Path, file: File) -> str:
    """Describe how the file at path differs from the registered one; empty if it does not."""
    if not path.is_file():
        return f"{path} is a folder, but a file is registered"
    try:
        check_hash(str(path), path, f"sha256:{file.sha256}")
    except ValueError as error:
        return str(error)
    return ""
