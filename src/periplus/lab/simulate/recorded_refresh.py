"""The tables of a simulated refresh: every page is known from the beginning, and each fetch is compared with the last.

As `recording` does for crawls: rows of `discoveries` and `pages` once for every page, of `fetches` and `changes` for
every fetch. Policies with metadata read archives, not sitemaps: `sitemap_entries` is empty, and so
is `links`.
"""

from __future__ import annotations

from pathlib import Path

from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Discovered,
    Discovery,
    Event,
    Fetched,
    FetchEnded,
    FetchTask,
    Lane,
    PageRead,
    Purpose,
    Site,
    Source,
    Url,
)
from periplus.store.tables import Tables

from .freshness import FreshnessResult, simulate_freshness
from .histories import DAY, Histories
from .learned_refresh import Today
from .recording import new_tables, page_of
from .refresh import RefreshSettings
from .window import Ints, Window, window


def record_refresh(
    folder: Path,
    histories: Histories,
    policy: str,
    budget: float,
    *,
    days: int | None = None,
    seed: int = 0,
    settings: RefreshSettings = RefreshSettings(),  # noqa: B008 - frozen
) -> FreshnessResult:
    """Run a policy and write its tables to an empty folder."""
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
                Discovered(Discovery(name, Source.SEED, born * DAY), is_new=True)
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
