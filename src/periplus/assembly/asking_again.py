"""Queue everything that an audit of an existing collection judges, so that the next crawl asks for all of it again.

Pages are queued by a refresh (`refreshing`), with the validators of their last answers. A refresh leaves out what is
not a page; an audit judges that as well, so URLs that returned an error or a redirect are queued here, and robots.txt
and sitemaps are due at once, also those that were given up because they were missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from periplus.config import Config
from periplus.crawl.machine_settings import ShardMeta
from periplus.crawl.sitemaps.store import SitemapStore
from periplus.model import Lane, Queued, Site, Url, UrlRecord
from periplus.store import DiskState

from .layout import Layout
from .refreshing import RefreshPlan, Selection, begin_refresh, stats_of
from .resting import metas, opened

_QUEUED_TOGETHER = 5_000
"""URLs that are queued in one transaction: bounds memory."""
_RESTORABLE = ("gone", "unreachable", "not-a-sitemap", "empty")
"""Why a sitemap was given up that its owner may have fixed since."""


def ask_again(config: Config, layout: Layout, seeds: Sequence[Url]) -> tuple[RefreshPlan, Config]:
    """Queue all known URLs; the plan, to be ended by `end_refresh`, and the settings of the crawl.

    `crawl.limit` is a limit of new pages in that crawl: URLs that are asked for again do not use it up.
    """
    plan = begin_refresh(config, layout, seeds, Selection(), fetches_new=True)
    queued = plan.pages + sum(_queue_shard(layout, number, plan.started_at) for number in range(layout.shards))
    if not config.crawl.limit:
        return plan, config
    fetched = sum(meta.frontier.pages_done for meta in metas(layout, layout.shards))
    left = max(config.crawl.limit - stats_of(layout).new, 0)
    return plan, config.with_options({"crawl.limit": fetched + queued + left})


def _queue_shard(layout: Layout, number: int, now: float) -> int:
    total = 0
    with opened(layout, number) as state:
        for site in [each.site for each in state.sites]:
            _forget_robots(state, site)
            _make_sitemaps_due(state, site)
            total += _queue_others(state, site, now)
        _commit(state, 0)
    return total


def _forget_robots(state: DiskState, site: Site) -> None:
    [known] = state.sites.get([site])
    if known is not None:
        known.robots_expire_at = 0.0
        state.sites.put([known])


def _make_sitemaps_due(state: DiskState, site: Site) -> None:
    nodes = SitemapStore(state)
    for node in list(nodes.of_site(site)):
        retired = "" if node.retired in _RESTORABLE else node.retired
        nodes.put(replace(node, due_at=0.0, retired=retired))


def _queue_others(state: DiskState, site: Site, now: float) -> int:
    """Queue the URLs of a site that were fetched, or could not be, and that no refresh has queued."""
    length = state.queues.length(site, Lane.REFRESH)
    queued = {head.entry.url for head in state.queues.heads(site, Lane.REFRESH, length)}
    records = (record for record in state.records.of_site(site) if _is_asked(record, now) and record.url not in queued)
    urls = iter([record.url for record in records])
    total = 0
    while some := list(islice(urls, _QUEUED_TOGETHER)):
        found = [record for record in state.records.get(some) if record is not None]
        state.calendar.move([(record.url, record.due_at, None) for record in found])
        state.records.put([replace(record, due_at=None, failures=0) for record in found])
        state.queues.push([Queued(record.url, site, Lane.REFRESH, 0) for record in found])
        _commit(state, len(found))
        total += len(found)
    return total


def _is_asked(record: UrlRecord, now: float) -> bool:
    """Whether a URL was asked for before `now`; those that wait for their first visit are queued already."""
    has_answer = record.fetched_at is not None or record.status is not None or bool(record.reason)
    return has_answer and (record.fetched_at or 0.0) <= now


def _commit(state: DiskState, queued: int) -> None:
    meta = state.meta(ShardMeta) or ShardMeta()
    meta.frontier.is_crowded = True
    meta.frontier.revisits_waiting += queued
    state.put_meta(meta)
    state.commit()
