"""What the jobs are done on: 200 pages of Python's manual and a small shop, each at a port of loopback."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urldefrag, urljoin, urlsplit

from bench.crawl.web import SITES
from bench.peers import fetch_manuals

PAGES, PRODUCTS, CHANGED = 200, 40, 10
_MANUAL = next(site for site in SITES if site.package == "python3.11-doc")
_HREF = re.compile(r'(<(?:a|link)\s[^>]*?href=")([^"]*)(")', re.IGNORECASE)


class Site:
    """A site in memory, served at `place`, which is also the `base` of its URLs unless it is given a name.

    `requested` has the path of every page that was sent, in order.
    """

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages
        self.place = self.base = ""
        self.modified = dict.fromkeys(pages, 1_760_000_000.0)
        self.requested: list[str] = []
        self._lock = threading.Lock()

    @property
    def seed(self) -> str:
        """The first page."""
        return self.url("/index.html")

    def url(self, path: str) -> str:
        """The URL of a path."""
        return f"{self.base}{path}"

    def edit(self, path: str) -> None:
        """Change a page as an author would: a new sentence, about what the page is about, below its heading."""
        about = " ".join(re.findall(r"[a-z]{5,}", re.sub(r"<[^>]*>", " ", self.pages[path]))[200:212])
        self.pages[path] = self.pages[path].replace("</h1>", f"</h1><p>Read about {about} first.</p>", 1)
        self.modified[path] += 86_400

    def body(self, path: str) -> tuple[str, str] | None:
        """What is at a path, with its type."""
        if path == "/robots.txt":
            return f"User-agent: *\nDisallow: /private/\nSitemap: {self.url('/sitemap.xml')}\n", "text/plain"
        if path == "/sitemap.xml":
            parts = "".join(f"<sitemap><loc>{self.url(f'/sitemap-{n}.xml')}</loc></sitemap>" for n in range(2))
            return _xml("sitemapindex", parts), "application/xml"
        if match := re.fullmatch(r"/sitemap-([01])\.xml", path):
            chosen = sorted(self.pages)[int(match[1]) :: 2]
            return _xml(
                "urlset", "".join(f"<url><loc>{self.url(each)}</loc></url>" for each in chosen)
            ), "application/xml"
        return (self.pages[path], "text/html; charset=utf-8") if path in self.pages else None

    def note(self, path: str) -> None:
        """A page was sent."""
        with self._lock:
            self.requested.append(path)


def _xml(root: str, parts: str) -> str:
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} {space}>{parts}</{root}>'


def manual() -> Site:
    """The pages of the manual that are nearest to its first; links to others go nowhere."""
    root = fetch_manuals([_MANUAL.package]) / _MANUAL.package / _MANUAL.root
    found = {"/index.html": ""}
    waiting = deque(found)
    while waiting:
        path = waiting.popleft()
        found[path] = (root / path[1:]).read_text("utf-8")
        for target in (_target(path, href) for _, href, _ in _HREF.findall(found[path])):
            if target and target not in found and len(found) < PAGES and (root / target[1:]).is_file():
                found[target] = ""
                waiting.append(target)
    return Site({path: _closed(path, text, found) for path, text in found.items()})


def _closed(path: str, text: str, known: dict[str, str]) -> str:
    return _HREF.sub(lambda match: match[0] if _target(path, match[2]) in known else f"{match[1]}#{match[3]}", text)


def _target(path: str, href: str) -> str | None:
    url = urlsplit(urldefrag(urljoin(f"http://manual{path}", href))[0])
    return url.path if url.netloc == "manual" and url.path.endswith(".html") and not url.query else None


def price_of(number: int) -> str:
    """The price of a product."""
    return f"{3 + number * 7 % 90}.{number * 13 % 100:02}"


def shop() -> Site:
    """A page for each product, and one that links to all."""
    pages = {
        f"/products/{number}.html": f"<html><head><title>Lamp {number}</title></head><body><h1>Lamp {number}</h1>"
        f'<p>A lamp for the desk, in {number} colours.</p><span class="price">{price_of(number)}</span>'
        '<a href="/index.html">All lamps</a></body></html>'
        for number in range(PRODUCTS)
    }
    links = "".join(f'<li><a href="{path}">A lamp</a></li>' for path in pages)
    pages["/index.html"] = (
        f"<html><head><title>Shop</title></head><body><h1>All lamps</h1><ul>{links}</ul></body></html>"
    )
    return Site(pages)


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve a site at a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing is printed."""

        def do_HEAD(self) -> None:
            """The same without a body."""
            self.do_GET()

        def do_GET(self) -> None:
            """Answer; a page that has not changed with 304."""
            path = urlsplit(self.path).path
            found = site.body(path)
            text, kind = found or ("not found", "text/plain")
            body = text.encode()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            modified = formatdate(site.modified.get(path, 1_760_000_000.0), usegmt=True)
            asked = self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since")
            is_same = found is not None and (asked[0] == tag or (asked[0] is None and asked[1] == modified))
            if path in site.pages and self.command == "GET" and not is_same:
                site.note(path)
            if path == "/":
                self.send_response(301)
                self.send_header("Location", site.seed)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(304 if is_same else 200 if found else 404)
            for name, value in (("ETag", tag), ("Last-Modified", modified), ("Cache-Control", "max-age=0")):
                self.send_header(name, value)
            if not is_same:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET" and not is_same:
                self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A killed crawler resets its connections."""

    server = Server(("127.0.0.1", 0), Handler)
    site.base = site.place = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def edited(site: Site) -> set[str]:
    """Change some pages; their URLs."""
    chosen = [path for path in sorted(site.pages) if path != "/index.html"][:: len(site.pages) // CHANGED][:CHANGED]
    for path in chosen:
        site.edit(path)
    return {site.url(path) for path in chosen}
