"""Counts messages by kind and result, for `/metrics` (`periplus_receiver_messages_total`) and for tests."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from threading import Lock

from ..counters import Counters


class Kind(Enum):
    """What a message is."""

    INDEXNOW = "indexnow"
    WEBSUB = "websub"
    SITEMAP_PING = "sitemap-ping"
    CHANGED = "changed"


class Result(Enum):
    """What became of a message."""

    ACCEPTED = "accepted"
    """its URLs are kept for the crawl"""
    HELD = "held"
    """its URLs are kept until its key is checked"""
    RELEASED = "released"
    """a key was checked and is valid: all messages held for it are kept for the crawl"""
    DROPPED = "dropped"
    """a key was checked and is not valid: all messages held for it are dropped"""
    WRONG_KEY = "wrong-key"
    """its key was checked before and is not valid"""
    INVALID = "invalid"
    """it is not as the protocol wants it"""
    OUT_OF_SCOPE = "out-of-scope"
    """none of its URLs belongs to a collection"""
    BAD_SIGNATURE = "bad-signature"
    """it is not signed, or not by the hub"""
    UNKNOWN = "unknown"
    """it belongs to no subscription"""
    VERIFIED = "verified"
    """a hub's question about a subscription was answered with yes"""
    REFUSED = "refused"
    """a hub's question was answered with no, or a hub refused a subscription"""
    LIMITED = "limited"
    """its sender sends too much, or asks for a file too often"""
    FULL = "full"
    """too many URLs or keys wait already"""


class MessageCounts:
    """Counts of a server. Any thread may count. `counters`: those that `/metrics` reads, of the first collection."""

    def __init__(self, counters: Counters | None = None) -> None:
        self._counters = counters
        self._counts: Counter[tuple[Kind, Result]] = Counter()
        self._lock = Lock()

    def add(self, kind: Kind, result: Result, counters: Counters | None = None) -> None:
        """Count a message; `counters` are those of the collection that it is for, if that is known."""
        with self._lock:
            self._counts[kind, result] += 1
        if (chosen := counters or self._counters) is not None:
            chosen.message(kind.value, result.value)

    def items(self) -> list[tuple[str, str, int]]:
        """Kind, result and number, in the order of kinds and results; without those that did not occur."""
        with self._lock:
            found = dict(self._counts)
        return [
            (kind.value, result.value, found[kind, result])
            for kind in Kind
            for result in Result
            if (kind, result) in found
        ]

    def __getitem__(self, each: tuple[Kind, Result]) -> int:
        with self._lock:
            return self._counts[each]
