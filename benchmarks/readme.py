"""Copy the output of `make bench` to docs/speed.md, and three of its rows to the README."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = re.compile(
    r"(?<=<!-- benchmarks/bench.md -->\n).*?(?=<!-- end -->)", flags=re.S
)
HEAD = 2  # lines at the top of a table
SHORT = (  # the beginnings of the rows for the README
    "training, S1 setting, over nn.Transformer in the book's loop",
    "1,000 captions, 2 threads, over one at a time, greedy",
    "one short sentence",
)


def tables() -> dict[str, str]:
    """Map each file to the tables that it shows."""
    printed = (ROOT / "benchmarks" / "bench.md").read_text(encoding="utf-8").strip()
    lines = printed.splitlines()
    rows = [line for line in lines if line.removeprefix("| ").startswith(SHORT)]
    short = "\n".join([*lines[:HEAD], *rows])
    return {"docs/speed.md": f"\n{printed}\n\n", "README.md": f"\n{short}\n\n"}


def main():
    """Write the tables into their files."""
    for name, table in tables().items():
        path = ROOT / name
        text = PLACE.sub(lambda _, table=table: table, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
