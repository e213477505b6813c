"""Mutation tests: break the model core line by line, and see whether a test fails: make mutants.

Each mutant is one small change to one file, in a copy of the package, tested by the unit tests of
that part. A mutant that passes them all survives. On two cores this takes an hour.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = {  # module -> the tests that should fail, fastest first
    "masks": [
        "core/test_masks.py",
        "core/test_attention.py",
        "core/test_transformer.py",
    ],
    "positions": ["core/test_positions.py", "core/test_transformer.py"],
    "attention": ["core/test_attention.py", "core/test_transformer.py"],
    "layers": ["core/test_layers.py", "core/test_transformer.py"],
    "transformer": ["core/test_transformer.py"],
    "losses": ["core/test_training.py", "core/test_modern.py"],
    "training": ["core/test_training.py"],
    "generation": ["core/test_translation.py"],
    "speed/batched_search": ["core/test_batched_search.py"],
    "translation": ["core/test_translation.py"],
    "data/text": ["data/test_data.py"],
    "data/batches": ["data/test_data.py", "core/test_training.py"],
}
PARTS = "d2lmini", "tests", "tools", "benchmarks", "book", "pyproject.toml", "_toc.yml"
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


def mutations(node):
    """Yield the mutations of a node: pairs of a description and a function that applies it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield (
            "comparison",
            lambda n: n.ops.__setitem__(0, COMPARISONS[type(n.ops[0])]()),
        )
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield "operator", lambda n: setattr(n, "op", OPERATORS[type(n.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(
        node.op, ast.Invert | ast.Not | ast.USub
    ):
        yield "sign", lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "and/or", lambda n: setattr(n, "op", other())
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", lambda n: setattr(n, "value", not n.value)
        elif isinstance(node.value, int | float):
            yield "constant", lambda n: setattr(n, "value", n.value + 1)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "never", lambda n: setattr(n, "test", ast.Constant(False))
    if isinstance(node, ast.If | ast.IfExp):
        yield "always", lambda n: setattr(n, "test", ast.Constant(True))
    if isinstance(node, ast.Call) and len(node.args) > 1:
        yield "arguments", lambda n: n.args.insert(0, n.args.pop(1))
    if isinstance(node, ast.Call) and node.keywords:
        yield "keyword left out", lambda n: n.keywords.pop()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "statement left out", lambda n: setattr(n, "value", ast.Constant(None))


def mutants(source):
    """Yield (line, description, text) of each mutant of a module."""
    tree = ast.parse(source)
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        for number, (what, _) in enumerate(mutations(node)):
            copy = ast.parse(source)
            changed = list(ast.walk(copy))[place]
            list(mutations(changed))[number][1](changed)
            text = ast.unparse(ast.fix_missing_locations(copy))
            if text != ast.unparse(tree):
                yield getattr(node, "lineno", 0), what, text


def survives(folder, module, text, tests):
    """Whether the tests pass on the package in folder with the text of one module replaced."""
    path = folder / "d2lmini" / f"{module}.py"
    original = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    names = [str(folder / "tests" / name) for name in tests]
    names.append(str(folder / "tests/core/test_bad_calls.py"))  # argument checks
    pytest = "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"
    command = [sys.executable, *pytest, *names]
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    try:
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=300
        )
        return run.returncode == 0
    except subprocess.TimeoutExpired:
        return False  # an endless loop counts as detected
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    """Test the mutants of the named modules, or of all; print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="module", help=", ".join(CORE))
    parser.add_argument(
        "--every", type=int, default=1, help="try one mutant in so many"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        for module in asked.modules or CORE:
            source = (ROOT / "d2lmini" / f"{module}.py").read_text(encoding="utf-8")
            tried = survived = 0
            for line, what, text in list(mutants(source))[:: asked.every]:
                tried += 1
                if survives(folder, module, text, CORE[module]):
                    survived += 1
                    code = source.splitlines()[line - 1].strip()
                    print(
                        f"survived: {module}.py, line {line}, {what}: {code}",
                        flush=True,
                    )
            print(f"{module}: {survived} of {tried} mutants survived", flush=True)


if __name__ == "__main__":
    main()
