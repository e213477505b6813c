"""Downloads, from a server on this machine that serves well, badly, or not at all."""

import hashlib
import http.server
import io
import threading
import zipfile

import pytest

from d2lmini import datasets

TEXT = "Go.\tVa !\n" * 500


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A registry whose one data set lies on a local server; returns a dict to spoil it with."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("set/pairs.txt", TEXT)
    state = {"body": archive.getvalue(), "promised": len(archive.getvalue())}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(state["promised"]))
            self.end_headers()
            self.wfile.write(state["body"])

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = datasets.Download(
        url=f"http://127.0.0.1:{server.server_port}/set.zip",
        zip_hash=f"sha1:{hashlib.sha1(state['body']).hexdigest()}",
        member="set/pairs.txt",
        sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
        num_bytes=len(TEXT),
        licence="public domain",
    )
    monkeypatch.setitem(datasets.REGISTRY, "set", source)
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path / "data"))
    state["server"] = server
    yield state
    server.shutdown()
    server.server_close()


def files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_download_once(served, tmp_path):
    path = datasets.find("set")
    assert path == tmp_path / "data" / "set" / "pairs.txt"
    assert path.read_text() == TEXT
    assert files(tmp_path) == ["pairs.txt"]  # the archive is not kept
    served["body"] = b""  # a second download would fail
    assert datasets.find("set") == path


@pytest.mark.parametrize(
    "spoiled", ["cut short", "cut short unannounced", "wrong", "no server"]
)
def test_a_failed_download_says_what_to_do_and_leaves_nothing(served, tmp_path, spoiled):
    if spoiled == "no server":
        served["server"].shutdown()
        served["server"].server_close()
    elif spoiled == "wrong":
        served["body"] = b"x" * len(served["body"])
    else:
        served["body"] = served["body"][:50]
        served["promised"] = (
            50 if spoiled == "cut short unannounced" else served["promised"]
        )
    with pytest.raises(
        OSError, match=r"could not download set from http://127.0.0.1:"
    ) as error:
        datasets.find("set")
    assert "put the file set/pairs.txt of that archive at " in str(error.value)
    assert str(tmp_path / "data" / "set" / "pairs.txt") in str(error.value)
    assert datasets.REGISTRY["set"].sha256 in str(error.value)
    assert files(tmp_path) == []


def test_a_wrong_file_in_the_right_archive(served, tmp_path, monkeypatch):
    import dataclasses

    source = dataclasses.replace(datasets.REGISTRY["set"], sha256="0" * 64)
    monkeypatch.setitem(datasets.REGISTRY, "set", source)
    with pytest.raises(OSError, match=r"could not download set .* has sha256"):
        datasets.find("set")
    assert files(tmp_path) == []


def test_a_file_that_is_not_the_registered_one_is_refused_and_kept(served, tmp_path):
    path = tmp_path / "data" / "set" / "pairs.txt"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(ValueError, match=r"pairs.txt has sha256 .*, registered is"):
        datasets.find("set")
    assert path.read_text() == "mine"


def test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path))
    assert datasets.data_folder() == tmp_path
    monkeypatch.delenv("D2LMINI_DATA")
    assert datasets.data_folder().parts[-2:] == (".cache", "d2lmini")
