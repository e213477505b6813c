"""The tables that `make bench` prints."""

import re

NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")


def missed(reach, measured):
    """Whether the first number of what was measured is on the wrong side of a bound, ≤ or ≥."""
    found = NUMBER.search(measured)
    if reach[0] not in "≤≥" or not found:
        return False
    found, bound = (
        float(text.replace(",", "")) for text in (found[0], NUMBER.search(reach)[0])
    )
    return found > bound if reach[0] == "≤" else found < bound


def head(*titles):
    """The first two lines of a table."""
    print(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}")


def row(what, reach, measured):
    """One line, as soon as it is known; a bound that is missed is printed in bold."""
    if missed(reach, measured):
        reach = f"**{reach}**"
    print(f"| {what} | {reach} | {measured} |", flush=True)
