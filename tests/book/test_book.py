"""The form of the book: files, notebooks, cells, alternative texts, exercises."""

import ast
import functools
import json
import re
import statistics
from pathlib import Path

import nbformat
import pytest
import torch
import yaml

from d2lmini.check.answers import picture
from d2lmini.check.grading import all_exercises
from d2lmini.course.copies import MINUTES
from d2lmini.support.chapters import CHAPTERS as CHAPTER_TABLE
from d2lmini.support.chapters import EXERCISE_PAGES
from tools.extensions.portable import EXERCISE, PYTHON, SOLUTION, title_of, untitled
from tools.notebooks import canonical

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
CHAPTERS = [path for path in NOTEBOOKS if path.stem[0].isdigit()]
DRAWING = re.compile(r"show_(heatmaps|curves|flow|part|transformer)\(|plt\.show\(\)")
CLOSED = {"hide-input", "hide-cell", "remove-input"}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
WITH_EXERCISES = [BOOK / f"{page.file}.ipynb" for page in EXERCISE_PAGES.values()]


@functools.cache
def notebook(path):
    return nbformat.read(path, as_version=4).cells


def cells(path, kind):
    return [cell for cell in notebook(path) if cell.cell_type == kind]


def text_of(path):
    return "\n".join(cell.source for cell in cells(path, "markdown"))


def exercises_of(path):
    found = (EXERCISE.fullmatch(cell.source) for cell in cells(path, "markdown"))
    return [match for match in found if match]


def files_in(toc):
    if isinstance(toc, dict):
        for key, value in toc.items():
            if key in ("root", "file"):
                yield value
            else:
                yield from files_in(value)
    elif isinstance(toc, list):
        for entry in toc:
            yield from files_in(entry)


def test_the_table_of_contents_lists_the_files_that_exist():
    listed = [*files_in(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))]
    existing = [p for suffix in ("*.ipynb", "*.md") for p in BOOK.glob(suffix)]
    names = (p.relative_to(ROOT).with_suffix("").as_posix() for p in existing)
    assert sorted(listed) == sorted(names), "change _toc.yml"


def test_the_table_of_chapters_is_that_of_the_book():
    """Number, title and exercises as the notebooks have them, in the order of the contents."""
    listed = [*files_in(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))]
    order = [f"book/{chapter.file}" for chapter in CHAPTER_TABLE.values()]
    assert [name for name in listed if name in order] == order
    assert [path.stem for path in CHAPTERS] == [c.file for c in CHAPTER_TABLE.values()]
    for number, (slug, chapter) in enumerate(CHAPTER_TABLE.items(), start=1):
        assert chapter.number == number and chapter.slug == slug
        title = f"# {number} {chapter.title}\n"
        assert title in text_of(BOOK / f"{chapter.file}.ipynb")


def test_the_front_page_says_how_long_the_exercises_take():
    front = text_of(BOOK / "index.ipynb")
    for chapter in CHAPTER_TABLE.values():
        path = BOOK / f"{chapter.file}.ipynb"
        minutes = sum(MINUTES[exercise["stars"]] for exercise in exercises_of(path))
        start = re.escape(f"- **{chapter.number} [{chapter.title}]({path.name})** ")
        said = re.findall(rf"^{start}.*\. \*exercises: (\d+) min\*$", front, flags=re.M)
        remedy = f"{path.name}: by their stars {minutes}; change book/index.ipynb"
        assert said == [str(minutes)], remedy


def test_the_exercises_are_numbered_as_the_table_says():
    for page in EXERCISE_PAGES.values():
        found = exercises_of(BOOK / f"{page.file}.ipynb")
        named = [(e["label"], e["number"]) for e in found]
        numbers = [f"{page.number}.{n}" for n in range(1, page.exercises + 1)]
        due = [*zip(page.exercise_names, numbers, strict=True)]
        remedy = f"a new exercise of {page.file}: count it in support/chapters.py"
        assert named == due, remedy


def test_the_pictures_of_the_puzzles_are_of_their_masks():
    pictures = 0
    for match in exercises_of(BOOK / "mask-puzzles.ipynb"):
        example = r"`\w+(\(.+\))` is\n\n```text\n(.+?)\n```"
        called, drawn = re.search(example, match["text"], re.S).groups()
        reference = all_exercises()[match["label"]].reference
        scope = {"mask": reference, "torch": torch}
        pictures += drawn == picture(eval(f"mask{called}", scope))
    assert pictures == EXERCISE_PAGES["puzzles"].exercises


