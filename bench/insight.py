"""Insight at scale: all measures, PageRank and near-duplicates of a collection of a million pages and 50 million links.

    python -m bench.insight [PAGES] [FOLDER]

The tables are made up, and written as a crawl writes them (same schemas, same row groups): sites with sizes by a power
law; on every page the frame of its site (a fifth of its links), links to pages of the site near it and to its first
pages, a tenth to other sites, some of them not visited; half of the pages in sitemaps, listed before or after links
led there; a quarter of the pages near-duplicates of others; errors and redirects.

What is measured runs in a process of its own: seconds of the clock and of the processors, and the most memory it held.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.harness import Group
from periplus.store.tables import SCHEMAS
from periplus.store.tables.table import ParquetFile

PAGES, QUICK = 1_000_000, 20_000
LINKS = 50
GROUP, FILE = 100_000, 2_000_000
START = 1_790_000_000_000_000
WORDS = 3_000

Ints = NDArray[np.int64]


class MadeUp:
    """The facts that all tables agree on."""

    def __init__(self, pages: int, seed: int = 8) -> None:
        self.random = np.random.default_rng(seed)
        self.pages = pages
        self.others = pages // 2
        """URLs that links lead to and that were not visited."""
        sites = max(4, int(pages**0.5) // 2)
        sizes = 1 / np.arange(1, sites + 1) ** 0.9
        ends = np.cumsum(sizes / sizes.sum() * pages).astype(np.int64)
        ends[-1] = pages
        self.first = np.concatenate([[0], ends[:-1]])
        self.size = np.maximum(1, ends - self.first)
        self.site_of = np.searchsorted(ends, np.arange(pages), side="right").clip(0, sites - 1)
        names = [f"www.site-{number:05d}.example" for number in range(sites)]
        self.sites = np.array(names, object)
        words = [f"w{number:04x}" for number in range(WORDS)]
        self.words = np.array(words, object)
        site_names = self.sites[self.site_of]
        chosen = self.words[self.random.integers(0, WORDS, (pages, 2))]
        self.urls = pa.array(
            [
                f"https://{site}/{one}/{number:07d}-{two}-some-words-of-a-title.html"
                for number, (site, (one, two)) in enumerate(zip(site_names, chosen, strict=True))
            ]
            + [f"https://elsewhere-{number % 5000}.example/page/{number}" for number in range(self.others)]
        )
        self.site_names = pa.array([*site_names, *[f"elsewhere-{n % 5000}.example" for n in range(self.others)]])
        self.listed = np.flatnonzero(self.random.random(pages) < 0.5)
        self.status = self.random.choice([200, 301, 404], pages, p=[0.92, 0.04, 0.04])
        self.read = np.flatnonzero(self.status == 200)

    def moments(self, codes: Ints) -> pa.Array:
        """Times, one page after the other."""
        return pa.array(START + codes * 50_000, pa.timestamp("us", tz="UTC"))


def coded(values: pa.Array, codes: Ints) -> pa.DictionaryArray:
    """Texts as a crawl's batches have them: each once."""
    distinct, places = np.unique(codes, return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), values.take(pa.array(distinct)))


