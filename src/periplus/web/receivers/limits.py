"""How much one sender may send: messages a second and URLs an hour, by address."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from msgspec import Struct

MAX_SENDERS = 10_000
"""Addresses that are remembered. Those that were silent longest are forgotten first: their allowance is full again,
unless an attacker has more addresses than this."""


class _Allowance(Struct):
    """What a sender may still send at time `at`."""

    messages: float
    urls: float
    at: float


class SenderLimits:
    """Two token buckets for each address. Times are seconds of any clock that does not go back."""

    def __init__(self, messages_per_second: float, urls_per_hour: float) -> None:
        self._message_rate, self._url_rate = messages_per_second, urls_per_hour / 3600.0
        self._max_messages, self._max_urls = max(messages_per_second, 1.0), max(float(urls_per_hour), 1.0)
        self._senders: OrderedDict[str, _Allowance] = OrderedDict()
        self._lock = Lock()

    def wait_for_message(self, address: str, now: float) -> float:
        """Count a message and return 0; or, if there were too many, seconds until the next may come."""
        with self._lock:
            sender = self._sender(address, now)
            if sender.messages < 1.0:
                return (1.0 - sender.messages) / self._message_rate
            sender.messages -= 1.0
            return 0.0

    def wait_for_urls(self, address: str, urls: int, now: float) -> float:
        """Count URLs and return 0; or, if there were too many, seconds until there is room for them."""
        with self._lock:
            sender = self._sender(address, now)
            needed = min(float(urls), self._max_urls)
            if sender.urls < needed:
                return (needed - sender.urls) / self._url_rate
            sender.urls -= needed
            return 0.0

    def _sender(self, address: str, now: float) -> _Allowance:
        sender = self._senders.setdefault(address, _Allowance(self._max_messages, self._max_urls, now))
        self._senders.move_to_end(address)
        if len(self._senders) > MAX_SENDERS:
            self._senders.popitem(last=False)
        passed = max(now - sender.at, 0.0)
        sender.messages = min(sender.messages + passed * self._message_rate, self._max_messages)
        sender.urls = min(sender.urls + passed * self._url_rate, self._max_urls)
        sender.at = now
        return sender
