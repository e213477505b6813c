"""A Sphinx extension: closed parts that follow one another become one.

A closed cell after a closed text is its experiment: it moves into it, and shows what it prints.
Closed cells in a row become one, under one title: "Code: encode" and "Code: batches" are
"Code: encode, batches" on the page. The notebooks keep their cells.
"""

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class FewerFolds(SphinxPostTransform):
    default_priority = 198  # myst_nb wraps the closed cells at 199
    formats = ("html",)

    def run(self, **kwargs):
        for fold in list(self.document.findall(nodes.admonition)):
            while "dropdown" in fold["classes"] and is_closed(cell := after(fold)):
                cell.parent.remove(cell)
                cell["hide_mode"] = "input"
                fold += cell
        for cell in list(self.document.findall(nodes.container)):
            while cell.parent and is_closed(cell) and (following := after(cell)):
                if not has_output(cell) and mode(following) in ("all", "input"):
                    code = [line for part in cell for line in part.children]
                    following[0].insert(0, code)
                    join_titles(cell, following, kept=following)
                elif is_closed(following):
                    cell += following.children
                    join_titles(cell, following, kept=cell)
                else:
                    break


def join_titles(cell, following, kept):
    """Give one of two cells the titles of both, and take the other off the page."""
    for prompt in ("prompt_show", "prompt_hide"):
        titles = [cell[prompt], following[prompt].removeprefix("Code: ")]
        kept[prompt] = ", ".join(dict.fromkeys(titles))
    gone = following if kept is cell else cell
    gone.parent.remove(gone)
    gone.parent = None  # or docutils would still look for it there


def after(node):
    return node.next_node(descend=False, siblings=True)


def mode(node):
    """How much of a code cell is closed: "input", "output", "all" of it, or None."""
    return node.get("hide_mode") if isinstance(node, nodes.container) else None


def has_output(cell):
    outputs = (part for part in cell if part.get("nb_element") == "cell_code_output")
    return any(output.children for output in outputs)


def is_closed(node):
    """Whether it is a code cell of which nothing is in sight."""
    return mode(node) == "all" or (mode(node) == "input" and not has_output(node))


def setup(app):
    app.add_post_transform(FewerFolds)
