"""The bands of clusters in a table, and the filter in memory that spares most lookups of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from periplus.policy.duplicates import BANDS, band_keys, rows_of
from periplus.policy.settings import VALUES

from ..bands import MAX_HOT, NUMBER, Keys, without
from .environment import Table

_LAYER_BITS: Final = (15, 17, 19, 21)
"""Binary logarithms of the words in each layer: 256 KB, which the processor's caches hold, up to 16 MB."""
_KEYS_PER_WORD: Final = 6
"""Keys per word at which a layer is full: 10.7 bits a key."""
_SHIFTS: Final = tuple(np.uint64(shift) for shift in (0, 6, 12))
_SIX: Final = np.uint64(63)
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_FACTORS: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))


class Places(NamedTuple):
    """Positions of keys in a filter: hashes whose highest bits select the word, and the bits within it."""

    hashes: NDArray[np.uint64]
    bits: NDArray[np.uint64]


class KeyFilter:
    """A Bloom filter of keys in columns: one key in two columns is two keys. `expected`: how many will be added.

    It is blocked after Putze, Sanders & Singler (2007): a key sets three bits of one 64-bit word, so a lookup is one
    memory access. It grows in layers (Almeida, Baquero, Preguiça & Hutchison 2007): a full layer stays, a larger one
    takes the next keys, and all are queried. The last layer of 16 MB takes all further keys. The false positive rate is
    about 2 % for each full layer, 7 % in all with 16 million keys and 44 % with 64 million.
    """

    def __init__(self, expected: int = 0) -> None:
        sizes = [bits for bits in _LAYER_BITS if expected <= _KEYS_PER_WORD << bits]
        self._sizes = sizes or [_LAYER_BITS[-1]]
        self._layers: list[tuple[np.uint64, NDArray[np.uint64]]] = []
        self._room = 0

    def places(self, keys: NDArray[np.uint64]) -> Places:
        """The positions of keys."""
        mixed = keys + np.arange(1, keys.shape[1] + 1, dtype=np.uint64)
        for factor in _FACTORS:
            mixed *= factor
            mixed ^= mixed >> _HALF
        bits = np.zeros_like(mixed)
        for shift in _SHIFTS:
            bits |= _ONE << (mixed >> shift & _SIX)
        return Places(mixed, bits)

    def has(self, places: Places) -> NDArray[np.bool_]:
        """Which of the keys may be there."""
        is_there = np.zeros(places.bits.shape, np.bool_)
        for shift, words in self._layers:
            is_there |= words[places.hashes >> shift] & places.bits == places.bits
        return is_there

    def add(self, places: Places) -> None:
        """Put keys in that are not there."""
        if self._room <= 0 and len(self._layers) < len(self._sizes):
            bits = self._sizes[len(self._layers)]
            self._layers.append((np.uint64(64 - bits), np.zeros(1 << bits, np.uint64)))
            self._room = _KEYS_PER_WORD << bits
        shift, words = self._layers[-1]
        np.bitwise_or.at(words, (places.hashes >> shift).reshape(-1), places.bits.reshape(-1))
        self._room -= places.bits.size


_AT_ONCE: Final = 1_024
_KEY: Final = np.dtype([("band", "u1"), ("key", ">u8")])
_KEY_LENGTH: Final = 9


