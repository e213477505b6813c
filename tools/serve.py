"""Serve the built book on this machine only: python -m tools.serve _build/html

On port 8000, or the next free one.
"""

import functools
import http.server
import os
import sys
from pathlib import Path

FIRST, TRIES = 8000, 100


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serve files of a folder; for missing ones its 404.html, as GitHub Pages does."""

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code == 404 and page.exists():
            self.error_message_format = page.read_text("utf-8").replace("%", "%%")
        super().send_error(code, message, explain)

    def log_message(self, *args):
        """Do not log a line for each picture."""


class Server(http.server.ThreadingHTTPServer):
    """A server that does not share its port."""

    # On Windows, two programs could share the port, and either could answer.
    allow_reuse_address = os.name != "nt"


def server_of(folder, first=FIRST):
    """Create a server for a folder on the first free port."""
    handler = functools.partial(Pages, directory=str(folder))
    for port in range(first, first + TRIES):
        try:
            return Server(("127.0.0.1", port), handler)
        except OSError:
            print(f"Port {port} is taken.")
    sys.exit(f"No port from {first} to {first + TRIES - 1} is free.")


def main(folder):
    """Serve until Ctrl+C."""
    with server_of(folder) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        print(f"The book is at {address} until you press Ctrl+C.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main(sys.argv[1])
