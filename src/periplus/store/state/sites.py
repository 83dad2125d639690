"""What is known of sites, their robots files, and the payloads seen before: one row each.

Rows are the fields of a word in their order. A field that is added at the end of a word, with a default, is missing in
older rows and takes the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import astuple

from periplus.model import Payload, RobotsFile, Site, SiteState

from .environment import Environment
from .names import name_key
from .rows import decode, encode


class DiskSites:
    """`Sites` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("sites")

    def get(self, sites: Sequence[Site]) -> list[SiteState | None]:
        """A copy of the state of each, aligned with `sites`."""
        rows = [self._table.get(name_key(site)) for site in sites]
        return [None if row is None else SiteState(*decode(row)) for row in rows]

    def put(self, states: Iterable[SiteState]) -> None:
        """Keep copies of these."""
        self._table.put_many([(name_key(state.site), encode(astuple(state))) for state in states])

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[SiteState]:
        """Every site that is known, in no order that means anything: for whoever looks, not for the crawl."""
        return (SiteState(*decode(row)) for _, row in self._table.walk())


class DiskRobotsFiles:
    """`RobotsFiles` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("robots")

    def get(self, site: Site) -> RobotsFile | None:
        """The one kept, whether or not it has expired."""
        row = self._table.get(name_key(site))
        return None if row is None else RobotsFile(*decode(row))

    def put(self, file: RobotsFile) -> None:
        """Keep this one."""
        self._table.put(name_key(file.site), encode(astuple(file)))


class DiskPayloads:
    """`Payloads` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("payloads")

    def add_new(self, payload: Payload) -> Payload | None:
        """Keep it if its digest is new (and answer `None`); otherwise the one that was first."""
        row = self._table.get(payload.digest)
        if row is not None:
            return Payload(payload.digest, *decode(row))
        self._table.put(payload.digest, encode(astuple(payload)[1:]))
        return None
