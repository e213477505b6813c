"""A Sphinx extension: what a site needs in addition to its pages.

A description in each page, from the first sentences of its question or its text; a page for missing
addresses (404.html), robots.txt, and an index.html that redirects to the front page.

If the site's address is known (html.baseurl in _config.yml, or SITE_ADDRESS in the environment),
also preview images for shared links, and sitemap.xml. Sphinx adds the canonical links.
"""

import re
from html import escape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import fontpkg
from docutils import nodes
from PIL import Image, ImageDraw, ImageFont

from tools.extensions.addresses import site_address
from tools.extensions.html_build import after_html_build
from tools.whole_files import whole, write_text

LENGTH = 200  # characters of a description; search engines show fewer
SENTENCE = re.compile(r"\S.*?[.?!](?=\s|$)")
QUESTION = "The question. "

WIDTH, HEIGHT, MARGIN = 1200, 630, 80
INK, GREY, BLUE = "#222832", "#48566b", (0, 114, 178)
# The book's logo, as in favicon.svg: a causal mask, row by row
SIGN = [[1.0], [0.5, 1.0], [0.3, 0.6, 1.0]]
REDIRECT = Path(__file__).with_name("redirect.html")
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def description_of(doctree):
    """The first sentences of a page that fit, without the words "The question."."""
    for paragraph in doctree.findall(nodes.paragraph):
        # The page's own text, not a list, a box or an output
        if isinstance(paragraph.parent, nodes.section):
            text = " ".join(paragraph.astext().split()).removeprefix(QUESTION)
            description, *rest = SENTENCE.findall(text) or [""]
            for sentence in rest:
                if len(description) + len(sentence) > LENGTH:
                    break
                description += f" {sentence}"
            if description:
                return description
    return ""


def lines_of(text, face, width):
    """Break a text into lines of at most this width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if face.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def draw_card(title, description, book):
    """Draw the preview image of a page for shared links."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(picture)

    font = str(fontpkg.path("Source Sans 3", style="normal"))

    def write(text, y, size, weight, colour, x=MARGIN):
        face = ImageFont.truetype(font, size)
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
    """The meta elements that describe a page."""
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
    """Write robots.txt, index.html and, on a site, sitemap.xml."""
    root = app.config.root_doc
    robots = "User-agent: *\nDisallow:\n"
    if address := app.config.html_baseurl:
        robots += f"Sitemap: {urljoin(address, 'sitemap.xml')}\n"
        urls = [urljoin(address, f"{page}.html") for page in sorted(app.env.found_docs)]
        entries = "\n".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
        sitemap = f'<urlset xmlns="{SITEMAP}">\n{entries}\n</urlset>\n'
        write_text(out / "sitemap.xml", sitemap)
    write_text(out / "robots.txt", robots)
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
