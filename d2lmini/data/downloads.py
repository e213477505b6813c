"""Download files into the data folder; they appear there only complete and verified."""

import os
import shutil
import zipfile
import zlib
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path

from d2lmini.data.catalogue import File

TIME_LIMIT = 30  # seconds without data from the server
MALFORMED = zipfile.BadZipFile, zlib.error, LZMAError, EOFError, RuntimeError


@contextmanager
def one_at_a_time(folder: Path):
    """Let only one process at a time download into the folder; others wait.

    The system releases the lock of a process when it ends, for whatever reason. The file .lock
    stays: if it were deleted, one process could lock the old file and another a new one.

    Raises:
        OSError: the folder cannot be written to.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=1)
    except Timeout:
        print(f"another process is downloading into {folder}; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def download(file: File, path: Path) -> None:
    """Download a file to a path, where it appears only when it is complete and verified.

    Only one process may call this at a time: leftovers of a killed process are overwritten.

    Raises:
        OSError, ValueError: the download failed or has other contents; nothing is left of it.
    """
    came, unpacked = (path.with_name(f".{path.name}.{is_}") for is_ in ("came", "file"))
    try:
        if file.archive_hash is None:
            save(file.url, came, file.num_bytes)
        else:
            # The size of an archive is not registered; it contains little besides the file.
            save(file.url, came, 2 * file.num_bytes + 1_000_000)
            check_hash("the archive", came, file.archive_hash)
            unpack(came, file, unpacked)
            os.replace(unpacked, came)
        check_hash("it", came, f"sha256:{file.sha256}")
        os.replace(came, path)
    finally:
        for left in (came, unpacked):
            left.unlink(missing_ok=True)


class Bounded:
    """A file that refuses to grow beyond num_bytes."""

    def __init__(self, file, num_bytes: int):
        self.file, self.num_bytes, self.left = file, num_bytes, num_bytes

    def write(self, chunk: bytes) -> None:
        """Write a chunk if it still fits."""
        self.left -= len(chunk)
        if self.left < 0:
            raise ValueError(f"it is longer than {self.num_bytes} bytes")
        self.file.write(chunk)

    def flush(self) -> None:
        """Flush the file; a downloader calls this after each chunk."""
        self.file.flush()


def save(url: str, path: Path, num_bytes: int) -> None:
    """Save a response to a file, at most num_bytes; follow redirects."""
    import pooch  # only here: importing the package must not load a web client

    fetch = pooch.HTTPDownloader(progressbar=True, timeout=TIME_LIMIT)
    with path.open("wb") as opened:
        fetch(url, Bounded(opened, num_bytes), None)


def unpack(archive: Path, file: File, path: Path) -> None:
    """Write the one registered member of a zip archive to path, and no other.

    Raises:
        ValueError: there is no such member, or it is longer than registered.
    """
    try:
        with zipfile.ZipFile(archive) as opened, path.open("wb") as place:
            names = opened.namelist()
            if file.path not in names:
                raise ValueError(f"{file.path} is not in the archive")
            with opened.open(file.path) as member:
                shutil.copyfileobj(member, Bounded(place, file.num_bytes))
    except MALFORMED as error:
        raise ValueError(f"the archive cannot be read: {error}") from error


def check_hash(name: str, path: Path, known: str) -> None:
    """Check that a file has a known hash, algorithm:hex digest."""
    import pooch

    algorithm, digest = known.split(":")
    found = pooch.file_hash(str(path), alg=algorithm)
    if found != digest:
        raise ValueError(f"{name} has {algorithm} {found}; expected {digest}")
