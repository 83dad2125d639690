"""Lists the sites of a collection and the URLs in their queues, from the committed states of the shards.

All functions work while a crawl runs. `list_sites` reads every site and keeps only the rows of one page, so that a
collection of a million sites takes seconds and little memory. `is_collection` and `names_of` resolve the `SITE|DIR`
argument of commands: a site has one key, and may have several host names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from heapq import nlargest, nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from periplus.engine.router import owner_of
from periplus.model import Lane, RobotsFile, Site, Ticket, Url, UsageError
from periplus.policy.balance import SiteBalance
from periplus.store import DiskState, SiteState
from periplus.store.layout import Layout
from periplus.urls import canonical, site_of
from periplus.view.wording import counted, lasting

from ..collection import CollectionSetup, states
from ..config.settings import Config
from .lines import outage_words
from .lookup import pages_in, queued_by_lane

_WWW = "www."


def is_collection(what: str) -> bool:
    """Whether the argument names a collection, not a site; raises if it names a folder that is not a collection."""
    folder = Path(what)
    if "://" in what:
        return False
    if not folder.is_dir():
        if _is_path(what):
            raise UsageError(
                f"no such folder: {what}", hint="name an existing collection, or write a site as https://example.org/"
            )
        return False
    if Layout(folder).settings.is_file():
        return True
    if "/" in what or "." not in what:
        raise UsageError(
            f"{folder} is not a collection: it has no periplus.toml", hint="name a site, or the folder of a collection"
        )
    return False


def _is_path(what: str) -> bool:
    """Whether a text can only be the path of a folder: absolute, relative with dots, or without a host's name."""
    host, slash, _ = what.partition("/")
    return host in ("", ".", "..", "~") or bool(slash and not set(".:") & set(host) and host != "localhost")


def key_of(site: str) -> str:
    """Return the key of a site, given by name or URL, in `apps.ulinks.titles.grouped`."""
    url = canonical(site if "://" in site else f"http://{site}/")
    return site if url is None else str(site_of(url)).removeprefix(_WWW)


def names_of(groups: dict[str, list[str]], wanted: str, folder: Path) -> list[str]:
    """Return all names of a site in a collection; raises if it is not there."""
    names = groups.get(key_of(wanted))
    if names is None:
        raise UsageError(f"{folder} has no site {wanted}", hint=f"periplus info {folder} lists the largest sites")
    return names


STATES: Final = {
    "ready": "may be visited now",
    "resting": "waits for its politeness delay",
    "backing-off": "waits longer after failures",
    "finished": "has nothing queued",
    "down": "does not answer with its pages, and is asked now and then",
    "given-up": "is not visited any more",
}
"""What a site is doing, and what that means."""
_VISITED: Final = ("ready", "resting", "backing-off")


class SiteRow(Struct, frozen=True):
    """A site in a list. `next` is when it may be visited next (POSIX seconds, null: not planned), `why` the reason.

    `delay` is the politeness delay in seconds. `robots` is `rules`, `all` (there is no file), `none` (cannot be
    fetched) or empty (not asked yet). `to_sitemaps` and `to_links` are how its next pages are divided between its two
    sources, null if it has one.
    """

    site: str
    state: str
    pages: int
    queued: int
    bytes: int
    failures: int
    delay: float
    robots: str
    to_sitemaps: int | None
    to_links: int | None
    next: float | None
    why: str


class SitePage(Struct, frozen=True):
    """The rows of one page, the number of sites that match, of all sites, and of sites in each state."""

    rows: list[SiteRow]
    matching: int
    sites: int
    states: dict[str, int]


SORTS: Final[dict[str, Callable[[SiteRow], Any]]] = {
    "pages": lambda row: -row.pages,
    "queued": lambda row: -row.queued,
    "bytes": lambda row: -row.bytes,
    "failures": lambda row: -row.failures,
    "delay": lambda row: -row.delay,
    "next": lambda row: (row.next is None, row.next or 0.0),
    "state": lambda row: list(STATES).index(row.state),
    "site": lambda row: row.site,
}
"""Orders of the list: numbers from the largest, times from the earliest, names by the alphabet."""


def list_sites(
    collection: CollectionSetup,
    now: float,
    *,
    text: str = "",
    state: str = "",
    sort: str = "pages",
    first: int = 0,
    most: int,
) -> SitePage:
    """Return the sites whose name contains `text` and that are in `state`, from number `first` on, at most `most`."""
    if sort not in SORTS:
        raise UsageError(f"sites cannot be sorted by {sort!r}", hint=f"use one of {', '.join(SORTS)}")
    if state and state not in STATES:
        raise UsageError(f"{state!r} is not a state of a site", hint=f"use one of {', '.join(STATES)}")
    totals: Counter[str] = Counter()
    matching = 0

    def matches() -> Iterator[SiteRow]:
        nonlocal matching
        for row in _rows(collection, now):
            totals[row.state] += 1
            if text.lower() in row.site and state in ("", row.state):
                matching += 1
                yield row

    order = SORTS[sort]
    rows = nsmallest(first + most, matches(), key=lambda row: (order(row), row.site))[first:]
    known = {name: totals[name] for name in STATES if totals[name]}
    return SitePage(rows, matching, sum(totals.values()), known)


def _rows(collection: CollectionSetup, now: float) -> Iterator[SiteRow]:
    with states(collection.layout) as opened:
        for disk in opened.values():
            for kept in disk.sites:
                yield _row(collection.config, disk, kept, now)


