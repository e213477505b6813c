"""The built site: its descriptions, previews and policies, and its server."""

import http.client
import json
import re
import threading
from types import SimpleNamespace

import pytest
from docutils import nodes

from tools import serve
from tools.extensions import content_policy, offline_reading, site_pages

PAGE = """<html><head><meta charset="utf-8" /><title>x</title>
<script>let a = 1;</script><script src="a.js"></script>
<script type="application/json">{"a": "<script>"}</script></head>
<body><button onclick="window.print()" class="x">p</button></body></html>"""
# sha256 of `let a = 1;`, by openssl
HASH = "'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='"


def test_a_policy_names_the_scripts_of_its_page_and_nothing_else():
    page = content_policy.with_policy(PAGE)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' {HASH}"
    assert "eval" not in policy and "http" not in policy
    assert page.index("charset") < page.index("Content-Security") < page.index("<title")
    assert "onclick" not in page
    assert content_policy.with_policy(page) == page  # a second build finds it there


def paragraph(text):
    return nodes.section("", nodes.paragraph(text=text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The question. How? And why so?", "How? And why so?"),
        ("It is 3.5 metres long.\nSee:", "It is 3.5 metres long."),
        ("Short. " + 30 * "longer " + "end.", "Short."),
        (40 * "longer " + "end. No.", 40 * "longer " + "end."),
        ("No sentence at all", ""),
    ],
)
def test_a_page_is_described_by_its_first_whole_sentences(text, said):
    assert site_pages.description_of(paragraph(text)) == said


ADDRESS = "https://example.org/book/"


def site(folder, address):
    """What the extension needs of Sphinx: a site of one page."""
    config = {"html_title": "A book & more", "html_baseurl": address, "language": "en"}
    config |= {"html_additional_pages": {}, "root_doc": "book/index"}
    config = SimpleNamespace(**config)
    said = paragraph('What does "it" hide?')
    env = SimpleNamespace(found_docs={"book/index"}, get_doctree=lambda page: said)
    site_pages.settle_address(None, config)
    html = SimpleNamespace(format="html")
    return SimpleNamespace(config=config, env=env, outdir=folder, builder=html)


def tags(html):
    meta = r'<meta (?:name|property)="([^"]+)" content="([^"]*)"'
    return dict(re.findall(meta, html))


def test_without_an_address_nothing_names_one(tmp_path):
    app = site(tmp_path, "")
    site_pages.write_files(app, None)
    index = (tmp_path / "index.html").read_text("utf-8")
    due = dict.fromkeys(("og:site_name", "og:title"), "A book &amp; more")
    said = "What does &quot;it&quot; hide?"
    due |= {"og:type": "article", "description": said, "og:description": said}
    assert tags(index) == due
    assert "0; url=book/index.html" in index
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


@pytest.mark.parametrize("written", [ADDRESS, ADDRESS.rstrip("/")])
def test_with_an_address_a_shared_link_has_a_picture(tmp_path, written):
    site_pages.write_files(site(tmp_path, written), None)
    said = tags((tmp_path / "index.html").read_text("utf-8"))
    assert said["og:url"] == ADDRESS + "book/index.html"
    picture = tmp_path / said["og:image"].removeprefix(ADDRESS)
    assert picture.read_bytes() == site_pages.PICTURE.read_bytes()


def test_the_environment_names_the_address(tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_ADDRESS", "https://example.net/b")
    assert site(tmp_path, ADDRESS).config.html_baseurl == "https://example.net/b/"
    monkeypatch.setenv("SITE_ADDRESS", "")  # as a workflow says that it knows none
    assert site(tmp_path, ADDRESS).config.html_baseurl == ADDRESS


@pytest.mark.parametrize(("address", "base"), [("", "/"), (ADDRESS, "/book/")])
def test_links_of_the_404_page_start_from_the_site(tmp_path, address, base):
    context = {"pageurl": "x"}
    site_pages.describe(site(tmp_path, address), "404", "", context, None)
    assert f'<base href="{base}404.html">' in context["metatags"]
    assert "noindex" in context["metatags"] and context["pageurl"] is None


def worker(folder):
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=folder)
    offline_reading.write_worker(app, None)
    source = (folder / "sw.js").read_text("utf-8")
    version = re.search('const VERSION = "([0-9a-f]{16})";', source)[1]
    return version, json.loads(re.search(r"const SEARCH = (\[.*?\]);", source)[1])


def test_the_worker_has_another_version_when_a_page_has_changed(tmp_path):
    (tmp_path / "search.html").write_text(
        '<script src="searchindex.js"></script><a href="book/a.html">'
        '<link href="_static/a.css"><link href="_static/a.css">', "utf-8"
    )  # fmt: skip
    (tmp_path / "a.html").write_text("a", "utf-8")
    once, search = worker(tmp_path)
    assert search == ["search.html", "searchindex.js", "_static/a.css"]
    assert worker(tmp_path) == (once, search)
    (tmp_path / "a.html").write_text("b", "utf-8")
    assert worker(tmp_path)[0] != once


def test_the_next_port_is_taken_if_one_is_not_free(tmp_path, capsys):
    with serve.server_of(tmp_path, 8700) as first:
        with serve.server_of(tmp_path, first.server_port) as second:
            assert second.server_port > first.server_port
        assert f"Port {first.server_port} is taken" in capsys.readouterr().out


def test_where_nothing_is_the_server_shows_the_404_page(tmp_path):
    (tmp_path / "404.html").write_text("no such page", "utf-8")
    (tmp_path / "there.txt").write_text("there", "utf-8")
    with serve.server_of(tmp_path, 8700) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = []
        for path in ("/there.txt", "/no/such/page"):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            connection.request("GET", path)
            answer = connection.getresponse()
            found.append((answer.status, answer.read().decode()))
            connection.close()
        server.shutdown()
    assert found == [(200, "there"), (404, "no such page")]
