"""The audit of one site of a collection: which site is meant, and what the state of its shard adds to the tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from periplus.crawl.router import owner_of
from periplus.insight.ulinks.titles import grouped
from periplus.model import Lane, RobotsFile, Site, Url, UsageError
from periplus.urls import site_of

from .collection import Collection, states
from .facts.site_list import key_of, names_of

if TYPE_CHECKING:
    from periplus.insight.audit import Audit, AuditSettings, Judged

log = logging.getLogger("periplus")

Say = Callable[[str], None]
"""Reports what is being computed, where that takes time."""
_SHOWN = 5
"""Sites that an error names: enough to recognise the collection."""


def audited(
    collection: Collection, site: str | None = None, settings: AuditSettings | None = None, say: Say = log.info
) -> Audit:
    """The audit of one site of a collection, without any request."""
    return judged(collection, site, settings, say).audit


def judged(
    collection: Collection, site: str | None = None, settings: AuditSettings | None = None, say: Say = log.info
) -> Judged:
    """The audit of one site of a collection, and what could be requested to complete it."""
    from periplus.insight.audit import judge, load_checks  # imports DuckDB: not before a crawl
    from periplus.insight.views import Views

    spooled = collection.layout.spooled
    with Views(collection.folder, spooled=spooled, say=say) as views:
        counts = [
            (str(row["site"]), int(row["pages"]))
            for row in views.rows("select site, count(*) filter (where is_page) as pages from urls group by site")
        ]
        sites = _chosen(collection, counts, site)
        if not sites:
            raise UsageError(f"{collection.folder} has no site", hint="crawl something into it first")
        robots, is_whole = _known(collection, sites)
        checks = load_checks(collection.folder)
        return judge(views, sites, robots, is_whole=is_whole, settings=settings, checks=checks)


def still_referred(collection: Collection, urls: Sequence[Url]) -> list[Url]:
    """Those of the URLs that their sites link to, redirect to or list now."""
    from periplus.insight.audit.references import referred  # imports DuckDB: not before a crawl
    from periplus.insight.views import Views

    if not urls:
        return []
    sites = sorted({site_of(url) for url in urls})
    with Views(collection.folder, spooled=collection.layout.spooled) as views:
        return [Url(url) for url in referred(views, sites, urls)]


def _chosen(collection: Collection, counts: list[tuple[str, int]], wanted: str | None) -> list[str]:
    """All host names of the site: the one that was asked for, or the only one."""
    groups = grouped(counts)
    if wanted is not None:
        return names_of(groups, wanted, collection.folder)
    have_pages = {key_of(name): None for name, pages in counts if pages}
    seeds = dict.fromkeys(key_of(seed) for seed in collection.seeds)
    meant = [seed for seed in seeds if seed in have_pages] or list(have_pages) or list(seeds)[:1]
    if len(meant) > 1:
        some = ", ".join(meant[:_SHOWN]) + (", ..." if len(meant) > _SHOWN else "")
        raise UsageError(f"{collection.folder} has {len(meant):,} sites: {some}", hint="pick one: --site NAME")
    return groups.get(meant[0], meant) if meant else []


def _known(collection: Collection, sites: Sequence[str]) -> tuple[RobotsFile | None, bool]:
    """The robots.txt of a site, and whether no URL of it waits to be fetched."""
    shards = max(collection.layout.shards, 1)
    robots, waiting = None, 0
    with states(collection.layout) as opened:
        for name in map(Site, sites):
            state = opened.get(owner_of(name, shards))
            if state is not None:
                robots = robots or state.robots.get(name)
                waiting += sum(state.queues.length(name, lane) for lane in (Lane.DISCOVERY, Lane.SITEMAPS))
    return robots, not waiting
