"""One shard's whole state in one LMDB environment, so that one commit is all or nothing over all of its parts.

    calendar    time, fingerprint -> URL
    listings    site number, level, sequence -> a slice

The caller that moves a URL in the calendar knows its old time, so no second table is needed. A slice is some hundred
URLs in one value, so that a million of them cost a thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from xxhash import xxh3_64_digest

from periplus.model import (
    AddressVisits,
    CollectionError,
    DomainVisits,
    FormRow,
    LinkChunk,
    Rows,
    Site,
    SiteOutage,
    SiteVisits,
    TreeUse,
    Url,
)
from periplus.policy.settings import DuplicateSettings

from .environment import Environment
from .exchange import DiskExchange
from .files import DATA, MAP_SIZE, lost_state, note_begun, was_begun
from .marks import Marks
from .queues import DiskQueues
from .records import DiskUrlRecords
from .replica import Replica, finish_homecoming, followed, has_state, is_copied
from .sitemap_store import DiskSitemapStore
from .sites import ID_LENGTH, DiskPayloads, DiskRobotsFiles, DiskRows, DiskSites, SiteNames, sortable, time_of
from .sketches import DiskSketches
from .url_scores import DiskUrlScores


class DiskRevisitQueue:
    """`RevisitQueue` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("calendar")

    def move(self, moves: Sequence[tuple[Url, float | None, float | None]]) -> None:
        """Move each URL from its old time to its new one. `None`: it was not, or is no longer, queued."""
        rows = []
        for url, before, after in moves:
            key = url.encode()
            fingerprint = xxh3_64_digest(key)
            if before is not None:
                self._table.delete(sortable(before) + fingerprint)
            if after is not None:
                rows.append((sortable(after) + fingerprint, key))
        if rows:
            self._table.put_many(sorted(rows))

    def due(self, now: float, limit: int) -> list[tuple[Url, float]]:
        """Entries that are due, with their time, the earliest first. They stay."""
        found = []
        for key, url in self._table.page(b"\0", limit):
            at = time_of(key)
            if at > now:
                break
            found.append((Url(url.decode()), at))
        return found

    def after(self, time: float) -> tuple[Url, float] | None:
        """The first entry at or after a time."""
        row = self._table.at_or_after(sortable(time))
        return None if row is None else (Url(row[1].decode()), time_of(row[0]))

    def next_due(self) -> float | None:
        """The first time of all."""
        row = self._table.at_or_after(b"\0")
        return None if row is None else time_of(row[0])

    def __iter__(self) -> Iterator[Url]:
        """Every URL, the earliest first."""
        return (Url(url.decode()) for _, url in self._table.walk())

    def __len__(self) -> int:
        return len(self._table)


_SEQUENCE = b"listings-sequence"


