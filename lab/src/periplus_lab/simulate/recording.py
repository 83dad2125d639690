"""Writes the tables of simulated crawls and refreshes as a live crawl does, and makes a web for simulation from tables.

Every report reads the tables of both. A live crawl reads the content and links of a page from its bytes; in a
simulation they come from the arrays of the web, for every page that was fetched well. Titles, texts and sketches are
empty. Virtual time begins with second 0, so the tables begin in 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs
from msgspec.structs import replace
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    CollectionError,
    Digests,
    Directives,
    Discovery,
    Event,
    Fetched,
    FetchEnded,
    FetchTask,
    Lane,
    Links,
    PageRead,
    ParsedPage,
    Purpose,
    Relations,
    Site,
    Source,
    Url,
    UrlDiscovered,
    UsageError,
)
from periplus.store.tables import SCHEMAS, Tables, read
from periplus.urls import site_of

from .crawl import Progress, Trace
from .edge_lists import Graph
from .freshness import FreshnessResult, simulate_freshness
from .graph_files import RankedWeb, seeds_of
from .histories import DAY, Histories, Ints, Window, window
from .learned_refresh import Today
from .network import NetworkSettings
from .refresh import TruthSettings
from .runs import PolicyChoice, crawl_of
from .web import NO_ANSWER, OK, Web, web_from_edges

Floats = NDArray[np.float64]
_NOT_MODIFIED = 304


def web_of_collection(folder: Path, *, with_unvisited: bool = False) -> Web:
    """The web that the crawl in this folder saw.

    It has the pages that were visited with their last answer (status, bytes, seconds), the links of their last reading
    in the order of the page, redirects as links, and the seeds. Where a URL has another origin (a spelling that a
    filter changed, a canonical URL), the link comes from the page that first named it. A simulated web has no sitemaps,
    feeds or pings: a page that was found in these alone is a seed.

    Left out: URLs that robots.txt or a rule excluded, robots files and sitemaps themselves, and URLs that were known
    but never visited. `with_unvisited` adds the last as pages without links, of the mean size and duration. A visit
    that failed without an answer is a page with `NO_ANSWER`. Rows of a crawl that was killed and not continued are in
    its spool and do not count.
    """
    tables = folder / "tables"
    if not tables.is_dir():
        raise CollectionError(
            f"{folder} is not a collection", hint="give the folder that a crawl was made with: -o DIR"
        )
    visits = _last_visits(tables)
    found = read(tables, "discoveries", columns=["url", "source", "referrer", "is_new", "refused"])
    found = found.filter(pc.is_null(found["refused"]))
    urls = visits["url"].to_pylist()
    unvisited = _unvisited(found, set(urls), tables) if with_unvisited else []
    urls += unvisited
    if not urls:
        raise CollectionError(
            f"{folder} holds no visits to pages", hint="crawl something first: periplus crawl SEED -o DIR"
        )
    number = {url: page for page, url in enumerate(urls)}
    moved = visits.filter(pc.is_valid(visits["target"]))
    first = found.filter(pc.and_(pc.fill_null(found["is_new"], False), pc.is_valid(found["referrer"])))
    links = (
        _pairs(moved["url"], moved["target"], number),  # a redirect leads where its first link leads
        _links(tables, number),
        _pairs(first["referrer"], first["url"], number),
    )
    sources, targets = (np.concatenate(ends) for ends in zip(*links, strict=True))
    graph = Graph(len(urls), sources, targets)
    given = found.filter(_is(found["source"], "seed"))["url"].to_pylist()
    seeds = np.array([number[url] for url in dict.fromkeys(given) if url in number], np.int64)
    return _web(urls, visits, graph, seeds)


def _last_visits(tables: Path) -> pa.Table:
    """The row of the last visit to each page, in the order of first visits; a 304 only if there is no other."""
    columns = ["url", "purpose", "outcome", "status", "duration", "bytes", "target", "started_at"]
    rows = read(tables, "fetches", columns=columns)
    rows = rows.filter(pc.and_(_is(rows["purpose"], "page"), pc.invert(_is(rows["outcome"], "excluded"))))
    if not len(rows):
        return rows
    key = rows["url"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    time = rows["started_at"].cast(pa.int64()).to_numpy()
    tells = pc.invert(_is(rows["outcome"], "not-modified")).to_numpy()
    order = np.lexsort((np.arange(len(key)), time, tells, key))
    return rows.take(order[np.searchsorted(key[order], np.arange(key.max() + 1), side="right") - 1])


def _unvisited(found: pa.Table, visited: set[Url], tables: Path) -> list[Url]:
    """URLs that were accepted but neither requested nor excluded, in the order of their discovery."""
    rows = read(tables, "fetches", columns=["url", "outcome"])
    handled = visited | set(rows.filter(_is(rows["outcome"], "excluded"))["url"].to_pylist())
    others = read(tables, "fetches", columns=["url", "purpose"])
    handled |= set(others.filter(pc.invert(_is(others["purpose"], "page")))["url"].to_pylist())
    return [url for url in dict.fromkeys(found["url"].to_pylist()) if url not in handled]


def _links(tables: Path, number: dict[Url, int]) -> tuple[Ints, Ints]:
    """The links among these pages, of the last reading of each."""
    rows = read(tables, "links", columns=["page", "read_at", "target"])
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sources, targets = _numbers(rows["page"], number), _numbers(rows["target"], number)
    time = rows["read_at"].cast(pa.int64()).to_numpy()
    latest = np.full(len(number) + 1, np.iinfo(np.int64).min)
    np.maximum.at(latest, sources, time)
    chosen = (sources >= 0) & (targets >= 0) & (time == latest[sources])
    return sources[chosen], targets[chosen]


def _numbers(column: pa.ChunkedArray, number: dict[Url, int]) -> Ints:
    """The page of each URL of a column of repeated strings, or -1."""
    coded = column.combine_chunks()
    coded = coded if isinstance(coded, pa.DictionaryArray) else coded.dictionary_encode()
    pages = np.array([number.get(url, -1) for url in coded.dictionary.to_pylist()], np.int64)
    return np.asarray(pages[coded.indices.to_numpy()], np.int64)


def _pairs(sources: pa.ChunkedArray, targets: pa.ChunkedArray, number: dict[Url, int]) -> tuple[Ints, Ints]:
    """The pages of two columns, where both are pages."""
    heads, tails = _numbers(sources, number), _numbers(targets, number)
    are_pages = (heads >= 0) & (tails >= 0)
    return heads[are_pages], tails[are_pages]


def _web(urls: list[Url], visits: pa.Table, graph: Graph, seeds: Ints) -> Web:
    places: dict[Site, int] = {}
    site = np.fromiter((places.setdefault(site_of(url), len(places)) for url in urls), np.int64, len(urls))
    sites = list(places)
    web = web_from_edges(graph.sources, graph.targets, site, sites, seeds=seeds_of(graph, seeds), urls=urls)
    missing = len(urls) - len(visits)
    took = _filled(visits["duration"], missing)
    return structs.replace(
        web,
        targets=web.targets[_as_written(graph)],
        size=np.clip(_filled(visits["bytes"], missing, 0.0), 0, 2**31 - 1).astype(np.int32),
        status=np.concatenate((_statuses(visits), np.full(missing, OK, np.int16))),
        latency=np.bincount(site, weights=took, minlength=len(sites)) / np.bincount(site, minlength=len(sites)),
        took=took,
    )


def _as_written(graph: Graph) -> Ints:
    """Where the links of a web belong so that each page has them in the order in which it names them."""
    key, first = np.unique(graph.sources * graph.pages + graph.targets, return_index=True)
    return np.lexsort((first, key // graph.pages))


def _statuses(visits: pa.Table) -> NDArray[np.int16]:
    """What was answered; "as before" was well."""
    status = pc.fill_null(visits["status"], NO_ANSWER).to_numpy()
    return np.where(status == _NOT_MODIFIED, OK, status).astype(np.int16)


def _filled(column: pa.ChunkedArray, missing: int, unknown: float | None = None) -> Floats:
    """The column, extended by its mean. Nulls become the mean as well, unless `unknown` is given."""
    mean = pc.mean(column).as_py() or 0.0
    known = pc.fill_null(column.cast(pa.float64()), mean if unknown is None else unknown).to_numpy()
    return np.concatenate((known, np.full(missing, mean)))


def _is(column: pa.ChunkedArray, word: str) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column.cast(pa.string()), word), False)


_CHECKPOINT_EVERY = 2000
"""Fetches between two checkpoints of the tables: what waits in memory is bounded."""


def record_crawl(
    folder: Path,
    ranked_web: RankedWeb,
    policy: PolicyChoice,
    network: NetworkSettings,
    *,
    seed: int,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Run a crawl once more and write its tables to an empty folder."""
    with new_tables(folder) as tables:
        events = CrawlRecorder(ranked_web.web, tables)
        return crawl_of(ranked_web, policy, network, seed=seed, limit=limit, events=events).run(progress)


