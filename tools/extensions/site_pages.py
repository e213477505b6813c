"""A Sphinx extension: what a site needs besides its pages.

Each page describes itself with the first sentences of its question, or of its text. A page for
addresses where nothing is (404.html), robots.txt, and an index.html that leads to the front page.

If the site's address is known, which is html.baseurl in _config.yml, or SITE_ADDRESS in the
environment, then also a card for those who share a link, and sitemap.xml. Sphinx itself adds the
canonical links.
"""

import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import fontpkg
from docutils import nodes
from PIL import Image, ImageDraw, ImageFont

from tools.extensions.addresses import site_address
from tools.whole_files import whole, write_text

LENGTH = 200  # characters of a description, of which search engines show fewer
SENTENCE = re.compile(r"\S.*?[.?!](?=\s|$)")
QUESTION = "The question. "

WIDTH, HEIGHT, MARGIN = 1200, 630, 80
INK, GREY, BLUE = "#222832", "#48566b", (0, 114, 178)
# The sign of the book, as in favicon.svg: a causal mask, row by row.
SIGN = [[1.0], [0.5, 1.0], [0.3, 0.6, 1.0]]


def description_of(doctree):
    """The first sentences of a page that fit, without the words "The question."."""
    for paragraph in doctree.findall(nodes.paragraph):
        # Text of the page itself, not of a list or a box, nor what a cell has printed
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split()).removeprefix(QUESTION)
            said = ""
            for sentence in SENTENCE.findall(text):
                if said and len(said) + len(sentence) > LENGTH:
                    break
                said = f"{said} {sentence}".strip()
            if said:
                return said
    return ""


def lines_of(text, face, width):
    """A text in lines of a width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if face.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def draw_card(title, description, book):
    """A picture of a page for those who share its link."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(picture)

    def write(text, y, size, weight, colour, x=MARGIN):
        face = ImageFont.truetype(
            str(fontpkg.path("Source Sans 3", style="normal")), size
        )
        face.set_variation_by_axes([weight])
        for line in lines_of(text, face, WIDTH - MARGIN - x):
            draw.text((x, y), line, fill=colour, font=face)
            y += 1.25 * size
        return y

    draw.rectangle([0, 0, WIDTH, 14], fill=BLUE)
    below = write(title, MARGIN, 66, 600, INK)
    write(description, below + 24, 37, 400, GREY)
    for row, shades in enumerate(SIGN):
        for column, shade in enumerate(shades):
            x, y = MARGIN + 18 * column, HEIGHT - MARGIN - 48 + 18 * row
            colour = tuple(round(255 + shade * (c - 255)) for c in BLUE)
            draw.rectangle([x, y, x + 14, y + 14], fill=colour)
    write(book, HEIGHT - MARGIN - 48, 34, 600, BLUE, x=MARGIN + 76)
    return picture


def tags_of(app, page, title, description):
    """What a page says about itself in its head."""
    book, address = app.config.html_title, app.config.html_baseurl
    tags = {"og:site_name": book, "og:title": title, "og:type": "article"}
    if description:
        tags |= {"description": description, "og:description": description}
    if address:
        path = Path(app.outdir) / "_images" / "cards" / f"{Path(page).name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as part:
            draw_card(title, description, book).save(part, "png")
        tags |= {
            "og:url": urljoin(address, f"{page}.html"),
            "og:image": urljoin(address, f"_images/cards/{path.name}"),
            "og:image:width": WIDTH,
            "og:image:height": HEIGHT,
            "og:image:alt": title,
            "twitter:card": "summary_large_image",
        }
    return "\n".join(
        f'<meta {"property" if name.startswith("og:") else "name"}="{name}"'
        f' content="{escape(str(content))}" />'
        for name, content in tags.items()
    )


def describe(app, pagename, templatename, context, doctree):
    """Let each page describe itself; what is no page of the book is for no search engine."""
    if doctree:
        title = app.env.titles[pagename].astext()
        tags = tags_of(app, pagename, title, description_of(doctree))
        context["metatags"] += "\n" + tags
        return
    context["pageurl"] = None
    if pagename == "404":
        # It is shown at any address, however deep: its links start from the site's own.
        site = urlsplit(app.config.html_baseurl).path or "/"
        base = f'<base href="{site}404.html">'
        context["metatags"] = base + '<meta name="robots" content="noindex">'


def settle_address(app, config):
    """The address of the site ends in a slash; the environment may say another."""
    address = site_address(config.html_baseurl)
    config.html_baseurl = address and address + "/"
    config.html_additional_pages["404"] = "404.html"


REDIRECT = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8" />
<title>{title}</title>
{tags}
<meta http-equiv="Refresh" content="0; url={page}" />
</head>
<body><a href="{page}">{title}</a></body>
</html>
"""
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""


def write_files(app, exception):
    """Put robots.txt, index.html and perhaps sitemap.xml beside the pages."""
    if exception or app.builder.format != "html":
        return
    out, root = Path(app.outdir), app.config.root_doc
    robots = "User-agent: *\nDisallow:\n"
    if address := app.config.html_baseurl:
        robots += f"Sitemap: {urljoin(address, 'sitemap.xml')}\n"
        urls = [urljoin(address, f"{page}.html") for page in sorted(app.env.found_docs)]
        entries = "\n".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
        write_text(out / "sitemap.xml", SITEMAP.format(entries))
    write_text(out / "robots.txt", robots)
    # A link to the site itself is the one that is shared: it has the front page's card.
    title, description = (
        app.config.html_title,
        description_of(app.env.get_doctree(root)),
    )
    redirect = REDIRECT.format(
        lang=app.config.language,
        title=escape(title),
        tags=tags_of(app, root, title, description),
        page=f"{root}.html",
    )
    write_text(out / "index.html", redirect)


def setup(app):
    app.connect("config-inited", settle_address)
    app.connect("html-page-context", describe)
    # index.html is not there yet
    app.connect("build-finished", write_files, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
