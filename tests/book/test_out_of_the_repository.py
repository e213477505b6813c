"""The book outside its repository: addresses, the wheel, the cell that installs it."""

import ast
import json
import re
import subprocess
import tomllib
import zipfile
from types import SimpleNamespace

import pytest
import yaml

import d2lmini
from tools import set_up
from tools.extensions import addresses, back_matter, install_cell, take_away

ROOT = addresses.ROOT
REPOSITORY, SITE = "https://github.com/someone/book", "https://someone.github.io/book"


def test_every_place_names_the_same_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    assert d2lmini.__version__ == addresses.version() == citation["version"]
    assert config["repository"]["branch"] == f"v{addresses.version()}"
    assert f"## {addresses.version()}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


# The cell that installs the package.


def cell_for(repository, site):
    return install_cell.source(install_cell.requirement(repository, site))


def run(cell, is_there, fetched=True):
    """What the cell asks pip for, in a Python with or without d2lmini."""
    asked, found = [], [is_there]

    def pip(line):
        asked.append(line)
        found[0] = fetched

    line = re.compile(r"^( *)%pip (.*)$", re.M)
    code = line.sub(lambda m: f"{m[1]}pip({m[2]!r})", cell)
    util = SimpleNamespace(find_spec=lambda name: found[0] or None)
    importlib = SimpleNamespace(util=util, invalidate_caches=lambda: None)
    code = code.replace("import importlib.util\n", "")
    exec(code, {"importlib": importlib, "pip": pip})
    return asked


@pytest.mark.parametrize("place", [("", ""), (REPOSITORY, SITE), ("", SITE)])
def test_where_the_package_is_nothing_is_done(place):
    assert run(cell_for(*place), is_there=True) == []


@pytest.mark.parametrize(
    ("place", "address"),
    [((REPOSITORY, SITE), f"{REPOSITORY}/archive/refs/tags/v{addresses.version()}.zip"),
        (("", SITE), f"{SITE}/{addresses.wheel_name()}")],
)  # fmt: skip
def test_where_it_is_missing_the_tagged_one_is_fetched(place, address):
    (asked,) = run(cell_for(*place), is_there=False)
    assert asked == f'install --quiet "d2lmini[book] @ {address}"'


@pytest.mark.parametrize("place", [("", ""), (REPOSITORY, "")])
def test_without_an_address_or_a_network_it_is_said_what_to_do(place):
    with pytest.raises(ModuleNotFoundError, match=rf"{addresses.wheel_name()}\[book\]"):
        run(cell_for(*place), is_there=False, fetched=False)


# Buttons and the foot of a page.


def page_of(repository, monkeypatch, name="book/02-masks"):
    """The context of a page, after the extension has had it."""
    said = addresses.settings()
    said["repository"]["url"] = repository
    monkeypatch.setattr(addresses, "settings", lambda: said)
    app = SimpleNamespace(config=SimpleNamespace(html_theme_options={}))
    addresses.tell_theme(app, app.config)
    launch = {"label": "launch-buttons", "buttons": []}
    is_launched = app.config.html_theme_options.get("launch_buttons")
    context = {"header_buttons": [launch] if is_launched else []}
    context["pathto"] = lambda page: f"../{page}.html"
    for handler in (addresses.add_codespace, addresses.add_footer):
        handler(app, name, "page.html", context, None)
    return context


def test_without_a_repository_nothing_needs_one(monkeypatch):
    context = page_of("", monkeypatch)
    assert context["header_buttons"] == []
    assert "Errata" in context["theme_extra_footer"]
    assert "Report an error" not in context["theme_extra_footer"]
    assert "http" not in context["theme_extra_footer"]


def test_with_one_a_page_can_be_launched_and_corrected(monkeypatch):
    context = page_of(REPOSITORY + "/", monkeypatch)
    (button,) = context["header_buttons"][0]["buttons"]
    assert button["url"] == "https://codespaces.new/someone/book"
    foot = context["theme_extra_footer"]
    assert f"{REPOSITORY}/issues/new?title=book%2F02-masks%3A+&amp;" in foot


# The package as a file.


