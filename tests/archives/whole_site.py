"""A site whose pages need files of every kind, on two servers on loopback, which count what they are asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

BINARY = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


class WholeSite:
    """`home` has the pages, `other` more of their files: host and port of each. `sent` is what each URL was."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.sent: dict[str, bytes] = {}
        self.servers = [self._server() for _ in range(2)]
        self.home, self.other = (f"127.0.0.1:{server.server_port}" for server in self.servers)

    def _server(self) -> ThreadingHTTPServer:
        class Handler(_Handler):
            site = self

        return ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """What is at a path of either server."""
        match path.split("/")[1:]:
            case ["robots.txt"]:
                return 200, "text/plain", b"User-agent: *\nDisallow: /private/\n"
            case ["p", number]:
                return 200, "text/html", self._page(int(number))
            case ["s", "main.css"]:
                styles = f"@import 'two.css'; p {{ background: url(http://{self.other}/i/css.png) }}"
                return 200, "text/css", styles.encode()
            case ["s", "two.css"]:
                return 200, "text/css", b"@font-face { src: url(/f/a.woff2) } b { background: url(/private/b.png) }"
            case ["app.webmanifest"]:
                return 200, "application/manifest+json", b'{"icons": [{"src": "/i/icon.png"}]}'
            case ["moved.png"]:
                return 302, "text/html", b""
            case ["same", _]:
                return 200, "image/png", BINARY
            case ["i" | "f" | "private", name]:
                return 200, "image/png", BINARY + name.encode()
            case ["j", name]:
                return 200, "text/javascript", f"// {name}".encode()
        return 404, "text/plain", b""

    def _page(self, number: int) -> bytes:
        words = " ".join(f"{number * each}x{each}" for each in range(40))
        return f"""<!doctype html><title>{number}</title><link rel=stylesheet href=/s/main.css>
            <link rel=icon href=/i/fav.ico><link rel=manifest href=/app.webmanifest>
            <script src=/j/{number % 7}.js></script>
            <style>i {{ background: url(/i/style{number}.png) }}</style><p style="background:url(/i/inline.png)">{words}
            <img src=/i/{number}.png srcset="/i/{number}-2.png 2x, http://{self.other}/i/{number}-3.png 3x">
            <img src=/same/{number}><img src=/moved.png><a href=/p/{number + 1}>on</a>
            <a href="http://{self.other}/p/1">elsewhere</a>""".encode()

    def urls_of(self, pages: int) -> set[str]:
        """The URLs of this many pages and of all that they need, but for what robots.txt forbids."""
        numbers = range(1, pages + 1)
        names = [
            *(f"/p/{n}" for n in numbers),
            *(f"/i/style{n}.png" for n in numbers),
            *(f"/i/{n}.png" for n in numbers),
        ]
        names += [
            *(f"/i/{n}-2.png" for n in numbers),
            *(f"/same/{n}" for n in numbers),
            *(f"/j/{n % 7}.js" for n in numbers),
        ]
        names += [
            "/s/main.css",
            "/s/two.css",
            "/f/a.woff2",
            "/i/fav.ico",
            "/app.webmanifest",
            "/i/icon.png",
            "/i/inline.png",
        ]
        names += ["/moved.png", "/i/moved.png"]
        others = ["/i/css.png", *(f"/i/{n}-3.png" for n in numbers)]
        return {f"http://{self.home}{name}" for name in names} | {f"http://{self.other}{name}" for name in others}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: ClassVar[WholeSite]

    def do_GET(self) -> None:
        url = f"http://{self.headers['Host']}{self.path}"
        status, kind, body = self.site.answer(self.path)
        self.site.asked[url] += 1
        self.site.sent[url] = body
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/i/moved.png")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def whole_site() -> Iterator[WholeSite]:
    """The site, while it is served."""
    site = WholeSite()
    for server in site.servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        for server in site.servers:
            server.shutdown()
            server.server_close()
