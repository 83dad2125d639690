"""URL records on disk: site number and fingerprint to row. The seen test of the crawl is a look-up here.

Keys are those of `places`. After `MAX_PROBES` keys that are others' a URL passes for known and is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xxhash import xxh3_64_digest

from periplus.model import Site, Url, UrlRecord

from .environment import Environment
from .names import Recent, SiteNames
from .places import MAX_PROBES, next_place, places_of
from .rows import decode, lengthen, pack_record, unpack_record

REMEMBERED = 16_384


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
        self._recent: Recent[Url, UrlRecord] = Recent(remembered)

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add those whose URL is not known; for each the record that was there before."""
        answers = self._recent.get_all([record.url for record in records])
        asked = [position for position, answer in enumerate(answers) if answer is None]
        places = self._places([records[position].url for position in asked], self._names.number)
        rows = self._table.get_many([key for key, _ in places])
        new: dict[bytes, bytes] = {}
        for position, (key, short) in zip(asked, places, strict=True):
            record = records[position]
            place, fields = self._look(key, short, rows) if key in rows else (key, None)
            if fields is not None:
                record = answers[position] = unpack_record(fields, record.url)
            elif place is None:  # too many others are in the way
                answers[position] = record
                continue
            else:
                rows[place] = new[place] = pack_record(record, short)
            self._recent[record.url] = record
        if new:
            self._table.put_many(sorted(new.items()))
        return answers

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        answers = self._recent.get_all(urls)
        asked = [position for position, answer in enumerate(answers) if answer is None]
        if asked:
            places = self._places([urls[position] for position in asked], self._names.find)
            rows = self._table.get_many([key for key, _ in places])
            for position, (key, short) in zip(asked, places, strict=True):
                _, fields = self._look(key, short, rows)
                answers[position] = None if fields is None else unpack_record(fields, urls[position])
        return answers

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is drawn out whole before the first is written."""
        records = list(records)
        places = self._places([record.url for record in records], self._names.number)
        rows = self._table.get_many([key for key, _ in places])
        new: dict[bytes, bytes] = {}
        for record, (key, short) in zip(records, places, strict=True):
            place, _ = self._look(key, short, rows)
            if place is not None:
                rows[place] = new[place] = pack_record(record, short)
                self._recent[record.url] = record
        self._table.put_many(sorted(new.items()))

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
        """Where the URL is or would be, and the row that is there. No place: too many others are in the way.

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
