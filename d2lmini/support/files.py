"""Write files atomically, and detect incomplete files when reading."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import torch


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically: path holds the old file or the new one, never a part.

    Args:
        write: called with the open file; writes its contents.
    Raises:
        OSError: the folder is not writable, or the disk is full; path is unchanged.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # must reach the disk before the rename
        part.replace(path)  # atomic
    except (OSError, RuntimeError) as error:  # PyTorch: disk full
        raise OSError(f"path ({path}) could not be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def digest(tensors: Iterable[torch.Tensor]) -> str:
    """SHA-256 of the numbers of tensors, in hexadecimal."""
    hashed = hashlib.sha256()
    for tensor in tensors:
        flat = tensor.detach().cpu().contiguous().flatten()
        hashed.update(flat.view(torch.uint8).numpy())
    return hashed.hexdigest()


def by_name(tensors: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """The tensors in the order of their names."""
    return [tensors[name] for name in sorted(tensors)]


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], notes: dict) -> None:
    """Write a safetensors file: tensors by name; in its metadata, as JSON, notes and a checksum.

    Raises:
        OSError: see write_file.
        TypeError: a note cannot be written as JSON.
    """
    from safetensors.torch import save

    for name, note in notes.items():
        try:
            json.dumps(note, allow_nan=False)
        except (TypeError, ValueError) as error:
            rule = f"must be serialisable as JSON: {error}"
            raise TypeError(f"{name} ({note!r:.60}) {rule}") from error
    notes = {**notes, "sha256": digest(by_name(tensors))}
    # A single string: safetensors writes several in an order that changes from run to run.
    data = save(tensors, {"d2lmini": json.dumps(notes, ensure_ascii=False)})
    write_file(path, lambda file: file.write(data))


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """Read the tensors and the notes that write_tensors wrote.

    Raises:
        OSError: the file does not exist, or cannot be read.
        ValueError: it is truncated or damaged, is not a safetensors file, or has no notes.
    """
    from safetensors import SafetensorError, safe_open

    path.open("rb").close()  # raise OSError first if it cannot be opened
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text = (file.metadata() or {}).get("d2lmini", "null")
    except SafetensorError as error:
        raise ValueError(
            f"path ({path}) must be a safetensors file; it is truncated, or is not one: {error}"
        ) from error
    try:
        notes = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"path ({path}) must have JSON metadata: {error}") from error
    if not isinstance(notes, dict):
        raise ValueError(f"path ({path}) must have metadata written by d2lmini")
    if notes.pop("sha256", None) != digest(by_name(tensors)):
        raise ValueError(f"path ({path}) is damaged: its numbers are not those written")
    return tensors, notes
