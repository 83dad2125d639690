"""A generated site that `periplus.publish` publishes, behind a server that counts what it sends; and crawls for images.

Two thirds of its files are HTML (Brandman et al. 2000, section 4.2).
"""

from __future__ import annotations

import struct
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import NamedTuple, Self, cast

from msgspec.structs import replace

import periplus
from periplus.collection.summary import Summary
from periplus_sites.publish import FolderInventory, Publisher, settings_for
from periplus_sites.publish.settings import RobotsSettings, SitemapSettings

FILES = 10_000
HTML_SHARE = 0.66
"""Share of HTML files, as in the paper's requests."""
IMAGE_BYTES = 13_000
"""Mean bytes of an image: those of a page in the paper (section 6)."""
_TYPES = {".html": "text/html; charset=utf-8", ".png": "image/png", ".xml": "application/xml", ".txt": "text/plain"}
_FAST = "[politeness]\ndelay = 0.0\nslow_factor = 0.0\nmax_parallel = 8\n"


class Sent(NamedTuple):
    """One answer of the server."""

    path: str
    mime: str
    size: int


class PublishedSite:
    """A generated site in a folder, published and served until the block ends. `sent` is what was answered."""

    def __init__(self, folder: Path, files: int = FILES, *, seed: int = 0, archives: bool = True) -> None:
        self.folder = folder
        self.images = round(files * (1 - HTML_SHARE))
        self.sent: list[Sent] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        cast("_Server", self._server).site = self
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        _write_site(folder, files - self.images, self.images, Random(seed))
        self.publish(archives=archives)

    @property
    def base(self) -> str:
        """Where the site is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def publish(self, *, archives: bool) -> None:
        """Write sitemaps, archives and robots.txt; without archives, a sitemap that names the images of each page."""
        settings = settings_for(self.base)
        settings = replace(
            settings,
            robots=RobotsSettings(manage=True),
            archives=replace(settings.archives, enabled=archives),
            sitemap=SitemapSettings(images=not archives),
        )
        with Publisher(self.folder, settings) as publisher:
            publisher.scan([FolderInventory(self.folder, self.base, skip=publisher.is_own)])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    site: PublishedSite


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        site = cast("_Server", self.server).site
        name = self.path.lstrip("/") or "index.html"
        path = site.folder / name
        body = path.read_bytes() if path.is_file() else b""
        mime = _TYPES.get(path.suffix, "application/octet-stream")
        self.send_response(200 if path.is_file() else 404)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        site.sent.append(Sent(self.path, mime.partition(";")[0], len(body)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called above
        """The site keeps what it sent."""


def _write_site(folder: Path, pages: int, images: int, random: Random) -> None:
    """Pages that embed their images and link to the next ones; random bytes behind the header of a PNG."""
    (folder / "img").mkdir(parents=True, exist_ok=True)
    for number in range(images):
        size = max(200, round(random.lognormvariate(0, 0.5) * IMAGE_BYTES / 1.133))
        head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1 + number % 900, 600)
        (folder / "img" / f"{number:05}.png").write_bytes(head + random.randbytes(size - len(head)))
    for number in range(pages):
        own = "".join(
            f'<img src="/img/{one:05}.png">' for one in range(number * images // pages, (number + 1) * images // pages)
        )
        links = "".join(f'<a href="/{one}.html">{one}</a>' for one in range(4 * number + 1, min(4 * number + 5, pages)))
        text = " ".join(f"page {number} says {random.randrange(1 << 30)}" for _ in range(40))
        name = "index.html" if number == 0 else f"{number}.html"
        (folder / name).write_text(f"<!doctype html><title>{number}</title><main><p>{text}</p>{own}</main>{links}")


class MediaFigures(NamedTuple):
    """What a crawl for images cost."""

    html_requests: int
    images: int
    wanted: int
    metadata_bytes: int
    all_bytes: int
    seconds: float

    @property
    def metadata_share(self) -> float:
        """Of robots.txt, lists and archives in all bytes."""
        return self.metadata_bytes / max(self.all_bytes, 1)


def crawl_images(site: PublishedSite, out: Path) -> tuple[MediaFigures, Summary]:
    """Crawl the images of a site, and count what its server sent."""
    out.parent.mkdir(parents=True, exist_ok=True)
    settings = out.with_suffix(".toml")
    settings.write_text(_FAST)
    began = time.perf_counter()
    summary = periplus.crawl(site.base, out=out, media="image/*", config=settings, allow_private=["127.0.0.1"]).run()
    took = time.perf_counter() - began
    images = {sent.path: sent.size for sent in site.sent if sent.mime == "image/png" and sent.size}
    others = [sent for sent in site.sent if sent.mime not in ("image/png", "text/html")]
    figures = MediaFigures(
        sum(sent.mime == "text/html" for sent in site.sent),
        len(images),
        site.images,
        sum(sent.size for sent in others),
        sum(sent.size for sent in site.sent),
        took,
    )
    return figures, summary
