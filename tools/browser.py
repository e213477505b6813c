"""Find the browser that tests, PDF and ePub use: python -m tools.browser [needed]

The command prints one line: what was found, and what is left out without it. With CI set a missing
browser is an error; with the word needed a missing Chromium is one, as for the PDF.
"""

import os
import shutil
import sys
from contextlib import contextmanager

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Resolve no name but this machine's, so that the browser itself cuts the network.
FLAGS = ["--no-sandbox", "--disable-quic", "--disable-background-networking",
         "--disable-component-update",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # fmt: skip
HOW = "install Debian's chromium, or Chrome, or run: python -m playwright install chromium"
NO_FIREFOX = "No Firefox on the PATH: install Debian's firefox-esr, or Firefox"
NO_PLAYWRIGHT = "Playwright is missing: run python tools/set_up.py --with paper"


class NoBrowser(SystemExit):
    """No browser was found; a command that needs one exits with this message."""


def places():
    """Launch options for each place where Playwright may find a browser."""
    paths = filter(None, map(shutil.which, NAMES))
    its_own, chrome, edge = {}, {"channel": "chrome"}, {"channel": "msedge"}
    return [*({"executable_path": path} for path in paths), its_own, chrome, edge]


@contextmanager
def chromium():
    """Start the first Chromium, Chrome or Edge that works, offline; else raise NoBrowser."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ModuleNotFoundError:
        raise NoBrowser(NO_PLAYWRIGHT) from None
    with sync_playwright() as playwright:
        for place in places():
            try:
                browser = playwright.chromium.launch(args=FLAGS, **place)
                break
            except Error:  # a command on the PATH may only tell you how to install it
                continue
        else:
            raise NoBrowser(f"No Chromium or Chrome starts on this machine: {HOW}")
        yield browser
        browser.close()


def firefox():
    """The path of Firefox; None if there is none."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def main(needed):
    """Report what was found and what is left out; if needed, fail without a Chromium."""
    missing = []
    try:
        with chromium() as browser:
            found = f"{browser.browser_type.name} {browser.version}"
    except NoBrowser as error:
        if needed:
            raise
        found = "none"
        missing.append(f"the tests in a browser, the PDF and the ePub. {error}")
    if not needed and firefox() is None:
        missing.append(f"the figures in Firefox. {NO_FIREFOX}")
    print(f"Browser: {found}.", *(f"Left out: {text}." for text in missing), flush=True)
    if missing and os.environ.get("CI"):
        sys.exit(1)


if __name__ == "__main__":
    main("needed" in sys.argv[1:])
