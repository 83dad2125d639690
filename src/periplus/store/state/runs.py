"""Sorted runs: files of fingerprints in order, with the place of each.

A file is written once and never changed: a header, the fingerprints, the places, all of eight bytes. A place is the
number of a site and that of a URL within it; the site tells URLs apart that share a fingerprint. Files are mapped, not
read: what is looked up often is in the page cache, and not in the memory of this process.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from xxhash import xxh3_64

from .compiled import compiled

Words = np.ndarray[Any, np.dtype[np.uint64]]
Entries = tuple[Words, Words]
"""Fingerprints, and the place of each."""

Find = Callable[[Words, Words, list[bytes], dict[bytes, bytes]], None]


_find: Find | None = compiled("find")
_MAGIC = b"perirun1"
_HEADER = struct.Struct("<8sQ8s")
_WORD, _SITE = 8, 4
_SITE_BITS = np.uint64(32)
STEP = 1 << 17
"""Entries that are read or written at a time, at most: a step of a merge has to fit into a processor's cache (L2)."""


class Run:
    """A run that is mapped. `is_scanned`: it is read from beginning to end, not here and there."""

    def __init__(self, file: BinaryIO, entries: int, *, is_scanned: bool = False) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if hasattr(mmap, "MADV_RANDOM"):
            self._map.madvise(mmap.MADV_SEQUENTIAL if is_scanned else mmap.MADV_RANDOM)
        self.fingerprints: Words = np.frombuffer(self._map, "<u8", entries, _HEADER.size)
        self.places: Words = np.frombuffer(self._map, "<u8", entries, _HEADER.size + _WORD * entries)

    @property
    def entries(self) -> Entries:
        """All of it."""
        return self.fingerprints, self.places

    @classmethod
    def open(cls, path: Path, entries: int, digest: bytes, *, is_scanned: bool = False) -> Self | None:
        """The run, or `None` if its file is missing or another one."""
        try:
            with path.open("rb") as file:
                if file.read(_HEADER.size) != _HEADER.pack(_MAGIC, entries, digest):
                    return None
                if os.fstat(file.fileno()).st_size != _HEADER.size + 2 * _WORD * entries:
                    return None
                return cls(file, entries, is_scanned=is_scanned)
        except FileNotFoundError:
            return None

    def __len__(self) -> int:
        return len(self.fingerprints)

    def is_intact(self, digest: bytes) -> bool:
        """Whether the content has this digest."""
        found = xxh3_64(), xxh3_64()
        for hasher, words in zip(found, (self.fingerprints, self.places), strict=True):
            for start in range(0, len(words), STEP):
                hasher.update(words[start : start + STEP].data)
        return _digest_of(*found) == digest

    def find(self, keys: list[bytes], found: dict[bytes, bytes]) -> None:
        """Put the place of each key that is here into `found`. A key: the number of a site, then a fingerprint."""
        if _find is not None:
            _find(self.fingerprints, self.places, keys, found)
        else:
            self.find_in_python(keys, found)

    def find_in_python(self, keys: list[bytes], found: dict[bytes, bytes]) -> None:
        """The same without the compiled search."""
        if not keys:
            return
        fingerprints = np.frombuffer(b"".join(keys), ">u4, >u8")["f1"].astype(np.uint64)
        at = self.fingerprints.searchsorted(fingerprints)
        hits = (self.fingerprints.take(at, mode="clip") == fingerprints).nonzero()[0]
        places = self.places[at[hits]].astype(">u8").tobytes()
        for order, position in enumerate(hits.tolist()):
            key, place = keys[position], places[_WORD * order : _WORD * (order + 1)]
            if not place.startswith(key[:_SITE]):
                place = self._of_site(fingerprints[position], key[:_SITE])
            if place:
                found[key] = place

    def _of_site(self, fingerprint: np.uint64, site: bytes) -> bytes:
        """The place of a URL of this site, or none, where several sites share its fingerprint: they are in order."""
        first = self.fingerprints.searchsorted(fingerprint)
        last = self.fingerprints.searchsorted(fingerprint, "right")
        least = int.from_bytes(site, "big") << int(_SITE_BITS)
        at = first + int(self.places[first:last].searchsorted(np.uint64(least)))
        place = b"" if at == last else int(self.places[at]).to_bytes(_WORD, "big")
        return place if place.startswith(site) else b""

    def without(self, sites: Words) -> Iterator[Entries]:
        """The entries in pieces, without those of these sites."""
        for start in range(0, len(self), STEP):
            fingerprints, places = self.fingerprints[start : start + STEP], self.places[start : start + STEP]
            keep = ~np.isin(places >> _SITE_BITS, sites)
            yield fingerprints[keep], places[keep]


