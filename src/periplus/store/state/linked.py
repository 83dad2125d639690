"""URLs whose record another link does not change, so that most links to known URLs cost no look-up of their rows.

    linked    place of a URL without its last byte -> time, bits      of 256 URLs of a site

In a large state nearly every row of a known URL is read from the disk, and nearly every link to one changes nothing: a
link has named it before. One bit a URL records this. The time is the latest at which a link first named one of the 256:
a link that was found before it may be the earlier one. A bit that is not set means only that the row has to be read.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from periplus.model import InvariantError, Source, Url

from .environment import Environment
from .rows import FRESH_FIELDS, SOURCES, decode, unpack_record

_TIME = struct.Struct(">d")
_URLS = 256
"""URLs of a row: those whose places differ in their last byte only."""
_NEW = _TIME.pack(float("-inf")) + bytes(_URLS // 8)


def _linked_at(row: bytes) -> float | None:
    """When a link first named the URL of a row; `None` if the next link may change its record.

    A URL that was refused and never visited may be wanted when it is found again.
    """
    fields = decode(row)
    if len(fields) == FRESH_FIELDS:
        return fields[3] if SOURCES[fields[2]] is Source.LINK else None
    record = unpack_record(fields, Url(fields[0]))
    if record.reason and not record.visits:
        return None
    return max([seen.at for seen in record.first_seen if seen.source is Source.LINK], default=None)


class LinkedUrls:
    """A bit for each place of a URL."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("linked")

    def find(self, links: Sequence[tuple[bytes, float]]) -> list[bool]:
        """For each place, and the time of a link to it: whether that changes nothing."""
        rows = self._table.get_many({place[:-1] for place, _ in links})
        times = {key: _TIME.unpack_from(bits)[0] for key, bits in rows.items()}
        return [
            (bits := rows.get(key := place[:-1])) is not None
            and bool(bits[_TIME.size + (place[-1] >> 3)] >> (place[-1] & 7) & 1)
            and at >= times[key]
            for place, at in links
        ]

    def put(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Set or clear the bits of places whose records have these rows now."""
        before = self._table.get_many({place[:-1] for place, _ in rows})
        after: dict[bytes, bytearray] = {}
        key, bits = b"", bytearray()
        for place, row in rows:
            if place[:-1] != key:
                key = place[:-1]
                bits = after.setdefault(key, bytearray(before.get(key, _NEW)))
            at = _linked_at(row)
            byte, bit = _TIME.size + (place[-1] >> 3), 1 << (place[-1] & 7)
            if at is None:
                bits[byte] &= ~bit
                continue
            bits[byte] |= bit
            if at > _TIME.unpack_from(bits)[0]:
                _TIME.pack_into(bits, 0, at)
        changed = [(key, bytes(bits)) for key, bits in sorted(after.items()) if bits != before.get(key, _NEW)]
        if changed:
            self._table.put_many(changed)

    def forget_site(self, number: bytes) -> None:
        """Clear the bits of a site."""
        for key, _ in self._table.walk(number):
            self._table.delete(key)

    def check(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Raise if a bit is set although a link would change the record of that row."""
        earliest = [(place, _linked_at(row)) for place, row in rows]
        links = [(place, math.inf if at is None else math.nextafter(at, -math.inf)) for place, at in earliest]
        if any(self.find(links)):
            raise InvariantError("a URL passes for one that a link does not change")
