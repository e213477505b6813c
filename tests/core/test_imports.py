"""Dependencies point one way, and importing the package is cheap."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "d2lmini"

# module or folder -> the modules and folders of the package that it may import
CORE = {"arguments", "masks", "positions", "attention", "layers"}
ALLOWED = {
    "chapters": set(),
    "arguments": set(),
    "training_arguments": {"arguments"},
    "masks": {"arguments"},
    "positions": {"arguments", "masks"},
    "attention": {"arguments", "masks", "positions"},
    "layers": {"arguments", "masks", "positions", "attention"},
    "transformer": CORE,
    "devices": set(),
    "losses": {"training_arguments"},
    "randomness": set(),
    "team": {"randomness"},
    "files": set(),
    "checkpoints": {"arguments", "files", "randomness", "team"},
    "mixed": {"arguments", "training_arguments"},
    "fast": {"arguments", "attention", "masks"},
    "training": {"arguments", "checkpoints", "losses", "team", "training_arguments"},
    "data": {"arguments"},
    "fast_loading": {"arguments", "data"},
    "generation": {"masks", "training_arguments"},
    "fast_search": {"arguments", "generation", "training_arguments"},
    "translation": {"arguments", "data", "generation"},
    "batched": {"data", "generation", "masks", "training_arguments"},
    "eight_bits": set(),
    "ledger": {"arguments"},
    "translator": {"arguments", "batched", "data", "devices", "eight_bits", "files",
                   "generation", "transformer"},
    "classification": {"arguments", "data", "masks", "training_arguments"},
    "trajectories": {"arguments", "data", "layers", "masks", "positions", "transformer"},
    "efficient": {"arguments"},
    "modern": {"arguments", "attention", "losses", "masks"},
    "figures": {"arguments", "chapters", "data", "masks", "positions", "eight_bits"},
    "checking/trying": {"arguments"},
    "checking/properties": {"arguments", "masks", "checking/trying"},
    "checking/comparisons": {"checking/trying"},
    "checking/gradients": {"arguments", "masks", "checking/trying"},
    "checking/bugs": CORE | {"transformer"},
    "checking/drawing": set(),
    "checking/subjects": {"transformer"},
    "checking/exercise": {"checking/drawing"},
    "checking/answers": set(),
    "checking/values": {"checking/answers"},
    # What a reader has, and what answers are compared with; grading finds them by name.
    "exercises": CORE | {"transformer", "modern", "losses", "translation", "checking/drawing",
                         "checking/exercise", "checking/properties", "checking/bugs",
                         "checking/subjects"},
    "checking/grading": {"chapters", "checking/drawing", "checking/exercise",
                         "checking/answers", "exercises"},
    "checking/process": {"checking/grading", "checking/subjects", "checking/values"},
    "checking/child": {"check", "checking/grading", "checking/process", "checking/records",
                       "checking/subjects", "checking/values"},
    "checking/verdict": {"chapters"},
    "checking/records": {"arguments", "chapters", "checking/grading", "checking/process",
                         "checking/verdict"},
    # Names under which chapters and users call what lies in a folder.
    "check": {"checking/records", "checking/properties", "checking/comparisons",
              "checking/gradients", "checking/answers", "checking/trying"},
    "bugs": {"checking/bugs"},
    "course": {"chapters", "checking/grading", "checking/exercise", "checking/process",
               "checking/verdict", "checking/child"},
    "plots": {"figures"},
    "widgets": {"figures"},
}  # fmt: skip
TORCH_ONLY = CORE | {"transformer"}
STANDARD = set(sys.stdlib_module_names)
FILES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


def room(path):
    """The entry of ALLOWED to which a file belongs; None for the __init__ of checking."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    folder = name.partition("/")[0]
    return next((room for room in (name, folder) if room in ALLOWED), None)


def imported(path):
    """(outside, inside): top-level names of other packages, and files of this one."""
    outside, inside = set(), set()

    def add(module, names=()):
        top, *rest = module.split(".")
        if top != "d2lmini":
            outside.add(top)
            return
        for name in names or [None]:
            # "from d2lmini import check" brings a module, "... import AddNorm" a class.
            parts = [*rest, name] if name else rest
            for length in range(len(parts), 0, -1):
                place = PACKAGE.joinpath(*parts[:length])
                if place.with_suffix(".py").exists():
                    inside.add(place.with_suffix(".py"))
                    break
                if (place / "__init__.py").exists():
                    inside.add(place / "__init__.py")
                    break
            else:
                inside.add(PACKAGE / "__init__.py")

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            add(node.module, [alias.name for alias in node.names])
    return outside, inside


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    outside, inside = imported(path)
    assert PACKAGE / "__init__.py" not in inside, (
        "import from the module that defines it"
    )
    own = {room(file) for file in inside} - {room(path), None}
    assert own <= ALLOWED.get(room(path), set())
    if room(path) in TORCH_ONLY:
        assert outside <= {"torch", "math", "collections", "contextlib"}


def test_what_may_be_imported_has_no_circle():
    done = set()
    while left := {name for name in ALLOWED if name not in done}:
        ready = {name for name in left if ALLOWED[name] <= done}
        assert ready, f"a circle among {sorted(left)}"
        done |= ready


def test_no_two_files_import_each_other():
    """Nor in a longer circle: those of one folder, too, which ALLOWED takes together."""
    left = {path: imported(path)[1] - {path} for path in FILES}
    while left:
        ready = [path for path, needed in left.items() if not needed & left.keys()]
        assert ready, f"a circle among {sorted(path.name for path in left)}"
        for path in ready:
            del left[path]


def test_only_two_modules_name_others_in_a_string():
    """Grading finds the exercises, and process.py tells another Python what to run."""
    named = set()
    for path in FILES:
        tree = ast.parse(path.read_text("utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in said:  # no docstring
                for rest in re.findall(r"\bd2lmini((?:\.\w+)+)", str(node.value)):
                    place = PACKAGE.joinpath(*rest.split(".")[1:])
                    if place.is_dir() or place.with_suffix(".py").exists():
                        named.add((room(path), room(place.with_suffix(".py"))))
    named = {(user, used) for user, used in named if user != used}
    assert named == {
        ("checking/grading", "exercises"),
        ("checking/process", "checking/child"),
    }


def test_importing_the_package_loads_no_plots_tables_widgets_or_web_client():
    program = "import torch, sys; before = set(sys.modules); import d2lmini; "
    program += "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert loaded.returncode == 0, loaded.stderr
    heavy = {
        "matplotlib",
        "pandas",
        "ipywidgets",
        "IPython",
        "anywidget",
        "pooch",
        "requests",
        "sacrebleu",
        "safetensors",
    }
    assert heavy & set(loaded.stdout.split()) == set()
    assert set(loaded.stdout.split()) - STANDARD <= {"d2lmini"}


def lines(path):
    return len(path.read_text("utf-8").splitlines())


def test_every_file_stays_small():
    longest = dict.fromkeys(TORCH_ONLY - {"arguments"}, 300) | {
        "exercises": 520
    }  # a list
    for path in FILES:
        assert lines(path) <= longest.get(room(path), 400), path.name
    for path in PACKAGE.rglob("*.js"):
        assert lines(path) <= 250, path.name


def test_definitions_have_docstrings_and_exported_ones_a_source():
    import d2lmini

    for path in FILES:
        if room(path) == "exercises":
            continue  # content, whose helpers are said by their names
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node) or ""
                assert doc, f"{path.stem}.{node.name}"
                if node.name in vars(d2lmini):
                    assert "Source:" in doc or node.name.startswith("_"), node.name
