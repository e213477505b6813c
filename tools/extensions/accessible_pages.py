"""A Sphinx extension: repair the HTML, mostly for readers with a screen reader.

The tools that write it (docutils, pandas, the bibliography) have these small faults; tests/browser
checks the pages against the rules of axe.
"""

import re

FORMULA_AND_MARK = re.compile(
    r'(<span class="math notranslate nohighlight">(?:(?!</math>).)*</math></span>[.,;:!?)]+)'
)
EMPTY_HEADER = re.compile(r"<th\b([^>]*)>(\s*<p>\s*</p>\s*|\s*)</th>")
CHINESE = re.compile(r"\(([\u4e00-\u9fff]+)\)")


def repair(app, pagename, templatename, context, doctree):
    """Repair the body of a page just before it is written."""
    body = context.get("body", "")
    # An empty header cell, such as the corner of a table, becomes an ordinary cell.
    body = EMPTY_HEADER.sub(r"<td\1></td>", body)
    # The role doc-biblioentry is deprecated; an entry is a list item.
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    # Keep a formula and the punctuation after it on one line.
    body = FORMULA_AND_MARK.sub(r'<span class="unbroken">\1</span>', body)
    # Mark Chinese terms as Chinese for screen readers and fonts.
    body = CHINESE.sub(r'(<span lang="zh-Hans">\1</span>)', body)
    context["body"] = body


def setup(app):
    app.connect("html-page-context", repair)
