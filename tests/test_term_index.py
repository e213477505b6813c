"""The index of the book: made from the chapters, up to date, and complete."""

import re
from pathlib import Path

import pytest
import term_index  # of tools/
from test_book_code import shown

ENTRY = re.compile(r"^(?P<below>  )?- (?P<name>[^:\n]+):? ?(?P<links>.*)$", re.M)
INDEX = term_index.Index()
PAGE = (Path(__file__).parents[1] / "book" / "term-index.md").read_text("utf-8")
ENTRIES = {m["name"]: m["links"] for m in ENTRY.finditer(PAGE) if not m["below"]}


def test_the_index_is_that_of_the_chapters():
    assert term_index.page() == PAGE, "run python tools/term_index.py"


def test_every_term_of_the_glossary_leads_to_the_chapter_that_introduces_it():
    assert len(INDEX.chapters) > 40
    for term, chapter in INDEX.chapters.items():
        (introduction,) = re.findall(r"\*\*\[(\d+) ", ENTRIES[term])
        assert int(introduction) == chapter, term


def test_every_class_and_function_that_a_chapter_shows_leads_to_its_cell():
    named = {name for _, name, _, _ in shown() if not re.match("_|[A-Z]+$", name)}
    assert len(named) > 70
    for name in named:
        (link,) = re.findall(r"\*\*\[[^]]+\]\((.+?)\)\*\*", ENTRIES[f"`{name}`"])
        (part,) = (part for part in INDEX.sections if part.link == link)
        assert re.search(rf"^(?:class|def) {name}\b", part.source, re.M)


def test_entries_are_few_in_alphabetical_order_and_under_their_letter():
    names = list(ENTRIES)
    assert names == sorted(names, key=lambda n: term_index.letters_of(n.split(" (")[0]))
    for letter, text in re.findall(r"^## (.)\n\n((?:.+\n)+)", PAGE, re.M):
        for match in ENTRY.finditer(text):
            assert match["below"] or match["name"].strip("`")[0].upper() == letter
            assert match["links"].count("](") <= 1 + term_index.MOST
            assert match["links"].count("**") in (0, 2)


def test_what_the_script_is_told_is_still_so():
    """Words in bold that are no terms, and other exceptions: each still stands in the book."""
    bold = {found[0] for part in INDEX.main for found in term_index.in_bold(part.prose)}
    assert set(term_index.CALLED) <= bold
    for word in {*term_index.NOT_OURS, *term_index.ALSO}:
        assert re.search(rf"\b{word}\b", INDEX.prose), word


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("The **encoder** reads", [("encoder", None, False)]),
        ("in use. **Bucketing** puts", [("bucketing", None, False)]),
        ("is **Adam** here", [("Adam", None, False)]),
        ("in pages. **BERT** fills", [("BERT", None, False)]),
        ("The **final error** (FE) is", [("final error", "FE", False)]),
        ("**Speech** is a sequence", [("speech", None, True)]),
        ("- **Depth** again", []),
        ("so **a mask acts between scores and softmax** here", []),
        ("so **it is lost.** And", []),
        (
            "a **key** has a **value** here",
            [("key", None, False), ("value", None, False)],
        ),
    ],
)
def test_what_counts_as_a_term_in_bold(line, found):
    assert list(term_index.in_bold(line)) == found


@pytest.mark.parametrize(
    ("term", "text", "times"),
    [
        ("attention", "Attention, attentions, self-attention, attentive", 2),
        ("perplexity", "two perplexities and a perplexity", 2),
        ("rotary positions", "rotary positions, or RoPE", 2),  # RoPE for short
        ("BLEU", "BLEU, bleu, BLEUs, sacreBLEU", 2),
    ],
)
def test_what_counts_as_a_use_of_a_term(term, text, times):
    assert len(INDEX.patterns[term].findall(text)) == times
