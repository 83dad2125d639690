"""How much one sender may send: messages a second and URLs an hour, by address."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from msgspec import Struct

MAX_SENDERS = 10_000
"""Addresses that are remembered; those that were silent longest are forgotten first, when their allowance is full
again anyway."""


class _Allowance(Struct):
    """What a sender may still send at time `at`."""

    messages: float
    urls: float
    at: float


class SenderLimits:
    """Two token buckets for each address. Times are seconds of any clock that does not go back."""

    def __init__(self, messages_per_second: float, urls_per_hour: float) -> None:
        self._rates = messages_per_second, urls_per_hour / 3600.0
        self._sizes = max(messages_per_second, 1.0), max(float(urls_per_hour), 1.0)
        self._senders: OrderedDict[str, _Allowance] = OrderedDict()
        self._lock = Lock()

    def wait(self, address: str, urls: int, now: float) -> float:
        """Count a message of `urls` URLs; returns 0. If it is too much, nothing is counted: seconds to wait."""
        with self._lock:
            sender = self._sender(address, now)
            missing = max(self._missing(sender.messages, 1.0, 0), self._missing(sender.urls, float(urls), 1))
            if not missing:
                sender.messages -= 1.0
                sender.urls -= urls
            return missing

    def _sender(self, address: str, now: float) -> _Allowance:
        sender = self._senders.setdefault(address, _Allowance(*self._sizes, now))
        self._senders.move_to_end(address)
        if len(self._senders) > MAX_SENDERS:
            self._senders.popitem(last=False)
        passed = max(now - sender.at, 0.0)
        sender.messages = min(sender.messages + passed * self._rates[0], self._sizes[0])
        sender.urls = min(sender.urls + passed * self._rates[1], self._sizes[1])
        sender.at = now
        return sender

    def _missing(self, has: float, needs: float, which: int) -> float:
        """Seconds until there is enough; a message that is larger than the bucket needs all of it."""
        needs = min(needs, self._sizes[which])
        return 0.0 if has >= needs else (needs - has) / max(self._rates[which], 1e-9)
