"""Files that are whole: a build that is killed leaves the old file or none, never a part of one."""

from contextlib import contextmanager


@contextmanager
def whole(path):
    """A name beside path to write to; at the end, unless there is an error, it becomes path."""
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
