"""The eight tables of a simulated crawl, written as a live crawl writes its own: every report reads both.

The simulation records discoveries and fetches. A crawl reads the content and links of a page from its bytes; here they
come from the arrays of the web, for every page that was fetched well. Titles, texts and sketches are empty: a simulated
web has none. Virtual time begins with second 0, so that tables say 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.model import (
    Digests,
    Directives,
    Event,
    Fetched,
    FetchEnded,
    Links,
    Page,
    PageRead,
    Purpose,
    Relations,
    Url,
    UsageError,
)
from periplus.store.tables import SCHEMAS, Tables

from .crawl import Progress, Trace
from .network import NetworkSettings
from .policy_choice import PolicyChoice
from .runs import crawl_of
from .stored_webs import RankedWeb
from .web import OK, Web

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

    def _page(self, page: int) -> Page:
        links = self._web.targets[self._web.starts[page] : self._web.starts[page + 1]].tolist()
        return page_of(self._names[page], [self._names[link] for link in links])


def page_of(url: Url, links: Sequence[Url]) -> Page:
    """A page of which only its links are known. It differs from all others, and is the same at every visit."""
    digest = xxh3_64_intdigest(url.encode())
    return Page(
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
