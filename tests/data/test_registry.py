"""Downloads, from a server on this machine that serves well, badly, or not at all."""

import gzip
import hashlib
import http.server
import io
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from d2lmini.data import downloads, registry
from d2lmini.data.catalogue import PAIRS, DataSet, File

TEXT = "Go.\tVa !\n" * 500


def zipped(members, method=zipfile.ZIP_STORED):
    """A zip archive of (name or ZipInfo, text)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as opened:
        for name, text in members:
            opened.writestr(name, text)
    return archive.getvalue()


def refused(served, said, error=OSError):
    """Ask for the data set; it is refused, and no file is left."""
    with pytest.raises(error, match=said) as caught:
        registry.find_paths("set")
    assert files(registry.data_folder().parent) == []
    return str(caught.value)


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A registry whose one data set lies on a local server; returns a dict to spoil it with."""
    body = zipped([("set/pairs.txt", TEXT)])
    state = {"body": body, "promised": len(body), "asked": []}
    state["open"] = threading.Event()

    def whole(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(state["promised"]))
        handler.end_headers()
        handler.wfile.write(state["body"])

    state["answer"] = whole

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state["asked"].append(self.path)
            state["answer"](self)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *args: None  # ignore clients that hang up
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    state["file"] = File(
        path="set/pairs.txt",
        url=f"http://127.0.0.1:{server.server_port}/set.zip",
        sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
        num_bytes=len(TEXT),
        archive_hash=f"sha1:{hashlib.sha1(body).hexdigest()}",
    )
    state["register"] = lambda file: monkeypatch.setitem(
        registry.REGISTRY, "set", DataSet("public domain", PAIRS, {"train": (file,)})
    )
    state["register"](state["file"])
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path / "data"))
    state["server"] = server
    yield state
    state["open"].set()
    server.shutdown()
    server.server_close()


