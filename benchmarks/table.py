"""The tables that `make bench` prints."""

import re

NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?")


def missed(reach, measured):
    """Whether the first measured number violates a bound, ≤ or ≥."""
    found = NUMBER.search(measured)
    if reach[0] not in "≤≥" or not found:
        return False
    found, bound = (
        float(text.replace(",", "")) for text in (found[0], NUMBER.search(reach)[0])
    )
    return found > bound if reach[0] == "≤" else found < bound


def head(*titles):
    """Print the first two lines of a table."""
    print(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}")


def row(what, reach, measured):
    """Print one row immediately, in bold if it misses its bound."""
    if missed(reach, measured):
        reach = f"**{reach}**"
    print(f"| {what} | {reach} | {measured} |", flush=True)
