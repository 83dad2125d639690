"""What all receivers share: the collection a message is for, limits for senders, counts of messages, and answers.

`Intake` decides which URLs belong to a collection, holds its inbox, and makes requests by the rules of its crawl.
`MessageCounts` feeds `/metrics` (`periplus_receiver_messages_total`).
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from enum import Enum
from threading import Lock
from typing import Final

from msgspec import Struct
from starlette.responses import PlainTextResponse, Response

from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import ReceiverSettings
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import SingleRequests
from periplus.engine.machine_settings import ShardMeta
from periplus.model import Url
from periplus.policy.filters import Scope
from periplus.store import MessageInbox, is_begun
from periplus.store.layout import meta_of
from periplus.store.tables import scan
from periplus.urls import site_of

from ..metrics import Counters, counters_of
from ..served import ServedCollection

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


class MessageKind(Enum):
    """What a message is."""

    INDEXNOW = "indexnow"
    WEBSUB = "websub"
    SITEMAP_PING = "sitemap-ping"
    CHANGED = "changed"


class Result(Enum):
    """The result of a message."""

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
        self._counts: Counter[tuple[MessageKind, Result]] = Counter()
        self._lock = Lock()

    def add(self, kind: MessageKind, result: Result, counters: Counters | None = None) -> None:
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
            for kind in MessageKind
            for result in Result
            if (kind, result) in found
        ]

    def __getitem__(self, each: tuple[MessageKind, Result]) -> int:
        with self._lock:
            return self._counts[each]


SCOPE_AGE: Final = 60.0
"""Seconds for which a scope is used: seeds may move, and settings may change."""
MAX_NAMED: Final = 100_000
"""Sitemaps that are known from a robots.txt, of which a ping is accepted wherever they are."""


class Intake:
    """One collection as a receiver sees it. Any thread may use it."""

    def __init__(self, served: ServedCollection) -> None:
        self._served = served
        self._lock = Lock()
        self._scope: Scope | None = None
        self._scope_until = 0.0
        self._named: frozenset[str] = frozenset()
        self._named_until = 0.0
        self.inbox = MessageInbox(served.collection.layout.inbox, served.collection.config.receivers.max_waiting)

    @property
    def collection(self) -> CollectionSetup:
        """The collection with its settings as they are now."""
        return self._served.collection

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self._served.name

    @property
    def counters(self) -> Counters:
        """What `/metrics` shows of the collection."""
        return counters_of(self._served)

    @property
    def settings(self) -> ReceiverSettings:
        """The table `[receivers]` of the collection."""
        return self.collection.config.receivers

    def holds(self, url: Url) -> bool:
        """Whether a URL lies in the scope of the crawl. Its filters are applied later, by the crawl."""
        return self._current_scope().holds(url)

    def may_publish(self, sitemap: Url) -> bool:
        """Whether a sitemap may list pages of this crawl: it is on one of its sites, or a robots.txt names it."""
        if self.holds(sitemap) or site_of(sitemap) in {site_of(seed) for seed in self.collection.seeds}:
            return True
        return sitemap in self._named_sitemaps()

    def _named_sitemaps(self) -> frozenset[str]:
        """Sitemaps on other sites that a robots.txt names; looked up at most once in `SCOPE_AGE`."""
        with self._lock:
            if time.monotonic() >= self._named_until:
                self._named = _named_in_robots(self.collection)
                self._named_until = time.monotonic() + SCOPE_AGE
            return self._named

    def requests(self) -> SingleRequests:
        """Requests with the identity, the limits and the allowed addresses of the crawl.

        Raises `ConfigError` if the collection has settings that no person has given: without them, such as
        `wire.proxy`, a request would take another way.
        """
        self.collection.check_trusted()
        config = self.collection.config
        return SingleRequests(
            config.wire,
            identity=config.crawler_identity,
            clock=SystemClock(),
            dns=config.dns,
            guard=config.address_guard(),
        )

    def _current_scope(self) -> Scope:
        with self._lock:
            if self._scope is None or time.monotonic() >= self._scope_until:
                self._scope = _scope_of(self.collection)
                self._scope_until = time.monotonic() + SCOPE_AGE
            return self._scope

    def close(self) -> None:
        """Close the inbox."""
        self.inbox.close()


def _scope_of(collection: CollectionSetup) -> Scope:
    """The scope of the seeds and of the places that they have moved to."""
    layout = collection.layout
    folders = [layout.shard(number) for number in range(layout.shards)]
    metas = [meta_of(folder, ShardMeta) for folder in folders if is_begun(folder)]
    moved = [place for meta in metas if meta is not None for place in meta.moved]
    return Scope([*collection.seeds, *moved], collection.config.scope)


def _named_in_robots(collection: CollectionSetup) -> frozenset[str]:
    layout = collection.layout
    found: set[str] = set()
    for batch in scan(layout.tables, "sitemaps", spooled=layout.spooled, columns=["url", "origin"]):
        rows = zip(batch["url"].to_pylist(), batch["origin"].to_pylist(), strict=True)
        found.update(url for url, origin in rows if origin == "robots")
        if len(found) >= MAX_NAMED:
            break
    return frozenset(found)


FULL_FOR = 60.0
"""Seconds after which a sender may try again when the inbox is full: a crawl that runs empties it within seconds, one
that does not run will not begin sooner."""


class Answer(Struct, frozen=True):
    """An answer. `retry_after`: seconds, for a sender that was refused for now."""

    status: int
    text: str
    retry_after: float = 0.0

    def response(self) -> Response:
        """The answer as HTTP has it: plain text, with Retry-After if it is set."""
        headers = {"Retry-After": str(math.ceil(self.retry_after))} if self.retry_after else None
        return PlainTextResponse(self.text + "\n", self.status, headers)


def too_many(seconds: float) -> Answer:
    """The answer to a sender that sends too much."""
    return Answer(429, "Too many messages from this address.", max(seconds, 1.0))


def full() -> Answer:
    """The answer while there is no room for more URLs."""
    return Answer(429, "Too many URLs wait to be crawled.", FULL_FOR)