def files(folder):
    """Names of what is in a folder; the lock may stay, see downloads.one_at_a_time."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return [path.name for path in found if path.name != ".lock"]


def test_download_once(served, tmp_path):
    (path,) = registry.find_paths("set")
    assert path == tmp_path / "data" / "set" / "pairs.txt"
    assert path.read_text(encoding="utf-8") == TEXT
    assert files(tmp_path) == ["pairs.txt"]  # the archive is not kept
    served["body"] = b""  # a second download would fail
    assert registry.find_paths("set") == (path,)


def test_a_file_without_an_archive_comes_from_where_the_server_points(served):
    served.update(body=TEXT.encode(), promised=len(TEXT))
    served["register"](served["file"]._replace(archive_hash=None))
    whole = served["answer"]

    def points_elsewhere(handler):
        if handler.path == "/elsewhere":
            return whole(handler)
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()

    served["answer"] = points_elsewhere
    (path,) = registry.find_paths("set")
    assert path.read_text(encoding="utf-8") == TEXT
    assert served["asked"] == ["/set.zip", "/elsewhere"]


def test_what_is_there_is_read_where_nothing_can_be_written(served, tmp_path):
    """The folder of a class: not even a lock is made."""
    path = tmp_path / "data" / "set" / "pairs.txt"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT, encoding="utf-8")
    path.parent.chmod(0o500)
    assert registry.find_paths("set") == (path,)
    assert [*path.parent.iterdir()] == [path]


def test_the_licence_is_said_before_the_download(served, monkeypatch, capsys):
    asked = []

    def refuse(url, *args, **kwargs):
        asked.append(capsys.readouterr().out)
        raise OSError("refused")

    monkeypatch.setattr(registry, "download", refuse)
    with pytest.raises(OSError, match="refused"):
        registry.find_paths("set")
    assert "set/pairs.txt" in asked[0] and "public domain" in asked[0]


WAYS = "cut short", "cut short unannounced", "wrong", "no server"


@pytest.mark.parametrize("spoiled", WAYS)
def test_a_failed_download_says_what_to_do_and_leaves_nothing(served, spoiled):
    if spoiled == "no server":
        served["server"].shutdown()
        served["server"].server_close()
    elif spoiled == "wrong":
        served["body"] = b"x" * len(served["body"])
    else:
        served["body"] = served["body"][:50]
        if spoiled == "cut short unannounced":
            served["promised"] = 50
    said = refused(served, "could not download http://127.0.0.1:.*: set/pairs.txt")
    assert f"put that file at {registry.data_folder() / 'set' / 'pairs.txt'}" in said
    assert served["file"].sha256 in said


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sha256": "0" * 64}, "it has sha256 .*; expected 000"),
        ({"path": "set/others.txt"}, "others.txt is not in the archive"),
    ],
)
def test_a_wrong_file_in_the_right_archive(served, tmp_path, change, text):
    served["register"](served["file"]._replace(**change))
    said = refused(served, f"could not download http.*{text}")
    assert "remove" not in said and "move it away" not in said


# Servers


def silent(handler, served):
    served["open"].wait()


def stalls(handler, served):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(served["body"])))
    handler.end_headers()
    handler.wfile.write(served["body"][: served["promised"] // 2])
    served["open"].wait()


@pytest.mark.parametrize("spoiled", [silent, stalls])
def test_a_server_that_says_nothing_more_is_given_up(served, monkeypatch, spoiled):
    monkeypatch.setattr(downloads, "TIME_LIMIT", 0.5)
    served["answer"] = lambda handler: spoiled(handler, served)
    start = time.monotonic()
    refused(served, "set/pairs.txt could not be .*timed out")
    assert 0.4 < time.monotonic() - start < 5


@pytest.mark.parametrize("packed", [False, True])
def test_a_server_that_does_not_stop_is_stopped(served, tmp_path, packed):
    """Whether the response is too long, or becomes so when it is unpacked."""
    sent = []

    def endless(handler):
        handler.send_response(200)
        if packed:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        piece = gzip.compress(bytes(10**8)) if packed else bytes(10**5)
        while not sum(sent) > 10**8:
            sent.append(len(piece))
            handler.wfile.write(piece)

    served["answer"] = endless
    served["register"](served["file"]._replace(archive_hash=None))
    refused(served, "it is longer than 4500 bytes")
    assert sum(sent) < 10**8


# Processes

CHILD = """
import sys
from d2lmini.data import registry
from d2lmini.data.catalogue import PAIRS, DataSet, File
registry.REGISTRY["set"] = DataSet("public domain", PAIRS, {"train": (File(*FILE),)})
print("ready", flush=True)
sys.stdin.readline()
print(*registry.find_paths("set"))
"""


@pytest.fixture
def process(served):
    """Start another Python that calls find_paths once it reads a line."""
    started = []

    def start():
        program = CHILD.replace("FILE", repr(tuple(served["file"])))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        root, command = Path(__file__).parents[2], [sys.executable, "-c", program]
        child = subprocess.Popen(command, cwd=root, **pipes)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def go(child):
    child.stdin.write("go\n")
    child.stdin.flush()


def test_two_processes_at_once_download_once(served, process, tmp_path):
    whole = served["answer"]

    def late(handler):
        time.sleep(1.5)
        whole(handler)

    served["answer"] = late
    children = [process(), process()]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        go(child)
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    path = tmp_path / "data" / "set" / "pairs.txt"
    assert all(output.splitlines()[-1] == str(path) for output in outputs)
    assert sum("downloading set/pairs.txt" in output for output in outputs) == 1
    assert sum("waiting for it" in output for output in outputs) == 1
    assert served["asked"] == ["/set.zip"]
    assert path.read_text(encoding="utf-8") == TEXT and files(tmp_path) == [path.name]


def test_a_killed_process_blocks_nobody_and_what_it_left_goes(
    served, process, tmp_path
):
    whole, child = served["answer"], process()
    served["answer"] = lambda handler: stalls(handler, served)
    go(child)
    for _ in range(600):
        if any(path.stat().st_size for path in tmp_path.rglob("*.came")):
            break
        time.sleep(0.1)
    child.kill()
    child.wait()
    assert files(tmp_path) == [".pairs.txt.came"]
    served["answer"] = whole
    (path,) = registry.find_paths("set")
    assert path.read_text(encoding="utf-8") == TEXT and files(tmp_path) == [path.name]


def test_a_file_that_is_not_the_registered_one_is_refused_and_kept(served, tmp_path):
    path = tmp_path / "data" / "set" / "pairs.txt"
    path.parent.mkdir(parents=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match=r"pairs.txt has sha256 .*; expected"):
        registry.find_paths("set")
    assert path.read_text(encoding="utf-8") == "mine"


def test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("D2LMINI_DATA", str(tmp_path))
    assert registry.data_folder() == tmp_path
    monkeypatch.delenv("D2LMINI_DATA")
    assert "d2lmini" in registry.data_folder().parts
