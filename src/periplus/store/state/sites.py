"""Stores the records of sites, robots files and payloads by row, and makes the keys by which rows are found.

Rows are the fields of a struct in their order. A field that is added at the end, with a default, is missing in older
rows and takes the default.

Site numbers count up from 0 and are never used again. The key of a URL is the number of its site, then its fingerprint.
Two URLs of a site may have one fingerprint: by chance (never, for practical purposes) or because a site crafts them,
which xxh3 does not prevent. So rows hold their URL, which is compared, and where it differs the next key is tried, up
to `MAX_PROBES` times: a site can only hide its own URLs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from periplus.model import CollectionDamaged, InvariantError, Payload, RobotsFile, Site, Url
from periplus.urls import site_of

from .environment import Environment
from .rows import damaged_row, decode, encode, name_key
from .upgrading import upgraded

if TYPE_CHECKING:
    from ..crawl_state import SiteState

K = TypeVar("K")
V = TypeVar("V")

ID_LENGTH = 4
REMEMBERED = 65_536


class Recent(Generic[K, V]):
    """A dict of truthy values with bounded size: it holds at most twice `size`, in two generations.

    When the young generation is full it becomes the old one, and the old one is dropped. A hit costs no bookkeeping,
    unlike an order of use; a value that is always in use is read again once in two generations.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """What is remembered."""
        return self._young.get(key) or self._old.get(key)

    def get_all(self, keys: Iterable[K]) -> list[V | None]:
        """What is remembered of each."""
        young, old = self._young, self._old
        return [young.get(key) or old.get(key) for key in keys]

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[key] = value

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class SiteNames:
    """A number for each site, and back."""

    def __init__(self, environment: Environment, remembered: int = REMEMBERED) -> None:
        self._ids = environment.table("site-ids")
        self._names = environment.table("site-names")
        self._recent_ids: Recent[Site, bytes] = Recent(remembered)
        self._recent_names: Recent[bytes, Site] = Recent(remembered)

    def find(self, site: Site) -> bytes | None:
        """The number of a site that has one."""
        number = self._recent_ids.get(site)
        if number is None:
            number = self._ids.get(name_key(site))
            if number is not None:
                self._recent_ids[site] = number
        return number

    def number(self, site: Site) -> bytes:
        """The number of a site, assigned now if it has none."""
        number = self._recent_ids.get(site) or self.find(site)
        if number is None:
            number = len(self._names).to_bytes(ID_LENGTH, "big")
            self._ids.put(name_key(site), number)
            self._names.put(number, site.encode())
            self._recent_ids[site] = number
        return number

    def name(self, number: bytes) -> Site:
        """The site of a number that was given."""
        site = self._recent_names.get(number)
        if site is None:
            name = self._names.get(number)
            if name is None:
                raise CollectionDamaged(f"no site has the number {int.from_bytes(number, 'big')}")
            site = self._recent_names[number] = Site(name.decode())
        return site


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
    """`Sites` in one table. `is_old`: some rows may be of the last format."""

    def __init__(self, environment: Environment, *, is_old: bool = False) -> None:
        self._table = environment.table("sites")
        self._is_old = is_old

    @cached_property
    def _decoder(self) -> msgspec.msgpack.Decoder[SiteState]:
        from ..crawl_state import SiteState  # loads policies, which most readers of a state do not need

        return msgspec.msgpack.Decoder(SiteState)

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
            return self._decoder.decode(upgraded(row) if self._is_old else row)
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


TIME_LENGTH = 8
_BITS = struct.Struct(">d")
_SIGN = 1 << 63
_ALL = (1 << 64) - 1


def sortable(time: float) -> bytes:
    """A time as eight bytes in the order of times: IEEE 754 with the sign bit turned, all bits of negative numbers."""
    if time != time:
        raise InvariantError("a time to wait for is not a number")
    bits = int.from_bytes(_BITS.pack(time + 0.0), "big")  # one zero, not two
    return (bits ^ (_ALL if bits & _SIGN else _SIGN)).to_bytes(TIME_LENGTH, "big")


def time_of(key: bytes) -> float:
    """Decode the time at the beginning of a key."""
    bits = int.from_bytes(key[:TIME_LENGTH], "big")
    time: float = _BITS.unpack((bits ^ (_SIGN if bits & _SIGN else _ALL)).to_bytes(TIME_LENGTH, "big"))[0]
    return time


MAX_PROBES = 8
KEY_LENGTH = ID_LENGTH + 8
_NO_SITE = b"\xff" * ID_LENGTH
"""The number of an unknown site: nothing is found under it."""


def places_of(
    urls: Sequence[Url], number_of: Callable[[Site], bytes | None], digest: Callable[[bytes], bytes]
) -> list[tuple[bytes, str]]:
    """The first key of each URL, and the URL as it is stored. Consecutive URLs of one site are parsed once."""
    places: list[tuple[bytes, str]] = []
    prefix, sign, cut, number = "\0", "", 0, _NO_SITE
    for url in urls:
        if not url.startswith(prefix):
            cut = url.index("/", 8)
            is_secure = url[4] == "s"
            site = url[8 if is_secure else 7 : cut]
            if "@" in site:  # a user name is kept
                number, prefix = number_of(site_of(url)) or _NO_SITE, "\0"
                places.append((number + digest(url.encode()), url))
                continue
            number = number_of(Site(site)) or _NO_SITE
            prefix, sign = url[: cut + 1], "" if is_secure else ":"
        places.append((number + digest(url.encode()), sign + url[cut:]))
    return places


def next_place(key: bytes) -> bytes:
    """The key after this one, of the same site."""
    digest = int.from_bytes(key[ID_LENGTH:], "big") + 1
    return key[:ID_LENGTH] + (digest % (1 << 64)).to_bytes(8, "big")