class DiskListings:
    """`Listings` in one table."""

    def __init__(self, environment: Environment, names: SiteNames) -> None:
        self._names = names
        self._table = environment.table("listings")
        self._counters = environment.table("counters")
        self._sequence = int.from_bytes(self._counters.get(_SEQUENCE) or b"", "big")
        self._kept = self._sequence

    def add(self, site: Site, level: int, slices: Sequence[bytes]) -> None:
        """Keep slices at the end of a level."""
        head = self._names.number(site) + bytes([level])
        rows = []
        for each in slices:
            self._sequence += 1
            rows.append((head + self._sequence.to_bytes(8, "big"), each))
        if rows:
            self._table.put_many(rows)

    def take(self, site: Site, first: int = 0, last: int = 255) -> bytes | None:
        """The first slice of a site at these levels, lowest level first."""
        rows = self._rows(site, first, last, 1)
        if not rows:
            return None
        [(key, slice_)] = rows
        self._table.delete(key)
        return slice_

    def has(self, site: Site, first: int = 0, last: int = 255, *, least: int = 1) -> bool:
        """Whether a site has at least `least` slices at these levels."""
        return len(self._rows(site, first, last, least)) >= least

    def _rows(self, site: Site, first: int, last: int, limit: int) -> list[tuple[bytes, bytes]]:
        """The first rows of a site at these levels."""
        number = self._names.find(site)
        if number is None:
            return []
        return self._table.between(number + bytes([first]), number + bytes([last]) + b"\xff" * 8, limit)

    def take_in(self, site: Site, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Store rows of a site that come from another state, in their order."""
        number = self._names.number(site)
        for key, value in rows:
            self._table.put(number + key[ID_LENGTH:], value)
            self._sequence = max(self._sequence, int.from_bytes(key[-8:], "big"))

    def sites(self) -> Iterator[Site]:
        """Every site with listed URLs: one lookup for each."""
        start = b"\0"
        while row := self._table.at_or_after(start):
            number = row[0][:ID_LENGTH]
            yield self._names.name(number)
            start = number + b"\xff" * 10

    def __len__(self) -> int:
        return len(self._table)

    def flush(self) -> None:
        """Write how far places were given out: before a commit."""
        if self._sequence != self._kept:
            self._counters.put(_SEQUENCE, self._sequence.to_bytes(8, "big"))
            self._kept = self._sequence


class DiskState(Marks):
    """`State` in a folder, held by this process alone until it is closed.

    `commit` makes all since the last one durable; until then it is visible here and nowhere else, and is lost if the
    process ends. Not for use after a fork, nor from several threads. `environment` and `names` are for this room alone.
    With a `replica` the folder is on this machine's disk, and what counts is the copy elsewhere, from which the folder
    is restored if need be.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shard: int = 0,
        map_size: int = MAP_SIZE,
        duplicates: DuplicateSettings | None = None,
        replica: Replica | None = None,
    ) -> None:
        if replica is None:
            self._set_up(_held(folder, map_size), shard, duplicates)
        else:
            self._set_up(replica.open(folder, map_size=map_size), shard, duplicates)
        try:
            note_begun(folder if replica is None else replica.home)
        except BaseException:
            self.close()
            raise

    @classmethod
    def read_only(cls, folder: Path, *, shard: int = 0) -> Self:
        """The state as of the last commit, for another process than the one that crawls, which is not disturbed.

        What is written fails. `commit` moves on to what is committed now; do so from time to time or close, for what a
        reader looks at cannot be reused by the writer. (Of a state on another machine's disk it stays at what its copy
        held when it was opened.)
        """
        state = cls.__new__(cls)
        finish_homecoming(folder)
        if not (folder / DATA).is_file() and is_copied(folder):
            with followed(folder, lambda copy: cls.__new__(cls)._set_up(copy, shard, is_copy=True)) as place:
                state._set_up(Environment(place, readonly=True), shard)
        else:
            state._set_up(Environment(folder, readonly=True), shard)
        return state

    def _set_up(
        self,
        environment: Environment,
        shard: int,
        duplicates: DuplicateSettings | None = None,
        *,
        is_copy: bool = False,
    ) -> None:
        try:
            super().__init__(environment, is_copy=is_copy)
            self.names = names = SiteNames(environment)
            self.records = DiskUrlRecords(environment, names)
            self.queues = DiskQueues(environment, names)
            self.standings = DiskUrlScores(environment, names)
            self.forest = DiskSitemapStore(environment, names)
            self.listings = DiskListings(environment, names)
            self.calendar = DiskRevisitQueue(environment)
            self.sites = DiskSites(environment, is_old=self.is_old)
            self.robots = DiskRobotsFiles(environment)
            self.payloads = DiskPayloads(environment)
            self.sketches = DiskSketches(environment, names, duplicates)
            self.exchange = DiskExchange(environment, shard)
            self.visits = DiskRows(environment, "visits", SiteVisits, "site")
            self.addresses = DiskRows(environment, "addresses", AddressVisits, "key")
            self.domains = DiskRows(environment, "domains", DomainVisits, "domain")
            self.forms = DiskRows(environment, "forms", FormRow, "key")
            self.trees = DiskRows(environment, "trees", TreeUse, "tree")
            if environment.lacks("outages"):
                from ..memory import MemoryRows  # loads numpy

                self.outages: Rows[SiteOutage] = MemoryRows("site")
            else:
                self.outages = DiskRows(environment, "outages", SiteOutage, "site")
            self.recent_links = DiskRows(environment, "recent-links", LinkChunk, "number")
            environment.commit()
            if environment.is_readonly:
                self.records.follow()  # rows may have been moved since the names of files were read
        except BaseException:
            environment.close()
            raise

    @property
    def uncommitted(self) -> int:
        """How many rows were written or removed since the last commit: the measure of what a commit costs."""
        return self.environment.uncommitted

    def commit(self) -> None:
        """Make everything since the last commit durable, all or nothing."""
        self.queues.flush()
        self.listings.flush()
        self.standings.flush()
        self.sketches.flush()
        if not self.environment.is_readonly:
            self.records.flush()
        self.environment.commit()
        if self.environment.is_readonly:
            self.records.follow()
        else:
            self.records.committed()
            if self.records.is_full:  # in a transaction of its own, which takes less memory
                self.records.move_young()
                self.environment.commit()
        self.exchange.committed()

    def close(self) -> None:
        """Let go, without a commit."""
        self.records.close()
        super().close()

    def check_invariants(self) -> None:
        """Check the invariants between tables. Reads every queue: for tests, and for `periplus repair`."""
        self.records.check_invariants()
        self.queues.check_invariants()
        self.forest.check_invariants()


def _held(folder: Path, map_size: int) -> Environment:
    """The environment of a state that lies in this folder, or will."""
    if is_copied(folder):
        raise CollectionError(
            f"the state of {folder} is on the local disk of another machine; only its copy is here",
            hint="name its folder with [cluster] local_state, or move it back into the collection first",
        )
    if was_begun(folder) and not has_state(folder):
        raise lost_state(folder)
    return Environment(folder, map_size=map_size)
