"""What a crawl has done when it ends, in numbers: the value that `--json` prints and that programs get."""

from __future__ import annotations

from msgspec import Struct

from periplus.crawl.stats import CrawlStats
from periplus.policy.filters import MediaTypes

from .collection import Collection
from .failures import SiteFailure, failures_of
from .progress import Progress


class RunSummary(Struct, frozen=True):
    """What this run did. `waited`: seconds in which every site with queued URLs had to rest."""

    pages: int
    fetches: int
    seconds: float
    pages_per_second: float
    waited: float


class MediaSummary(Struct, frozen=True):
    """A crawl for files: how many were fetched, and how many pages had to be fetched to find them.

    `request_share` and `byte_share` are those of pages. Without archives and image sitemaps they are 66 % and 30 % in
    Brandman et al. (2000), section 4.2.
    """

    types: tuple[str, ...]
    files: int
    bytes: int
    pages: int
    page_bytes: int
    request_share: float
    byte_share: float


class TopicSummary(Struct, frozen=True):
    """A crawl with a topic: how many of its pages are relevant, and which share of them all and of the last 100."""

    pages: int
    relevant: int
    harvest: float
    recent_harvest: float


class Summary(Struct, frozen=True):
    """A crawl at its end. Counts are since the collection began, except `this_run`.

    `ended` is `complete` (nothing is left to fetch), `limit`, `bytes`, `time`, `interrupted` or `unreachable` (no seed
    could be reached: it ended before any retry). `limit` (pages), `duration` (seconds), `max_bytes` and `max_depth`
    (links) are the bounds that were set. `has_unread`: sitemaps list URLs that are not yet counted. `media` is for
    crawls for files, which `pages` and `new` count as well; `topic` for crawls with a topic. `failures` says why seeds
    could not be reached.
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
    queued_files: int = 0
    limit: int = 0
    duration: float = 0.0
    max_depth: int = 0
    has_unread: bool = False
    max_bytes: int = 0
    media: MediaSummary | None = None
    topic: TopicSummary | None = None
    failures: tuple[SiteFailure, ...] = ()


def summary_of(
    collection: Collection,
    progress: Progress,
    before: CrawlStats,
    seconds: float,
    *,
    is_interrupted: bool,
    is_unreachable: bool = False,
) -> Summary:
    """The summary of a run that has ended. `before` is what the collection had counted when the run began."""
    tally = progress.tally
    pages = tally.pages - before.pages
    return Summary(
        collection=str(collection.folder),
        ended="unreachable" if is_unreachable else _ended(collection, progress, is_interrupted=is_interrupted),
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
        queued_files=progress.queued_files,
        sites=progress.sites,
        workers=collection.workers,
        limit=collection.config.crawl.limit,
        duration=collection.config.crawl.duration,
        max_depth=collection.config.budgets.max_depth,
        has_unread=progress.has_unread,
        max_bytes=collection.config.crawl.max_bytes,
        media=_media(MediaTypes(collection.config.media), tally),
        topic=_topic(tally),
        failures=failures_of(progress.setbacks, collection.seeds, has_pages=tally.pages > 0),
    )


def _topic(tally: CrawlStats) -> TopicSummary | None:
    if not tally.appraised:
        return None
    return TopicSummary(
        tally.appraised,
        tally.relevant,
        round(tally.relevant / tally.appraised, 4),
        round(tally.recent_relevant / max(tally.recent, 1), 4),
    )


def _media(media: MediaTypes, tally: CrawlStats) -> MediaSummary | None:
    """What a crawl for files fetched; `None` for a crawl of pages."""
    if not media:
        return None
    files, pages = [
        [(count, tally.type_bytes.get(kind, 0)) for kind, count in tally.types.items() if media.wants(kind) is is_file]
        for is_file in (True, False)
    ]
    (count, size), (others, other_size) = [
        (sum(n for n, _ in some), sum(n for _, n in some)) for some in (files, pages)
    ]
    return MediaSummary(
        media.types,
        count,
        size,
        others,
        other_size,
        round(others / max(count + others, 1), 4),
        round(other_size / max(size + other_size, 1), 4),
    )


def _ended(collection: Collection, progress: Progress, *, is_interrupted: bool) -> str:
    if is_interrupted:
        return "interrupted"
    asked = collection.config.crawl
    if asked.max_bytes and progress.tally.downloaded >= asked.max_bytes and (progress.queued or progress.has_unread):
        return "bytes"
    if not progress.queued and not (progress.has_unread and (asked.limit or asked.duration)):
        return "complete"
    return "limit" if asked.limit and (progress.tally.pages >= asked.limit or not asked.duration) else "time"


def _most_first(reasons: dict[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
