"""Two simple messages: a sitemap that changed (`/ping`), and URLs that the owner reports (`/api/changed`)."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from msgspec import Struct

from periplus.model import Discovery, Purpose, Source, Url
from periplus.urls import canonical

from .intake import Answer, Intake, MessageCounts, MessageKind, Result, SenderLimits, full, too_many

PING_EVERY = 3_600.0
"""Seconds between two pings of one sitemap that are taken: files that change more often are polled by the crawl."""
MAX_PINGED = 10_000
"""Sitemaps whose last ping is remembered."""


class Changed(Struct, frozen=True):
    """The results for the URLs of a report."""

    accepted: int
    out_of_scope: int
    invalid: int


class ReportReceiver:
    """Receives reports for some collections. Any thread may use it."""

    def __init__(self, intakes: Sequence[Intake], limits: SenderLimits, counts: MessageCounts) -> None:
        self._intakes = intakes
        self._limits = limits
        self._counts = counts
        self._lock = Lock()
        self._pinged: OrderedDict[Url, float] = OrderedDict()

    # sitemaps

    def ping(self, text: str, address: str) -> Answer:
        """A sitemap changed: the crawl is to read it soon."""
        url = canonical(text.strip()) if text else None
        intakes = [] if url is None else [intake for intake in self._intakes if intake.may_publish(url)]
        result, answer = self._pinged_sitemap(url, intakes, address)
        self._counts.add(MessageKind.SITEMAP_PING, result, intakes[0].counters if intakes else None)
        return answer

    def _pinged_sitemap(self, url: Url | None, intakes: Sequence[Intake], address: str) -> tuple[Result, Answer]:
        if url is None:
            return Result.INVALID, Answer(400, "Give the URL of a sitemap: /ping?sitemap=URL")
        if not intakes:
            return Result.OUT_OF_SCOPE, Answer(422, "No collection crawls the site of this sitemap.")
        now = time.monotonic()
        if wait := self._wait(url, now):
            return Result.LIMITED, Answer(429, "This sitemap was reported less than an hour ago.", wait)
        if wait := self._limits.wait_for_urls(address, 1, now):
            return Result.LIMITED, too_many(wait)
        found = [Discovery(url, Source.PING, time.time(), purpose=Purpose.SITEMAP)]
        if not all(intake.inbox.append(found) for intake in intakes):
            return Result.FULL, full()
        self._remember(url, now)
        return Result.ACCEPTED, Answer(200, "Received.")

    def _wait(self, url: Url, now: float) -> float:
        with self._lock:
            return max(self._pinged.get(url, -PING_EVERY) + PING_EVERY - now, 0.0)

    def _remember(self, url: Url, now: float) -> None:
        with self._lock:
            self._pinged[url] = now
            self._pinged.move_to_end(url)
            while len(self._pinged) > MAX_PINGED:
                self._pinged.popitem(last=False)

    # URLs

    def changed(self, texts: Sequence[str], address: str) -> Changed | Answer:
        """A program of the owner reports URLs; they are kept for the crawl of each collection they belong to."""
        if wait := self._limits.wait_for_urls(address, len(texts), time.monotonic()):
            self._counts.add(MessageKind.CHANGED, Result.LIMITED)
            return too_many(wait)
        urls = list(dict.fromkeys(canonical(text.strip()) for text in texts))
        valid = [url for url in urls if url is not None]
        now, accepted = time.time(), set[Url]()
        for intake in self._intakes:
            found = [url for url in valid if intake.holds(url)]
            if found and not intake.inbox.append([Discovery(url, Source.PING, now) for url in found]):
                self._counts.add(MessageKind.CHANGED, Result.FULL, intake.counters)
                return full()
            accepted.update(found)
        self._counts.add(MessageKind.CHANGED, Result.ACCEPTED if accepted else Result.OUT_OF_SCOPE)
        invalid = sum(canonical(text.strip()) is None for text in texts)
        return Changed(len(accepted), len(valid) - len(accepted), invalid)