@contextmanager
def new_tables(folder: Path) -> Iterator[Tables]:
    """Tables that are whole when all went well."""
    if any((folder / table).exists() for table in SCHEMAS):
        raise UsageError(f"{folder} has tables already", hint="name another folder, or remove them")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".spool-") as spool:
        tables = Tables(folder, Path(spool), shard=0, mark=None)
        try:
            yield tables
            tables.settle()
        finally:
            tables.close()


class CrawlRecorder:
    """Passes events on, and records the page when one was fetched well."""

    def __init__(self, web: Web, tables: Tables) -> None:
        self._web = web
        self._names = web.names()
        self._pages = {url: page for page, url in enumerate(self._names)}
        self._tables = tables
        self._since = 0

    def record(self, events: Sequence[Event]) -> None:
        """Take note."""
        found: list[Event] = []
        for event in events:
            if isinstance(event, FetchEnded) and isinstance(event.outcome, Fetched):
                found.extend(self._fetched(event, event.outcome))
            else:
                found.append(event)
        self._tables.record(found)
        if self._since >= _CHECKPOINT_EVERY:
            self._since = 0
            self._tables.checkpoint()

    def _fetched(self, event: FetchEnded, outcome: Fetched) -> list[Event]:
        page = self._pages.get(outcome.task.url)
        if page is None or outcome.task.purpose is not Purpose.PAGE:
            return [event]
        self._since += 1
        whole = replace(event, outcome=replace(outcome, body=bytes(int(self._web.size[page]))))
        return [whole, PageRead(self._page(page), event.ended_at)] if outcome.status == OK else [whole]

    def _page(self, page: int) -> ParsedPage:
        links = self._web.targets[self._web.starts[page] : self._web.starts[page + 1]].tolist()
        return page_of(self._names[page], [self._names[link] for link in links])