class RunWriter:
    """Writes a run from pieces that are in order. `entries`: how many it will have."""

    def __init__(self, file: BinaryIO, entries: int) -> None:
        self._file = file
        self._entries = entries
        self.written = 0
        self._hashers = xxh3_64(), xxh3_64()

    def write(self, fingerprints: Words, places: Words) -> None:
        """Write the next entries."""
        starts = _HEADER.size, _HEADER.size + _WORD * self._entries
        for start, words, hasher in zip(starts, (fingerprints, places), self._hashers, strict=True):
            data = np.ascontiguousarray(words, "<u8").data
            hasher.update(data)
            self._file.seek(start + _WORD * self.written)
            self._file.write(data)
        self.written += len(fingerprints)

    def sync(self) -> None:
        """Make what is written durable, so that not all of it is left to the end."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> bytes:
        """Write the header; the digest."""
        digest = _digest_of(*self._hashers)
        self._file.seek(0)
        self._file.write(_HEADER.pack(_MAGIC, self._entries, digest))
        self._file.flush()
        return digest


def _digest_of(fingerprints: xxh3_64, places: xxh3_64) -> bytes:
    return xxh3_64(fingerprints.digest() + places.digest()).digest()


def entries_of(rows: Sequence[tuple[bytes, bytes]]) -> Entries:
    """Rows of keys and places as entries in order."""
    keys, places = b"".join([key for key, _ in rows]), b"".join([place for _, place in rows])
    return _in_order(
        np.frombuffer(keys, ">u4, >u8")["f1"].astype(np.uint64), np.frombuffer(places, ">u8").astype(np.uint64)
    )


def _in_order(fingerprints: Words, places: Words) -> Entries:
    """Entries by fingerprint, and by place where it is the same."""
    order = np.lexsort((places, fingerprints))
    return fingerprints[order], places[order]


def merged(first: Entries, second: Entries) -> Iterator[Entries]:
    """All entries of both in order, in pieces of at most `STEP` of each."""
    at, there = 0, 0
    while at < len(first[0]) or there < len(second[0]):
        bounds = [
            words[min(start + STEP, len(words)) - 1]
            for words, start in ((first[0], at), (second[0], there))
            if start < len(words)
        ]
        end = at + int(first[0][at:].searchsorted(min(bounds), "right"))
        until = there + int(second[0][there:].searchsorted(min(bounds), "right"))
        yield _merge((first[0][at:end], first[1][at:end]), (second[0][there:until], second[1][there:until]))
        at, there = end, until


def _merge(first: Entries, second: Entries) -> Entries:
    """Two pieces in one order."""
    larger, smaller = (first, second) if len(first[0]) >= len(second[0]) else (second, first)
    if not len(smaller[0]):
        return larger
    slots = larger[0].searchsorted(smaller[0])
    if (larger[0][np.minimum(slots, len(larger[0]) - 1)] == smaller[0]).any():  # rare: places decide, too
        return _in_order(np.concatenate((first[0], second[0])), np.concatenate((first[1], second[1])))
    slots += np.arange(len(slots))
    is_larger = np.ones(len(larger[0]) + len(smaller[0]), bool)
    is_larger[slots] = False
    result = np.empty(len(is_larger), np.uint64), np.empty(len(is_larger), np.uint64)
    for out, many, few in zip(result, larger, smaller, strict=True):
        out[slots] = few
        out[is_larger] = many
    return result
