"""The ports of storage, in memory. First class: simulations and tests run on these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from periplus.model import Event, Fingerprint, Site, Url, UrlRecord
from periplus.urls import site_of


class MemorySeenSet:
    """A `SeenSet` that forgets with the process: about 90 bytes a URL."""

    def __init__(self) -> None:
        self._seen: set[Fingerprint] = set()

    def add_new(self, fingerprints: Sequence[Fingerprint]) -> list[bool]:
        """Add all; for each, whether it was new."""
        answers = []
        for fingerprint in fingerprints:
            known = len(self._seen)
            self._seen.add(fingerprint)
            answers.append(len(self._seen) > known)
        return answers

    def __len__(self) -> int:
        return len(self._seen)


class MemoryUrlRecords:
    """`UrlRecords` in one dict a site, so that a site's records come out together and in key order."""

    def __init__(self) -> None:
        self._sites: dict[Site, dict[Url, UrlRecord]] = {}

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        return [self._sites.get(site_of(url), {}).get(url) for url in urls]

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is drawn out whole before the first is written."""
        for record in list(records):
            self._sites.setdefault(site_of(record.url), {})[record.url] = record

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, in the order of their URLs."""
        records = self._sites.get(site, {})
        return iter([records[url] for url in sorted(records)])


class MemoryEventSink:
    """An `EventSink` that keeps every event in the order of arrival."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def record(self, events: Sequence[Event]) -> None:
        """Take note."""
        self.events.extend(events)
