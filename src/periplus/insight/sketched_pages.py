"""What is compared of pages: columns from the table `pages`, and how the last version of each is found.

Of a sketch there is the brief (`policy.duplicates.likeness`), 128 bytes; everything else of a page is 50 bytes. Not
here: who is whose copy (`clusters`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Url
from periplus.policy.duplicates import VALUES, DuplicateSettings, are_thin
from periplus.urls import fingerprints

from .columns import codes, moments

COLUMNS: Final = ("url", "site", "read_at", "links_digest", "main_digest", "main_length", "sketch")
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_SKETCH: Final = 4 * VALUES

Briefs = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Places = NDArray[np.intp]


class Facts(Struct, frozen=True):
    """Columns of pages, without their briefs."""

    keys: Hashes
    """The fingerprints of their URLs."""
    sites: Hashes
    links: Hashes
    words: Hashes
    """Of the main text; 0 where there is none."""
    prints: Hashes
    """Of all that is compared: brief, site and links. Pages with the same print are copies."""
    is_thin: NDArray[np.bool_]
    times: NDArray[np.int64]

    def chosen(self, at: Places) -> Facts:
        """Some of them, in order."""
        return Facts(*(column[at] for column in self._columns()))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.keys, self.sites, self.links, self.words, self.prints, self.is_thin, self.times


def joined(parts: list[Facts]) -> Facts:
    """One after the other."""
    columns = zip(*(part._columns() for part in [_NONE, *parts]), strict=True)
    return Facts(*(np.concatenate(column) for column in columns))


def last_versions(facts: Facts) -> Places:
    """Where the last version of each page stands, by the order in which these were read."""
    versions = np.lexsort((facts.times, facts.keys))
    keys = facts.keys[versions]
    last: Places = versions[np.append(keys[1:] != keys[:-1], True)[: len(keys)]]
    return last[np.lexsort((facts.keys[last], facts.times[last]))]


def facts_of(batch: pa.RecordBatch, settings: DuplicateSettings) -> tuple[Facts, Briefs]:
    """What is compared of the pages of a batch."""
    rows, names = codes(batch["site"])
    sites = np.array(fingerprints([Url(name or "") for name in names]), np.uint64)[rows]
    keys = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
    links, words, length = (
        pc.fill_null(batch[name], 0).to_numpy(zero_copy_only=False)
        for name in ("links_digest", "main_digest", "main_length")
    )
    links = links.astype(np.uint64)
    words = np.where(length > 0, words, 0).astype(np.uint64)
    briefs = _briefs(batch["sketch"])
    prints = _prints(briefs, sites, links)
    return Facts(keys, sites, links, words, prints, are_thin(briefs, settings), moments(batch["read_at"])), briefs


def _briefs(sketches: pa.Array) -> Briefs:
    """The lowest byte of each value; all 0 for what is no sketch."""
    _, offsets, data = pc.fill_null(sketches, b"").buffers()
    ends = np.frombuffer(offsets, np.int32, len(sketches) + 1, 4 * sketches.offset).astype(np.int64)
    is_whole = np.diff(ends) == _SKETCH
    if is_whole.all() and len(sketches):
        return np.ascontiguousarray(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].reshape(-1, _SKETCH)[:, ::4])
    briefs = np.zeros((len(sketches), VALUES), np.uint8)
    for row in np.flatnonzero(is_whole).tolist():
        briefs[row] = np.frombuffer(data, np.uint8, _SKETCH, ends[row])[::4]
    return briefs


def _prints(briefs: Briefs, sites: Hashes, links: Hashes) -> Hashes:
    prints = np.zeros(len(briefs), np.uint64)
    for column in (*briefs.view(np.uint64).T, sites, links):
        prints = (prints ^ column) * _FACTOR
        prints ^= prints >> _SHIFT
    return prints


_HASH: Final = np.empty(0, np.uint64)
_NONE: Final = Facts(_HASH, _HASH, _HASH, _HASH, _HASH, np.empty(0, np.bool_), np.empty(0, np.int64))
