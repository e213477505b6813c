"""The class shown is the class that runs: chapters and package hold the same code."""

import ast
import difflib
import functools
import inspect
import re
from collections import Counter
from pathlib import Path

import nbformat
from torch import nn

from d2lmini import modern, transformer
from d2lmini.check import bugs
from d2lmini.tasks import trajectories

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"# (d2lmini/[\w/]+\.py)\n")
# Modules that a chapter builds up, all of them: each public definition is shown once.
TEACHING = [
    "masks", "positions", "attention", "layers", "transformer", "losses", "training",
    "generation", "translation", "modern", "efficient", "data/text", "data/batches",
    "data/subwords", "data/buckets", "support/eight_bits", "tasks/classification",
    "tasks/trajectories",
]  # fmt: skip


def name_of(node):
    """Name of a top-level class, function or constant, else None."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def without_docstrings(source, node):
    """The lines of a definition, less documentation strings and blank lines."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    dropped = set()
    for inner in ast.walk(node):
        if isinstance(inner, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            inner
        ):
            text = inner.body[0]
            dropped |= set(range(text.lineno, text.end_lineno + 1))
    lines = enumerate(source.splitlines(), start=1)
    wanted = {*range(first, node.end_lineno + 1)} - dropped
    kept = [s.rstrip() for i, s in lines if i in wanted]
    # A class that is all docstring needs a body in the notebook.
    return [line for line in kept if line.strip() not in ("", "pass")]


def definitions(source):
    nodes = {name_of(node): node for node in ast.parse(source).body}
    return {name: without_docstrings(source, n) for name, n in nodes.items() if name}


@functools.cache
def packaged_in(module):
    return definitions((ROOT / module).read_text(encoding="utf-8"))


def code_cells():
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                yield path, cell.source


def shown():
    """(module file, name, lines, notebook) of each definition in a marked cell."""
    for path, source in code_cells():
        if match := MARK.match(source):
            for name, lines in definitions(source).items():
                yield match[1], name, lines, path.stem


def test_the_book_shows_what_the_package_runs():
    differences = []
    for module, name, lines, notebook in shown():
        packaged = packaged_in(module).get(name, [])
        names = module, notebook
        differences += difflib.unified_diff(packaged, lines, *names, lineterm="")
    assert not differences, "\n".join(differences)


def test_every_public_definition_is_shown_once():
    times = Counter((file, name) for file, name, _, _ in shown())
    for module in TEACHING:
        file = f"d2lmini/{module}.py"
        public = {name for name in packaged_in(file) if not name.startswith("_")}
        found = {name: times[file, name] for name in public}
        assert found == dict.fromkeys(public, 1), f"show each once: {file}"


def test_a_docstring_names_the_chapter_that_shows_the_definition():
    wrong = []
    for file, name, _, notebook in shown():
        nodes = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        (node,) = (node for node in nodes if name_of(node) == name)
        documented = isinstance(node, (ast.ClassDef, ast.FunctionDef))
        said = (documented and ast.get_docstring(node)) or ""
        named = re.search(r"Source:.*chapters? ([\d and]+)\.", said)
        if named and str(int(notebook[:2])) not in named[1].split(" and "):
            wrong.append(f"{file}: {name} is in {notebook}")
    assert not wrong


# Six bare numbers in a row do not say which is which.
MANY_SIZES = {
    name
    for module in (transformer, modern, trajectories, bugs)
    for name, found in inspect.getmembers(module, inspect.isclass)
    if issubclass(found, nn.Module)
    and {"ffn_num_hiddens", "num_layers"} <= inspect.signature(found).parameters.keys()
}


def experiments():
    """(notebook, source) of cells that show no package code, and of solutions in the text."""
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            blocks = [cell.source]
            if cell.cell_type == "markdown":
                blocks = re.findall(r"```python\n(.*?)```", cell.source, flags=re.S)
            for source in blocks:
                if not MARK.match(source):
                    yield path.stem, re.sub(r"^[%!].*$", "", source, flags=re.M)


def test_sizes_are_named():
    """Only the size of the vocabulary may be given without its name."""
    assert {"TransformerEncoder", "DecoderStack", "PathEncoder"} <= MANY_SIZES
    unnamed = []
    for notebook, source in experiments():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", None))
                stars = any(isinstance(a, ast.Starred) for a in node.args)
                if name in MANY_SIZES and (stars or len(node.args) > 1):
                    unnamed.append(f"{notebook}: {ast.unparse(node)}")
    assert not unnamed


def test_no_other_cell_redefines_a_name_of_the_package():
    folders = "", "data", "speed", "support", "tasks"
    modules = [path for f in folders for path in (ROOT / "d2lmini" / f).glob("*.py")]
    packaged = set().union(*(definitions(path.read_text("utf-8")) for path in modules))
    for path, source in code_cells():
        if not MARK.match(source):
            plain = re.sub(r"^[%!].*$", "", source, flags=re.M)
            assert not set(definitions(plain)) & packaged, path.stem
