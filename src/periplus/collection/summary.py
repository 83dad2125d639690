"""Summarises a crawl that has ended: `Summary` is printed by `--json` and returned to programs.

`failure_of` explains why a site could not be fetched, and gives the user's next step.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from periplus.engine.fetch import reasons
from periplus.engine.frontier import Setback
from periplus.engine.frontier.politeness import NO_SERVER
from periplus.engine.stats import CrawlStats
from periplus.insight.reasons import explained
from periplus.model import Url
from periplus.parts.forms.show import OpenWork
from periplus.policy.filters import MediaTypes
from periplus.urls import site_of
from periplus.view.notebook import Displayed

from .collection import CollectionSetup
from .progress import Progress

MAX_FAILURES: Final = 20
"""Failures in a summary: the table `fetches` has all of them."""

_NEXT_STEPS: Final = {
    "dns-not-found": "check the spelling of the host name",
    "dns-unavailable": "check the network and its name server",
    "dns-timeout": "check the network and its name server",
    "connect-refused": "check the port, and http:// or https://",
    "connect-timeout": "check the address and the network",
    "connect-failed": "check the network",
    "tls": "check the host name; --ca-file FILE trusts a certificate authority of your own",
    "proxy": "check --proxy",
}
_TLS_STEPS: Final = {
    reasons.EXPIRED: "only its owner can renew it; verify_tls = false under [wire] crawls without checking it",
    reasons.NOT_YET_VALID: "check the clock of this machine",
    reasons.OTHER_HOST: "check the host name, with or without www.; a certificate of your own must have this name, "
    "and --ca-file FILE trusts it",
    reasons.SELF_SIGNED: "if you trust it, --ca-file FILE adds it to the trusted ones",
    reasons.UNKNOWN_AUTHORITY: "--ca-file FILE trusts a certificate authority of your own",
    reasons.NOT_TLS: "try http:// instead of https://, or another port",
    reasons.OLD_TLS: "only its owner can update it; try http://",
    reasons.UNKNOWN_NAME: "check the host name",
    reasons.CLIENT_CERTIFICATE: "Periplus cannot send one; ask its owner for another way in",
    reasons.HANDSHAKE_REFUSED: "check the host name and the port",
    reasons.HANDSHAKE_CLOSED: "check the port, and http:// or https://",
}
_PROXY: Final = re.compile(r"the proxy [^\s)]+")
"""How the wire names a proxy in a detail."""


class SiteFailure(Struct, frozen=True):
    """Why nothing could be fetched from a site: the URL that was requested, the reason, and both in words.

    `next_step` is empty where only the site can do something about it.
    """

    url: str
    reason: str
    problem: str
    next_step: str = ""


def failure_of(setback: Setback) -> SiteFailure:
    """A failure in words."""
    step = _NEXT_STEPS.get(setback.reason, "")
    if setback.reason == "tls":
        known = next((problem for problem in _TLS_STEPS if setback.detail.startswith(problem)), "")
        step = _TLS_STEPS.get(known, step)
    return SiteFailure(setback.url, setback.reason, _problem(setback), step)


def _problem(setback: Setback) -> str:
    reason, detail = setback.reason, setback.detail
    usual = explained(reason) or reason
    if reason == "proxy" and detail:
        return f"the proxy {detail}"
    if reason == "tls" and any(detail.startswith(problem) for problem in _TLS_STEPS):
        return detail
    if detail and (reason == "tls" or detail == reasons.HANDSHAKE_STALLED):
        return f"{usual} ({detail})"
    through = _PROXY.search(detail)
    return f"{usual} (through {through[0]})" if through else usual


LOGIN_FAILED: Final = "login"
"""The reason of a failure that is not a site's: no worker could log in."""


def login_failures(progress: Progress, seeds: Sequence[Url]) -> tuple[SiteFailure, ...]:
    """The failure of all logins of a run, if they failed."""
    if not progress.login_problem:
        return ()
    step = "correct --login and crawl into a new folder: these pages are what visitors see"
    return (SiteFailure(seeds[0] if seeds else "", LOGIN_FAILED, progress.login_problem, step),)


def failures_of(setbacks: Iterable[Setback], seeds: Sequence[Url], *, has_pages: bool) -> tuple[SiteFailure, ...]:
    """The failures for a summary: seeds whose server cannot be reached, or all failures if no page was fetched."""
    sites = frozenset(map(site_of, seeds))
    shown = [each for each in setbacks if not has_pages or (each.site in sites and each.reason in NO_SERVER)]
    return tuple(failure_of(each) for each in shown[:MAX_FAILURES])


class RunSummary(Struct, frozen=True):
    """What this run did. `waited`: seconds in which every site with queued URLs had to rest.

    `excluded` are the URLs that left the queue without a request, by reason; another run may fetch them.
    """

    pages: int
    fetches: int
    seconds: float
    pages_per_second: float
    waited: float
    excluded: dict[str, int] = {}


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


class Summary(Displayed, frozen=True):
    """A crawl at its end. Counts are since the collection began, except `this_run`.

    `ended` is `complete` (nothing is left to fetch), `limit`, `bytes`, `time`, `interrupted` or `unreachable` (no seed
    could be reached: it ended before any retry). `limit` (pages), `duration` (seconds), `max_bytes` and `max_depth`
    (links) are the bounds that were set. `has_unread`: sitemaps list URLs that are not yet counted; `listed` URLs of
    them are read and not queued yet, some of which may be known by links. `media` is for crawls for files, which
    `pages` and `new` count as well; `topic` for crawls with a topic. `failures` says why seeds could not be reached,
    and with the reason `login` that no login succeeded. `open_work` is what parts go on with in the next run, although
    no URL waits.
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
    open_work: tuple[OpenWork, ...] = ()
    listed: int = 0

    @property
    def has_failed_login(self) -> bool:
        """Whether the crawl had to log in, and never could."""
        return any(failure.reason == LOGIN_FAILED for failure in self.failures)


def summary_of(
    collection: CollectionSetup,
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
            excluded=_most_first(Counter(tally.excluded) - Counter(before.excluded)),
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
        listed=progress.listed,
        max_bytes=collection.config.crawl.max_bytes,
        media=_media(MediaTypes(collection.config.media), tally),
        topic=_topic(tally),
        failures=(
            *login_failures(progress, collection.seeds),
            *failures_of(progress.setbacks, collection.seeds, has_pages=tally.pages > 0),
        ),
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


def _ended(collection: CollectionSetup, progress: Progress, *, is_interrupted: bool) -> str:
    if is_interrupted:
        return "interrupted"
    asked, waits = collection.config.crawl, bool(progress.queued_pages or progress.listed)
    waits |= progress.queued > 0 and not progress.is_idle
    if asked.max_bytes and progress.tally.downloaded >= asked.max_bytes and (waits or progress.has_unread):
        return "bytes"
    if not waits and not (progress.has_unread and (asked.limit or asked.duration)):
        return "complete"
    return "limit" if asked.limit and (progress.limited_pages >= asked.limit or not asked.duration) else "time"


def _most_first(reasons: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
