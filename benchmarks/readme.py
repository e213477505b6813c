"""Put what `make bench` printed into the README: python -m benchmarks.readme"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = re.compile(
    r"(?<=<!-- benchmarks/bench.md -->\n).*?(?=\n<!-- end -->)", flags=re.S
)


def shown():
    """The tables as the README has them."""
    return PLACE.search((ROOT / "README.md").read_text(encoding="utf-8"))[0].strip()


def printed():
    """The tables as they were printed."""
    return (ROOT / "benchmarks" / "bench.md").read_text(encoding="utf-8").strip()


def main():
    """Write the README."""
    path, table = ROOT / "README.md", f"\n{printed()}\n"
    text = PLACE.sub(lambda _: table, path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
