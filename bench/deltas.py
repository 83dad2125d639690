"""What revisits cost in bytes when changed pages come as differences (RFC 9842), on real manuals.

    python -m bench.deltas [FOLDER]

The pages are the HTML files below FOLDER, by default /usr/share/doc. A server on this machine publishes them over TLS
with the middleware of `periplus publish`, and compresses with zstd what that leaves as it is, as a front server would.
A crawl fetches them; then a paragraph is written anew in each page, and a refresh fetches them again: once with
`deltas.offer`, once without. Compared are the bytes of bodies, as the table `fetches` has them.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import zstandard
from msgspec import Struct

import periplus
from periplus_lab.certificates import Authority
from periplus_site.publish import FolderInventory, Publisher, PublishSettings
from periplus_site.publish.settings import ServingSettings, SiteSettings

HOST = "manuals.lab.test"
MANUALS = Path("/usr/share/doc")
LEAST_BYTES, MOST_BYTES, MOST_PAGES = 2_000, 500_000, 200
ZSTD_LEVEL = 3
NEWS = "This paragraph was written anew: the option takes two values now, and the second is the default since May."
_PARAGRAPH = re.compile(rb"<p(?: [^>]*)?>[^<]{40,}(?:<(?!/p>|p[ >])[^<]*)*</p>")


_CANONICAL = re.compile(rb'<link rel="canonical"[^>]*>')
"""Names the site of the makers, and pages of other sites are not published."""


class Comparison(Struct, frozen=True):
    """Bytes of the bodies of changed pages, page by page in the same order: as they are, and as they were sent."""

    plain: list[int]
    zstd: list[int]
    deltas: list[int]

    @property
    def saved(self) -> float:
        """The share of the bytes of zstd that differences spare."""
        return 1 - sum(self.deltas) / sum(self.zstd)


def manual_pages(folder: Path, most: int = MOST_PAGES) -> list[bytes]:
    """Pages with a paragraph, of different content."""
    found: dict[bytes, None] = {}
    for path in sorted(folder.rglob("*.html")):
        if len(found) == most:
            break
        if path.is_file() and LEAST_BYTES <= path.stat().st_size <= MOST_BYTES:
            body = _CANONICAL.sub(b"", path.read_bytes())
            if _PARAGRAPH.search(body):
                found[body] = None
    return list(found)


def rewritten(page: bytes) -> bytes:
    """The page with another text in its middle paragraph."""
    paragraphs = list(_PARAGRAPH.finditer(page))
    one = paragraphs[len(paragraphs) // 2]
    return page[: one.start()] + f"<p>{NEWS}</p>".encode() + page[one.end() :]


def compared(pages: list[bytes]) -> Comparison:
    """Crawl the pages, change each, and visit them again in both ways."""
    with TemporaryDirectory(prefix="periplus-deltas-") as temporary:
        folder = Path(temporary)
        root, out = folder / "site", folder / "published"
        for name in (root, out, folder / "keys"):
            name.mkdir()
        _write(root, pages)
        authority = Authority(folder / "keys")
        with _published(root, out, authority) as base:
            settings = {
                "wire.ca_file": str(authority.path),
                "dns.hosts": {HOST: "127.0.0.1"},
                "politeness.delay": 0.0,
                "deltas.offer": True,
            }
            seeds = [f"{base}page{number}.html" for number in range(len(pages))]
            periplus.crawl(seeds, out=folder / "deltas", settings=settings | {"budgets.max_depth": 0}).run()
            shutil.copytree(folder / "deltas", folder / "zstd")
            _write(root, [rewritten(page) for page in pages])
            sizes = {}
            for kind in ("deltas", "zstd"):
                collection = periplus.open(folder / kind)
                collection.refresh(new=False, settings={"deltas.offer": kind == "deltas"})
                question = "select url, bytes from fetches where purpose = 'page' and status = 200 order by ended_at"
                sizes[kind] = dict(collection.query(question))
            return Comparison(
                [len(page) for page in pages], *([sizes[k][u] for u in seeds] for k in ("zstd", "deltas"))
            )


def _write(root: Path, pages: Iterable[bytes]) -> None:
    for number, page in enumerate(pages):
        (root / f"page{number}.html").write_bytes(page)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: the tables have it."""


@contextmanager
def _published(root: Path, out: Path, authority: Authority) -> Iterator[str]:
    """Publish a folder over TLS on this machine: the URL of its root."""
    server = make_server("127.0.0.1", 0, lambda *_: [], _Server, _Quiet)
    context = authority.context(HOST)
    context.set_alpn_protocols(["http/1.1"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    base = f"https://{HOST}:{server.server_port}/"
    settings = PublishSettings(SiteSettings(base), serving=ServingSettings(dictionaries=True))
    with Publisher(out, settings) as publisher:
        publisher.scan([FolderInventory(root, base)])
        server.set_app(_compressing(publisher.wsgi(_folder(root))))
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield base
        finally:
            server.shutdown()
            server.server_close()


App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _folder(root: Path) -> App:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        path = root / environ["PATH_INFO"].lstrip("/")
        if not path.is_file():
            start_response("404 Not Found", [("Content-Length", "0")])
            return [b""]
        start_response("200 OK", [("Content-Type", "text/html")])
        return [path.read_bytes()]

    return app


def _compressing(app: App) -> App:
    def compressed(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        head: list[Any] = []
        body = b"".join(app(environ, lambda *given: head.extend(given)))
        status, fields = head[0], [(name, value) for name, value in head[1] if name.lower() != "content-length"]
        if body and not any(name.lower() == "content-encoding" for name, _ in fields):
            body = zstandard.compress(body, ZSTD_LEVEL)
            fields.append(("Content-Encoding", "zstd"))
        start_response(status, [*fields, ("Content-Length", str(len(body)))])
        return [body]

    return compressed


def main() -> None:
    """Print the comparison."""
    pages = manual_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else MANUALS)
    found = compared(pages)
    print(f"{len(pages)} pages, a paragraph of each written anew; bytes of bodies when they are visited again:")
    for name, sizes in (("as they are", found.plain), ("zstd", found.zstd), ("differences", found.deltas)):
        print(f"  {name:12} {sum(sizes):>12,} in all, median {median(sizes):>9,.0f}, most {max(sizes):>9,}")
    print(f"  {found.saved:.1%} fewer than with zstd")


if __name__ == "__main__":
    main()