def a_closed_cell_says_what_is_in_it(path):
    for cell in cells(path, "code"):
        closed = CLOSED & set(cell.metadata.get("tags", []))
        if "remove-input" in closed:  # in chapters it only calls a figure
            assert path not in CHAPTERS or len(cell.source.splitlines()) <= 3
        elif closed:
            label = title_of(cell)
            assert cell.source.startswith((f"# ▸ {label}\n", "# d2lmini/"))
            if cell.source.startswith("# d2lmini/"):
                parts = ast.parse(cell.source).body
                names = [part.name for part in parts if hasattr(part, "name")]
                assert label == f"Code: {', '.join(names)}"


def notebooks_are_canonical(path):
    text = path.read_text(encoding="utf-8")
    assert text == canonical(text), "run python -m tools.notebooks"


def cells_are_short(path):
    # Except the first, which no page shows: it installs the package.
    _, *shown = cells(path, "code")
    imports = re.compile(r"^from .* import \([^)]*\)", re.M)
    sources = (imports.sub("", untitled(cell.source)) for cell in shown)
    lengths = [len(source.splitlines()) for source in sources]
    assert max(lengths) <= 45
    if path in CHAPTERS:
        folded = [CLOSED & set(c.metadata.get("tags", [])) for c in shown]
        in_sight = [n for n, fold in zip(lengths, folded, strict=True) if not fold]
        assert statistics.median(in_sight) <= 8


def every_figure_has_a_caption_and_a_text(path):
    for cell in cells(path, "code"):
        defines = cell.source.startswith("# d2lmini/")
        if DRAWING.search(cell.source) and not defines:
            settings = cell.metadata.get("mystnb", {})
            rule = "a picture needs mystnb.image.alt: what it shows, in over 40 letters"
            assert len(settings.get("image", {}).get("alt", "")) > 40, rule
            assert settings["figure"]["caption"] and settings["figure"]["name"]


def test_chapters_have_one_skeleton():
    parts = ["**The question.**", "**After this chapter you can**", "## Exercises",
             "## Questions", "## Summary", "## Further reading"]  # fmt: skip
    for path in CHAPTERS:
        text = text_of(path)
        places = [text.find(part) for part in parts]
        assert places[0] > -1 and places == sorted(places), (path.stem, parts)
        assert re.match(r"# \d+ ", text), path.stem


def test_every_exercise_is_followed_by_its_answer_and_its_solution():
    for path in WITH_EXERCISES:
        every = notebook(path)
        places = [i for i, cell in enumerate(every) if EXERCISE.fullmatch(cell.source)]
        assert len(places) >= 3
        for i in places:
            label = EXERCISE.fullmatch(every[i].source)["label"]
            assert f'check.exercise("{label}"' in every[i + 1].source, label
            solution = SOLUTION.fullmatch(every[i + 2].source)
            assert PYTHON.search(solution["text"]), label
        text = "\n".join(cell.source for cell in every)
        counts = [text.count(mark) for mark in ("# Exercise ", "<summary>Solution")]
        assert counts == [len(places)] * 2, path.stem


def test_questions_have_their_answers_closed():
    for path in CHAPTERS:
        every = (cell.source for cell in cells(path, "markdown"))
        (text,) = (text for text in every if text.startswith("## Questions"))
        questions = re.findall(r"^\*\*(\d)\.\*\* .+[?.]$", text, re.M)
        answers = re.findall(r"<summary>Answer (\d)</summary>", text)
        assert questions and questions == answers, f"{path.stem}: an answer for each"


def test_the_lecturer_s_page_names_sections_and_exercises_that_exist():
    text = text_of(BOOK / "teaching.ipynb")
    headings = re.findall(r"^##+ (.+)$", "\n".join(map(text_of, CHAPTERS)), re.M)
    prose = re.sub(r"\*\*.*?\*\*|\$[^$]*\$", "", text)
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*", prose))
    assert len(named) > 15 and named <= {*headings}, named - {*headings}
    exercises = {e["number"] for path in CHAPTERS for e in exercises_of(path)}
    numbers = set(re.findall(r"\b\d+\.\d\b", text.partition("## One term")[0]))
    assert len(numbers) > 15 and numbers <= exercises, numbers - exercises


# Not running text: code, formulas, links, headings, tags, bold type.
NO_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|\[[^]]*\]\([^)]*\)|^#[^\n]*$|<[^>]*>"
    r"|\*\*[^*]+\*\*",
    re.S | re.M,
)


def a_chapter_that_is_named_is_a_link(path):
    own = path.stem.partition("-")[0].lstrip("0")
    for cell in cells(path, "markdown"):
        prose = NO_PROSE.sub(" ", cell.source)
        named = re.findall(r"(?<![\w-])[Cc]hapters? (\d+)\b(?!\.)", prose)
        assert set(named) <= {own}, cell.source


