"""URL records on disk. The seen test of the crawl is a look-up here.

    records    site number, fingerprint -> row                    of the last `YOUNG` URLs
    urls       site number, number within the site -> row         of all others, found by `fingerprints`
    linked     their places -> bits                               of those that another link does not change

In a large tree a new URL, whose fingerprint is random, changes a page of its own, and a page above it. So the tree of
new URLs stays small: when it is full its rows are appended to those of their sites, where many share a page.

Keys are those of `sites`. After `MAX_PROBES` keys that are others' a URL passes for known and is not kept; also after
one, if a link leads to it and the other has a bit in `linked`, since no row is read then to compare them. What was
recently read or written is in memory together with its place, the key in either table: a URL is looked at several
times while it is fetched, and a row mostly stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from xxhash import xxh3_64_digest

from periplus.model import InvariantError, Site, Source, Url, UrlRecord
from periplus.urls import site_of

from .environment import Environment, Table
from .fingerprints import UrlPlaces
from .linked import LinkedUrls
from .rows import decode, in_chunks, lengthen, pack_record, shorten, unpack_record
from .sites import ID_LENGTH, KEY_LENGTH, MAX_PROBES, Recent, SiteNames, next_place, places_of

REMEMBERED = 8_192
"""Records in each of two generations: many times what is under way. About 1 KB each."""

YOUNG = 1 << 17
"""New URLs that are in a tree of their own: 15 MB of rows. A commit writes about half a page for each of them."""
NUMBER_LENGTH = 4
"""Bytes of a URL's number within its site."""


