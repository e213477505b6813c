"""Checks of what a figure is asked to show."""

from d2lmini.support.arguments import check_kind


def check_between(name: str, value, least: float, most: float) -> None:
    """value must be a number in [least, most]."""
    check_kind(name, value, int | float, "a number")
    if not least <= value <= most:
        raise ValueError(f"{name} ({value}) must lie in [{least}, {most}]")


def check_one_of(name: str, value, choices) -> None:
    """value must be one of the choices."""
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name} ({value!r}) must be one of {listed}")
