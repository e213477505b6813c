"""What extensions do once the pages have been written."""

import functools
from pathlib import Path


def after_html_build(write):
    """Decorate a listener of build-finished: it gets the folder of a successful HTML build."""

    @functools.wraps(write)
    def listener(app, exception):
        if not exception and app.builder.format == "html":
            write(app, Path(app.outdir))

    return listener