class DiskUrlRecords:
    """`UrlRecords` in two tables. `young`: how many URLs are new, `YOUNG` by default."""

    def __init__(
        self,
        environment: Environment,
        names: SiteNames,
        *,
        remembered: int = REMEMBERED,
        digest: Callable[[bytes], bytes] = xxh3_64_digest,
        young: int | None = None,
    ) -> None:
        self._table = environment.table("records")
        self._environment = environment
        self._older = self._older_table()
        self._names = names
        self._digest = digest
        self._remembered = remembered
        self._recent: Recent[Url, tuple[UrlRecord, bytes]] = Recent(remembered)
        self._young = young or YOUNG
        self._places = UrlPlaces(environment, self._older_places)
        self._linked = None if environment.is_readonly else LinkedUrls(environment)

    def add_new(self, records: Sequence[UrlRecord]) -> list[UrlRecord | None]:
        """Add records of unknown URLs; return for each the record that was there before, or itself (`UrlRecords`)."""
        answers = self._remembered_of([record.url for record in records])
        asked = [position for position, answer in enumerate(answers) if answer is None]
        keys = self._keys([records[position].url for position in asked], self._names.number)
        links = [_time_of_link(records[position]) for position in asked]
        rows, places, unchanged = self._read_for([key for key, _ in keys], links)
        new: dict[bytes, bytes] = {}
        for position, (first, short), is_unchanged in zip(asked, keys, unchanged, strict=True):
            record = records[position]
            if is_unchanged:
                answers[position] = record
                continue
            key, fields = self._look(first, short, rows, places) if first in rows else (first, None)
            if key is None:  # too many others are in the way
                answers[position] = record
                continue
            if fields is not None:
                record = answers[position] = unpack_record(fields, record.url)
            else:
                rows[key] = new[key] = pack_record(record, short)
            self._recent[record.url] = (record, places.get(key, key))
        if new:
            self._table.put_many(sorted(new.items()))
        return answers

    def get(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        """The record of each, aligned with `urls`."""
        answers = self._remembered_of(urls)
        if None in answers:
            asked = [position for position, answer in enumerate(answers) if answer is None]
            keys = self._keys([urls[position] for position in asked], self._names.find)
            rows, places = self._read([key for key, _ in keys])
            for position, (first, short) in zip(asked, keys, strict=True):
                key, fields = self._look(first, short, rows, places)
                if key is not None and fields is not None:
                    record = answers[position] = unpack_record(fields, urls[position])
                    self._recent[record.url] = (record, places.get(key, key))
        return answers

    def put(self, records: Iterable[UrlRecord]) -> None:
        """Write all or none: the batch is read completely before the first is written."""
        records = list(records)
        known = self._recent.get_all([record.url for record in records])
        asked = [record.url for record, each in zip(records, known, strict=True) if each is None]
        keys = self._keys(asked, self._names.number) if asked else []
        rows, places = self._read([key for key, _ in keys]) if asked else ({}, {})
        looked_up = iter(keys)
        new: dict[bytes, bytes] = {}
        for record, each in zip(records, known, strict=True):
            if each is None:
                first, short = next(looked_up)
                key, _ = self._look(first, short, rows, places)
                if key is None:
                    continue
                place = places.get(key, key)
                rows[key] = new[place] = pack_record(record, short)
            else:
                place = each[1]
                new[place] = pack_record(record, shorten(record.url, site_of(record.url)))
            self._recent[record.url] = (record, place)
        self._write(new)

    def take_in(self, site: Site, rows: Sequence[bytes]) -> None:
        """Store rows of a site that come from another state; those of URLs that are known here are replaced."""
        keys = self._keys([lengthen(decode(row)[0], site) for row in rows], self._names.number)
        known, places = self._read([key for key, _ in keys])
        new: dict[bytes, bytes] = {}
        for (first, short), row in zip(keys, rows, strict=True):
            key, _ = self._look(first, short, known, places)
            if key is not None:
                known[key] = new[places.get(key, key)] = row
        self._write(new)
        self.forget_recent()

    def rows_of(self, site: Site) -> Iterator[bytes]:
        """Every row of a site."""
        number = self._names.find(site)
        if number is not None:
            for table in self._tables():
                for _, row in table.walk(number):
                    yield row

    def remove(self, site: Site) -> Iterator[None]:
        """Remove the rows of a site, one at a time. `forget_sites` has to follow."""
        number = self._names.find(site)
        if number is not None:
            if self._linked is not None:
                self._linked.forget_site(number)
            for table in self._tables():
                for key, _ in table.walk(number):
                    table.delete(key)
                    yield

    def forget_sites(self, sites: Iterable[Site]) -> None:
        """After all rows of these sites were removed: forget where they were."""
        self.forget_recent()
        self._places.forget_sites([number for site in sites if (number := self._names.find(site)) is not None])

    def _remembered_of(self, urls: Sequence[Url]) -> list[UrlRecord | None]:
        return [None if known is None else known[0] for known in self._recent.get_all(urls)]

    def of_site(self, site: Site) -> Iterator[UrlRecord]:
        """Every record of a site, each once, in no order that means anything."""
        for row in self.rows_of(site):
            fields = decode(row)
            yield unpack_record(fields, lengthen(fields[0], site))

    @property
    def is_full(self) -> bool:
        """Whether rows should be moved out of the tree of new URLs."""
        return len(self._table) >= self._young

    def flush(self) -> None:
        """Before a commit: merge the next piece of the index."""
        self._places.flush()

    def committed(self) -> None:
        """After a commit."""
        self._places.committed()

    def follow(self) -> None:
        """Read what another process has committed meanwhile."""
        self.forget_recent()
        if self._older is None:
            self._older = self._older_table()
        self._places.follow()

    def close(self) -> None:
        """Give up what is not finished."""
        self._places.close()

    def check_invariants(self) -> None:
        """Every row is found by its URL."""
        self._places.check_invariants()
        for rows in in_chunks(self._older_places(), 1000):
            if len(self._places.find([key for key, _ in rows])) < len({key for key, _ in rows}):
                raise InvariantError("a URL that has a record cannot be found")
        if self._linked is not None and self._older is not None:
            for rows in in_chunks(self._older.walk(), 1000):
                self._linked.check(rows)

    def forget_recent(self) -> None:
        """What is in the table has changed by another hand."""
        self._recent = Recent(self._remembered)

    def __len__(self) -> int:
        return sum(len(table) for table in self._tables())

    def _older_table(self) -> Table | None:
        """The table of older rows; `None`: there is none in this state of an earlier version, which is only read."""
        has_one = not self._environment.is_readonly or self._environment.has_table("urls")
        return self._environment.table("urls") if has_one else None

    def _tables(self) -> Iterator[Table]:
        """Both, in the order in which rows move, so that none is missed if a commit comes between."""
        yield self._table
        if self._older is not None:
            yield self._older

    def _keys(self, urls: Sequence[Url], number_of: Callable[[Site], bytes | None]) -> list[tuple[bytes, str]]:
        return places_of(urls, number_of, self._digest)

    def _read(self, keys: list[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """The rows of these keys, and the places of those that are no longer in the tree of new URLs."""
        rows, places, _ = self._read_for(keys, [None] * len(keys))
        return rows, places

    def _read_for(
        self, keys: list[bytes], links: list[float | None]
    ) -> tuple[dict[bytes, bytes], dict[bytes, bytes], list[bool]]:
        """The same for links found at these times; and which of them change nothing: their rows may be missing.

        Most links lead to URLs that have left the tree of new ones, so those are looked up first.
        """
        if not self._places.has_files or self._older is None:
            return self._table.get_many(keys), {}, [False] * len(keys)
        places = self._places.find(keys)
        rows = self._table.get_many([key for key in keys if key not in places])
        unchanged = [False] * len(keys)
        if self._linked is not None:
            unchanged = self._linked.find([places.get(key) for key in keys], links)
        wanted = {key: places[key] for key, skip in zip(keys, unchanged, strict=True) if not skip and key in places}
        older = self._older.get_many(wanted.values())
        for key, place in wanted.items():
            if (row := older.get(place)) is not None:
                rows[key] = row
        return rows, places, unchanged

    def _write(self, new: dict[bytes, bytes]) -> None:
        """Write rows to their places: the length of a key tells the table."""
        if not self._places.has_files:
            self._table.put_many(sorted(new.items()))
            return
        young = {place: row for place, row in new.items() if len(place) == KEY_LENGTH}
        if young:
            self._table.put_many(sorted(young.items()))
        if self._older is not None and len(young) < len(new):
            older = sorted([(place, row) for place, row in new.items() if place not in young])
            self._older.put_many(older)
            if self._linked is not None:
                self._linked.put(older)

    def _look(
        self, key: bytes, short: str, rows: dict[bytes, bytes], places: dict[bytes, bytes]
    ) -> tuple[bytes | None, list[Any] | None]:
        """The key that the URL has or would have, and its row if it is there. `None`: too many others are in the way.

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
            if key not in rows:
                for found, total in zip(self._read([key]), (rows, places), strict=True):
                    total.update(found)
            row = rows.get(key)
        return None, None

    def move_young(self) -> None:
        """Append the rows of the tree of new URLs to those of their sites, or part of them if it is overfull."""
        if self._older is None:
            return
        moved = list(islice(self._table.walk(), 2 * self._young))
        places: list[tuple[bytes, bytes]] = []
        site, end = b"", 0
        for key, _ in moved:
            number = key[:ID_LENGTH]
            if number != site:
                last = self._older.last(number)
                site, end = number, 0 if last is None else int.from_bytes(last[ID_LENGTH:], "big") + 1
            places.append((key, number + end.to_bytes(NUMBER_LENGTH, "big")))
            end += 1
        rows = [(place, row) for (_, place), (_, row) in zip(places, moved, strict=True)]
        self._older.put_many(rows)
        if self._linked is not None:
            self._linked.put(rows)
        self._places.add(places)
        if len(moved) == len(self._table):
            self._table.clear()
        else:
            for key, _ in moved:
                self._table.delete(key)
        self.forget_recent()

    def _older_places(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and places of all rows that have been moved. Of URLs that share a key, only the first is found again."""
        last, site = b"", Site("")
        for place, row in () if self._older is None else self._older.walk():
            number = place[:ID_LENGTH]
            if number != last:
                last, site = number, self._names.name(number)
            yield number + self._digest(lengthen(decode(row)[0], site).encode()), place


def _time_of_link(record: UrlRecord) -> float | None:
    """When a link was found, if the record says nothing else; otherwise `None`."""
    seen = record.first_seen
    is_link = len(seen) == 1 and seen[0].source is Source.LINK
    return seen[0].at if is_link and record.lastmod is None and not record.reason and not record.visits else None
