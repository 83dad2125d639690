"""The frontier at a moment, in numbers: what is known, what waits, and how sites fare."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from periplus.model import Lane, Site

from .frontier.politeness import Setback, delay_after, seconds_for
from .frontier.reach import CutOff
from .frontier.site import NOT_PAGES, ActiveSite, SiteStage
from .stats import waiting_urls

if TYPE_CHECKING:
    from periplus.store import State

    from .frontier import Frontier


class FrontierStats(Struct, frozen=True):
    """The frontier at a moment: records and queued URLs, sites by stage, pages done, and the site that is next.

    `backing_off` counts resting sites that failed recently; `longest`: seconds that the longest queue takes at its
    site's own pace. `setbacks` are the last failures of sites. `has_unread`: sitemaps or feeds wait or are not
    read to their end, and list URLs that are not counted yet; `listed` URLs that they list are not queued yet, some of
    which may be known by links. A URL that two sources name is counted once.
    `leases` tasks are out. `known` and `queued` count sitemaps, feeds, probes and files of pages, too; `files` of these
    are queued at the first sites. `embeds`: files that pages embed are fetched. `cut_off`: no server can be reached.
    """

    known: int
    queued: int
    sites: int
    ready: int
    resting: int
    visited: int
    backing_off: int
    done: int
    next_site: Site | None = None
    next_at: float | None = None
    longest: float = 0.0
    setbacks: tuple[Setback, ...] = ()
    has_unread: bool = False
    leases: int = 0
    files: int = 0
    embeds: bool = False
    cut_off: CutOff | None = None
    listed: int = 0


class SiteNow(Struct, frozen=True):
    """An active site at a moment. `stage` is `resting`, `ready`, `busy` or `held`; `ready_at` is POSIX time.

    `queued` pages of it wait, each counted in every lane it waits in; `pages` were asked for and `bytes` fetched since
    the collection began; `failures` is the number of failed requests since the last that succeeded; `retired` is why it
    was given up.
    """

    site: Site
    stage: str
    queued: int
    pages: int
    bytes: int
    failures: int
    ready_at: float
    retired: str = ""


def largest_sites(frontier: Frontier, most: int) -> tuple[SiteNow, ...]:
    """The active sites with the longest queues."""
    largest = nlargest(most, frontier.schedule, key=lambda active: (active.queue_length, active.site))
    return tuple(
        SiteNow(
            active.site,
            active.stage.name.lower(),
            active.queue_length - _not_pages(active),
            active.record.pages,
            active.record.downloaded,
            active.record.failures,
            active.ready_at,
            active.record.retired,
        )
        for active in largest
    )


_LOOKED_AT = 200
"""Active sites among which the longest queue is searched: it is displayed several times a second."""


def frontier_stats(
    state: State, frontier: Frontier, *, setbacks: Iterable[Setback] = (), has_unread: bool = False, listed: int = 0
) -> FrontierStats:
    """The numbers of a frontier now. `has_unread`: a sitemap is being read; `listed` URLs of some are not queued yet.

    `setbacks` are those of the frontier where people see them: they are not committed, unlike the rest.
    """
    schedule = frontier.schedule
    resting = [active for active in schedule if active.stage is SiteStage.RESTING]
    first = min(resting, key=lambda active: (active.ready_at, active.site), default=None)
    queued = waiting_urls(len(state.queues), frontier.scores.queued_twice) + frontier.scores.pooled
    return FrontierStats(
        known=len(state.records),
        queued=queued,
        sites=max(len(state.sites), len(schedule)),
        ready=schedule.count(SiteStage.READY),
        resting=len(resting),
        visited=schedule.count(SiteStage.BUSY),
        backing_off=sum(_is_failing(active) for active in resting),
        done=frontier.pages_done,
        next_site=first.site if first else None,
        next_at=first.ready_at if first else None,
        longest=_longest_queue(frontier, queued),
        setbacks=tuple(setbacks),
        has_unread=has_unread or _has_files(frontier),
        leases=len(frontier.leases),
        files=_files(frontier),
        embeds=frontier.embeds,
        cut_off=frontier.reach.cut_off,
        listed=listed,
    )


def _is_failing(active: ActiveSite) -> bool:
    """Whether a site rests because requests failed: for its pages, its address, or its robots.txt, wherever that is."""
    return active.record.failures > 0 or active.lookups > 0 or active.record.robots_tries > 0


def _longest_queue(frontier: Frontier, queued: int) -> float:
    """Seconds that the longest queue takes at its site's own pace, among the first sites; in all `queued` URLs wait."""
    politeness, seconds = frontier.politeness, 0.0
    for active in islice(frontier.schedule, _LOOKED_AT):
        if not active.record.retired:
            delay = delay_after(politeness, active.record.delay, 0.0)
            seconds = max(seconds, seconds_for(politeness, min(active.queue_length, queued), delay))
    return seconds


def _files(frontier: Frontier) -> int:
    """How many sitemaps, feeds, probes and files of pages are queued at the first sites."""
    return sum(map(_not_pages, islice(frontier.schedule, _LOOKED_AT)))


def _not_pages(active: ActiveSite) -> int:
    return sum(active.waiting.get(lane, 0) for lane in NOT_PAGES)


def _has_files(frontier: Frontier) -> bool:
    """Whether sitemaps or feeds wait to be fetched, at one of the first sites that answer."""
    first = islice(frontier.schedule, _LOOKED_AT)
    return any(Lane.FILES in active.waiting and not _is_failing(active) for active in first)
