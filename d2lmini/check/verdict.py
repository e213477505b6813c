"""The verdict of a check, shown as a box in a notebook and as text elsewhere."""

from html import escape
from typing import NamedTuple

from d2lmini.support.chapters import EXERCISE_PAGES

# Signs for readers who cannot tell the colours apart
SIGNS = {
    "right": ("✓", "#1a7f5a"),
    "almost": ("≈", "#b26a00"),
    "wrong": ("✗", "#c0392b"),
    "not attempted": ("○", "#77808a"),
}


class Verdict(NamedTuple):
    """The verdict on an answer; message is a sentence and perhaps lines that show a case."""

    name: str
    verdict: str
    message: str
    hints: tuple[str, ...]
    progress: str

    def __repr__(self):
        return f"{self.name}: {self.verdict}. {self.message}"

    def _repr_html_(self):
        """Render as HTML, in the text and background colours of the page."""
        sign, colour = SIGNS[self.verdict]
        says, _, shows = self.message.partition("\n")
        parts = [
            f'<div class="d2lmini-verdict" style="border-left: 4px solid {colour}; '
            'padding: 0.2em 0.8em; margin: 0.2em 0">',
            f"<p><strong>{sign} {numbered(self.name)}: {self.verdict}.</strong> "
            f"{escape(says)}</p>",
        ]
        if shows:
            pre = (
                '<pre style="background: none; white-space: pre-wrap; margin: 0.3em 0">'
            )
            parts.append(f"{pre}{escape(shows)}</pre>")
        if self.verdict == "right":
            parts.append(f"<p>{self.progress}</p>")
        else:
            parts.append(_folded(self.hints, 1))
        return "\n".join([*parts, "</div>"])


def numbered(name: str) -> str:
    """The number of an exercise and its name: Exercise 2.3 (masks-3)."""
    slug, _, number = name.rpartition("-")
    page = EXERCISE_PAGES.get(slug)
    return f"Exercise {page.number}.{number} ({name})" if page else name


def _folded(hints, number):
    """Fold up a hint, with the next one inside it."""
    hint, *rest = hints[number - 1 :]
    inside = _folded(hints, number + 1) if rest else ""
    title = f"Hint {number} of {len(hints)}"
    return f"<details><summary>{title}</summary>\n<p>{escape(hint)}</p>\n{inside}</details>"
