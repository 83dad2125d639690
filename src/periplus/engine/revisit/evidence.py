"""The evidence kept of a page's visits and signals, from which its change rate is estimated: 64 bytes.

The last eight visits are kept as they were (how long after the one before, whether it found a change, how many
signals of each kind had come by then), four bytes each; older ones are folded into two sums, of expected changes and
of days, which fade. Estimates from all visits are better than any that go from one to the next, and eight with a
memory of the rest are nearly all (see `estimation`).

A record in memory is a `PageEvidence`; a million of them are an array, whose bytes are those of `pack`
(`evidence_columns`).
"""

from __future__ import annotations

import math
import struct
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import CollectionDamaged

DAY = 86_400.0


class SignalKind(IntEnum):
    """The source of a signal that a page changed. Each kind has its own precision on each site.

    Two possible sources are not used. A sitemap index that dates a file has the file read at once, and the file has
    more detail (`engine.sitemaps` judges it). `Last-Modified` is received with a visit, when it is too late; HEAD
    requests for it would cost as much as conditional ones, which return more (`gains` judges it).
    """

    SITEMAP = 0
    """its `lastmod` in a sitemap moved"""
    FEED = 1
    """a feed has a new item for it"""
    PING = 2
    """a ping (IndexNow, WebSub, the API)"""
    HUB = 3
    """a hub, a page that often links to new pages, has a new link to it"""


KINDS = len(SignalKind)
RING = 8
"""Visits stored individually."""
MOST_SIGNALS = 7
"""Maximum number of signals of a kind between two visits that are counted: three bits."""
BY_DATE = 0.5
"""Changes that the date of a page counts for: it is that of the last one, or of its birth."""
MEMORY = 50.0
"""Visits after which what was folded counts half."""
_BYTES = struct.Struct(f"<dIfIfff{RING}I")
STEPS = 128.0
"""Steps of an interval in an octave: half a per cent."""
LENGTH_BITS, SIGNAL_BITS = 12, 3
LONGEST = (1 << LENGTH_BITS) - 1
CHANGED = 1 << LENGTH_BITS
FIRST_SIGNAL = LENGTH_BITS + 1
_ANY_SIGNAL = ((1 << SIGNAL_BITS * KINDS) - 1) << FIRST_SIGNAL
_NO_SIGNALS = (0,) * KINDS
USED = 1 << 31
"""Set in every observation, so that 0 is none."""
KEEP = 0.5 ** (1.0 / MEMORY)
"""Factor by which folded visits fade with each further visit."""


