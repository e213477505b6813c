"""A Sphinx extension: repairs of the HTML, most of which readers with a screen reader need.

The tools that write it (docutils, pandas, the bibliography) have these small faults; the tests in
tests/browser hold the pages to the rules of axe.
"""

import re

FORMULA_AND_MARK = re.compile(
    r'(<span class="math notranslate nohighlight">(?:(?!</math>).)*</math></span>[.,;:!?)]+)'
)
EMPTY_HEADER = re.compile(r"<th\b([^>]*)>(\s*<p>\s*</p>\s*|\s*)</th>")
CHINESE = re.compile(r"\(([\u4e00-\u9fff]+)\)")


def repair(app, pagename, templatename, context, doctree):
    """Change the body of a page, shortly before it is written."""
    body = context.get("body", "")
    # A header cell without a text heads nothing: the corner of a table is an ordinary cell.
    body = EMPTY_HEADER.sub(r"<td\1></td>", body)
    # An entry of a list is a list item; the role that is written has been withdrawn.
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    # A line must not begin with the full stop of a formula.
    body = FORMULA_AND_MARK.sub(r'<span class="unbroken">\1</span>', body)
    # Chinese terms are read, and drawn, as Chinese.
    body = CHINESE.sub(r'(<span lang="zh-Hans">\1</span>)', body)
    context["body"] = body


def setup(app):
    app.connect("html-page-context", repair)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
