"""Moves whole sites from one state to others, when the number of shards changes.

Keys begin with the number that a state gave a site, and another state gives it another: rows are rewritten on their
way. `copy` copies everything of the sites that are to go; `clear` removes it from the state that it came from. Both may
be interrupted anywhere and done again from the beginning: what was copied before is recognised or written once more,
what was removed is not there. The caller commits in between, and records that the copy is complete before `clear`
begins. Rows are read and committed some thousands at a time, so that memory does not grow with the number of sites.

`TABLES` states how each table is moved; a table that is added to the state is added there, too.

Four things are not quite as before. Links between pages of two sites that part are forgotten by orderings that look at
all links, as are links between sites of different shards anyway. A cluster of pages that say the same becomes two when
its sites part. A body that is the same as one of another site is stored again if that site is elsewhere now. And how
long a URL has waited, which OPIC counts in pages of its shard, is counted in pages of the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from periplus.model import Site, Url
from periplus.urls import site_of

from .disk import DiskState
from .rows import decode, in_chunks
from .sites import ID_LENGTH

TABLES: Final = {
    "records": "by the number of a site",
    "urls": "by the number of a site; they become records of new URLs",
    "linked": "made again from records",
    "queues": "by the number of a site; places keep their sequence",
    "lengths": "counted again",
    "listings": "by the number of a site",
    "postponed": "in the order of times: all are looked at, as rows name the site",
    "calendar": "in the order of times: all are looked at, as rows name the URL",
    "standings": "by the number of a site; a URL gets another number",
    "ranks": "by the number of a URL: what they say goes with the standing",
    "standing-links": "those between URLs that go to the same state",
    "forest": "by way of forest-sites",
    "forest-sites": "by the number of a site",
    "forest-due": "with its file, in a new place",
    "forest-memories": "with its file",
    "sites": "by the name of a site",
    "robots": "by the name of a site",
    "payloads": "with the site of the URL that had it first: what is fetched again is mostly the same URL",
    "sketch-pages": "by the number of a site",
    "sketches": "as much of a cluster as goes along",
    "sketch-bands": "made again from clusters",
    "site-ids": "stays: numbers are not used again",
    "site-names": "stays: numbers are not used again",
    "counters": "of each state its own",
    "marks": "of each state its own: `ShardMeta` and other typed values, which the caller understands",
    "outbox": "empty: the caller has everything delivered before",
    "numbers": "of each pair of shards: see `forget_shards`",
    "visits": "dropped: see `park_sites`",
    "addresses": "dropped: see `park_sites`",
    "forms": "by the name of a site",
    "recent-links": "dropped: see `park_sites`",
    "domains": "dropped: see `park_sites`",
    "outages": "by the name of a site",
    "trees": "by the names of trees, which only the crawl can match with files: the caller copies them",
}
"""Every table of a state, and how its rows go along with a site."""

AT_ONCE: Final = 1_000
"""Rows that are read together: enough to be fast, few enough to bound memory."""
COMMIT_EVERY: Final = 50_000
"""Changed rows after which a state is committed: they take memory until then."""


class Moved(Struct):
    """What has been copied."""

    sites: int = 0
    urls: int = 0
    rows: int = 0


class CopiedLinks(Struct, frozen=True):
    """Which links a state has received in the move `token`: for each sending shard, the number of its next chunk."""

    token: bytes
    next_chunk: dict[int, int]


class SiteMove:
    """Moves the sites of one state that belong elsewhere now, by `owner`, to those in `targets`, which are open.

    `here` is the number of the state itself. `token` distinguishes this move from others; `tell` is called with the
    progress. `had` says whether a site belonged to this state before. A state may also have a record of a site of
    another shard, which names that site in its sitemaps or keeps its robots.txt there: such a record is not copied, or
    it would replace what the shard of that site knows.
    """

    def __init__(
        self,
        source: DiskState,
        here: int,
        targets: Mapping[int, DiskState],
        owner: Callable[[Site], int],
        token: bytes,
        tell: Callable[[Moved], None] = lambda _moved: None,
        had: Callable[[Site], bool] = lambda _site: True,
    ) -> None:
        self._source = source
        self._here = here
        self._targets = targets
        self._owner = owner
        self._token = token
        self._tell = tell
        self._had = had
        self._clusters: dict[int, dict[bytes, bytes]] = {number: {} for number in targets}
        self.moved = Moved()

    def copy(self) -> None:
        """Copy every row of the sites that go to one of the targets, and commit the targets."""
        self._source.commit()  # what the parts of the state hold in memory is in its tables now
        for site, target in self._leaving():
            self._copy_site(site, target)
        self._copy_timed()
        self._copy_named()
        self._copy_standings()
        self._commit_targets(0)

    def clear(self) -> None:
        """Remove every row of every site that belongs elsewhere, and commit. Only when all of it has been copied."""
        for site, _ in self._sites():
            self._clear_site(site)
        self._source.records.forget_sites(site for site, _ in self._sites())
        for name, site_in in (("calendar", _site_of_url), ("payloads", _site_of_payload), *_NAMED):
            self._clear_table(name, site_in)
        self._clear_table("postponed", lambda row: self._source.names.name(row[:ID_LENGTH]))
        self._source.commit()

    # which sites go

    def _sites(self) -> Iterator[tuple[Site, int]]:
        """Every site that has a number here and belongs elsewhere, and where."""
        for _, name in self._source.environment.table("site-names").walk():
            site = Site(name.decode())
            owner = self._owner(site)
            if owner != self._here:
                yield site, owner

    def _leaving(self) -> Iterator[tuple[Site, int]]:
        return ((site, owner) for site, owner in self._sites() if owner in self._targets)

    def _target(self, site: Site) -> DiskState | None:
        owner = self._owner(site)
        return None if owner == self._here else self._targets.get(owner)

    # tables by the numbers of sites

    def _copy_site(self, site: Site, owner: int) -> None:
        target = self._targets[owner]
        number = self._source.names.find(site) or b""
        for records in in_chunks(self._source.records.rows_of(site), AT_ONCE):
            target.records.take_in(site, records)
            self._count(len(records), urls=len(records))
        for rows in self._rows("queues", number):
            target.queues.take_in(site, rows, is_postponed=False)
            self._count(len(rows))
        for rows in self._rows("listings", number):
            target.listings.take_in(site, rows)
            self._count(len(rows))
        for file in self._source.forest.carried(site):
            target.forest.take_in(site, file)
            self._count(1)
        for pages in self._source.sketches.carried(site):
            target.sketches.take_in(site, pages, self._clusters[owner], lambda url: self._owner(site_of(url)) == owner)
            self._count(len(pages))

    def _rows(self, table: str, number: bytes) -> Iterator[list[tuple[bytes, bytes]]]:
        return in_chunks(self._source.environment.table(table).walk(number), AT_ONCE)

    def _clear_site(self, site: Site) -> None:
        source = self._source
        number = source.names.find(site) or b""
        for _ in source.records.remove(site):
            self._commit_source()
        for name in ("queues", "lengths", "listings"):
            table = source.environment.table(name)
            for key, _ in table.walk(number):
                table.delete(key)
                self._commit_source()
        source.forest.forget(site)
        source.standings.forget(site)
        source.sketches.forget(site, lambda url: self._owner(site_of(url)) != self._here)
        self._commit_source()

    # tables by times, or by names

    def _copy_timed(self) -> None:
        for key, row in self._source.environment.table("postponed").walk():
            site = self._source.names.name(row[:ID_LENGTH])
            target = self._target(site)
            if target is not None:
                target.queues.take_in(site, [(key, row)], is_postponed=True)
                self._count(1)
        self._copy_table("calendar", _site_of_url)

    def _copy_named(self) -> None:
        for name, site_in in _NAMED:
            before = self.moved.rows
            self._copy_table(name, site_in)
            if name == "sites":
                self.moved.sites += self.moved.rows - before
        self._copy_table("payloads", _site_of_payload, is_new=True)

    def _copy_table(self, name: str, site_in: Callable[[bytes], Site], *, is_new: bool = False) -> None:
        """Copy rows whose key is the same in every state. `is_new`: a row that is there already is not replaced."""
        tables = {number: target.environment.table(name) for number, target in self._targets.items()}
        for key, row in self._source.environment.table(name).walk():
            site = site_in(row)
            table = tables.get(self._owner(site))
            if table is not None and self._had(site) and not (is_new and table.get(key) is not None):
                table.put(key, row)
                self._count(1)

    def _clear_table(self, name: str, site_in: Callable[[bytes], Site]) -> None:
        table = self._source.environment.table(name)
        for key, row in table.walk():
            if self._owner(site_in(row)) != self._here:
                table.delete(key)
                self._commit_source()

    # what an ordering has learnt

    def _copy_standings(self) -> None:
        """Copy standings, then the links between URLs that stay together, by their new numbers."""
        there: dict[int, list[tuple[int, int]]] = {}
        for site, owner in self._leaving():
            target = self._targets[owner]
            number, mine = self._source.names.find(site) or b"", target.names.number(site)
            for chunk in in_chunks(self._source.standings.of_site(site), AT_ONCE):
                for _, _, standing in chunk:
                    if standing.place.startswith(number):
                        standing.place = mine + standing.place[ID_LENGTH:]
                target.standings.put([(url, standing) for _, url, standing in chunk])
                numbers = target.standings.numbers_of([url for _, url, _ in chunk])
                there.setdefault(owner, []).extend(zip([old for old, _, _ in chunk], numbers, strict=True))
                self._count(len(chunk))
        for owner, pairs in there.items():
            self._copy_links(self._targets[owner], np.array(pairs, np.int64))

    def _copy_links(self, target: DiskState, pairs: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:
        """Copy each chunk once: the target commits its number together with the links."""
        numbers = np.full(int(pairs[:, 0].max()) + 1, -1, np.int64)
        numbers[pairs[:, 0]] = pairs[:, 1]
        copied = target.meta(CopiedLinks)
        next_chunk = copied.next_chunk if copied is not None and copied.token == self._token else {}
        done = next_chunk.get(self._here, 0)
        for chunk, links in self._source.standings.pairs():
            if chunk < done:
                continue
            within = links[(links < len(numbers)).all(axis=1)]
            renamed = numbers[within]
            renamed = renamed[(renamed >= 0).all(axis=1)]
            if len(renamed):
                target.standings.link_numbers(renamed.astype(np.uint32))
            target.put_meta(CopiedLinks(self._token, next_chunk | {self._here: chunk + 1}))
            target.commit()

    # progress

    def _count(self, rows: int, urls: int = 0) -> None:
        self.moved.rows += rows
        self.moved.urls += urls
        self._tell(self.moved)
        self._commit_targets(COMMIT_EVERY)

    def _commit_targets(self, least: int) -> None:
        for target in self._targets.values():
            if target.uncommitted >= least:
                target.commit()

    def _commit_source(self) -> None:
        if self._source.uncommitted >= COMMIT_EVERY:
            self._source.commit()


def park_sites(state: DiskState) -> None:
    """Drop what is only true of the sites that a state had: active sites, addresses, domains, and recently seen links.

    Each shard counts its own part of a domain, and now its sites are elsewhere: they are counted from 0, so a domain
    has its first budget once more. Sites are then admitted from their queues again, as those beyond the capacity are;
    what must survive that, such as the time until which a site rests, is in `sites`.
    """
    for name in ("visits", "addresses", "domains", "recent-links"):
        table = state.environment.table(name)
        for key, _ in table.walk():
            table.delete(key)


def forget_shards(state: DiskState, shards: Iterable[int]) -> None:
    """Count batches to and from these shards from 1 again: other shards have their numbers now, or none has."""
    numbers = state.environment.table("numbers")
    for shard in shards:
        for direction in (b">", b"<"):
            numbers.delete(direction + shard.to_bytes(4, "big"))


def _site_of_url(row: bytes) -> Site:
    return site_of(Url(row.decode()))


def _site_of_payload(row: bytes) -> Site:
    return site_of(Url(decode(row)[0]))


def _site_first(row: bytes) -> Site:
    return Site(decode(row)[0])


def _site_second(row: bytes) -> Site:
    return Site(decode(row)[1])


_NAMED: Final = (("sites", _site_first), ("robots", _site_first), ("forms", _site_second), ("outages", _site_first))
