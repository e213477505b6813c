"""The files that a class has handed in, also those inside of zips."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# left next to files by programs
LEFT_OUT = {
    ".ipynb_checkpoints",
    "__MACOSX",
    "._",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}
MOST = 200  # notebooks read per zip


@dataclass
class Found:
    """A file that was handed in, perhaps inside of a zip.

    Args:
        shown: its path, as it is told.
        time: when it was changed, seconds since 1970.
        size: bytes.
        read: returns its bytes.
    """

    shown: Path
    time: float
    size: int
    read: Callable[[], bytes]

    @property
    def is_notebook(self) -> bool:
        """Whether its name says so; some browsers add .json or .txt to it."""
        return ".ipynb" in [suffix.lower() for suffix in self.shown.suffixes[-2:]]


def files_in(folder: Path) -> tuple[list[Found], list[tuple[Path, str]], list[Path]]:
    """The files of a folder and of the zips in it, oldest first.

    Also what could not be read, and Jupyter's own copies of notebooks, which are left out.
    """
    files, unread, checkpoints = [], [], []
    for path in folder.rglob("*"):
        shown = path.relative_to(folder)
        if LEFT_OUT & {*shown.parts, path.name[:2]}:
            checkpoints += [shown] if path.suffix.lower() == ".ipynb" else []
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            unread.append((shown, "is not a file, and was not read"))
        elif path.is_dir():
            continue
        elif path.suffix.lower() == ".zip":
            try:
                files += _unpacked(path, shown)
            except (zipfile.BadZipFile, OSError, ValueError) as error:
                unread.append((shown, f"cannot be unpacked, and was not read: {error}"))
        else:
            about = path.stat()
            files.append(Found(shown, about.st_mtime, about.st_size, path.read_bytes))
    files.sort(key=lambda file: (file.time, file.shown))
    return files, unread, checkpoints


def _unpacked(path, shown) -> list[Found]:
    """The files of a zip; nothing is written."""
    files = []
    with zipfile.ZipFile(path) as archive:
        entries = [e for e in archive.infolist() if not e.is_dir()]
    for entry in entries:
        inside = Path(entry.filename)
        if LEFT_OUT & {*inside.parts, inside.name[:2]}:
            continue

        def read(entry=entry):
            with zipfile.ZipFile(path) as archive:
                return archive.read(entry)

        files.append(Found(shown / inside, _time(entry, path), entry.file_size, read))
    if not files:
        raise ValueError("there is no file in it")
    if (number := sum(file.is_notebook for file in files)) > MOST:
        raise ValueError(f"it has {number} notebooks, more than {MOST}")
    return files


def _time(entry, path) -> float:
    """When a file in a zip was changed; that of the zip where the entry has no date."""
    try:
        return datetime(*entry.date_time).timestamp()
    except ValueError:
        return path.stat().st_mtime
