"""requirements.txt locks what the lists and the package ask for."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.set_up import FURTHER

ROOT = Path(__file__).parents[2]
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PACKAGE["optional-dependencies"]


def lines(name):
    """The lines of a requirements file, comments gone."""
    text = (ROOT / name).read_text(encoding="utf-8")
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in bare if line]


def asked(name):
    """What a list asks for by name."""
    return [Requirement(line) for line in lines(name) if not line.startswith("--")]


PINNED = {canonicalize_name(r.name): r for r in asked("requirements.txt")}
LISTS = ["requirements.in", *FURTHER.values()]


def test_a_list_for_pip_holds_no_package_of_this_folder():
    """pip does not accept such a line as a constraint."""
    assert lines("requirements.in")[0] == "--editable .[book,course]"
    assert "d2lmini" not in PINNED


def test_everything_is_pinned():
    for pinned in PINNED.values():
        (version,) = pinned.specifier
        assert version.operator == "==", pinned


def test_what_is_asked_for_is_pinned_to_a_version_that_fits():
    declared = PACKAGE["dependencies"] + [r for extra in EXTRAS.values() for r in extra]
    by_name = [wanted for name in LISTS for wanted in asked(name)]
    for wanted in [*by_name, *map(Requirement, declared)]:
        if wanted.name == "d2lmini":  # an extra that brings another
            continue
        pinned = PINNED[canonicalize_name(wanted.name)]
        (version,) = pinned.specifier
        assert wanted.specifier.contains(version.version), f"{pinned}: run make lock"


def test_what_reading_and_building_import_is_no_tool_of_tests_or_paper():
    tools = {r.name.replace("-", "_") for name in LISTS[1:] for r in asked(name)}
    for path in [*ROOT.glob("d2lmini/**/*.py"), *ROOT.glob("tools/**/*.py")]:
        if path.parent.name == "paper" or path.name == "browser.py":
            continue
        text = path.read_text(encoding="utf-8")
        found = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.M))
        assert not tools & found, path


def test_what_the_package_imports_it_declares():
    always = PACKAGE["dependencies"] + EXTRAS["real-data"]
    for folder, declared in (("", always), ("course", EXTRAS["course"])):
        imported = set()
        for path in (ROOT / "d2lmini" / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if folder or path.parent.name != "course":
                imported |= set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.M))
        known = {canonicalize_name(name) for name in imported} & PINNED.keys()
        assert known == {canonicalize_name(Requirement(r).name) for r in declared}
