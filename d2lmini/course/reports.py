"""Reports on grading: tables for the lecturer, a page for each student, a summary."""

import csv
import io
import json
import re
from collections import Counter
from datetime import datetime
from html import escape
from pathlib import Path

from d2lmini.check.grading import NOT_ATTEMPTED, RIGHT
from d2lmini.check.verdict import SIGNS
from d2lmini.course.assignment import Task
from d2lmini.course.marking import Marked
from d2lmini.course.submissions import late_days

KNOWN = "This behaves like "  # beginning of a message that names a mistake
PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; }}
body {{ margin: 2rem auto; padding: 0 1rem; }}
section {{ border-left: 4px solid; padding-left: 0.8rem; margin: 1.5rem 0; }}
h2 {{ font-size: 1.1rem; margin: 0; }}
pre {{ font-size: 0.85rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3rem 0; }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def points_of(marked: Marked, task: Task) -> float:
    """Points for one exercise, rounded to a hundredth."""
    return round(marked.marks[task.name].share * task.points, 2)


def total(marked: Marked, tasks: list[Task]) -> float:
    """Total points of a student, rounded to a hundredth."""
    return round(sum(points_of(marked, task) for task in tasks), 2)


def grades(all_marked: list[Marked], tasks: list[Task], due: datetime | None) -> str:
    """CSV with a row per student and a column per exercise; empty if nothing was submitted."""
    rows = [
        ["id", "name", *(t.name for t in tasks), "total", "late days", "to look at"]
    ]
    for marked in all_marked:
        student, given = marked.submission.student, marked.submission.files
        points = [points_of(marked, task) if given else "" for task in tasks]
        late = late_days(marked.submission, due) if given else ""
        problems = len(marked.submission.problems)
        sum_of_points = total(marked, tasks) if given else ""
        rows.append([student.id, student.name, *points, sum_of_points, late, problems])
    return _csv(rows)


def canvas(all_marked: list[Marked], tasks: list[Task]) -> str:
    """CSV for Canvas: an assignment per exercise, and a row of possible points."""
    columns = "Student", "ID", "SIS User ID", "SIS Login ID", "Section"
    rows = [[*columns, *(f"{task.number} {task.title}" for task in tasks)]]
    rows.append(
        ["    Points Possible", "", "", "", "", *(task.points for task in tasks)]
    )
    for marked in all_marked:
        student, given = marked.submission.student, marked.submission.files
        platform = [student.row.get(name.lower(), "") for name in columns[2:]]
        points = [points_of(marked, task) if given else "" for task in tasks]
        rows.append([student.name, student.id, *platform, *points])
    return _csv(rows)


def feedback(marked: Marked, tasks: list[Task], due: datetime | None = None) -> str:
    """Feedback for one student: each exercise with its points, and what is wrong."""
    submission = marked.submission
    most = sum(task.points for task in tasks)
    body = [f"<p><strong>{total(marked, tasks):g} of {most} points</strong>"]
    if days := late_days(submission, due):
        body.append(f", {days} day{'s' * (days != 1)} late")
    body.append("</p>")
    if submission.problems:
        items = "".join(
            f"<li>{escape(problem)}</li>" for problem in submission.problems
        )
        body.append(f"<p>About what you handed in:</p><ul>{items}</ul>")
    for task in tasks:
        mark = marked.marks[task.name]
        sign, colour = SIGNS[mark.verdict]
        says, _, shows = mark.message.partition("\n")
        body.append(
            f'<section style="border-color: {colour}">\n'
            f"<h2>{task.number} {escape(task.title)}: {points_of(marked, task):g} of "
            f"{task.points}</h2>\n<p>{sign} {mark.verdict}. {escape(says)}</p>"
        )
        if shows:
            body.append(f"<pre>{escape(shows)}</pre>")
        if mark.cell:
            summary = "<summary>Your answer</summary>"
            body.append(f"<details>{summary}<pre>{escape(mark.cell)}</pre></details>")
        body.append("</section>")
    title = f"Exercises of {escape(submission.student.name)}"
    return PAGE.format(title=title, body="\n".join(body))


def gradescope(marked: Marked, tasks: list[Task]) -> str:
    """results.json in the format of Gradescope."""
    tests = [
        {
            "name": f"{task.number} {task.title}",
            "score": points_of(marked, task),
            "max_score": task.points,
            "output": f"{marked.marks[task.name].verdict}. {marked.marks[task.name].message}",
            "output_format": "text",
            "visibility": "visible",
        }
        for task in tasks
    ]
    output = "\n".join(marked.submission.problems)
    return json.dumps(
        {"output": output, "visibility": "visible", "tests": tests}, indent=1
    )


def summary(all_marked, tasks: list[Task], problems: list[str], seed: str) -> str:
    """Summarise hard exercises, common mistakes, and what to check by hand."""
    given = [marked for marked in all_marked if marked.submission.files]
    lines = [
        "# Summary",
        "",
        f"{len(given)} of {len(all_marked)} students handed in.",
        "",
    ]
    lines += ["## Exercises, the hardest first", ""]
    lines += [
        "| exercise | points | mean share | right | not attempted |",
        "| --- " * 5 + "|",
    ]
    rows = []
    for task in tasks:
        marks = [marked.marks[task.name] for marked in given]
        mean = sum(mark.share for mark in marks) / len(marks) if marks else 0.0
        verdicts = Counter(mark.verdict for mark in marks)
        rows.append((mean, task, verdicts[RIGHT], verdicts[NOT_ATTEMPTED]))
    for mean, task, right, untried in sorted(rows, key=lambda row: row[0]):
        name = f"{task.number} {task.title} ({task.name})"
        lines.append(f"| {name} | {task.points} | {mean:.0%} | {right} | {untried} |")
    counted = Counter(
        (task.number, _one_line(marked.marks[task.name].message.partition("\n")[0]))
        for marked in given
        for task in tasks
        if marked.marks[task.name].message.startswith(KNOWN)
    )
    lines += ["", "## Known mistakes, the most common first", ""]
    lines += [
        f"- {number} students, exercise {exercise}: {text.removeprefix(KNOWN)}"
        if number > 1
        else f"- 1 student, exercise {exercise}: {text.removeprefix(KNOWN)}"
        for (exercise, text), number in counted.most_common()
    ] or ["None."]
    told = [
        f"{m.submission.student.id}: {p}"
        for m in all_marked
        for p in m.submission.problems
    ]
    told = [f"- {_one_line(problem)}" for problem in problems + told]
    lines += ["", "## To look at", "", *(told or ["Nothing."])]
    lines += ["", "## How it was graded", ""]
    free = sorted({what for marked in all_marked for what in marked.unconfined})
    lines += [f"- Answers could not be kept from {what}." for what in free] or [
        "- Answers had no access to the network, to other processes or to other files."
    ]
    lines += [
        f"- Seed of the hidden cases: `{seed}`. With `--seed {seed}` they are the same again.",
        f"- {sum(m.seconds for m in all_marked):.0f} seconds of grading, on all cores together.",
    ]
    return "\n".join(lines) + "\n"


def write_all(out: Path, all_marked, tasks, problems, seed, due) -> None:
    """Write all reports to a folder."""
    for folder in ("feedback", "gradescope"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    _write(out / "grades.csv", grades(all_marked, tasks, due))
    _write(out / "canvas.csv", canvas(all_marked, tasks))
    _write(out / "summary.md", summary(all_marked, tasks, problems, seed))
    taken = Counter()
    for marked in all_marked:
        name = re.sub(r"[^\w.@-]", "_", marked.submission.student.id)
        taken[name.casefold()] += 1
        if taken[name.casefold()] > 1:  # such as "a b" and "a_b"
            name += f"-{taken[name.casefold()]}"
        _write(out / "feedback" / f"{name}.html", feedback(marked, tasks, due))
        _write(out / "gradescope" / f"{name}.json", gradescope(marked, tasks))


def _one_line(text):
    """Make a text from a student safe for a Markdown list."""
    return re.sub(r"[\x00-\x1f<>`|\[\]]", " ", text)[:500]


def _csv(rows):
    """Write rows as CSV, with an apostrophe before texts that a spreadsheet would compute."""
    rows = [
        [f"'{x}" if isinstance(x, str) and x[:1] in tuple("=+-@\t") else x for x in row]
        for row in rows
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write(path, text):
    """Write a text to a file."""
    # A hostile message may contain surrogates, which UTF-8 cannot encode.
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