def test_the_wheel_has_everything_and_is_the_same_each_time(tmp_path, monkeypatch):
    found = []
    for name in ("once", "again"):
        # made each time
        monkeypatch.setattr("tools.kept.KEPT", tmp_path / f"kept {name}")
        (tmp_path / name).mkdir()
        take_away.build_wheel(tmp_path / name)
        found.append((tmp_path / name / addresses.wheel_name()).read_bytes())
    assert found[0] == found[1]
    assert len(found[0]) <= 3_000_000
    command = ["git", "ls-files", "d2lmini"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    with zipfile.ZipFile(tmp_path / "once" / addresses.wheel_name()) as wheel:
        names = set(wheel.namelist())
    wanted = {n for n in listing.stdout.split() if not n.endswith(".md")}
    assert wanted <= names
    about = f"d2lmini-{addresses.version()}.dist-info"
    assert {n.split("/")[0] for n in names} == {"d2lmini", about}


# The environment.


def test_an_old_python_is_told_which_is_needed(monkeypatch):
    monkeypatch.setattr(set_up.sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; this is 3\.9"):
        set_up.main("never made")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">={}.{}".format(*set_up.OLDEST)
    # That Python can parse the file that says so.
    ast.parse((ROOT / "tools" / "set_up.py").read_text("utf-8"), feature_version=(3, 6))


@pytest.fixture
def commands(monkeypatch):
    """The commands that are run, each of which fails."""
    run = []

    def fail(command, **_):
        run.append(command)
        return SimpleNamespace(returncode=1)

    monkeypatch.setattr(set_up.subprocess, "run", fail)
    monkeypatch.chdir(ROOT)
    return run


SYSTEMS = [("linux", False), ("linux", True), ("darwin", False)]


@pytest.mark.parametrize(("system", "driver"), SYSTEMS)
def test_the_small_torch_is_for_linux_without_a_driver(
    monkeypatch, capsys, commands, system, driver
):
    small = system == "linux" and not driver
    monkeypatch.setattr(set_up.sys, "platform", system)
    monkeypatch.setattr(set_up, "has_nvidia_driver", lambda: driver)
    set_up.main("somewhere")
    torch = [command[-1] for command in commands if set_up.CPU_BUILDS in command]
    assert torch == [f"torch=={set_up.locked('torch')}"] * small
    wanted = "--requirement requirements.in --constraint requirements.txt"
    assert commands[-1][-4:] == wanted.split()
    # Its index did not answer: that is reported, and the default index is used.
    assert ("did not answer" in capsys.readouterr().out) == small


# Downloads.


def test_a_notebook_from_a_site_finds_the_package_and_the_other_pages_there(tmp_path):
    text = (ROOT / "book" / "02-masks.ipynb").read_text(encoding="utf-8")
    path = tmp_path / "book" / "02-masks.ipynb"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    take_away.lead_to_site(tmp_path, SITE)
    before = json.loads(text)["cells"]
    after = json.loads(path.read_text("utf-8"))["cells"]
    code, *markdown = [b for a, b in zip(before, after, strict=True) if a != b]
    assert f"{SITE}/{addresses.wheel_name()}" in "".join(code["source"])
    assert {cell["cell_type"] for cell in markdown} == {"markdown"}
    lines = "".join(line for c in after for line in c["source"])
    links = re.findall(r"\]\(([^)]*)\)", lines)
    assert f"{SITE}/book/glossary.html#term-attention" in links
    assert all(link.startswith(("#", "https://")) for link in links)


def test_the_zip_of_the_project_has_what_the_repository_has(tmp_path):
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    take_away.zip_project(tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as project:
        files = {name for name in project.namelist() if not name.endswith("/")}
        assert files == {f"book/{name}" for name in done.stdout.split()}
        assert project.getinfo("book/.ci/run").external_attr >> 16 & 0o100


def test_the_zip_of_the_notebooks_brings_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_ADDRESS", SITE)
    wheel = tmp_path / addresses.wheel_name()
    wheel.write_bytes(b"a wheel")
    take_away.zip_notebooks(wheel, tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as notebooks:
        names = {name.removeprefix("all/") for name in notebooks.namelist()} - {""}
        assert notebooks.read(f"all/{wheel.name}") == b"a wheel"
        masks = json.loads(notebooks.read("all/02-masks.ipynb"))
        said = notebooks.read("all/README.txt").decode()
        assert wheel.name in said and f"{SITE}/" in said
        about = notebooks.read("all/about.md").decode()
        assert about.count(f"[the built book]({SITE}/book/about.html)") == 3
    pages = {p.name for p in (ROOT / "book").iterdir() if p.suffix in (".ipynb", ".md")}
    licences = {"LICENSE", "LICENSE-TEXT"}
    assert names == {*pages, *licences, "README.txt", wheel.name}
    (cell,) = [cell for cell in masks["cells"] if cell["id"] == install_cell.ID]
    asked = run("".join(cell["source"]), is_there=False)
    assert asked == [f'install --quiet "./{wheel.name}[book]"']


def test_each_package_in_the_pages_brings_its_licence():
    for name in back_matter.BUNDLED:
        assert back_matter.texts(name), name
    assert back_matter.listed_licences().count("dropdown") >= len(back_matter.BUNDLED)
