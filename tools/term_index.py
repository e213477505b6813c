"""The index of the book, book/term-index.md, from the chapters; `python tools/term_index.py`.

In it are the terms of the glossary, what a chapter sets in bold within a sentence, names with
capitals (BLEU, XOR), and the classes and functions that cells of the package define. Each leads to
the section that introduces it, in bold, and to the few that use it most.
"""

import ast
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from d2lmini.chapters import CHAPTERS

BOOK = Path(__file__).parents[1] / "book"

HEAD = (
    "# Index\n\nWhere the book introduces a term, a class or a function (**in bold**), and "
    "where it uses it most. The number is that of the chapter. The [glossary](glossary.md) "
    "says what the terms mean.\n"
)

# In bold, and no term as it stands: what the index calls it, or None for mere emphasis.
CALLED = {
    "calibrated": "calibrated forecast",
    "hard": "hard attention",
    "pad": "padding",
    "recurrent": "recurrent network",
    "smoothing": "label smoothing",
    "soft": "soft attention",
    "window": "windowed attention",
    **dict.fromkeys(
        ["cross", "every", "learned", "nearly the identity", "not", "parallel",
         "particle", "place", "prediction", "price", "run", "serially", "signatures",
         "step", "training", "zero"]
    ),
}  # fmt: skip
ALSO = {"position-wise feed-forward network": "FFN"}
NOT_OURS = {"ETH", "KV", "MB", "OV", "PyTorch", "QK", "UCY"}  # capitals, but no term
NO_FAMILY = {
    "encoding",
    "only",
    "token",
    "unit",
}  # last words of terms that have no more in common

# Sections that practise or repeat what others have said.
ASIDE = {
    "Exercises",
    "Further reading",
    "Questions",
    "Summary",
    "What you already have",
}
MOST = 2  # sections besides the one that introduces a term
OFTEN = 4  # times that such a section says it
TITLE = 4  # as many times OFTEN counts a chapter that has the term in its title
USES = 3  # times that such a section uses a name of the package
WORDS = 4  # of a term at most: what is longer is a sentence

NO_PROSE = re.compile(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|<[^>]*>", re.S)
LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")
BOLD = re.compile(r"\*\*(.+?)\*\*(?: \(([A-Z]+)\))?")
CAPITALS = re.compile(r"(?<![\w-])[A-Z][\w-]*[A-Z]\w*\b")


class Section(NamedTuple):
    """A section of a chapter, or what stands before the first one."""

    chapter: int
    title: str
    link: str
    prose: str  # without code, formulas and names of sources; bold as it is marked
    source: str  # of its cells
    defined: list  # classes and functions of the package that it shows

    @property
    def is_chapter(self):
        """Whether its link leads to the whole chapter."""
        return "#" not in self.link

    @property
    def is_main(self):
        """Whether it is the place to learn something."""
        return not self.is_chapter and self.title not in ASIDE


def section(chapter, heading, cells):
    """A section from its heading and its cells: (kind, source)."""
    link = f"{chapter.file}.ipynb"
    if heading:
        link += "#" + re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))
    prose = "\n\n".join(source for kind, source in cells if kind == "markdown")
    prose = NO_PROSE.sub(" ", prose)
    prose = LINK.sub(lambda m: "" if "bibliography" in m[2] else m[1], prose)
    defined = [
        node.name
        for kind, source in cells
        if kind == "code" and source.startswith("# d2lmini/")
        for node in ast.parse(source).body
        if hasattr(node, "name") and not node.name.startswith("_")
    ]
    source = "\n".join(source for _, source in cells)
    return Section(
        chapter.number, heading or chapter.title, link, prose, source, defined
    )


def sections():
    """Those of all chapters, in order."""
    for chapter in CHAPTERS.values():
        path = BOOK / f"{chapter.file}.ipynb"
        heading, cells = None, []
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            kind, source = cell["cell_type"], "".join(cell["source"])
            parts = re.split(r"^###? (?!Exercise )(.+)\n?", source, flags=re.M)
            if kind == "code":
                parts = [source]
            cells.append((kind, parts[0]))
            for title, text in zip(parts[1::2], parts[2::2], strict=True):
                yield section(chapter, heading, cells)
                heading, cells = title.strip(), [(kind, text)]
        yield section(chapter, heading, cells)


def glossary():
    """Term -> number of its chapter; another name -> the term."""
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    chapters, others = {}, {}
    for term, said, chapter in re.findall(
        r"^- <a.*?</a>\*\*(.+?)\*\*(.*)\[Chapter (\d+)\]", text, re.M
    ):
        chapters[term] = int(chapter)
        for short, other in re.findall(
            r"([A-Z]\w+) for short|Also called an? ([\w -]+)", said
        ):
            others[short or other] = term
    return chapters, others


def in_bold(prose):
    """(term, its short form, whether it begins a paragraph) of what is in bold."""
    for line in prose.splitlines():
        for match in BOLD.finditer(line):
            before, term = line[: match.start()].rstrip(), match[1]
            # A point of a list repeats, and what is longer or has other signs is a sentence.
            if before == "-" or len(term.split()) > WORDS:
                continue
            if re.fullmatch(r"[\w -]+", term):
                if before[-1:] in [*".:!?", ""] and not CAPITALS.match(term):
                    term = term[0].lower() + term[1:]
                yield term, match[2], not before


