"""A Sphinx extension: what a site needs in addition to its pages.

A description in each page, from the first sentences of its question or its text; a page for missing
addresses (404.html), and an index.html that redirects to the front page.

If the site's address is known (html.baseurl in _config.yml, or SITE_ADDRESS in the environment),
also a preview for shared links. Sphinx adds the canonical links.
"""

import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from docutils import nodes

from tools.extensions.addresses import ROOT, site_address
from tools.extensions.html_build import after_html_build
from tools.whole_files import write_bytes, write_text

LENGTH = 200  # characters of a description; search engines show fewer
SENTENCE = re.compile(r"\S.*?[.?!](?=\s|$)")
REDIRECT = Path(__file__).with_name("redirect.html")
PICTURE, PREVIEW = ROOT / ".github" / "page.png", "preview.png"


def description_of(doctree):
    """The first sentences of a page that fit, without the words "The question."."""
    for paragraph in doctree.findall(nodes.paragraph):
        # The page's own text, not a list, a box or an output
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split()).removeprefix("The question. ")
            description, *rest = SENTENCE.findall(text) or [""]
            for sentence in rest:
                if len(description) + len(sentence) > LENGTH:
                    break
                description += f" {sentence}"
            if description:
                return description
    return ""


def tags_of(app, page, title, description):
    """The meta elements that describe a page."""
    book, address = app.config.html_title, app.config.html_baseurl
    tags = {"og:site_name": book, "og:title": title, "og:type": "article"}
    if description:
        tags |= {"description": description, "og:description": description}
    if address:
        tags |= {
            "og:url": urljoin(address, f"{page}.html"),
            "og:image": urljoin(address, PREVIEW),
            "og:image:alt": "A sentence, its translation, and what each word was read from",
            "twitter:card": "summary_large_image",
        }
    kinds = {name: "property" if name.startswith("og:") else "name" for name in tags}
    meta = '<meta {}="{}" content="{}" />'
    return "\n".join(meta.format(kinds[n], n, escape(str(tags[n]))) for n in tags)


def describe(app, pagename, templatename, context, doctree):
    """Add its description to each page of the book; mark other pages noindex."""
    if doctree:
        title = app.env.titles[pagename].astext()
        tags = tags_of(app, pagename, title, description_of(doctree))
        context["metatags"] += "\n" + tags
        return
    context["pageurl"] = None
    if pagename == "404":
        # It is served at any depth, so its links must start from the site's root.
        site = urlsplit(app.config.html_baseurl).path or "/"
        base = f'<base href="{site}404.html">'
        context["metatags"] = base + '<meta name="robots" content="noindex">'


def settle_address(app, config):
    """Let the environment override the site's address, and end it in a slash."""
    address = site_address(config.html_baseurl)
    config.html_baseurl = address and address + "/"
    config.html_additional_pages["404"] = "404.html"


@after_html_build
def write_files(app, out):
    """Write index.html and, on a site, the picture that goes with a shared link."""
    root = app.config.root_doc
    if app.config.html_baseurl:
        write_bytes(out / PREVIEW, PICTURE.read_bytes())
    # People share links to the site itself, so these get the front page's preview.
    title = app.config.html_title
    description = description_of(app.env.get_doctree(root))
    redirect = REDIRECT.read_text("utf-8").format(
        lang=app.config.language,
        title=escape(title),
        tags=tags_of(app, root, title, description),
        page=f"{root}.html",
    )
    write_text(out / "index.html", redirect)


def setup(app):
    app.connect("config-inited", settle_address)
    app.connect("html-page-context", describe)
    # Early, so that later listeners process index.html, too
    app.connect("build-finished", write_files, priority=100)
