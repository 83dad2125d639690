"""URLs whose record another link does not change, so that most links to known URLs cost no look-up of their rows.

    linked    place of a URL without its last 12 bits -> time, bits      of 4,096 URLs of a site

In a large state nearly every row of a known URL is read from the disk, and nearly every link to one changes nothing: a
link has named it before. One bit a URL records this. The time is the latest at which a link first named one of them: a
link that was found before it may be the earlier one. A bit that is not set means only that the row has to be read.

A key has seven bytes, the last four bits of which are 0. A row ends with the last byte that was ever written, so those
of small sites are short.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from periplus.model import InvariantError, Source

from .compiled import compiled
from .environment import Environment
from .rows import FRESH_FIELDS, SOURCE_CODES, SOURCES, decode, is_refused

_TIME = struct.Struct(">d")
_FAILURES, _KEPT_AT = 11, 14
"""Where a row with all fields has the number of failures, and the time of the version that is kept."""
Unchanged = Callable[[list[bytes | None], list[float | None], dict[bytes, bytes], list[bytes]], list[bool]]
_NEW = _TIME.pack(float("-inf"))
_GROUPS = [bytes((byte & 0xF0,)) for byte in range(256)]
"""The last byte of a key, by the byte of the place."""
REMEMBERED = 65_536
"""Rows in memory: about 150 bytes for each, and as many as there are bits: up to 700 bytes."""
_FRESH = 0x90 + FRESH_FIELDS
"""The first byte of the row of a URL that was never visited (MessagePack: an array of this length)."""
_LINK_AND_FLOAT = bytes((SOURCE_CODES[Source.LINK], 0xCB))
"""The two bytes before the time of such a row, if a link named the URL first."""


def _linked_at(row: bytes) -> float | None:
    """When a link first named the URL of a row; `None` if the next link may change its record.

    A URL that was refused and never visited may be wanted when it is found again; a page that was there and is
    not now is asked again sooner.
    """
    if row[0] == _FRESH and row[-10:-8] == _LINK_AND_FLOAT:
        at: float = _TIME.unpack_from(row, len(row) - _TIME.size)[0]
        return at
    fields = decode(row)
    if len(fields) == FRESH_FIELDS:
        return fields[3] if SOURCES[fields[2]] is Source.LINK else None
    if is_refused(fields) or (fields[_FAILURES] and fields[_KEPT_AT] is not None):
        return None
    return max([at for code, at in fields[2] if SOURCES[code] is Source.LINK], default=None)


def unchanged_in_python(
    places: list[bytes | None], times: list[float | None], rows: dict[bytes, bytes], missing: list[bytes]
) -> list[bool]:
    """For each place, and the time of a link to it: whether that changes nothing.

    Keys that `rows` does not have are added to `missing`, and nothing is known of their places.
    """
    answers = []
    for place, at in zip(places, times, strict=True):
        answer = False
        if place is not None and at is not None:
            bits = rows.get(key := _key(place))
            if bits is None:
                missing.append(key)
            else:
                byte, bit = _position(place)
                answer = byte < len(bits) and bool(bits[byte] & bit) and at >= _TIME.unpack_from(bits)[0]
        answers.append(answer)
    return answers


def _key(place: bytes) -> bytes:
    return place[:6] + _GROUPS[place[6]]


def _position(place: bytes) -> tuple[int, int]:
    """The byte of a row where the bit of a place is, and this bit."""
    return _TIME.size + ((place[6] & 15) << 5) + (place[7] >> 3), 1 << (place[7] & 7)


_unchanged: Unchanged = compiled("unchanged") or unchanged_in_python


class LinkedUrls:
    """A bit for each place of a URL."""

    def __init__(self, environment: Environment) -> None:
        self._table = environment.table("linked")
        self._rows: dict[bytes, bytes] = {}

    def find(self, places: list[bytes | None], times: list[float | None]) -> list[bool]:
        """For each place, and the time of a link to it: whether that changes nothing. `None`: it may change something.

        Rows stay in memory, since pages link to the same parts of their sites again and again.
        """
        missing: list[bytes] = []
        answers = _unchanged(places, times, self._rows, missing)
        if missing:
            if len(self._rows) >= REMEMBERED:
                self._rows.clear()
                missing = [_key(place) for place in places if place is not None]
            self._rows.update(dict.fromkeys(missing, _NEW) | self._table.get_many(sorted(set(missing))))
            answers = _unchanged(places, times, self._rows, [])
        return answers

    def put(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Set or clear the bits of places whose records have these rows now."""
        keys = {_key(place) for place, _ in rows}
        before = {key: self._rows[key] for key in keys if key in self._rows}
        before |= self._table.get_many([key for key in keys if key not in before])
        after: dict[bytes, bytearray] = {}
        for place, row in rows:
            bits = after.get(key := _key(place))
            if bits is None:
                bits = after[key] = bytearray(before.get(key, _NEW))
            byte, bit = _position(place)
            if byte >= len(bits):
                bits.extend(bytes(byte + 1 - len(bits)))
            at = _linked_at(row)
            if at is None:
                bits[byte] &= ~bit
                continue
            bits[byte] |= bit
            if at > _TIME.unpack_from(bits)[0]:
                _TIME.pack_into(bits, 0, at)
        changed = [(key, bytes(bits)) for key, bits in sorted(after.items()) if bits != before.get(key, _NEW)]
        if changed:
            self._table.put_many(changed)
        self._rows.update((key, row) for key, row in changed if key in self._rows)

    def forget_site(self, number: bytes) -> None:
        """Clear the bits of a site."""
        for key, _ in self._table.walk(number):
            self._table.delete(key)
        self._rows.clear()

    def check(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Raise if a bit is set although a link would change the record of that row."""
        earliest = [(place, _linked_at(row)) for place, row in rows]
        times: list[float | None] = [math.inf if at is None else math.nextafter(at, -math.inf) for _, at in earliest]
        self._rows.clear()
        if any(self.find([place for place, _ in earliest], times)):
            raise InvariantError("a URL passes for one that a link does not change")
