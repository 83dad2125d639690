"""Publishing a large site: a scan of a million rows of which one in a hundred has changed, and writing sitemaps."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from periplus.formats.sitemap.writing import plain_records, write_urlset
from periplus.publish import Publisher, PublishSettings, RowInventory
from periplus.publish.observing import observe
from periplus.publish.settings import ArchiveSettings, ServingSettings, SiteSettings

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
    """CPU microseconds that the WSGI middleware adds to a request: passed through, and compared with the ledger."""
    text = " ".join(f"word{number}" for number in range(kilobytes * 110))
    page = f"<html><title>A page</title><main><p>{text}</p></main></html>".encode()[: kilobytes * 1_024]
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": "/section/page.html", "QUERY_STRING": "",
        "HTTP_USER_AGENT": "Mozilla/5.0 (compatible; Examplebot/2.1)", "HTTP_ACCEPT": "*/*",
    }  # fmt: skip

    def app(_: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        start("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(page)))])
        return [page]

    def ask(asked: Callable[..., Any]) -> None:
        pieces = asked(environ, lambda *_: None)
        for _ in pieces:
            pass
        if hasattr(pieces, "close"):
            pieces.close()

    found = {"application alone": _microseconds(lambda: ask(app))}
    for name, share in (("passed through", 0.0), ("compared", 1.0)):
        settings = PublishSettings(SiteSettings(BASE), serving=ServingSettings(observe=share, discover=True))
        with Publisher(folder / name, settings) as publisher:
            publisher.changed("/section/page.html")
            observe(publisher.ledger, f"{BASE}section/page.html", page, time.time())
            wrapped = publisher.wsgi(app)
            live = publisher._lives[-1]
            ask(wrapped)

            def one(wrapped: Any = wrapped, live: Any = live) -> None:
                live._looked.clear()
                ask(wrapped)

            found[name] = _microseconds(one) - found["application alone"]
    return found


def main(pages: int = PAGES) -> None:
    """Print the figures."""
    print(f"sitemap entries written a CPU second: {entries_per_second():,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        for name, cost in middleware_microseconds(Path(folder)).items():
            print(f"middleware, page of 32 KB, {name}: {cost:.1f} microseconds of CPU a request", flush=True)
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