def constant(text: str, rows: int) -> pa.DictionaryArray:
    """The same text in every row."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def write(folder: Path, table: str, groups: Iterator[dict[str, pa.Array]]) -> None:
    """As `store.tables` does; columns that are not given are null."""
    (folder / table).mkdir(parents=True)
    number, file = 0, None
    for columns in groups:
        if file is None:
            number += 1
            file = ParquetFile(folder / table / f"00-{number:06d}.parquet", SCHEMAS[table])
        rows = len(next(iter(columns.values())))
        arrays = [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
            for field in SCHEMAS[table]
        ]
        file.write([pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS[table])])
        if file.rows >= FILE:
            file.finish()
            file = None
    if file is not None:
        file.finish()


def portions(total: int, size: int) -> Iterator[Ints]:
    """The numbers below a total, in batches."""
    for start in range(0, total, size):
        yield np.arange(start, min(total, start + size))


def links(web: MadeUp) -> Iterator[dict[str, pa.Array]]:
    """Fifty on a page: ten of the frame, thirty-five of the site, five elsewhere."""
    anchors = pa.array([f"{one} {two}" for one, two in web.words[web.random.integers(0, WORDS, (5000, 2))]])
    for part in portions(len(web.read), GROUP // LINKS):
        pages = web.read[part]
        site = web.site_of[pages]
        first, size = web.first[site][:, None], web.size[site][:, None]
        frame = first + np.arange(10)[None, :] % size
        near = first + (pages[:, None] - first + web.random.integers(-200, 200, (len(pages), 25))) % size
        top = first + (web.random.random((len(pages), 10)) ** 3 * size).astype(np.int64)
        away = np.where(
            web.random.random((len(pages), 5)) < 0.5,
            web.random.integers(0, web.pages, (len(pages), 5)),
            web.pages + web.random.integers(0, web.others, (len(pages), 5)),
        )
        targets = np.concatenate([frame, near, top, away], axis=1).ravel()
        sources = np.repeat(pages, LINKS)
        rows = len(sources)
        yield {
            "page": coded(web.urls, sources),
            "site": coded(web.site_names, sources),
            "read_at": web.moments(sources),
            "target": coded(web.urls, targets),
            "target_site": coded(web.site_names, targets),
            "anchor": anchors.take(pa.array(web.random.integers(0, 5000, rows))),
            "rel": coded(pa.array(["", "nofollow"]), (web.random.random(rows) < 0.03).astype(np.int64)),
            "kind": constant("a", rows),
            "is_internal": pa.array(np.tile(np.arange(LINKS) < 45, len(pages))),
        }


def discoveries(web: MadeUp) -> Iterator[dict[str, pa.Array]]:
    """Every page by a link, half of them by sitemaps too; what was not visited was out of scope."""
    for part in portions(web.pages, GROUP):
        yield _told(
            web, part, "seed" if part[0] == 0 and len(part) == 1 else "link", web.random.integers(0, 10**6, len(part))
        )
    for part in portions(len(web.listed), GROUP):
        yield _told(web, web.listed[part], "sitemap", web.random.integers(0, 10**6, len(part)))
    for part in portions(web.others, GROUP):
        told = _told(web, part + web.pages, "link", web.random.integers(0, 10**6, len(part)))
        yield told | {"refused": constant("out-of-scope", len(part))}
    yield _told(web, web.first, "seed", np.zeros(len(web.first), np.int64))


def _told(web: MadeUp, codes: Ints, source: str, shift: Ints) -> dict[str, pa.Array]:
    rows = len(codes)
    return {
        "url": web.urls.take(pa.array(codes)),
        "site": coded(web.site_names, codes),
        "source": constant(source, rows),
        "found_at": web.moments(codes + shift),
        "depth": pa.array(np.full(rows, 3, np.int32)),
        "redirects": pa.array(np.zeros(rows, np.int32)),
        "referrer": web.urls.take(pa.array(web.first[web.site_of[np.minimum(codes, web.pages - 1)]])),
        "is_new": pa.array(np.ones(rows, np.bool_)),
    }


def fetches(web: MadeUp) -> Iterator[dict[str, pa.Array]]:
    """Every page once; some are gone, some have moved."""
    for part in portions(web.pages, GROUP):
        status = web.status[part]
        rows = len(part)
        moved = status == 301
        yield {
            "url": web.urls.take(pa.array(part)),
            "site": coded(web.site_names, part),
            "purpose": constant("page", rows),
            "lane": constant("discovery", rows),
            "source": constant("link", rows),
            "outcome": coded(pa.array(["fetched", "redirected"]), moved.astype(np.int64)),
            "status": pa.array(status.astype(np.int32)),
            "started_at": web.moments(part + 10**6),
            "ended_at": web.moments(part + 10**6 + 3),
            "duration": pa.array(web.random.exponential(0.2, rows)),
            "bytes": pa.array(web.random.integers(2000, 60000, rows)),
            "content_type": constant("text/html; charset=utf-8", rows),
            "target": web.urls.take(pa.array(np.where(moved, web.first[web.site_of[part]], 0), mask=~moved)),
            "depth": pa.array(np.full(rows, 3, np.int32)),
            "attempt": pa.array(np.ones(rows, np.int32)),
        }


def pages(web: MadeUp) -> Iterator[dict[str, pa.Array]]:
    """A quarter of them near-duplicates of another: nearly all values of their sketches are the same."""
    for part in portions(len(web.read), GROUP // 4):
        codes = web.read[part]
        rows = len(codes)
        original = np.where(web.random.random(rows) < 0.25, codes // 7 * 7, codes)
        sketches = np.random.default_rng(5).integers(0, 2**32, (1, 128), np.uint32) * (
            original[:, None] * 2 + 1
        ).astype(np.uint32)
        sketches ^= (sketches >> 13) * np.uint32(0x9E3779B1)
        noise = web.random.random((rows, 128)) < 0.02
        sketches = np.where(
            noise & (original != codes)[:, None], web.random.integers(0, 2**32, (rows, 128), np.uint32), sketches
        )
        data = pa.py_buffer(np.ascontiguousarray(sketches.astype("<u4")).tobytes())
        offsets = pa.py_buffer((np.arange(rows + 1) * 512).astype(np.int32).tobytes())
        digest = web.random.integers(0, 2**63, rows).astype(np.uint64)
        yield {
            "url": web.urls.take(pa.array(codes)),
            "site": coded(web.site_names, codes),
            "read_at": web.moments(codes + 10**6 + 3),
            "canonical": web.urls.take(pa.array(codes)),
            "title": pa.array([f"A title of page {code}" for code in codes.tolist()]),
            "language": constant("en", rows),
            "charset": constant("utf-8", rows),
            "mime": constant("text/html", rows),
            "text_length": pa.array(web.random.integers(500, 9000, rows).astype(np.int32)),
            "main_length": pa.array(web.random.integers(300, 8000, rows).astype(np.int32)),
            "links": pa.array(np.full(rows, LINKS, np.int32)),
            "resources": pa.array(web.random.integers(0, 9, rows).astype(np.int32)),
            "noindex": pa.array(web.random.random(rows) < 0.03),
            "main_digest": pa.array(digest),
            "links_digest": pa.array(digest),
            "sketch": pa.Array.from_buffers(pa.binary(), rows, [None, offsets, data]),
        }


def entries(web: MadeUp) -> Iterator[dict[str, pa.Array]]:
    """One whole reading of one file for each site."""
    for part in portions(len(web.listed), GROUP):
        codes = web.listed[part]
        files = pa.array([f"https://{site}/sitemap.xml" for site in web.sites])
        yield {
            "url": web.urls.take(pa.array(codes)),
            "kind": constant("page", len(codes)),
            "sitemap": coded(files, web.site_of[codes]),
            "site": coded(web.site_names, codes),
            "read_at": pa.array(np.full(len(codes), START), pa.timestamp("us", tz="UTC")),
            "priority": pa.array(np.full(len(codes), 0.5)),
        }
    files = pa.array([f"https://{site}/sitemap.xml" for site in web.sites])
    yield {
        "url": files,
        "kind": constant("summary", len(files)),
        "sitemap": files,
        "read_at": pa.array(np.full(len(files), START), pa.timestamp("us", tz="UTC")),
    }


def make(folder: Path, count: int) -> None:
    """All tables of a collection."""
    web = MadeUp(count)
    tables = {
        "links": links,
        "discoveries": discoveries,
        "fetches": fetches,
        "pages": pages,
        "sitemap_entries": entries,
    }
    for table, groups in tables.items():
        write(folder / "tables", table, groups(web))


def ask(folder: Path) -> dict[str, float]:
    """Compute the views, then every measure, in every way; seconds of each."""
    from periplus.apps.report import gather_report, page
    from periplus.insight.measures import measures, measures_by
    from periplus.insight.views import QUESTIONS, Views

    took: dict[str, float] = {}
    with Views(folder) as views:
        steps: dict[str, Callable[[], object]] = {
            "computing": lambda: views.rows("select count(*) from urls"),
            "measures": lambda: measures(views),
            "by site": lambda: measures_by(views, "site"),
            "questions": lambda: [list(views.rows(each.sql)) for each in QUESTIONS.values()],
            "by domain": lambda: measures_by(views, "domain"),
            "new urls": lambda: views.rows("select * from new_urls"),
            "missed": lambda: views.rows("select * from missed_classes"),
            "depth": lambda: views.rows("select * from depth_ranks"),
            "hubs": lambda: views.rows("select * from hubs"),
            "statuses": lambda: views.rows("select * from statuses"),
            "duplicates": lambda: views.rows("select * from duplicates order by pages desc limit 20"),
            "sitemap fields": lambda: views.rows("select * from sitemap_fields"),
            "report": lambda: page(gather_report(views, "made up", 0.0)),
        }
        for name, step in steps.items():
            begun = time.perf_counter()
            step()
            took[name] = time.perf_counter() - begun
    return took


def asked(folder: Path) -> dict[str, float]:
    """The same in a process of its own; with the processor's seconds and the most memory."""
    program = "import bench.insight as b, sys; b.tell(b.Path(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(said)
    return found


