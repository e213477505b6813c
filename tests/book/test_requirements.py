"""requirements.txt is what a lock tool made of the names that are used."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PACKAGE["optional-dependencies"]


def lines(name):
    """The lines of a requirements file, comments gone."""
    text = (ROOT / name).read_text(encoding="utf-8")
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [line for line in bare if line]


PINNED = [Requirement(line) for line in lines("requirements.txt")[1:]]
PINNED = {canonicalize_name(pinned.name): pinned for pinned in PINNED}


def test_everything_is_pinned():
    for pinned in PINNED.values():
        (version,) = pinned.specifier
        assert version.operator == "==", pinned


def test_what_is_asked_for_is_pinned_to_a_version_that_fits():
    asked = [line for line in lines("requirements.in") if not line.startswith("--")]
    asked += PACKAGE["dependencies"]
    asked += [line for extra in EXTRAS.values() for line in extra]
    for wanted in map(Requirement, asked):
        if wanted.name == "d2lmini":  # an extra that brings another
            continue
        pinned = PINNED[canonicalize_name(wanted.name)]
        (version,) = pinned.specifier
        assert wanted.specifier.contains(version.version), f"{pinned}: run make lock"


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
