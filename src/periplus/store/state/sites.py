"""Records of sites, their robots files, and the payloads seen before: one row each.

Rows are the fields of a struct in their order. A field that is added at the end, with a default, is missing in older
rows and takes the default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from periplus.model import Payload, RobotsFile, Site

from ..crawl_state import SiteState
from .environment import Environment
from .names import name_key
from .rows import damaged_row, decode, encode

R = TypeVar("R", bound=Struct)


class DiskRows(Generic[R]):
    """`Rows` in one table. `key` is the field that identifies a row: a name, or a 64-bit number."""

    def __init__(self, environment: Environment, name: str, kind: type[R], key: str) -> None:
        self._table = environment.table(name)
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._key = key

    def get(self, key: str | int) -> R | None:
        """The row of a key."""
        row = self._table.get(_row_key(key))
        return None if row is None else self._decode(row)

    def put(self, rows: Iterable[R]) -> None:
        """Write or overwrite these; of several with one key the last counts."""
        by_key = {_row_key(getattr(row, self._key)): encode(row) for row in rows}
        self._table.put_many(sorted(by_key.items()))

    def remove(self, keys: Iterable[str | int]) -> None:
        """Delete the rows of these keys."""
        for key in keys:
            self._table.delete(_row_key(key))

    def __iter__(self) -> Iterator[R]:
        """Every row, in the order of their keys."""
        return (self._decode(row) for _, row in self._table.walk())

    def _decode(self, row: bytes) -> R:
        try:
            return self._decoder.decode(row)
        except msgspec.MsgspecError as error:
            raise damaged_row(error) from error


def _row_key(key: str | int) -> bytes:
    return name_key(key) if isinstance(key, str) else key.to_bytes(8, "big")


class DiskSites:
    """`Sites` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("sites")
        self._decoder = msgspec.msgpack.Decoder(SiteState)

    def get(self, sites: Sequence[Site]) -> list[SiteState | None]:
        """A copy of the state of each, aligned with `sites`."""
        rows = [self._table.get(name_key(site)) for site in sites]
        return [None if row is None else self._decode(row) for row in rows]

    def put(self, states: Iterable[SiteState]) -> None:
        """Keep copies of these."""
        self._table.put_many([(name_key(state.site), encode(state)) for state in states])

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[SiteState]:
        """Every known site, in an arbitrary order: for commands that show them, not for the crawl."""
        return (self._decode(row) for _, row in self._table.walk())

    def _decode(self, row: bytes) -> SiteState:
        try:
            return self._decoder.decode(row)
        except msgspec.MsgspecError as error:
            raise damaged_row(error) from error


class DiskRobotsFiles:
    """`RobotsFiles` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("robots")

    def get(self, site: Site) -> RobotsFile | None:
        """The stored one, whether or not it has expired."""
        row = self._table.get(name_key(site))
        return None if row is None else RobotsFile(*decode(row))

    def put(self, file: RobotsFile) -> None:
        """Keep this one."""
        self._table.put(name_key(file.site), encode(astuple(file)))


class DiskPayloads:
    """`Payloads` in one table."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("payloads")

    def get(self, digest: bytes) -> Payload | None:
        """The one of this digest, if there is one."""
        row = self._table.get(digest)
        return None if row is None else Payload(digest, *decode(row))

    def add_new(self, payload: Payload) -> Payload | None:
        """Store it and return `None` if its digest is new; otherwise return the first one."""
        first = self.get(payload.digest)
        if first is not None:
            return first
        self._table.put(payload.digest, encode(astuple(payload)[1:]))
        return None
