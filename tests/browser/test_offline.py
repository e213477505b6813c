"""The site without its server: pages that were read are available, and never outdated."""

import re
import shutil

import pytest
from conftest import served
from playwright.sync_api import Error
from test_pages import inaccessible

MASKS, FRONT = "book/02-masks.html", "book/index.html"
# Whether a page and all its pictures are cached.
KEPT = """async () => {
    const parts = [...document.querySelectorAll("img[src*=_images], link[rel=stylesheet]")];
    const addresses = [location.href.replace(/[?#].*/, ""), ...parts.map((e) => e.src ?? e.href)];
    const kept = await Promise.all(addresses.map((address) => caches.match(address)));
    return kept.every(Boolean);
}"""


def until(page, condition, *args):
    """Wait until something asynchronous is true."""
    for _ in range(600):
        if page.evaluate(condition, *args):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {condition}")


@pytest.fixture
def reader(browser):
    """A page in a browser that caches what it has read."""
    context = browser.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


def read(page, address):
    page.goto(address)
    page.wait_for_function("!document.querySelector('.d2lmini-still')")
    until(page, KEPT)


def test_what_was_read_is_there_without_a_network_and_so_is_the_search(built, reader):
    server, site = served(built)
    read(reader, f"{site}/{MASKS}")  # installs the worker
    read(reader, f"{site}/{FRONT}")
    figure = reader.locator(".d2lmini-figure")
    weights = re.search(r'"file":"\.\./([^"]+)"', (built / FRONT).read_text("utf-8"))[1]
    kept = "async (file) => Boolean(await caches.match(file))"
    until(reader, kept, f"{site}/{weights}")
    server.shutdown()
    server.server_close()

    problems = []
    reader.on("console", lambda m: m.type == "error" and problems.append(m.text))
    reader.goto(f"{site}/{FRONT}?sentence.text=%22Go!%22")  # with a new state
    figure.get_by_role("button", name="horse").click()
    line = figure.locator(".translation").element_handle()
    reader.wait_for_function("(line) => /cheval/.test(line.textContent)", arg=line)
    reader.goto(f"{site}/{MASKS}")
    figure = reader.locator(".d2lmini-figure").first
    before = figure.inner_html()
    figure.locator("input[type=checkbox]").first.click()
    assert figure.inner_html() != before
    pictures = reader.locator("img[src*=_images]")
    assert pictures.count()
    pictures.evaluate_all(
        "all => Promise.all(all.map((e) => { e.loading = 'eager'; return e.decode(); }))"
    )
    reader.goto(f"{site}/search.html?q=beam")
    reader.locator("ul.search > li").first.wait_for()
    assert problems == []
    with pytest.raises(Error, match="ERR_FAILED"):  # never read
        reader.goto(f"{site}/book/03-positions.html")


def test_an_update_is_seen_at_once_and_what_was_read_is_renewed(
    built, reader, tmp_path
):
    folder = tmp_path / "site"
    for name in (MASKS, "book/glossary.html", "search.html", "searchindex.js", "sw.js"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built / name, folder / name)
    for name in ("_static", "_images"):
        shutil.copytree(built / name, folder / name)
    server, site = served(folder)
    read(reader, f"{site}/{MASKS}")
    read(reader, f"{site}/book/glossary.html")
    (old,) = reader.evaluate("caches.keys()")

    for name in (MASKS, "book/glossary.html"):
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text(text.replace("</h1>", " anew</h1>"), "utf-8")
    worker = (folder / "sw.js").read_text("utf-8")
    version = re.search('VERSION = "([0-9a-f]+)"', worker)[1]
    (folder / "sw.js").write_text(worker.replace(version, "0" * 16), "utf-8")
    reader.reload()
    assert "anew" in reader.locator("article h1").inner_text()
    until(reader, "async (old) => !(await caches.keys()).includes(old)", old)
    server.shutdown()
    server.server_close()
    for name in (MASKS, "book/glossary.html"):
        reader.goto(f"{site}/{name}")
        assert "anew" in reader.locator("article h1").inner_text()


@pytest.mark.parametrize(("scheme", "due"), [("http", 1), ("file", 0)])
def test_a_page_from_the_disk_asks_for_no_worker(addresses, reader, scheme, due):
    reader.add_init_script("""window.asked = 0;
        ServiceWorkerContainer.prototype.register = async () => { window.asked += 1; };""")
    reader.goto(f"{addresses[scheme]}/{MASKS}", wait_until="load")
    assert reader.evaluate("window.asked") == due


def test_the_404_page_leads_back_from_any_depth(addresses, reader):
    failed = []
    reader.on("response", lambda r: r.status >= 400 and failed.append(r.url))
    missing = f"{addresses['http']}/book/no/such/page.html"
    assert reader.goto(missing).status == 404
    assert failed == [missing]  # its styles and scripts are found
    assert reader.locator("article h1").inner_text() == "There is no such page"
    assert inaccessible(reader) == set()
    reader.get_by_role("link", name="The front page").click()
    reader.wait_for_url(f"{addresses['http']}/{FRONT}")
    reader.goto(missing)
    reader.locator("main").get_by_role("link", name="Search this book").click()
    reader.wait_for_url("**/search.html")


def test_buttons_of_the_theme_do_what_they_say_without_handlers_in_the_page(visit):
    opened = visit("file", MASKS)
    page = opened.page
    page.evaluate("window.print = () => { window.printed = true; }")
    page.get_by_label("Download", exact=True).click()
    page.locator(".btn-download-pdf-button").click()
    assert page.evaluate("window.printed")
    page.locator(".btn-fullscreen-button").click()
    page.wait_for_function("document.fullscreenElement")
    assert opened.problems == []
