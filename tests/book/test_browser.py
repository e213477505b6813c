"""The one place that looks for a browser."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tools import browser

sync_api = pytest.importorskip("playwright.sync_api")
CHROME = {"channel": "chrome"}


@pytest.fixture
def machine(monkeypatch):
    """machine(on_path, starting) fakes a machine, and returns the list of what it will try."""

    def machine(on_path, starting):
        tried = []

        def launch(args, **place):
            tried.append(place)
            if place not in starting:
                raise sync_api.Error("it does not start")
            kind = SimpleNamespace(name="chromium")
            return SimpleNamespace(browser_type=kind, version="99", close=lambda: None)

        @contextmanager
        def sync_playwright():
            yield SimpleNamespace(chromium=SimpleNamespace(launch=launch))

        def which(name):
            return f"/bin/{name}" if name in on_path else None

        monkeypatch.setattr(sync_api, "sync_playwright", sync_playwright)
        monkeypatch.setattr(browser.shutil, "which", which)
        monkeypatch.delenv("CI", raising=False)
        return tried

    return machine


def test_what_does_not_start_is_passed_over(machine):
    stub = {"executable_path": "/bin/chromium-browser"}
    tried = machine(["chromium-browser"], [CHROME])
    with browser.chromium():
        assert tried == [stub, {}, CHROME]


def test_without_a_browser_a_command_ends_with_one_sentence(machine):
    machine(["chromium"], [])
    nothing = pytest.raises(SystemExit, match="starts on this machine: install")
    with nothing as told, browser.chromium():
        pytest.fail("there is none")
    assert "\n" not in str(told.value)


def test_the_command_says_in_one_line_what_is_left_out(machine, capsys, monkeypatch):
    machine(["firefox"], [{}])
    browser.main(needed=False)
    assert capsys.readouterr().out == "Browser: chromium 99.\n"
    machine([], [])
    browser.main(needed=False)
    told = capsys.readouterr().out
    assert told.startswith("Browser: none. Left out: the tests in a browser, the PDF")
    assert "the figures in Firefox" in told and told.count("\n") == 1
    with pytest.raises(browser.NoBrowser):
        browser.main(needed=True)
    monkeypatch.setenv("CI", "1")
    with pytest.raises(SystemExit):
        browser.main(needed=False)
