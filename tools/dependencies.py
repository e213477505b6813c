"""What a notebook's outputs depend on: its own code, and the files of the package that it uses.

Found statically: a notebook with `from d2lmini import AddNorm` depends on the module that defines
AddNorm and on that module's imports, but not on the rest of the package. An `__init__.py` only
re-exports names, so its other names do not count.
"""

import ast
import functools
import hashlib
import re
from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "d2lmini"
MAGIC = re.compile(r"^(\s*)[%!].*", re.M)
NAMED = re.compile(r"\bd2lmini(?:\.\w+)+")  # in a string: code for another process
FIGURE = re.compile(r"\bfigures\.(\w+)")
JS_IMPORT = re.compile(r'from "\./(\w+\.js)"')


def files_of(code: str, exercises: str | None = None) -> set[Path]:
    """The files that the code of a notebook uses, directly or indirectly.

    Args:
        exercises: name of the notebook's module in d2lmini/exercises, which checks find by name.
    """
    left = _uses(ast.parse(MAGIC.sub(r"\1pass", code)), None) | _results(code)
    left |= {_figures()[name] for name in FIGURE.findall(code) if name in _figures()}
    if exercises:
        left.add(PACKAGE / "exercises" / f"{exercises}.py")
    found = set()
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left |= _needs(path)
    return found


def key(code: str, exercises: str | None = None) -> str:
    """A hash of everything that a notebook's outputs depend on, besides its own code."""
    digest = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for path in sorted(files_of(code, exercises)):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _needs(path):
    """The files that one file of the package refers to."""
    if path.suffix not in (".js", ".py"):
        return set()
    text = path.read_text("utf-8")
    if path.suffix == ".js":
        return {path.with_name(name) for name in JS_IMPORT.findall(text)}
    found = _uses(ast.parse(text), path) | _results(text)
    if path == PACKAGE / "data" / "registry.py":
        found |= {file for file in (PACKAGE / "corpora").rglob("*") if file.is_file()}
    return found


def _uses(tree, path):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_module(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found |= _brought(node.module, alias.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {_module(name) for name in NAMED.findall(node.value)}
            if path and re.fullmatch(r"\w+\.(js|css)", node.value):
                found.add(path.with_name(node.value))
    return {file for file in found if file and file.exists()}


def _module(name):
    """The file of a module of d2lmini; None for other modules, and for packages."""
    top, *rest = name.split(".")
    file = PACKAGE.joinpath(*rest).with_suffix(".py")
    return file if top == "d2lmini" and rest and file.exists() else None


def _brought(module, name):
    """The files that `from module import name` needs."""
    folder = PACKAGE.joinpath(*module.split(".")[1:])
    if module.split(".")[0] != "d2lmini":
        return set()
    if file := _module(f"{module}.{name}") or _module(module):
        return {file}
    if name in _figures() and module in ("d2lmini", "d2lmini.figures"):
        return {_figures()[name]}
    if name == "bugs":
        return {PACKAGE / "check" / "bugs.py"}
    if (inner := folder / name / "__init__.py").exists():  # a package as a whole
        tree = ast.parse(inner.read_text("utf-8"))
        return set() if name == "figures" else _uses(tree, inner)
    exported = ast.parse((folder / "__init__.py").read_text("utf-8"))
    for node in exported.body:
        if isinstance(node, ast.ImportFrom) and name in [a.name for a in node.names]:
            return _brought(node.module, name)
    return set()


@functools.cache
def _figures():
    """The modules of d2lmini.figures, by the names that they define."""
    homes = run_path(str(PACKAGE / "figures" / "__init__.py"))["HOMES"]
    return {name: _module(f"d2lmini.figures.{homes[name]}") for name in homes}


def _results(text):
    """The recorded runs that a source text names in quotes, if it reads any."""
    if not re.search(r"\bRESULTS\b|recorded_runs", text):
        return set()
    files = (PACKAGE / "results").glob("*.*")
    return {f for f in files if f'"{f.stem}"' in text or f'"{f.name}"' in text}
