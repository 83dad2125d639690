"""The progress and the failures of a running crawl in words: for terminals, logs and notebooks."""

from __future__ import annotations

import math

from periplus.engine.frontier import CutOff, Setback, delay_after, seconds_for
from periplus.engine.stats import CrawlStats
from periplus.model import Url
from periplus.urls import site_of
from periplus.view.wording import count, counted, lasting, pace, size

from .collection import CollectionSetup
from .progress import Progress
from .summary import failure_of
from .wording import harvest

UNREAD_SITEMAPS = "sitemaps are still being read"
"""Shown beside the time left while it is not known what sitemaps list."""


def progress_line(progress: Progress) -> str:
    """Everything that matters of a crawl for pages, in one line."""
    tally = progress.tally
    limit = f" of {count(progress.limit)}" if progress.limit else ""
    pages = f"{count(progress.limited_pages)}{limit} pages" if limit else counted(tally.pages, "page")
    if waiting := waiting_for(progress):
        return f"{lasting(progress.elapsed)}: {pages}, queue {count(progress.queued_pages)}; {waiting}"
    parts = [
        f"{lasting(progress.elapsed)}: {pages}, {pace(progress.rate)}",
        counted(sum(tally.errors.values()), "error"),
        f"known {count(progress.known)}",
        f"queue {count(progress.queued_pages)}",
        f"hosts {count(progress.sites)} ({hosts(progress)})",
        size(tally.downloaded),
    ]
    if tally.appraised:
        parts.insert(1, f"{count(tally.relevant)} on topic ({harvest(tally)})")
    return ", ".join(filter(None, [*parts, time_left(progress)]))


def time_left(progress: Progress) -> str:
    """How long the crawl takes for what is known now, and what is not known yet; empty if nothing is known."""
    is_open = progress.has_unread and not progress.is_bounded
    parts = [f"{'at least' if is_open else 'about'} {lasting(progress.left)} left"] if progress.left else []
    if progress.limit_in is not None:
        parts.append(f"{lasting(progress.limit_in)} if links lead to {counted(progress.limit, 'page')}")
    return ", ".join([*parts, UNREAD_SITEMAPS] if is_open else parts)


def expected_seconds(collection: CollectionSetup, before: CrawlStats) -> float | None:
    """How long the pages that the limit leaves take at the politeness of the settings; `None` without a limit.

    The sites of the seeds are visited side by side. `before` is what the collection has.
    """
    asked, politeness = collection.config.crawl, collection.config.politeness
    if not asked.limit:
        return asked.duration or None
    pages = max(asked.limit - before.new, 0)
    sites = len(set(map(site_of, collection.seeds))) or 1
    seconds = seconds_for(politeness, math.ceil(pages / sites), delay_after(politeness, None, 0.0))
    seconds = max(seconds, pages / asked.rate if asked.rate else 0.0)
    return min(seconds, asked.duration) if asked.duration else seconds


def expected(collection: CollectionSetup, before: CrawlStats) -> str:
    """The time that a crawl will take, before it begins, and what makes it shorter."""
    asked, seconds = collection.config.crawl, expected_seconds(collection, before)
    if seconds is None:
        return "no limit is set (--limit, --for): the time left is shown once links and sitemaps are read"
    if not asked.limit:
        return f"ends after {lasting(seconds)} (--for), or when nothing is left"
    sites = counted(len(set(map(site_of, collection.seeds))) or 1, "site")
    pages = counted(max(asked.limit - before.new, 0), "page")
    pace = f"at {collection.config.politeness.delay:g} s between requests to a site"
    slower = "longer where robots.txt asks for more; --delay shortens it where a site's owner agrees"
    return f"expected: up to {pages} of {sites} {pace} take about {lasting(seconds)}; {slower}"


def setback_line(setback: Setback, now: float, *, is_last: bool = False) -> str:
    """A failure, when it is tried again and what to do, in one line. `now` is POSIX time.

    `is_last`: the crawl ends before the next attempt. A failure without a next step is one of the URL, not of its site.
    """
    failure = failure_of(setback)
    if not failure.next_step:
        return _attempt(setback, now)
    steps = [f"cannot reach {_root(setback.url)}: {failure.problem}", failure.next_step]
    if setback.retry_at is None or is_last:
        steps.append("given up")
    else:
        steps.append(f"retrying {_when(setback.retry_at, now)}, Ctrl-C stops")
    return "; ".join(steps)


def waiting_for(progress: Progress) -> str:
    """What a crawl waits for that can make no request now; empty if nothing failed."""
    if progress.cut_off is not None:
        return cut_off_line(progress.cut_off, progress.at)
    waited_for = (each for each in progress.setbacks if each.retry_at is not None)
    first = min(waited_for, key=lambda each: each.retry_at or 0, default=None)
    if first is None or progress.ready or progress.visited:
        return ""
    return _attempt(first, progress.at)


def cut_off_line(cut_off: CutOff, now: float) -> str:
    """Since when no server can be reached and why, and when the next is asked."""
    sites, when = counted(cut_off.sites, "site"), _when(cut_off.next_try_at, now)
    text = f"cut off for {lasting(now - cut_off.since)}: none of {sites} can be reached ({cut_off.reason})"
    return f"{text}; trying again {when}"


def hosts(progress: Progress) -> str:
    """How many hosts are ready, rest between visits, or back off after errors."""
    resting = progress.resting - progress.backing_off
    text = f"ready {count(progress.ready + progress.visited)} · resting {count(resting)}"
    return f"{text} · backing off {count(progress.backing_off)}"


def _attempt(setback: Setback, now: float) -> str:
    """A URL that failed, when it is tried again, and why it failed."""
    is_server_error = setback.reason.startswith("http-5")
    why = f"server error {setback.reason[-3:]}" if is_server_error else failure_of(setback).problem
    if setback.retry_at is None:
        return f"{setback.url}: {why}"
    return f"retrying {setback.url} {_when(setback.retry_at, now)}: {why}"


def _when(at: float, now: float) -> str:
    seconds = max(at - now, 0.0)
    return f"in {seconds:.0f} s" if seconds >= 0.5 else "now"


def _root(url: Url) -> str:
    return url[: url.index("/", 8) + 1]
