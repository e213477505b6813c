"""Files that are whole: written at once, and read only if nothing is missing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import torch


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file, so that path holds the old one or the new one, never a part.

    Args:
        write: writes what is to be in the file to the open file that it is given.
    Raises:
        OSError: the folder cannot be written to, or the disk is full; path is as it was.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # on the disk, before it gets the name
        part.replace(path)  # at once, as far as any reader can tell
    except (OSError, RuntimeError) as error:  # PyTorch's own word for a full disk
        raise OSError(f"path ({path}) could not be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def write_tensors(path: Path, tensors: dict[str, torch.Tensor], notes: dict) -> None:
    """Write a safetensors file: tensors by name, and notes as JSON in its metadata.

    Raises:
        OSError: see write_file.
        TypeError: a note is nothing that JSON can say.
    """
    from safetensors.torch import save

    for name, note in notes.items():
        try:
            json.dumps(note, allow_nan=False)
        except (TypeError, ValueError) as error:
            rule = f"must be what JSON can say: {error}"
            raise TypeError(f"{name} ({note!r:.60}) {rule}") from error
    # In one text: safetensors would write several in an order that changes from run to run.
    data = save(tensors, {"d2lmini": json.dumps(notes, ensure_ascii=False)})
    write_file(path, lambda file: file.write(data))


def read_tensors(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """The tensors and the notes of a file that write_tensors has written.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it was cut short, is no safetensors file, or has no notes.
    """
    from safetensors import SafetensorError, safe_open

    path.open("rb").close()  # a file that is not there is another mistake
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text = (file.metadata() or {}).get("d2lmini", "null")
    except SafetensorError as error:
        raise ValueError(
            f"path ({path}) must be a safetensors file; it was cut short, or is none: {error}"
        ) from error
    try:
        notes = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"path ({path}) has metadata that is no JSON: {error}"
        ) from error
    if not isinstance(notes, dict):
        raise ValueError(f"path ({path}) must have metadata of d2lmini")
    return tensors, notes