class PageEvidence(Struct, frozen=True, gc=False):
    """The evidence about how often a page changes, from its visits and its signals.

    `pending` are the signals since its last visit, three bits for each kind, and `heard` is the number of all signals
    since `watched_from`; `ring` are the last visits, the oldest first, `old_changes` in `old_days` those before. `rate`
    is the last estimate of changes a day that no signal announces.
    """

    visited_at: float = 0.0
    watched_from: int = 0
    heard: float = 0.0
    pending: int = 0
    old_changes: float = 0.0
    old_days: float = 0.0
    rate: float = 0.0
    ring: tuple[int, ...] = ()

    def pack(self) -> bytes:
        """Encode the evidence in 64 bytes."""
        ring = self.ring + (0,) * (RING - len(self.ring))
        return _BYTES.pack(
            self.visited_at, self.watched_from, self.heard, self.pending,
            self.old_changes, self.old_days, self.rate, *ring,
        )  # fmt: skip

    @property
    def signals(self) -> tuple[int, ...]:
        """The numbers of signals since the last visit, by kind."""
        return signals_of(self.pending)

    def signalled(self, kind: SignalKind) -> PageEvidence:
        """Add a signal that it changed. Several changes between two polls are one signal."""
        shift = shift_of(kind)
        heard = min(self.heard + 1.0, 1e9)
        if self.pending >> shift & MOST_SIGNALS == MOST_SIGNALS:
            return replace(self, heard=heard)
        return replace(self, heard=heard, pending=self.pending + (1 << shift))

    def signalled_late(self, kind: SignalKind, modified_at: float) -> PageEvidence:
        """Add a signal about a change before the last visit to the visit that followed the change."""
        shift, ended_at = shift_of(kind), self.visited_at
        if modified_at > ended_at:
            return self
        for place in range(len(self.ring) - 1, -1, -1):
            code = self.ring[place]
            ended_at -= days_of(code) * DAY
            if modified_at > ended_at:
                if code >> shift & MOST_SIGNALS:
                    return self
                ring = (*self.ring[:place], code | 1 << shift, *self.ring[place + 1 :])
                return replace(self, ring=ring, heard=min(self.heard + 1.0, 1e9))
        return self

    def first_visited(self, now: float, age: float | None = None) -> PageEvidence:
        """After the first visit; a date of the last change, `age` seconds ago, counts as half a change in that time."""
        dated = age is not None and age > 0.0
        return replace(
            self,
            visited_at=now,
            watched_from=self.watched_from or _second(now),
            pending=0,
            old_changes=BY_DATE if dated else 0.0,
            old_days=age / DAY if age is not None and dated else 0.0,
        )

    @property
    def dated(self) -> float:
        """Days since its last change at the first visit, by a date that it bore; 0: none is known, or it was folded."""
        return self.old_days if len(self.ring) < RING and self.old_changes == BY_DATE else 0.0

    def undated(self) -> PageEvidence:
        """The evidence without that date."""
        return replace(self, old_changes=0.0, old_days=0.0) if self.dated else self

    def with_date_of_weight(self, weight: float) -> PageEvidence:
        """The evidence, before the first visit is folded, with a date that counts as far as it is believed."""
        if self.old_changes != BY_DATE:
            return self
        return replace(self, old_changes=weight * self.old_changes, old_days=weight * self.old_days)

    def visited(self, is_changed: bool, now: float) -> tuple[PageEvidence, int]:
        """After one more visit: the evidence, and the oldest observation, if there was no room for it any more.

        The caller folds it (`folded`), using its estimate of the site's signals.
        """
        code = observation(now - self.visited_at, is_changed, self.pending)
        dropped, ring = (self.ring[0], self.ring[1:]) if len(self.ring) == RING else (0, self.ring)
        return replace(self, visited_at=now, pending=0, ring=(*ring, code)), dropped

    def folded(self, changes: float, days: float) -> PageEvidence:
        """With an observation that left the ring: `changes` that no signal reported, in `days`."""
        return replace(self, old_changes=KEEP * self.old_changes + changes, old_days=KEEP * self.old_days + days)


def unpack_page(kept: bytes) -> PageEvidence:
    """Decode packed evidence; empty bytes are no evidence. Raises `CollectionDamaged` for invalid bytes."""
    if not kept:
        return UNSEEN
    if len(kept) != _BYTES.size:
        raise CollectionDamaged(
            f"the evidence of a page has {len(kept)} bytes, not {_BYTES.size}",
            hint="restore the collection from a copy",
        )
    visited_at, watched_from, heard, pending, changes, days, rate, *ring = _BYTES.unpack(kept)
    seen = tuple(code for code in ring if code)
    return PageEvidence(visited_at, watched_from, heard, pending, changes, days, rate, seen)


UNSEEN = PageEvidence()


def observation(interval: float, is_changed: bool, pending: int) -> int:
    """A visit in four bytes: seconds since the one before (to half a per cent), changed or not, signals by kind."""
    length = min(round(math.log2(max(interval, 1.0)) * STEPS), LONGEST)
    return USED | pending | (CHANGED if is_changed else 0) | length


def days_of(code: int) -> float:
    """The interval of an observation."""
    return float(2.0 ** ((code & LONGEST) / STEPS)) / DAY


def is_changed_of(code: int) -> bool:
    """Whether that visit found a change."""
    return bool(code & CHANGED)


def signals_of(code: int) -> tuple[int, ...]:
    """Signals by kind, of an observation or of what is pending."""
    if not code & _ANY_SIGNAL:  # most have none
        return _NO_SIGNALS
    return tuple(code >> shift_of(kind) & MOST_SIGNALS for kind in range(KINDS))


def shift_of(kind: int) -> int:
    """Where the signals of a kind begin, in an observation and in what is pending."""
    return FIRST_SIGNAL + SIGNAL_BITS * kind


def _second(at: float) -> int:
    """A time in 32 bits, which last until 2106."""
    return min(max(int(at), 1), (1 << 32) - 1)
