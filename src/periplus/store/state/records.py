"""URL records on disk: site number and fingerprint to row. The seen test of the crawl is a look-up here.

Keys are those of `sites`. After `MAX_PROBES` keys that are others' a URL passes for known and is not kept. What was
recently read or written is in memory together with its key: a URL is looked at several times while it is fetched, and
a row stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xxhash import xxh3_64_digest

from periplus.model import Site, Url, UrlRecord
from periplus.urls import site_of

from .environment import Environment
from .rows import decode, lengthen, pack_record, shorten, unpack_record
from .sites import MAX_PROBES, Recent, SiteNames, next_place, places_of

REMEMBERED = 8_192
"""Records in each of two generations: many times what is under way. About 1 KB each."""


class DiskUrlRecords:
    """`UrlRecords` in one table."""

    def __init__(
        self,
        environment: Environment,
        names: SiteNames,
        *,
        remembered: int = REMEMBERED,
        digest: Callable[[bytes], bytes] = xxh3_64_digest,
    ) -> None:
        self._table = environment.table("records")
        self._names = names
        self._digest = digest
        self._remembered = remembered
        self._recent: Recent[Url, tuple[UrlRecord, bytes]] = Recent(remembered)

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add records of unknown URLs; return for each the record that was there before."""
        answers = self._remembered_of([record.url for record in records])
        asked = [position for position, answer in enumerate(answers) if answer is None]
        places = self._places([records[position].url for position in asked], self._names.number)
        rows = self._table.get_many([key for key, _ in places])
        new: dict[bytes, bytes] = {}
        for position, (key, short) in zip(asked, places, strict=True):
            record = records[position]
            place, fields = self._look(key, short, rows) if key in rows else (key, None)
            if place is None:  # too many others are in the way
                answers[position] = record
                continue
            if fields is not None:
                record = answers[position] = unpack_record(fields, record.url)
            else:
                rows[place] = new[place] = pack_record(record, short)
            self._recent[record.url] = (record, place)
        if new:
            self._table.put_many(sorted(new.items()))
        return answers

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        answers = self._remembered_of(urls)
        if None in answers:
            asked = [position for position, answer in enumerate(answers) if answer is None]
            places = self._places([urls[position] for position in asked], self._names.find)
            rows = self._table.get_many([key for key, _ in places])
            for position, (key, short) in zip(asked, places, strict=True):
                place, fields = self._look(key, short, rows)
                if place is not None and fields is not None:
                    record = answers[position] = unpack_record(fields, urls[position])
                    self._recent[record.url] = (record, place)
        return answers

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is read completely before the first is written."""
        records = list(records)
        known = self._recent.get_all([record.url for record in records])
        asked = [record.url for record, each in zip(records, known, strict=True) if each is None]
        places = self._places(asked, self._names.number) if asked else []
        rows = self._table.get_many([key for key, _ in places]) if asked else {}
        looked_up = iter(places)
        new: dict[bytes, bytes] = {}
        for record, each in zip(records, known, strict=True):
            if each is None:
                key, short = next(looked_up)
                place, _ = self._look(key, short, rows)
            else:
                place, short = each[1], shorten(record.url, site_of(record.url))
            if place is not None:
                rows[place] = new[place] = pack_record(record, short)
                self._recent[record.url] = (record, place)
        self._table.put_many(sorted(new.items()))

    def _remembered_of(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        return [None if known is None else known[0] for known in self._recent.get_all(urls)]

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, each once, in no order that means anything."""
        number = self._names.find(site)
        if number is None:
            return
        for _, row in self._table.walk(number):
            fields = decode(row)
            yield unpack_record(fields, lengthen(fields[0], site))

    def forget_recent(self) -> None:
        """What is in the table has changed by another hand."""
        self._recent = Recent(self._remembered)

    def __len__(self) -> int:
        return len(self._table)

    def _places(self, urls: Sequence[Url], number_of: Callable[[Site], bytes | None]) -> list[tuple[bytes, str]]:
        return places_of(urls, number_of, self._digest)

    def _look(self, key: bytes, short: str, rows: dict[bytes, bytes]) -> tuple[bytes | None, list[Any] | None]:
        """The key where the URL is or would be, and its row if it is there. `None`: too many others are in the way.

        `rows` are those read or written in this batch; the first key of every URL has been looked up before.
        """
        row = rows.get(key)
        for _ in range(MAX_PROBES):
            if row is None:
                return key, None
            fields = decode(row)
            if fields[0] == short:
                return key, fields
            key = next_place(key)
            row = rows.get(key) or self._table.get(key)
        return None, None
