"""Publishing a large site: a scan of a million rows of which one in a hundred has changed, and writing sitemaps."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from periplus.formats.sitemap.writing import plain_records, write_urlset
from periplus_site.publish import Publisher, PublishSettings, RowInventory
from periplus_site.publish.hooks import observe
from periplus_site.publish.settings import ArchiveSettings, ServingSettings, SiteSettings

BASE = "https://www.example.org/"
PAGES = 1_000_000
BEGAN = 1_700_000_000.0
DAY = 86_400.0


def rows(pages: int, day: int) -> Iterator[dict[str, object]]:
    """The rows of a day: since the first, one page in a hundred changes a day."""
    for number in range(pages):
        at = BEGAN + number % 10_000_000 if (number + day) % 100 or not day else BEGAN + 20_000_000 + day * DAY
        yield {"url": f"{BASE}section-{number % 97}/page-{number}.html", "updated_at": at}


def entries_per_second(entries: int = 300_000, per_file: int = 10_000) -> float:
    """How many entries are written in a second of CPU time, compressed."""
    made = [(f"{BASE}section-{number % 97}/page-{number}.html", BEGAN + number * 37) for number in range(entries)]
    began = time.process_time()
    for first in range(0, entries, per_file):
        write_urlset(plain_records(made[first : first + per_file]), gzip=True)
    return entries / (time.process_time() - began)


def _microseconds(call: Callable[[], object], times: int = 5_000, rounds: int = 3) -> float:
    """CPU microseconds of a call of this thread, in the best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.thread_time()
        for _ in range(times):
            call()
        best = min(best, time.thread_time() - began)
    return best / times * 1e6


def middleware_microseconds(folder: Path, kilobytes: int = 32) -> dict[str, float]:
    """CPU microseconds that the middleware adds to a request for a page, by kind, and what a changed page costs.

    Passed through: not looked at. The same: its bytes are those of the ledger. Changed: they are not, and the page
    waits for the thread that compares; what that thread then does is `comparing`.
    """
    page = _page(kilobytes, "word")
    found: dict[str, float] = {}
    for kind, ask in (("WSGI", _ask_wsgi(page)), ("ASGI", _ask_asgi(page))):
        alone = _microseconds(ask(None))
        for name, share, is_changed in (("passed", 0.0, False), ("the same", 1.0, False), ("changed", 1.0, True)):
            settings = PublishSettings(SiteSettings(BASE), serving=ServingSettings(observe=share, discover=True))
            with Publisher(folder / f"{kind} {name}", settings) as publisher:
                publisher.changed(PATH)
                known = _page(kilobytes, "other") if is_changed else page
                observe(publisher.ledger, f"{BASE}{PATH[1:]}", known, time.time())
                call = ask(publisher)
                live = publisher._lives[-1]
                call()
                if is_changed:
                    waiting: Any = live._waiting
                    waiting.put_nowait = lambda _: None  # the thread is not measured

                def one(call: Any = call, live: Any = live) -> None:
                    live._looked.clear()
                    call()

                found[f"{kind}, {name}"] = _microseconds(one) - alone
    with Publisher(folder / "comparing", PublishSettings(SiteSettings(BASE))) as publisher:
        publisher.changed(PATH)
        versions = [_page(kilobytes, f"version{number}") for number in range(50)]
        began = time.thread_time()
        for number, version in enumerate(versions):
            observe(publisher.ledger, f"{BASE}{PATH[1:]}", version, time.time() + number)
        found["comparing"] = (time.thread_time() - began) / len(versions) * 1e6
    return found


PATH = "/section/page.html"
_AGENT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def _page(kilobytes: int, word: str) -> bytes:
    text = " ".join(f"{word}{number}" for number in range(kilobytes * 110))
    return f"<html><title>A page</title><main><p>{text}</p></main></html>".encode()[: kilobytes * 1_024]


def _ask_wsgi(page: bytes) -> Callable[[Publisher | None], Callable[[], None]]:
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": PATH, "QUERY_STRING": "", "REMOTE_ADDR": "192.0.2.1",
        "HTTP_USER_AGENT": _AGENT, "HTTP_ACCEPT": "*/*",
    }  # fmt: skip

    def app(_: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(page)))])
        return [page]

    def asker(publisher: Publisher | None) -> Callable[[], None]:
        asked: Any = app if publisher is None else publisher.wsgi(app)

        def ask() -> None:
            pieces = asked(environ, lambda *_: None)
            for _ in pieces:
                pass
            if hasattr(pieces, "close"):
                pieces.close()

        return ask

    return asker


def _ask_asgi(page: bytes) -> Callable[[Publisher | None], Callable[[], None]]:
    length = str(len(page)).encode()
    scope = {
        "type": "http", "method": "GET", "path": PATH, "raw_path": PATH.encode(), "query_string": b"",
        "client": ("192.0.2.1", 1), "headers": [(b"user-agent", _AGENT.encode()), (b"accept", b"*/*")],
    }  # fmt: skip
    head = {"type": "http.response.start", "status": 200}
    headers = [(b"content-type", b"text/html"), (b"content-length", length)]

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({**head, "headers": headers})
        await send({"type": "http.response.body", "body": page})

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(_: Any) -> None:
        return None

    def asker(publisher: Publisher | None) -> Callable[[], None]:
        asked: Any = app if publisher is None else publisher.asgi(app)

        def ask() -> None:
            running = asked(scope, receive, send)
            with suppress(StopIteration):
                running.send(None)  # nothing waits: it runs to its end at once

        return ask

    return asker


def main(pages: int = PAGES) -> None:
    """Print the figures."""
    print(f"sitemap entries written a CPU second: {entries_per_second():,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        for name, cost in middleware_microseconds(Path(folder)).items():
            print(f"middleware, page of 32 KB, {name}: {cost:.1f} microseconds of CPU", flush=True)
        if not pages:
            return
        for is_archived in (False, True):
            now = [BEGAN + 30_000_000]
            settings = PublishSettings(SiteSettings(BASE), archives=ArchiveSettings(enabled=is_archived))
            out = Path(folder) / str(is_archived)
            with Publisher(out, settings, clock=lambda: now[0]) as publisher:  # noqa: B023 - used before it changes
                for day in range(3):
                    began, wall = time.process_time(), time.perf_counter()
                    done = publisher.scan([RowInventory(rows(pages, day), BASE)])
                    cpu, took = time.process_time() - began, time.perf_counter() - wall
                    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    print(
                        f"archives {is_archived!s:5}  day {day}: {done.scan.new:,} new, {done.scan.changed:,} changed, "
                        f"{done.sitemaps.files} files: {cpu:.1f} s CPU, {took:.1f} s, {size:.0f} MB at most",
                        flush=True,
                    )
                    now[0] += DAY


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
