"""A build that is killed leaves whole files, or none."""

import pytest

from tools.whole_files import whole


def interrupt(*_):
    raise KeyboardInterrupt


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_writer_that_is_interrupted_leaves_the_old_file_or_none(tmp_path):
    path = tmp_path / "file"
    for old in ({}, {"file": b"old"}):
        for name, data in old.items():
            (tmp_path / name).write_bytes(data)
        with pytest.raises(KeyboardInterrupt), whole(path) as part:
            part.write_bytes(b"ne")
            interrupt()
        assert files_in(tmp_path) == old
    with whole(path) as part:
        part.write_bytes(b"new")
    assert files_in(tmp_path) == {"file": b"new"}