def _row(config: Config, disk: DiskState, kept: SiteState, now: float) -> SiteRow:
    lanes = queued_by_lane(disk, kept.site)
    outage = disk.outages.get(kept.site)
    state = "down" if outage is not None else _state(kept, now, is_queued=bool(lanes))
    delay = max(config.politeness.delay, kept.delay or 0.0)
    quotas = None if kept.balance is None else SiteBalance(config.balance, kept.balance).quotas
    return SiteRow(
        site=str(kept.site),
        state=state,
        pages=kept.pages,
        queued=pages_in(lanes),
        bytes=kept.downloaded,
        failures=kept.failures,
        delay=delay,
        robots=_access(disk.robots.get(kept.site)),
        to_sitemaps=None if quotas is None else quotas[0],
        to_links=None if quotas is None else quotas[1],
        next=outage.next_at if outage else max(kept.ready_at, now) if state in _VISITED else None,
        why=outage_words(outage) if outage else _why(kept, state, delay, now),
    )


def _access(file: RobotsFile | None) -> str:
    return "" if file is None else file.access


def _state(kept: SiteState, now: float, *, is_queued: bool) -> str:
    if kept.retired:
        return "given-up"
    if not is_queued:
        return "finished"
    if kept.ready_at <= now:
        return "ready"
    return "backing-off" if kept.failures else "resting"


def _why(kept: SiteState, state: str, delay: float, now: float) -> str:
    match state:
        case "given-up":
            return kept.retired
        case "finished":
            return "nothing is queued"
        case "backing-off":
            return f"{counted(kept.failures, 'failure')} in a row; waits {lasting(kept.ready_at - now)} more"
        case "resting":
            is_asked = kept.delay is not None and kept.delay >= delay
            return f"{'its robots.txt asks' if is_asked else 'the settings ask'} for {delay:g} s between requests"
        case _:
            return "it is its turn as soon as a request is free"


def robots_text(collection: CollectionSetup, site: Site, most: int) -> str:
    """Return the first `most` bytes of a site's robots.txt as text; empty if there is none."""
    with states(collection.layout) as opened:
        for state in opened.values():
            file = state.robots.get(site)
            if file is not None:
                return file.body[:most].decode("utf-8", "replace")
    return ""


MAX_LINES = 1_000_000
"""URLs that are listed at most: about 100 MB of text."""
_TOGETHER = 1000
"""Records that are looked up in one batch."""
_SITES_LOOKED_AT = 100_000
"""Queues that are looked at for the longest ones: about a second."""


class WaitingSite(Struct, frozen=True):
    """A site where URLs wait: how many pages, and how many URLs in each lane."""

    site: Site
    queued: int
    lanes: dict[str, int]


class WaitingUrl(Struct, frozen=True):
    """A URL that waits. `level` is its place: 0 comes first."""

    url: Url
    lane: str
    level: int


def longest_queues(layout: Layout, most: int) -> list[WaitingSite]:
    """The sites with the most waiting URLs, of the first hundred thousand queues."""
    found: list[WaitingSite] = []
    with states(layout) as opened:
        for state in opened.values():
            sites = dict.fromkeys(site for site, _, _ in islice(state.queues.waiting(), _SITES_LOOKED_AT))
            found += nlargest(most, (_waiting_site(state, site) for site in sites), key=lambda each: each.queued)
    return sorted(found, key=lambda each: (-each.queued, each.site))[:most]


def _waiting_site(state: DiskState, site: Site) -> WaitingSite:
    lanes = queued_by_lane(state, site)
    return WaitingSite(site, pages_in(lanes), lanes)


def queue_of(layout: Layout, site: Site, most: int = MAX_LINES) -> list[WaitingUrl]:
    """The URLs of a site that wait, lane by lane, in the order in which they are taken."""
    number = owner_of(site, max(layout.shards, 1))
    with states(layout) as opened:
        return list(islice(_queue(opened[number], site, most), most)) if number in opened else []


def _queue(state: DiskState, site: Site, most: int) -> Iterator[WaitingUrl]:
    for lane in Lane:
        for ticket in _tickets(state, site, lane, most):
            yield WaitingUrl(ticket.entry.url, lane.value, ticket.entry.level)


def _tickets(state: DiskState, site: Site, lane: Lane, most: int) -> Iterator[Ticket]:
    """What waits in a lane, but pages that another source had fetched first: these leave it when their turn comes."""
    tickets = iter(state.queues.heads(site, lane, most))
    while some := list(islice(tickets, _TOGETHER)):
        if lane not in (Lane.DISCOVERY, Lane.SITEMAPS):
            yield from some
            continue
        records = state.records.get([ticket.entry.url for ticket in some])
        yield from (each for each, known in zip(some, records, strict=True) if known is None or not known.visits)


def all_waiting(layout: Layout) -> Iterator[Url]:
    """Every page that waits, once, at most `MAX_LINES` of each shard; the state is open until the last was taken."""
    with states(layout) as opened:
        for state in opened.values():
            yield from islice(_all_of(state), MAX_LINES)


def _all_of(state: DiskState) -> Iterator[Url]:
    for site in dict.fromkeys(site for site, _, _ in islice(state.queues.waiting(), _SITES_LOOKED_AT)):
        seen: dict[Url, None] = {}
        for lane in (Lane.DISCOVERY, Lane.SITEMAPS, Lane.REFRESH):
            seen.update((ticket.entry.url, None) for ticket in _tickets(state, site, lane, MAX_LINES))
        yield from seen
