"""What a crawl has done when it ends, in numbers: the value that `--json` prints and that programs get."""

from __future__ import annotations

from msgspec import Struct

from periplus.crawl.stats import CrawlStats

from .collection import Collection
from .progress import Progress


class RunSummary(Struct, frozen=True):
    """What this run did. `waited`: seconds in which every site with queued URLs had to rest."""

    pages: int
    fetches: int
    seconds: float
    pages_per_second: float
    waited: float


class Summary(Struct, frozen=True):
    """A crawl at its end. Counts are since the collection began, except `this_run`.

    `ended` is `complete` (nothing is left to fetch), `limit`, `time` or `interrupted`. `limit` (pages), `duration`
    (seconds) and `max_depth` (links) are the bounds that were set. `has_unread`: sitemaps list URLs that are not yet
    counted.
    """

    collection: str
    ended: str
    this_run: RunSummary
    pages: int
    new: int
    changed: int
    same: int
    copies: int
    redirects: int
    fetches: int
    bytes: int
    errors: dict[str, int]
    excluded: dict[str, int]
    refused: dict[str, int]
    sources: dict[str, int]
    robots: int
    files: int
    known: int
    queued: int
    sites: int
    workers: int
    limit: int = 0
    duration: float = 0.0
    max_depth: int = 0
    has_unread: bool = False


def summary_of(
    collection: Collection, progress: Progress, before: CrawlStats, seconds: float, *, is_interrupted: bool
) -> Summary:
    """The summary of a run that has ended. `before` is what the collection had counted when the run began."""
    tally = progress.tally
    pages = tally.pages - before.pages
    return Summary(
        collection=str(collection.folder),
        ended=_ended(collection, progress, is_interrupted=is_interrupted),
        this_run=RunSummary(
            pages=pages,
            fetches=tally.fetches - before.fetches,
            seconds=round(seconds, 3),
            pages_per_second=round(pages / max(seconds, 0.001), 2),
            waited=round(progress.waited, 3),
        ),
        pages=tally.pages,
        new=tally.new,
        changed=tally.changed,
        same=tally.same,
        copies=tally.copies,
        redirects=tally.redirects,
        fetches=tally.fetches,
        bytes=tally.downloaded,
        errors=_most_first(tally.errors),
        excluded=_most_first(tally.excluded),
        refused=_most_first(tally.refused),
        sources=_most_first(tally.sources),
        robots=tally.robots,
        files=tally.files,
        known=progress.known,
        queued=progress.queued,
        sites=progress.sites,
        workers=collection.workers,
        limit=collection.config.crawl.limit,
        duration=collection.config.crawl.duration,
        max_depth=collection.config.budgets.max_depth,
        has_unread=progress.has_unread,
    )


def _ended(collection: Collection, progress: Progress, *, is_interrupted: bool) -> str:
    if is_interrupted:
        return "interrupted"
    asked = collection.config.crawl
    if not progress.queued and not (progress.has_unread and (asked.limit or asked.duration)):
        return "complete"
    return "limit" if asked.limit and (progress.tally.pages >= asked.limit or not asked.duration) else "time"


def _most_first(reasons: dict[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
