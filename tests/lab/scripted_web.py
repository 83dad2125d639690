"""A web of a few pages, written down in a test: a proxy on loopback that answers what it was told to.

    with ScriptedWeb({"http://a.test/": "<title>home</title>"}) as web:
        web.said["http://a.test/robots.txt"] = "Sitemap: http://a.test/s.xml"
        crawl(folder, ["http://a.test/"], web.settings)
        web.asked                       every URL, as often as it was asked for
        web.heads                       those that were asked for with HEAD
        web.headers[url] = {"Content-Usage": "train-ai=n"}; web.statuses[url] = 402

What starts with `<?xml` is XML, what ends with `.txt` text, all else HTML. Bytes are sent as they are. Every answer has
an ETag, and a request that knows it is answered 304, unless `knows_etags` is off.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self, cast

from xxhash import xxh3_64_hexdigest


class ScriptedWeb:
    """Serves what `said` holds until the block ends; what is `failing` fails, anything else is not found."""

    def __init__(self, said: dict[str, str | bytes], *, knows_etags: bool = True) -> None:
        self.said = said
        self.asked: list[str] = []
        self.same: list[str] = []
        self.heads: list[str] = []
        self.failing: set[str] = set()
        self.headers: dict[str, dict[str, str]] = {}
        self.statuses: dict[str, int] = {}
        self.fields: list[str] = []
        """The names of the fields of all requests, in lower case."""
        self.knows_etags = knows_etags
        self._server = _Web(("127.0.0.1", 0), _Handler)
        self._server.web = self
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def base(self) -> str:
        """Where the proxy is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    @property
    def settings(self) -> dict[str, object]:
        """For a crawl that finds it, in a hurry."""
        return {
            "wire.proxy": self.base,
            "politeness.delay": 0.0,
            "politeness.slow_factor": 0.0,
            "retries.backoff": 0.02,
            "sitemaps.follow": True,
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class MovedTo(str):
    """What is said at a URL is said elsewhere."""

    __slots__ = ()


class _Web(ThreadingHTTPServer):
    request_queue_size = 256  # connections that begin at once, with several requests to each of many sites
    web: ScriptedWeb


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: a body behind its header waits 40 ms for an acknowledgement
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        web = cast("_Web", self.server).web
        web.asked.append(self.path)
        web.fields += map(str.lower, self.headers)
        said = web.said.get(self.path)
        if self.path in web.failing:
            self._answer(500, b"", "")
            return
        if isinstance(said, MovedTo):
            self._answer(302, b"", "", said)
            return
        body = said.encode() if isinstance(said, str) else said or b""
        etag = f'"{xxh3_64_hexdigest(body)}"'
        if said is not None and web.knows_etags and self.headers.get("If-None-Match") == etag:
            web.same.append(self.path)
            self._answer(304, b"", etag)
        else:
            status = web.statuses.get(self.path, 200 if said is not None else 404)
            self._answer(status, body, etag if web.knows_etags else "")

    def do_HEAD(self) -> None:
        cast("_Web", self.server).web.heads.append(self.path)
        self.do_GET()

    def _answer(self, status: int, body: bytes, etag: str, location: str = "") -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", _type_of(self.path, body))
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        own = cast("_Web", self.server).web.headers.get(self.path, {})
        for name, value in (_PROTECTING | own).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called above
        """Not read by a test."""


_PROTECTING = {
    "Content-Security-Policy": "default-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}


def _type_of(url: str, body: bytes) -> str:
    if body.startswith(b"<?xml"):
        return "application/xml"
    if body.startswith(b"\x1f\x8b"):
        return "application/gzip"
    return "text/plain" if url.endswith(".txt") else "text/html; charset=utf-8"


def urlset(*urls: str) -> str:
    """A sitemap; a URL may be followed by its lastmod, after a space."""
    entries = []
    for each in urls:
        url, _, lastmod = each.partition(" ")
        entries.append(f"<url><loc>{url}</loc>{f'<lastmod>{lastmod}</lastmod>' if lastmod else ''}</url>")
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(entries)}</urlset>'
    )


def sitemap_index(*urls: str) -> str:
    """An index; a URL may be followed by its lastmod, after a space."""
    return (
        urlset(*urls)
        .replace("<urlset", "<sitemapindex")
        .replace("</urlset", "</sitemapindex")
        .replace("url>", "sitemap>")
    )


def page(title: str, *links: str) -> str:
    """A page that says something of its own, and leads to others."""
    text = " ".join(f"{title} tells story {number}." for number in range(20))
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return f"<!doctype html><title>{title}</title><p>{text}</p>{anchors}"