def test_the_first_use_of_a_term_leads_to_the_glossary():
    """Each term that an earlier chapter introduced; not in titles, objectives and exercises."""
    glossary = (BOOK / "glossary.md").read_text(encoding="utf-8")
    entry = (
        r'^- <a id="([\w-]+)"></a>\*\*(.+?)\*\*.*\[(?:Chapter (\d+)|Making it fast)\]'
    )
    entries = re.findall(entry, glossary, re.M)
    assert len(entries) == glossary.count("<a id=") > 40
    for path in CHAPTERS:
        apart = "**After this chapter", '<a id="', "<details>\n<summary>Solution"
        sources = (cell.source for cell in cells(path, "markdown")[1:])
        text = "\n\n".join(s for s in sources if not s.startswith(apart))
        before = text.partition("## Exercises")[0]
        prose = NO_PROSE.sub(lambda match: " " * len(match[0]), before)
        for anchor, term, chapter in entries:
            if int(chapter or 99) >= int(path.stem[:2]):
                continue
            flags = re.I if term.islower() else 0
            word = rf"(?<![\w-]){re.escape(term)}(?:s|es)?(?![\w-])"
            plain = re.search(word, prose, flags)
            if plain:
                link = f"(glossary.md#{anchor})"
                said = f"{path.stem}: the first {term!r} must be [{term}]{link}"
                assert 0 <= text.find(link) < plain.start(), said


def nothing_is_skipped_or_left_open(path):
    text = path.read_text(encoding="utf-8")
    for word in ("NBVAL", "raises-exception", "skip-execution", "TODO", "FIXME", "XXX"):
        assert word not in text
    assert not re.search(r"RESULT_[A-Z]", text)


@every_notebook
def test_the_form_of_a_notebook(path):
    notebooks_are_canonical(path)
    a_closed_cell_says_what_is_in_it(path)
    cells_are_short(path)
    every_figure_has_a_caption_and_a_text(path)
    a_chapter_that_is_named_is_a_link(path)
    nothing_is_skipped_or_left_open(path)


def test_the_ledger_says_how_it_was_made():
    # Here, because they import what trains and compares.
    from benchmarks.recipes.common import SEEDS, summary
    from benchmarks.record import EXPERIMENTS, ONCE, RECIPES, SEEDS_OF

    for path in (ROOT / "d2lmini" / "results").glob("*.json"):
        entry = json.loads(path.read_text(encoding="utf-8"))
        assert entry["name"] == path.stem
        assert entry["setting"] == EXPERIMENTS[path.stem]
        assert entry["recipe"] == RECIPES.get(path.stem, {})
        assert {"date", "torch", "python", "device", "setting", "runs"} <= set(entry)
        assert entry["summary"] == summary(entry["setting"], entry["runs"])
        by_setting = {}
        for run in entry["runs"]:
            by_setting.setdefault(json.dumps(run["setting"]), []).append(run["seed"])
        assert len(by_setting) == len(entry["setting"])
        wanted = [*SEEDS_OF.get(path.stem, SEEDS)]
        assert len(wanted) >= 3 or path.stem in ONCE
        assert all(seeds == wanted for seeds in by_setting.values())


# Numbers that prose may contain, by chapter: given, computed by hand, or published elsewhere.
GIVEN = {
    9: {"11.7", "0.03", "0.3", "2.3", "3.1", "3.32", "5.4"},
    10: {"0.3", "2.3", "3.1", "3.32", "5.4"},
    12: {"3.3"},
    13: {"0.4", "0.8", "1.2", "2.5", "3.54"},
    14: {"BLEU of 36"},
    15: {"0.3"},
    16: {"0.03", "0.3", "0.6"},
}


def test_no_recorded_number_is_typed_into_prose():
    """Chapters that quote the ledger read it in a cell."""
    for number, path in enumerate(CHAPTERS[8:], start=9):
        for cell in cells(path, "markdown"):
            prose = re.sub(r"\$[^$]*\$|`[^`]*`|```.*?```", "", cell.source, flags=re.S)
            prose = re.sub(r"[Ee]xercises? \d+\.\d+|\[\d+\.\d+\]", "", prose)
            found = re.findall(r"\b\d+\.\d+|\d ?(?:%|per cent)|BLEU of \d+", prose)
            typed = set(found) - GIVEN.get(number, set())
            where = f"{path.name}, cell {cell.id}: {cell.source[:60]!r}"
            assert not typed, f"{where}: read it from the ledger in a cell"
