"""Downloads, from a server on this machine that serves well, badly, or not at all."""

import hashlib
import http.server
import io
import threading
import zipfile

import pytest

from d2lmini.data import registry
from d2lmini.data.catalogue import PAIRS, DataSet, File

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
    state["file"] = File(
        path="set/pairs.txt",
        url=f"http://127.0.0.1:{server.server_port}/set.zip",
        sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
        num_bytes=len(TEXT),
        archive_hash=f"sha1:{hashlib.sha1(state['body']).hexdigest()}",
    )
    state["register"] = lambda file: monkeypatch.setitem(
        registry.REGISTRY, "set", DataSet("public domain", PAIRS, {"train": (file,)})
    )
    state["register"](state["file"])
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path / "data"))
    state["server"] = server
    yield state
    server.shutdown()
    server.server_close()


def files(folder):
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_download_once(served, tmp_path):
    (path,) = registry.find_paths("set")
    assert path == tmp_path / "data" / "set" / "pairs.txt"
    assert path.read_text(encoding="utf-8") == TEXT
    assert files(tmp_path) == ["pairs.txt"]  # the archive is not kept
    served["body"] = b""  # a second download would fail
    assert registry.find_paths("set") == (path,)


def test_the_licence_is_said_before_the_download(served, monkeypatch, capsys):
    asked = []

    def refuse(url, *args, **kwargs):
        asked.append(capsys.readouterr().out)
        raise OSError("refused")

    monkeypatch.setattr(registry, "download", refuse)
    with pytest.raises(OSError, match="refused"):
        registry.find_paths("set")
    assert "set/pairs.txt" in asked[0] and "public domain" in asked[0]


@pytest.mark.parametrize(
    "spoiled", ["cut short", "cut short unannounced", "wrong", "no server"]
)
def test_a_failed_download_says_what_to_do_and_leaves_nothing(
    served, tmp_path, spoiled
):
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
        OSError,
        match=r"could not download http://127.0.0.1:.*: set/pairs.txt could not be",
    ) as error:
        registry.find_paths("set")
    assert "put that file at " in str(error.value)
    assert str(tmp_path / "data" / "set" / "pairs.txt") in str(error.value)
    assert served["file"].sha256 in str(error.value)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sha256": "0" * 64}, "pairs.txt has sha256 .*, registered is 000"),
        ({"path": "set/others.txt"}, "others.txt is not in the archive"),
    ],
)
def test_a_wrong_file_in_the_right_archive(served, tmp_path, change, text):
    served["register"](served["file"]._replace(**change))
    with pytest.raises(OSError, match=f"could not download http.*{text}") as error:
        registry.find_paths("set")
    assert "remove" not in str(error.value) and "move it away" not in str(error.value)
    assert files(tmp_path) == []


def test_a_file_that_is_in_no_archive(served, tmp_path):
    served["body"] = TEXT.encode()
    served["promised"] = len(TEXT)
    served["register"](served["file"]._replace(archive_hash=None))
    (path,) = registry.find_paths("set")
    assert (
        path == tmp_path / "data" / "set" / "pairs.txt"
        and path.read_text(encoding="utf-8") == TEXT
    )


def test_a_folder_in_place_of_a_file(served, tmp_path):
    (tmp_path / "data" / "set" / "pairs.txt").mkdir(parents=True)
    with pytest.raises(
        ValueError, match=r"pairs.txt is a folder, and a file is registered"
    ):
        registry.find_paths("set")


def test_the_home_folder_may_be_abbreviated(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("D2LMINI_DATA", "~/data")
    assert registry.data_folder() == tmp_path / "data"


def test_a_file_that_is_not_the_registered_one_is_refused_and_kept(served, tmp_path):
    path = tmp_path / "data" / "set" / "pairs.txt"
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"pairs.txt has sha256 .*, registered is"):
        registry.find_paths("set")
    assert path.read_text(encoding="utf-8") == "mine"


def test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path))
    assert registry.data_folder() == tmp_path
    monkeypatch.delenv("D2LMINI_DATA")
    assert "d2lmini" in registry.data_folder().parts