class Index:
    """The terms of the book, and the sections that each leads to."""

    def __init__(self):
        self.sections = list(sections())
        self.main = [part for part in self.sections if part.is_main]
        self.prose = "\n".join(part.prose for part in self.main)
        self.chapters, self.others = glossary()
        self.others |= ALSO
        self.bold = defaultdict(list)  # term -> sections
        for part in self.sections:
            for found, short, begins in in_bold(part.prose):
                term = self.called(found)
                # At the beginning of a paragraph it may be a title, such as "Speech".
                if begins and term not in self.chapters:
                    continue
                if not term or part.title in ASIDE:
                    continue
                self.bold[term].append(part)
                self.others |= {short: term} if short else {}
        capitals = set(CAPITALS.findall(self.prose)) - NOT_OURS
        capitals -= {f"{name}s" for name in capitals}
        self.terms = {*self.chapters, *self.bold, *capitals} - {*self.others}
        self.defined = {f"`{n}`": part for part in self.main for n in part.defined}
        self.patterns = {term: self.pattern(term) for term in self.terms}
        self.times = {}  # (term, section's link) -> how often; the longest term counts
        for part in self.main:
            prose = part.prose
            for term in sorted(self.terms, key=len, reverse=True):
                prose, times = self.patterns[term].subn(" ", prose)
                self.times[term, part.link] = times

    def called(self, found):
        """What the index calls something that is in bold: one of it, not several."""
        term = CALLED.get(found, found)
        for ending in ("s", "es") if term and term not in self.chapters else ():
            one = term.removesuffix(ending)
            if one != term and re.search(rf"\b{one}\b", self.prose):
                return one
        return term

    def pattern(self, term):
        """A term in prose by any of its names, one or several, large or small."""
        names = [term, *(name for name, of in self.others.items() if of == term)]
        forms = [re.sub("y$", "(?:y|ie)", re.escape(name)) for name in names]
        large = "" if CAPITALS.search(" ".join(names)) else "(?i)"
        return re.compile(rf"{large}(?<![\w-])(?:{'|'.join(forms)})(?:s|es)?(?![\w-])")

    def introduction(self, term):
        """The section that introduces a term; None for a name that nothing introduces."""
        if term in self.defined:
            return self.defined[term]
        chapter = self.chapters.get(term)
        for part in self.bold[term]:
            if chapter in (None, part.chapter):
                return part
        own = [part for part in self.sections if part.chapter == chapter]
        says = self.patterns[term].search
        found = [part for part in own if says(part.title)]
        found += [part for part in own if part.is_main and says(part.prose)]
        found += [part for part in own if says(part.prose)]
        return found[0] if found else None

    def weight(self, term, part):
        """How much a section is about a term; less than 1 if the index should not name it."""
        if term in self.defined:
            uses = re.findall(rf"\b{term.strip('`')}\b", part.source)
            return len(uses) / USES
        weight = self.times[term, part.link] / OFTEN
        weight += 2 * bool(self.patterns[term].search(part.title))
        return weight + (part in self.bold[term])

    def places(self, term):
        """(section, whether it introduces the term), in the order of the book."""
        first = self.introduction(term)
        weights = {p.link: self.weight(term, p) for p in self.main if p != first}
        if term not in self.defined:
            for part in self.sections:  # chapters that have the term in their titles
                named = part.is_chapter and self.patterns[term].search(part.title)
                if named and (not first or part.chapter != first.chapter):
                    weights[part.link] = TITLE
        most = Counter(weights).most_common(MOST)
        # A name that nothing introduces leads at least to where it is said most.
        least = 1 if first else min(1, most[0][1])
        links = {link for link, weight in most if weight >= least}
        return [(p, p == first) for p in self.sections if p == first or p.link in links]

    def entries(self):
        """Term -> the text of its entry; a term in several words is under the last one too."""
        entries = {term: self.entry(term, term) for term in self.terms}
        for name, term in self.others.items():
            entries[name] = self.entry(f"{name} ({term})", term)
        for name in self.defined:
            entries[name] = self.entry(name, name)
        families = defaultdict(list)
        for term in sorted(self.terms, key=str.lower):
            if match := re.fullmatch(r"(.+[ -])(\w+)", term):
                families[match[2]].append((match[1].rstrip(), term))
        for head, members in families.items():
            if (head in self.terms or len(members) > 1) and head not in NO_FAMILY:
                below = [f"  {self.entry(rest, term)}" for rest, term in members]
                entries[head] = "".join([entries.get(head, f"- {head}\n"), *below])
        return entries

    def entry(self, name, term):
        """A line of the list: a name and its links."""
        links = [
            f"**[{part.chapter} {part.title}]({part.link})**"
            if introduces
            else f"[{part.chapter} {part.title}]({part.link})"
            for part, introduces in self.places(term)
        ]
        return f"- {name}: {' · '.join(links)}\n"


def letters_of(name):
    """What its place in the alphabet depends on; a term comes before a class of its name."""
    return re.sub(r"[\W_]", "", name.lower()), name.startswith("`")


def page():
    """The text of term-index.md."""
    letters = defaultdict(list)
    entries = Index().entries()
    for name in sorted(entries, key=letters_of):
        letters[letters_of(name)[0][0].upper()].append(entries[name])
    jump = " ".join(f"[{letter}](#{letter.lower()})" for letter in letters)
    parts = [f"\n## {letter}\n\n{''.join(text)}" for letter, text in letters.items()]
    return f"{HEAD}\n{jump}\n{''.join(parts)}"


if __name__ == "__main__":
    (BOOK / "term-index.md").write_text(page(), encoding="utf-8", newline="\n")
