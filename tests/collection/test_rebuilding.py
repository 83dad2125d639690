"""Rows that are made again are added once, and only if they are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from periplus.collection.rebuilding import AnswerTimes, MissingRows
from periplus.model import (
    ChangeLevel,
    ChangeSeen,
    Discovery,
    Event,
    Fetched,
    FetchEnded,
    FetchTask,
    Lane,
    Purpose,
    SitemapEntriesRead,
    SitemapEntry,
    Source,
    Stored,
    Url,
    UrlDiscovered,
)
from periplus.store.tables import SCHEMAS, Spooled, Tables
from periplus.store.tables.reader import scan
from periplus.urls import site_of

AT = 1_800_000_000.123456


def stored(number: int) -> Stored:
    return Stored("periplus-00-20270115080000-00001.warc.gz", number * 1000, 500, "sha1:A")


def fetched(number: int) -> Fetched:
    url = Url(f"http://a.test/{number}")
    return Fetched(FetchTask(url, site_of(url), Purpose.PAGE, Lane.DISCOVERY, 0.0), 200, (), b"", AT, 0.5)


def some_events(number: int) -> list[Event]:
    url = Url(f"http://a.test/{number}")
    entries = [SitemapEntry(Url(f"{url}/{entry}")) for entry in range(3)]
    return [
        UrlDiscovered(Discovery(url, Source.LINK, AT + number), True),
        FetchEnded(fetched(number), AT + number, stored(number)),
        ChangeSeen(url, AT + number, ChangeLevel.SAME),
        SitemapEntriesRead(url, AT + number, [*entries, entries[0]]),
    ]


class Collected:
    """The tables of a shard, at their last mark."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark: bytes | None = None

    @property
    def spooled(self) -> Spooled:
        return Spooled(0, self._folder / "spool", self._mark)

    @contextmanager
    def opened(self) -> Iterator[Tables]:
        with closing(Tables(self._folder / "tables", self._folder / "spool", shard=0, mark=self._mark)) as tables:
            yield tables
            self._mark = tables.checkpoint()

    def write(self, *numbers: int) -> None:
        with self.opened() as tables:
            tables.record([event for number in numbers for event in some_events(number)])

    def add(self, *numbers: int, wanted: tuple[str, ...] = tuple(SCHEMAS)) -> dict[str, int]:
        with self.opened() as tables:
            missing = MissingRows(self._folder / "tables", self.spooled, tables, wanted)
            for number in numbers:
                missing.add(some_events(number))
            missing.flush()
        return {table: rows for table, rows in missing.added.items() if rows}

    def urls(self, table: str) -> Counter[str]:
        batches = scan(self._folder / "tables", table, spooled=[self.spooled], columns=["url"])
        return Counter(url for batch in batches for url in batch["url"].to_pylist())


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


def test_what_is_there_is_not_added(collected: Collected) -> None:
    """Whatever is made again of it, and in which order."""
    collected.write(1, 2, 3)
    assert collected.add(3, 1, 2) == {}


def test_what_is_missing_is_added_once(collected: Collected) -> None:
    """Also where a reading has one URL twice."""
    collected.write(1, 3)
    assert collected.add(1, 2, 3) == {"discoveries": 1, "fetches": 1, "changes": 1, "sitemap_entries": 4}
    assert collected.add(1, 2, 3) == {}
    assert set(collected.urls("fetches").values()) == {1}
    assert collected.urls("sitemap_entries")["http://a.test/2/0"] == 2


def test_only_wanted_tables_are_touched(collected: Collected) -> None:
    """The others are whole."""
    assert collected.add(1, wanted=("changes",)) == {"changes": 1}
    assert collected.urls("fetches") == {}


def test_answers_were_applied_when_their_rows_say(collected: Collected, tmp_path: Path) -> None:
    """Or else when they ended."""
    collected.write(7)
    times = AnswerTimes(tmp_path / "tables", collected.spooled)
    assert times.applied_at(fetched(7), stored(7)) == AT + 7
    assert times.applied_at(fetched(8), stored(8)) == AT + 0.5
