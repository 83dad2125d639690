"""The six tables: what writing them costs a crawl, a page at a time, all the way to Parquet.

Pages are real ones (as in `bench.pages`), read again in every round, so that their links are as cold or warm as in a
crawl. Timed is the processor time of `record` after each page and of a checkpoint after each thousand pages, with what
goes to Parquet then. Beside it, what others would pay for the largest table alone: a Python object for each row.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness import Group
from bench.pages import sample_pages
from periplus.content import read_page
from periplus.model import (
    Discovery,
    Event,
    Fetched,
    FetchEnded,
    FetchTask,
    Hints,
    Lane,
    PageRead,
    ParsedPage,
    Purpose,
    Source,
    Stored,
    UrlDiscovered,
)
from periplus.store.tables import SCHEMAS, Tables
from periplus.urls import site_of

FULL, QUICK = 1000, 200
PAGES_A_SITE = 25
NOW = 1_800_000_000.0
NEW_A_PAGE = 5
"""Links of a page that are new; the others are known to the crawl and no row of `discoveries`."""
HEADERS = (
    ("Date", "Fri, 15 Jan 2027 08:00:00 GMT"),
    ("Server", "nginx"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Encoding", "gzip"),
    ("ETag", '"5f0c-5d1"'),
)
OURS, PEER = "periplus, all six tables, exactly once", "pyarrow from a dict a row, links alone"


def measure(quick: bool) -> list[Group]:
    """One table: pages a second that the tables alone would allow."""
    bodies, where = sample_pages(QUICK if quick else FULL)
    rounds = 3 if quick else 8
    folder = Path(tempfile.mkdtemp(prefix="bench-tables-"))
    try:
        record, checkpoint, links, sizes = ours(bodies, rounds, folder)
        peer = min(as_dicts(bodies, folder / "peer.parquet") for _ in range(2))
    finally:
        shutil.rmtree(folder)
    facts = {
        "pages": f"{len(bodies)} {where}, {links:.0f} links a page",
        "record": f"{record * 1e6:.1f} us a page",
        "checkpoint and Parquet": f"{checkpoint * 1e6:.1f} us a page",
        "bytes of Parquet a page": ", ".join(f"{name} {size:.0f}" for name, size in sizes.items() if size),
    }
    rates = {OURS: 1 / (record + checkpoint), PEER: 1 / peer}
    return [Group("Writing the tables", "pages/s of processor time", rates, facts=facts)]


def ours(bodies: list[bytes], rounds: int, folder: Path) -> tuple[float, float, float, dict[str, float]]:
    """Seconds a page in `record` and in checkpoints (the best round of each), links a page, and bytes at rest."""
    tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
    recording, saving, links = [], [], 0
    for _ in range(rounds):
        spent, pause = 0.0, _pause()
        for page in read(bodies):
            events = list(events_of(page))
            links += len(page.links.to_others())
            started = time.thread_time()
            tables.record(events)
            spent += time.thread_time() - started - pause
        recording.append(spent)
        started = time.thread_time()
        tables.checkpoint()
        saving.append(time.thread_time() - started)
    started = time.thread_time()
    tables.settle()
    saved = (sum(saving) + time.thread_time() - started) / rounds
    tables.close()
    pages = len(bodies)
    sizes = {name: size_of(folder / "tables" / name) / pages / rounds for name in SCHEMAS}
    return min(recording) / pages, saved / pages, links / pages / rounds, sizes


def as_dicts(bodies: list[bytes], path: Path) -> float:
    """Seconds a page for the links as a list of dicts, then a table of them, then one Parquet file."""
    rows: list[dict[str, object]] = []
    spent = 0.0
    for page in read(bodies):
        started = time.thread_time()
        site = site_of(page.url)
        rows.extend(
            {
                "page": page.url,
                "site": site,
                "read_at": NOW,
                "target": link.url,
                "anchor": link.anchor,
                "rel": link.rel,
                "kind": link.kind.value,
                "is_internal": site_of(link.url) == site,
            }
            for link in page.links.to_others()
        )
        spent += time.thread_time() - started
    started = time.thread_time()
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
    return (spent + time.thread_time() - started) / len(bodies)


def read(bodies: list[bytes]) -> Iterator[ParsedPage]:
    """The pages, as the crawl has just read them. Neighbours are mostly of one manual: they lie on one site."""
    for place, body in enumerate(bodies):
        yield read_page(body, f"https://docs{place // PAGES_A_SITE}.example.org/manual/page{place}.html", "text/html")


def events_of(page: ParsedPage) -> Iterator[Event]:
    """What a crawl tells of a page."""
    task = FetchTask(page.url, site_of(page.url), Purpose.PAGE, Lane.DISCOVERY, NOW + 60, ip="192.0.2.1", depth=2)
    stored = Stored("periplus-00-20270115080000-00001.warc.gz", 123_456, 7_890, "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    yield FetchEnded(Fetched(task, 200, HEADERS, b"", NOW, 0.125, "192.0.2.1"), NOW + 0.2, stored)
    yield PageRead(page, NOW)
    for link in page.links.to_others()[:NEW_A_PAGE]:
        yield UrlDiscovered(Discovery(link.url, Source.LINK, NOW, 3, page.url, Hints(anchor=link.anchor)), True)


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())


def _pause() -> float:
    """What asking for the time costs."""
    started = time.thread_time()
    for _ in range(1000):
        time.thread_time()
    return (time.thread_time() - started) / 1000
