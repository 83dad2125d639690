"""Counts messages by kind and result, for `/metrics` (`periplus_receiver_messages_total`) and for tests."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from threading import Lock


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
    """the key of a held message is valid: a second result of the same message"""
    DROPPED = "dropped"
    """the key of a held message is not valid: a second result of the same message"""
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
    """Any thread may count."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Kind, Result]] = Counter()
        self._lock = Lock()

    def add(self, kind: Kind, result: Result, number: int = 1) -> None:
        """Count messages."""
        with self._lock:
            self._counts[kind, result] += number

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
