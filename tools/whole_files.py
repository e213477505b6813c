"""Write files atomically: a killed build leaves the old file or none, never a part of one."""

from contextlib import contextmanager


@contextmanager
def whole(path):
    """Yield a name next to path to write to; unless there is an error, rename it to path."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_bytes(path, data):
    """Write a file of bytes."""
    with whole(path) as part:
        part.write_bytes(data)


def write_text(path, text):
    """Write a file of text."""
    write_bytes(path, text.encode())
