"""The progress and the failures of a running crawl in words: for terminals, logs and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.engine.frontier import Setback
from periplus.insight.reasons import explained
from periplus.model import Url
from periplus.view.wording import count, counted, lasting, pace, size

from .progress import Progress
from .summary import failure_of
from .wording import harvest

UNREAD_SITEMAPS = "sitemaps list more"
"""Shown instead of the time left while sitemaps have URLs that are not counted yet."""


def progress_line(progress: Progress) -> str:
    """Everything that matters of a crawl for pages, in one line."""
    tally = progress.tally
    limit = f" of {count(progress.limit)}" if progress.limit else ""
    pages = f"{count(progress.limited_pages)}{limit} pages" if limit else counted(tally.pages, "page")
    if not (progress.ready or progress.visited) and (waiting := waiting_for(progress.setbacks, progress.at)):
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
    if progress.left:
        parts.append(f"about {lasting(progress.left)} left")
    elif progress.has_unread:
        parts.append(UNREAD_SITEMAPS)
    return ", ".join(parts)


def setback_line(setback: Setback, now: float, *, is_last: bool = False) -> str:
    """A failure, when it is tried again and what to do, in one line. `now` is POSIX time.

    `is_last`: the crawl ends before the next attempt.
    """
    is_answer = setback.reason.startswith("http-")
    if is_answer and setback.retry_at is not None:
        return f"retrying {setback.url} {_when(setback, now)}: {_answer(setback)}"
    if is_answer:
        return f"{setback.url}: {_answer(setback)}"
    failure = failure_of(setback)
    text = f"cannot reach {_root(setback.url)}: {failure.problem}"
    steps = [failure.next_step] if failure.next_step else []
    if setback.retry_at is None or is_last:
        steps.append("given up")
    else:
        steps.append(f"retrying {_when(setback, now)}, Ctrl-C stops")
    return "; ".join([text, *steps])


def waiting_for(setbacks: Sequence[Setback], now: float) -> str:
    """What a crawl waits for that can make no request now; empty if nothing failed."""
    first = min(
        (each for each in setbacks if each.retry_at is not None), key=lambda each: each.retry_at or 0, default=None
    )
    if first is None:
        return ""
    why = _answer(first) if first.reason.startswith("http-") else failure_of(first).problem
    return f"retrying {first.url} {_when(first, now)}: {why}"


def hosts(progress: Progress) -> str:
    """How many hosts are ready, rest between visits, or back off after errors."""
    resting = progress.resting - progress.backing_off
    text = f"ready {count(progress.ready + progress.visited)} · resting {count(resting)}"
    return f"{text} · backing off {count(progress.backing_off)}"


def _answer(setback: Setback) -> str:
    status = setback.reason.removeprefix("http-")
    return f"server error {status}" if status.startswith("5") else explained(setback.reason)


def _when(setback: Setback, now: float) -> str:
    seconds = max((setback.retry_at or now) - now, 0.0)
    return f"in {seconds:.0f} s" if seconds >= 0.5 else "now"


def _root(url: Url) -> str:
    return url[: url.index("/", 8) + 1]