def tell(folder: Path) -> None:
    """What `ask` took, as JSON on stdout."""
    begun = time.perf_counter()
    took = ask(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took |= {"all": time.perf_counter() - begun, "cpu": time.process_time(), "peak_bytes": 1024.0 * peak}
    print(json.dumps(took))


def measure(quick: bool) -> list[Group]:
    """One table: pages a second, estimated and measured."""
    count = QUICK if quick else PAGES
    folder = Path(tempfile.mkdtemp(prefix="bench-insight-"))
    try:
        make(folder, count)
        took = asked(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [
        Group(
            title=f"Measures of {count:,} pages and {count * LINKS:,} links",
            unit="pages/s",
            rates={"periplus": count / took["all"]},
            targets=(),
            facts={
                "seconds": f"{took['all']:.1f}, of which {took['computing']:.1f} are computed once and kept",
                "processor seconds": f"{took['cpu']:.1f}",
                "most memory": f"{took['peak_bytes'] / 2**20:,.0f} MB",
            },
            notes=("PageRank, near-duplicates and all that is known of every URL; then every measure.",),
        )
    ]


if __name__ == "__main__":
    pages_wanted = int(sys.argv[1]) if len(sys.argv) > 1 else QUICK
    where = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="bench-insight-"))
    if not (where / "tables").exists():
        began = time.perf_counter()
        make(where, pages_wanted)
        print(f"made in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    shutil.rmtree(where / "insight", ignore_errors=True)
    for what, number in asked(where).items():
        print(f"{what:16} {number:14,.2f}")
