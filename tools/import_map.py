"""docs/imports.svg, which part of the package imports which; `python tools/import_map.py`.

Read off the imports. An arrow that a longer way of arrows says already is left out, so the
picture shows what a part needs directly, and what it stands on lies below it.
"""

import ast
from pathlib import Path

import matplotlib
import networkx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "d2lmini"
# Names under which users call what lies in a folder.
SECOND_NAMES = {"plots": "figures", "widgets": "figures", "bugs": "checking"}
SECOND_NAMES |= {"check": "checking"}


def part(names):
    """Of d2lmini.data.pairs: data, the folder or the module below the package."""
    return SECOND_NAMES.get(names[1], names[1]) if len(names) > 1 else None


def imports():
    """Part of the package -> parts that it imports."""
    graph = networkx.DiGraph()
    for path in sorted(PACKAGE.rglob("*.py")):
        here = part(path.relative_to(ROOT).with_suffix("").parts)
        if here == "__init__":
            continue
        graph.add_node(here)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [node.module + "." + alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                there = part(name.split(".")) if name.startswith("d2lmini.") else None
                if there not in (None, here):
                    graph.add_edge(here, there)
    return graph


def rows(graph):
    """The parts in rows: each above all that it imports, beside what it has most to do with."""
    found = [
        sorted(row)
        for row in networkx.topological_generations(graph.reverse(copy=True))
    ]
    place = {name: 0.0 for name in graph}
    for _ in range(20):  # each under the middle of its neighbours, again and again
        for row in found:
            for number, name in enumerate(row):
                place[name] = number - (len(row) - 1) / 2
            beside = {
                name: [place[n] for n in networkx.all_neighbors(graph, name)]
                for name in row
            }
            row.sort(
                key=lambda name, beside=beside: (
                    sum(beside[name]) / max(1, len(beside[name]))
                )
            )
    return found


def listed(graph):
    """The graph in words, which the picture carries for those who cannot see it."""
    return "; ".join(
        f"{name} imports {', '.join(sorted(graph[name])) or 'nothing'}"
        for name in sorted(graph)
    )


def draw(graph, path):
    """Draw the graph into an SVG file, the same each time."""
    matplotlib.use("agg")
    matplotlib.rcParams |= {"svg.hashsalt": "imports", "svg.fonttype": "none"}
    from matplotlib import pyplot

    where = {}
    for height, row in enumerate(rows(graph)):
        for number, name in enumerate(row):
            where[name] = (1.75 * (number - (len(row) - 1) / 2), 1.3 * height)
    figure, axes = pyplot.subplots(figsize=(13, 1.25 * (height + 1)))
    for start, end in sorted(networkx.transitive_reduction(graph).edges):
        axes.annotate(
            "",
            xy=where[end],
            xytext=where[start],
            arrowprops={"arrowstyle": "-|>", "color": "#6b7785", "lw": 0.8}
            | {"shrinkA": 9, "shrinkB": 10},
        )
    for name, (x, y) in where.items():
        folder = (PACKAGE / name).is_dir()
        axes.text(
            x,
            y,
            name.replace("_", "_\n") + "/" * folder,
            ha="center",
            va="center",
            fontsize=10,
            bbox={"boxstyle": "round,pad=0.3", "ec": "#00659e"}
            | {"fc": "#dcebf5" if folder else "white"},
        )
    across = max(abs(x) for x, _ in where.values()) + 1
    axes.set(xlim=(-across, across), ylim=(-0.7, 1.3 * height + 0.7))
    axes.axis("off")
    figure.savefig(
        path, bbox_inches="tight", metadata={"Date": None, "Description": listed(graph)}
    )


if __name__ == "__main__":
    draw(imports(), ROOT / "docs" / "imports.svg")