class DiskBands:
    """`Bands` in a table. Of each band, the clusters before the number in `written` are there.

    A new cluster has 16 bands with unrelated keys: written at once, each would change its own page of the tree, 64 KB
    for one page of the web. So rows wait in memory, and are written one band after the other, many at a time and in the
    order of keys. A waiting row replaces that in the table. After a crash, waiting rows are rebuilt from the clusters,
    which are numbered in the order in which they came: of each band, from the number in `written` on.
    """

    def __init__(self, table: Table, clusters: Table, written: list[int], max_waiting: int) -> None:
        self._table = table
        self.written = written
        self._waiting: list[dict[int, bytes]] = [{} for _ in range(BANDS)]
        self._filter: KeyFilter
        self._fresh: list[bytes] = []
        self._fresh_keys: list[Sequence[int]] = []
        self._step = max(1, max_waiting // BANDS)
        self._steps = max(written) // self._step
        self._unread: Table | None = clusters

    def _prepare(self) -> None:
        """Fill the filter and rebuild what waits, at the first use: a process that only reads needs neither."""
        clusters, self._unread = self._unread, None
        if clusters is not None:
            self._filter = KeyFilter(len(clusters) * BANDS)
            for numbers, keys in _all_of(clusters):
                self._filter.add(self._filter.places(keys))
                self._recover(numbers, keys)

    def _recover(self, numbers: list[bytes], keys: Keys) -> None:
        first = min(self.written)
        for number, mine in zip(numbers, keys.tolist(), strict=True):
            place = int.from_bytes(number, "big")
            for band in range(BANDS) if place >= first else ():
                if place >= self.written[band]:
                    self._put_under(band, mine[band], number)

    def look(self, keys: Keys) -> list[Sequence[int]]:
        """For each page the bands that may be known, or are shared with another of these pages."""
        self._prepare()
        places = self._filter.places(keys)
        is_seen = self._filter.has(places)
        is_new = ~is_seen
        self._filter.add(Places(places.hashes[is_new], places.bits[is_new]))
        is_seen |= _are_repeated(keys)
        seen: list[Sequence[int]] = [()] * len(keys)
        for row in np.flatnonzero(is_seen.any(axis=1)).tolist():
            seen[row] = np.flatnonzero(is_seen[row]).tolist()
        return seen

    def find(self, keys: Sequence[int], seen: Sequence[int]) -> bytes:
        """The clusters that share a band with this page."""
        return b"".join([self._row(band, keys[band]) for band in seen])

    def add(self, number: bytes, keys: Sequence[int], seen: Sequence[int]) -> None:
        """Put a new cluster under its bands."""
        if not seen:  # nor is any of it shared with a page that came along
            self._fresh.append(number)
            self._fresh_keys.append(keys)
            return
        for band, key in enumerate(keys):
            if band in seen:
                self._put_under(band, key, number)
            else:
                self._waiting[band][key] = number

    def remove(self, number: bytes, keys: Sequence[int]) -> None:
        """Forget a cluster. Rows that are written are changed at once: pages seldom become quite others."""
        self._prepare()
        self._settle()
        for band, key in enumerate(keys):
            waiting = without(self._waiting[band].pop(key, b""), number)
            if waiting:
                self._waiting[band][key] = waiting
            written = self._table.get(_key(band, key))
            if written is not None and number in written:
                rest = without(written, number)
                if rest:
                    self._table.put(_key(band, key), rest)
                else:
                    self._table.delete(_key(band, key))

    def tidy(self, next_number: int) -> None:
        """Write the next band if enough waits: each has its turn before another `max_waiting` clusters have come."""
        self._settle()
        while next_number >= (self._steps + 1) * self._step:
            self._write(self._steps % BANDS, next_number)
            self._steps += 1

    def _settle(self) -> None:
        """Let those wait that are like nothing: all at once, because each has many bands."""
        for waiting, keys in zip(self._waiting, zip(*self._fresh_keys, strict=True), strict=False):
            waiting.update(zip(keys, self._fresh, strict=True))
        self._fresh.clear()
        self._fresh_keys.clear()

    def _row(self, band: int, key: int) -> bytes:
        return self._waiting[band].get(key) or self._table.get(_key(band, key)) or b""

    def _put_under(self, band: int, key: int, number: bytes) -> None:
        row = self._row(band, key)
        if len(row) < MAX_HOT * NUMBER:
            self._waiting[band][key] = row + number

    def _write(self, band: int, next_number: int) -> None:
        waiting = self._waiting[band]
        keys = np.fromiter(waiting, np.uint64, len(waiting))
        order = np.argsort(keys)
        rows = np.empty(len(keys), _KEY)
        rows["band"], rows["key"] = band, keys[order]
        values = list(waiting.values())
        for start in range(0, len(keys), _AT_ONCE):  # a few thousand small objects at a time are soon made again
            data = rows[start : start + _AT_ONCE].tobytes()
            names = [data[at : at + _KEY_LENGTH] for at in range(0, len(data), _KEY_LENGTH)]
            numbers = [values[place] for place in order[start : start + _AT_ONCE].tolist()]
            self._table.put_many(list(zip(names, numbers, strict=True)))
        waiting.clear()
        self.written[band] = next_number


def _are_repeated(keys: Keys) -> NDArray[np.bool_]:
    """Which keys are there twice in their column."""
    found = np.zeros(keys.shape, np.bool_)
    every = np.sort(keys, axis=None)
    if not (every[1:] == every[:-1]).any():  # as a rule: pages that come together seldom say the same
        return found
    order = np.argsort(keys, axis=0)
    is_same = np.diff(np.take_along_axis(keys, order, 0), axis=0) == 0
    np.put_along_axis(found, order[1:], is_same, 0)
    rows, columns = is_same.nonzero()
    found[order[rows, columns], columns] = True
    return found


def _key(band: int, key: int) -> bytes:
    return bytes([band]) + key.to_bytes(8, "big")


def _all_of(clusters: Table) -> Iterator[tuple[list[bytes], Keys]]:
    """The number of every cluster and the keys of its bands, many at once."""
    start = b"\0"
    while rows := clusters.page(start, _AT_ONCE):
        yield [number for number, _ in rows], band_keys(rows_of([row[:VALUES] for _, row in rows]))
        start = rows[-1][0] + b"\0"
