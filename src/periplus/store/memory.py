"""The ports of storage, in memory. First class: simulations and tests run on these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from periplus.model import Event, Site, Url, UrlRecord
from periplus.urls import site_of


class MemoryUrlRecords:
    """`UrlRecords` in one dict a site, so that a site's records come out together and in key order."""

    def __init__(self) -> None:
        self._sites: dict[Site, dict[Url, UrlRecord]] = {}

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add those whose URL is not known; for each the record that was there before."""
        answers: list[UrlRecord | None] = []
        for record in records:
            site = self._sites.setdefault(site_of(record.url), {})
            answers.append(site.get(record.url))
            site.setdefault(record.url, record)
        return answers

    def __len__(self) -> int:
        return sum(map(len, self._sites.values()))

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        return [self._sites.get(site_of(url), {}).get(url) for url in urls]

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is drawn out whole before the first is written."""
        for record in list(records):
            self._sites.setdefault(site_of(record.url), {})[record.url] = record

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, each once."""
        records = self._sites.get(site, {})
        return iter([records[url] for url in sorted(records)])


class MemoryEventSink:
    """An `EventSink` that keeps every event in the order of arrival."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        """Take note."""
        self.events.extend(events)