def page_of(url: Url, links: Sequence[Url]) -> ParsedPage:
    """A page of which only its links are known. It differs from all others, and is the same at every visit."""
    digest = xxh3_64_intdigest(url.encode())
    return ParsedPage(
        url=url,
        base=url,
        charset="",
        mime="",
        title="",
        description="",
        language="",
        text="",
        main_text="",
        links=Links(list(links), [""] * len(links)),
        resources=(),
        relations=Relations(),
        directives=Directives(),
        refresh=None,
        script_redirect=None,
        forms=(),
        sketch=b"",
        digests=Digests(digest, digest, digest, digest),
    )


def record_refresh(
    folder: Path,
    histories: Histories,
    policy: str,
    budget: float,
    *,
    days: int | None = None,
    seed: int = 0,
    settings: TruthSettings = TruthSettings(),  # noqa: B008 - frozen
) -> FreshnessResult:
    """Run a policy and write its tables to an empty folder.

    Every page is known from its birth, and each fetch is compared with the last: `discoveries` has a row for each page,
    `pages` for each page that was fetched, `fetches` and `changes` for each fetch. `links` is empty, and so is
    `sitemap_entries`, since policies with metadata read archives.
    """
    span = window(histories, days)
    with new_tables(folder) as tables:
        recorder = _Recorder(histories, span, tables, settings.page_bytes)
        return simulate_freshness(span, policy, budget, seed=seed, settings=settings, watch=recorder.see)


class _Recorder:
    """Records what was fetched in the tables, a day at a time."""

    def __init__(self, histories: Histories, span: Window, tables: Tables, page_bytes: int) -> None:
        self._tables = tables
        self._body = bytes(page_bytes)
        self._names = [name_of(histories, page) for page in span.pages.tolist()]
        self._sites = [Site(histories.sites[site]) for site in span.site.tolist()]
        self._tables.record(
            [
                UrlDiscovered(Discovery(name, Source.SEED, born * DAY), is_new=True)
                for name, born in zip(self._names, span.born_at.tolist(), strict=True)
            ]
        )
        self._is_read = bytearray(len(span))

    def see(self, today: Today, fetched: Ints) -> None:
        """What was fetched at the end of a day."""
        at, is_stale = today.now * DAY, today.is_stale
        events: list[Event] = []
        for page in fetched.tolist():
            url = self._names[page]
            task = FetchTask(url, self._sites[page], Purpose.PAGE, Lane.REFRESH, at, source=Source.SEED)
            events.append(FetchEnded(Fetched(task, 200, (), self._body, at, 0.0), at))
            events.append(ChangeSeen(url, at, ChangeLevel.MAJOR if is_stale[page] else ChangeLevel.SAME))
            if not self._is_read[page]:
                self._is_read[page] = 1
                events.append(PageRead(page_of(url, ()), at))
        self._tables.record(events)
        self._tables.checkpoint()


def name_of(histories: Histories, page: int) -> Url:
    """A page by its URL."""
    path = histories.pages[page].lstrip("/") if histories.pages is not None else str(page)
    return Url(f"http://{histories.sites[histories.site[page]]}/{path}")
