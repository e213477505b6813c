"""The built book in a browser, with the network cut: pytest tests/browser --built _build/html"""

import functools
import threading
from pathlib import Path

import pytest

from tools.serve import Pages, Server


def pytest_addoption(parser):
    parser.addoption("--built", type=Path, help="folder of the built pages")
    parser.addoption("--screenshots", type=Path, help="folder of pictures of the pages")


@pytest.fixture(scope="session")
def built(pytestconfig):
    folder = pytestconfig.getoption("--built") or Path("_build/html")
    if not (folder / "index.html").exists():
        pytest.fail(f"--built ({folder}) must hold the built book: run make book first")
    return folder.resolve()


def served(folder):
    """Serve a folder; return the running server and its address."""
    server = Server(("127.0.0.1", 0), functools.partial(Pages, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="session")
def addresses(built):
    """Scheme -> where the book is."""
    server, address = served(built)
    yield {"http": address, "file": built.as_uri()}
    server.shutdown()


# Violations of a page's content policy are problems, too.
FORBIDDEN = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`${event.violatedDirective} forbids ${event.blockedURI}`));"""


class Visit:
    """An open page, and its problems so far."""

    def __init__(self, page, root):
        self.page, self.problems = page, []
        page.on("request", functools.partial(self.asked, root))
        page.on("console", lambda m: m.type == "error" and self.problems.append(m.text))
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("requestfailed", self.failed)
        page.on("response", self.answered)

    def answered(self, response):
        if response.status >= 400:
            self.problems.append(f"{response.status} {response.url}")

    def failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # caused by our own reload
            self.problems.append(f"failed: {request.url}")

    def asked(self, root, request):
        if not request.url.startswith((root, "blob:", "data:")):
            self.problems.append(f"off the book: {request.url}")


@pytest.fixture
def visit(browser, addresses):
    """visit(scheme, page, ...) opens a page of the book; script runs before its own scripts."""
    contexts = []

    def open_page(scheme, name, width=1280, dark=False, script="", **context):
        options = {
            "viewport": {"width": width, "height": 900},
            "color_scheme": "dark" if dark else "light",
            "reduced_motion": "reduce",  # colours in transition lack contrast
            "service_workers": "block",  # allowed in test_offline.py
        }
        context = browser.new_context(**options | context)
        contexts.append(context)
        context.add_init_script(FORBIDDEN + script)
        opened = Visit(context.new_page(), addresses[scheme])
        opened.address = f"{addresses[scheme]}/{name}"
        opened.page.goto(opened.address, wait_until="load")
        # A figure takes the place of its still picture.
        opened.page.wait_for_function("!document.querySelector('.d2lmini-still')")
        return opened

    yield open_page
    for context in contexts:
        context.close()


def pytest_generate_tests(metafunc):
    """Run each test that takes page_name on every page."""
    if "page_name" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--built") or Path("_build/html")
        pages = sorted(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*.html")
            # Neither redirects nor the 404 page nor slides.
            if not {"_static", "slides"} & set(path.parts)
            and path.name != "404.html"
            and 'http-equiv="Refresh"' not in path.read_text("utf-8")
        )
        metafunc.parametrize("page_name", pages)
