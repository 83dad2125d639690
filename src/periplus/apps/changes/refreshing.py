"""Ask every page of a collection again, once: which pages that are, and what it found.

A refresh queues the pages in the lane of revisits and lets a crawl run that fetches nothing else, with the validators
of the last answer (`If-None-Match`, `If-Modified-Since`) and the politeness of any crawl; robots.txt is read again
first. Where the collection had been crawled to its end before, sitemaps are read again afterwards, and the new pages
that were found by then are fetched; otherwise these join those that wait.

It can be killed at any time. Its plan is a file, written before the first page is queued; the next refresh with the
same selection continues it: pages that were visited since it began are not asked again.

    plan = begin_refresh(config, layout, seeds, Selection())
    open_crawl(for_revisits(config), folder, seeds, workers, revisits_only=True).run()
    new = for_new_pages(config, layout, plan)       settings of a second crawl, if there are new pages to fetch
    end_refresh(layout, plan)

`refresh` does all of this. Commands that show progress call the parts.

A refresh leaves out what is not a page; an audit judges that as well. So `ask_again` queues URLs that returned an error
or a redirect too, and makes sitemaps due that were given up because they were missing. Pages that were gone (404, 410)
wait until all else was asked: only then is it known which of them the site still refers to (`ask_gone`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from periplus.collection.announcing import PAGES_CHANGED, announce
from periplus.collection.collection import CollectionSetup, states
from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.resting import bring_to_rest, metas, opened
from periplus.collection.seeds import possible_urls
from periplus.engine.clock import SystemClock
from periplus.engine.frontier import is_temporary
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.plugins import NO_PARTS, OwnParts
from periplus.engine.router import owner_of
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding import Gather, ShardedCrawl
from periplus.engine.sitemaps.store import make_due
from periplus.engine.stats import CrawlStats
from periplus.model import Lane, Queued, Site, Url, UrlRecord, UsageError
from periplus.store import DiskState
from periplus.store.durable import write_file
from periplus.store.layout import Layout
from periplus.urls import is_below, site_of
from periplus.view.notebook import Displayed

if TYPE_CHECKING:
    from . import ChangeKind

_QUEUED_TOGETHER = 5_000
"""URLs that are queued in one transaction: bounds memory, and the work that a kill loses."""


def ask_again(config: Config, layout: Layout, seeds: Sequence[Url]) -> tuple[RefreshPlan, Config]:
    """Queue all known URLs but pages that were gone; the plan, to be ended by `end_refresh`, and the crawl's settings.

    `crawl.limit` is a limit of new pages in that crawl: URLs that are asked for again do not use it up.
    """
    plan = begin_refresh(config, layout, seeds, RefreshSelection(), fetches_new=True)
    wanted = frozenset(seeds)
    queued = plan.pages + sum(_queue_shard(layout, number, plan.started_at, wanted) for number in range(layout.shards))
    return plan, _for_asked(config, layout, queued)


def gone_before(layout: Layout, plan: RefreshPlan) -> list[Url]:
    """The URLs that were gone when they were last requested, before the plan began."""
    urls: list[Url] = []
    for number in range(layout.shards):
        with opened(layout, number) as state:
            for site in [each.site for each in state.sites]:
                records = state.records.of_site(site)
                urls += [each.url for each in records if each.status in _GONE and _was_asked(each, plan.started_at)]
    return urls


def ask_gone(config: Config, layout: Layout, seeds: Sequence[Url], urls: Sequence[Url]) -> Config:
    """Queue URLs that were gone, after a crawl; returns the settings of the crawl that requests them."""
    bring_to_rest(config, layout, seeds)
    sites: dict[Site, list[Url]] = {}
    for url in urls:
        sites.setdefault(site_of(url), []).append(url)
    for site, some in sites.items():
        with opened(layout, owner_of(site, layout.shards)) as state:
            _queue_again(state, site, some)
    return _for_asked(config, layout, len(urls))


def _for_asked(config: Config, layout: Layout, queued: int) -> Config:
    """The settings of a crawl that requests `queued` URLs again, and as many new pages as the limit leaves."""
    if not config.crawl.limit:
        return config
    return config.with_options({"crawl.limit": max(config.crawl.limit, stats_of(layout).new) + queued})


def _queue_shard(layout: Layout, number: int, now: float, wanted: frozenset[Url]) -> int:
    """Queue what a refresh leaves out; pages that were gone only if they are `wanted`."""
    total = 0
    with opened(layout, number) as state:
        for site in [each.site for each in state.sites]:
            make_due(state, site, missing=True)
            records = (record for record in state.records.of_site(site) if _was_asked(record, now))
            total += _queue_again(state, site, [each.url for each in records if _is_worth(each, wanted)])
        _commit(state, 0)
    return total


def _is_worth(record: UrlRecord, wanted: frozenset[Url]) -> bool:
    return record.status not in _GONE or record.url in wanted


def _forget_robots(state: DiskState, site: Site) -> None:
    [known] = state.sites.get([site])
    if known is not None:
        known.robots_expire_at = 0.0
        state.sites.put([known])


def _queue_again(state: DiskState, site: Site, asked: Sequence[Url]) -> int:
    """Queue URLs of a site, without those that are queued already; how many were queued."""
    length = state.queues.length(site, Lane.REFRESH)
    queued = {head.entry.url for head in state.queues.heads(site, Lane.REFRESH, length)}
    urls = iter([url for url in asked if url not in queued])
    total = 0
    while some := list(islice(urls, _QUEUED_TOGETHER)):
        found = [record for record in state.records.get(some) if record is not None]
        state.calendar.move([(record.url, record.due_at, None) for record in found])
        state.records.put([replace(record, due_at=None, failures=0) for record in found])
        state.queues.push([Queued(record.url, site, Lane.REFRESH, 0) for record in found])
        _commit(state, len(found))
        total += len(found)
    return total


def _was_asked(record: UrlRecord, now: float) -> bool:
    """Whether a URL was asked for before `now`; those that wait for their first visit are queued already."""
    has_answer = record.fetched_at is not None or record.status is not None or bool(record.reason)
    return has_answer and (record.fetched_at or 0.0) <= now


MAX_ANNOUNCED = 1_000
"""URLs of one kind that an announcement lists."""
MAX_LISTED = 10_000
"""URLs of one kind that a result lists; `periplus changes` has the others."""
_CONTINUED_WITHIN = 86_400.0
"""Seconds after which a refresh that was not finished is not continued but begun again: its first answers are old."""
_GONE = (404, 410)
_FIRST_VISITS = (Lane.DISCOVERY, Lane.SITEMAPS)


class RefreshSelection(Struct, frozen=True):
    """Which pages are asked again: those that were last visited at least `older_than` seconds ago.

    `sites` are hosts, with or without a port; their subdomains are meant, too. None: all sites. If there are
    `urls`, only these.
    """

    sites: tuple[str, ...] = ()
    older_than: float = 0.0
    urls: tuple[Url, ...] = ()

    def includes_site(self, site: Site) -> bool:
        """Whether pages of this site are selected."""
        if self.urls and site not in map(site_of, self.urls):
            return False
        return not self.sites or is_below(site, [name.lower() for name in self.sites])


def selection_of(
    collection: CollectionSetup, sites: Sequence[str], urls: Sequence[str], older_than: float
) -> RefreshSelection:
    """The selection that a person typed. Raises `UsageError` for a site or a page that the collection does not have."""
    folder = shlex.quote(str(collection.folder))
    chosen: list[Url] = []
    with states(collection.layout) as shards:
        known = [each.site for state in shards.values() for each in state.sites] if sites else []
        for name in sites:
            if not any(RefreshSelection((name,)).includes_site(site) for site in known):
                hint = f"periplus info {folder} lists the largest sites; give a host, without https://"
                raise UsageError(f"--site {name}: {folder} has no such site", hint=hint)
        for text in urls:
            records = [record for state in shards.values() for record in state.records.get(possible_urls(text))]
            pages = [record.url for record in records if record is not None and record.evidence]
            if not pages:
                hint = f"periplus info {folder} {shlex.quote(text)} shows what is known of it"
                raise UsageError(f"{folder} has no page {text}", hint=hint)
            chosen += pages
    return RefreshSelection(tuple(sites), older_than, tuple(chosen))


class RefreshPlan(Struct, frozen=True):
    """A refresh that is under way, was stopped, or is the last one. `pages` are asked in all.

    `before` is what had been counted when it began. `fetches_new`: new pages found on the way are fetched, too.
    `resumed`: it continues one that was stopped. `ended_at`: when it ended, or was stopped in an orderly way.
    """

    selection: RefreshSelection
    started_at: float
    pages: int
    fetches_new: bool
    before: CrawlStats
    resumed: bool = False
    ended_at: float = 0.0
    is_complete: bool = False


class Refreshed(Displayed, frozen=True):
    """What a refresh found. Each count is of pages; `seconds` is since it began, interruptions included.

    `asked` were asked again: `changed` (`minor` of these but little), `same` (of which `template` differ only in what
    many pages of their site share, `elsewhere` outside of their main text), `gone` (404, 410, redirected, or forbidden
    by robots.txt now) and `failed` (no answer that says which; not asked yet, if the refresh is not `is_complete`).
    `new` were fetched for the first time. The URLs, at most `MAX_LISTED` of each kind, are in `changed_urls`,
    `gone_urls` and `new_urls`.
    """

    asked: int
    changed: int
    same: int
    gone: int
    failed: int
    new: int
    seconds: float
    is_complete: bool
    changed_urls: tuple[Url, ...] = ()
    gone_urls: tuple[Url, ...] = ()
    new_urls: tuple[Url, ...] = ()
    minor: int = 0
    template: int = 0
    elsewhere: int = 0


def refresh(
    config: Config,
    folder: Path,
    seeds: Sequence[Url],
    workers: int,
    selection: RefreshSelection | None = None,
    *,
    fetches_new: bool | None = None,
    gather: Gather | None = None,
    parts: OwnParts = NO_PARTS,
    on_progress: Callable[[RefreshPlan, ShardedCrawl, list[ShardStatus]], None] = lambda _plan, _crawl, _statuses: None,
) -> Refreshed:
    """Ask the selected pages again and return what that found. The caller holds the lock of the collection.

    `fetches_new`: see `begin_refresh`. `on_progress` is called several times a second; it may stop the crawl.
    """
    layout = Layout(folder)
    plan = begin_refresh(config, layout, seeds, selection or RefreshSelection(), fetches_new=fetches_new)
    crawl = open_crawl(for_revisits(config), folder, seeds, workers, revisits_only=True, gather=gather, parts=parts)
    for statuses in crawl.progress():
        on_progress(plan, crawl, statuses)
    after = None if crawl.is_interrupted else for_new_pages(config, layout, plan)
    if after is not None:
        crawl = open_crawl(after, folder, seeds, workers, gather=gather, parts=parts)
        for statuses in crawl.progress():
            on_progress(plan, crawl, statuses)
    settle(folder)
    return end_refresh(layout, plan, is_complete=not crawl.is_interrupted)


def announce_refreshed(collection: CollectionSetup, found: Refreshed) -> None:
    """Tell the parts what a refresh found, if it found anything."""
    if found.changed or found.new or found.gone:
        facts = to_builtins(found)
        urls = {name: facts[name][:MAX_ANNOUNCED] for name in ("changed_urls", "gone_urls", "new_urls")}
        announce(collection, PAGES_CHANGED, {**facts, **urls})


# the plan


def begin_refresh(
    config: Config,
    layout: Layout,
    seeds: Sequence[Url],
    selection: RefreshSelection,
    *,
    fetches_new: bool | None = None,
) -> RefreshPlan:
    """Queue the selected pages, or those that are left of a refresh that was stopped.

    `fetches_new`: whether new pages are fetched; `None`: unless URLs are named, or some waited for their first visit.
    """
    bring_to_rest(config, layout, seeds)
    kept, now = unfinished(layout), SystemClock().now()
    if kept is not None and kept.selection == selection and 0.0 <= now - kept.started_at < _CONTINUED_WITHIN:
        plan = replace(kept, resumed=True)
    else:
        if fetches_new is None:
            fetches_new = not selection.urls and not _waits(layout, _FIRST_VISITS)
        plan = RefreshPlan(selection, now, 0, fetches_new, stats_of(layout))
    _write(layout, plan)
    visited = sum(_queue(layout, number, plan) for number in range(layout.shards))
    plan = replace(plan, pages=plan.pages or visited)
    _write(layout, plan)
    return plan


def unfinished(layout: Layout) -> RefreshPlan | None:
    """The plan of a refresh that is under way, or was stopped before its end."""
    try:
        plan = msgspec.json.decode(layout.refresh_plan.read_bytes(), type=RefreshPlan)
    except (OSError, msgspec.MsgspecError):
        return None
    return None if plan.is_complete else plan


def _write(layout: Layout, plan: RefreshPlan) -> None:
    write_file(layout.refresh_plan, msgspec.json.encode(plan))


def stats_of(layout: Layout) -> CrawlStats:
    """Everything counted so far by all shards."""
    return sum((meta.stats for meta in metas(layout, layout.shards, ShardMeta)), CrawlStats())


def _waits(layout: Layout, lanes: Collection[Lane]) -> bool:
    """Whether URLs wait in one of these lanes, or for a place in one."""
    for number in range(layout.shards):
        with opened(layout, number) as state:
            if any(lane in lanes for _, lane, _ in state.queues.waiting()) or state.standings.pooled:
                return True
    return False


# queueing


def _queue(layout: Layout, number: int, plan: RefreshPlan) -> int:
    """Queue the pages of one shard that have not been visited since the plan began; how many it has in all."""
    total = 0
    with opened(layout, number) as state:
        sites = [site.site for site in state.sites]
        for site in sites:
            if plan.selection.includes_site(site):
                _revive(state, site)
                if not plan.resumed:
                    _forget_robots(state, site)
                    if plan.fetches_new:
                        make_due(state, site, missing=False)
                total += _queue_site(state, site, plan)
            else:
                _unqueue(state, site, plan.started_at)
        _commit(state, 0)
    return total


def _queue_site(state: DiskState, site: Site, plan: RefreshPlan) -> int:
    """Queue pages of one site; how many are asked, those included that have been since the plan began."""
    latest = plan.started_at - plan.selection.older_than
    if plan.selection.urls:
        _unqueue(state, site, plan.started_at)
    length = state.queues.length(site, Lane.REFRESH)
    queued = {head.entry.url for head in state.queues.heads(site, Lane.REFRESH, length)}
    pages = [record for record in state.records.of_site(site) if _is_asked(record, plan)]
    left = [page.url for page in pages if page.url not in queued and (page.fetched_at or 0.0) <= latest]
    urls = iter(left)
    while some := list(islice(urls, _QUEUED_TOGETHER)):
        records = [record for record in state.records.get(some) if record is not None]
        state.calendar.move([(record.url, record.due_at, None) for record in records])
        state.records.put([replace(record, due_at=None) for record in records])
        state.queues.push([Queued(record.url, site, Lane.REFRESH, 0) for record in records])
        _commit(state, len(records))
    return len(pages)


def _is_asked(record: UrlRecord, plan: RefreshPlan) -> bool:
    """Whether a URL is a page that is selected: old enough when the plan began, or visited since."""
    visited_at, urls = record.fetched_at, plan.selection.urls
    if visited_at is None or not record.evidence or (urls and record.url not in urls):
        return False
    if visited_at > plan.started_at:
        return True
    is_rested = bool(urls) or record.status not in _GONE or record.due_at is None or record.due_at <= plan.started_at
    return is_rested and visited_at <= plan.started_at - plan.selection.older_than


def _unqueue(state: DiskState, site: Site, now: float) -> None:
    """Move revisits that an earlier command left in the queue of a site that is not selected to the calendar."""
    length = state.queues.length(site, Lane.REFRESH)
    tickets = state.queues.heads(site, Lane.REFRESH, length)
    if not tickets:
        return
    records = [record for record in state.records.get([ticket.entry.url for ticket in tickets]) if record is not None]
    state.queues.remove(tickets)
    state.calendar.move([(record.url, record.due_at, now) for record in records])
    state.records.put([replace(record, due_at=now) for record in records])
    _commit(state, -len(tickets))


def _revive(state: DiskState, site: Site) -> None:
    """Reset a site that was given up because it could not be reached, so that it is visited again."""
    [known] = state.sites.get([site])
    if known is not None and known.retired and is_temporary(known.retired):
        known.retired, known.failures, known.robots_tries = "", 0, 0
        known.robots_expire_at = known.ip_expires_at = 0.0
        state.sites.put([known])


def _commit(state: DiskState, queued: int) -> None:
    """Commit, with the number of waiting revisits; sites that have some are admitted by the next crawl."""
    meta = state.meta(ShardMeta) or ShardMeta()
    meta.frontier.is_crowded = True
    meta.frontier.revisits_waiting += queued
    state.put_meta(meta)
    state.commit()


# new pages, and the end


def for_revisits(config: Config) -> Config:
    """Settings for the crawl that asks pages again: the limits of pages and of time do not apply to that."""
    return config.with_options({"crawl.limit": 0, "crawl.for": 0.0})


def for_new_pages(config: Config, layout: Layout, plan: RefreshPlan) -> Config | None:
    """Settings for the crawl that fetches new pages; `None` if there are none, or none are wanted."""
    if not plan.fetches_new or not _waits(layout, (*_FIRST_VISITS, Lane.FILES)):
        return None
    if config.crawl.limit and stats_of(layout).new >= config.crawl.limit:
        return None
    return config.with_options({"crawl.for": 0.0})


def end_refresh(layout: Layout, plan: RefreshPlan, *, is_complete: bool = True) -> Refreshed:
    """What was found since the plan began. A complete refresh is over: the next one begins again."""
    found = _found(layout, plan)
    _write(layout, replace(plan, ended_at=SystemClock().now(), is_complete=is_complete))
    return replace(found, is_complete=is_complete)


def _found(layout: Layout, plan: RefreshPlan) -> Refreshed:
    from . import ChangeKind, changes_since  # only a refresh needs it, and it takes a tenth of a program's start

    urls: dict[ChangeKind, list[Url]] = {kind: [] for kind in ChangeKind}
    counts = dict.fromkeys(ChangeKind, 0)
    minor = 0
    for change in changes_since(layout.folder, plan.started_at, spooled=layout.spooled):
        counts[change.kind] += 1
        minor += change.level == "minor"
        if len(urls[change.kind]) < MAX_LISTED:
            urls[change.kind].append(change.url)
    changed, gone = counts[ChangeKind.CHANGED], counts[ChangeKind.VANISHED]
    stats = stats_of(layout)
    same = max(stats.same - plan.before.same, 0)
    return Refreshed(
        asked=plan.pages,
        changed=changed,
        same=same,
        gone=gone,
        failed=max(plan.pages - changed - same - gone, 0),
        new=counts[ChangeKind.APPEARED],
        seconds=max(SystemClock().now() - plan.started_at, 0.0),
        is_complete=True,
        changed_urls=tuple(urls[ChangeKind.CHANGED]),
        gone_urls=tuple(urls[ChangeKind.VANISHED]),
        new_urls=tuple(urls[ChangeKind.APPEARED]),
        minor=minor,
        template=max(stats.levels.get("template", 0) - plan.before.levels.get("template", 0), 0),
        elsewhere=counts[ChangeKind.ELSEWHERE],
    )
