"""Makes the report of a collection, the audit of one of its sites, and the useful links of sites.

The report and the audit combine the tables, read in SQL, with what only the states of the shards hold: robots.txt and
queue lengths; for the report also how the budget of a site is divided, how reliable its signals are, and how fresh its
copies are. Useful links come from crawled pages, or from the sitemaps of a collection without pages (`sitemaps.only`).
"""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from heapq import nlargest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from periplus.apps.ulinks import Listed, Sample, TreeStatistics, Ulink, chosen_ulinks, exact_ulinks, tree_statistics
from periplus.apps.ulinks.titles import entitled, grouped, pages_of, sites_of
from periplus.collection.collection import CollectionSetup, is_map, states
from periplus.collection.facts.balance import balance_of
from periplus.collection.facts.site_list import key_of, names_of
from periplus.engine.revisit.facts import freshness_if_revisited
from periplus.engine.revisit.show import of_site
from periplus.engine.router import owner_of
from periplus.engine.sitemaps.show import index_signals
from periplus.insight.listed import listed_urls
from periplus.insight.reasons import explained
from periplus.model import Executor, Lane, RobotsFile, SignalFacts, Site, Url, UsageError
from periplus.store import DiskState, SiteState
from periplus.store.durable import write_file
from periplus.urls import site_of

if TYPE_CHECKING:
    from periplus.apps.audit import Audit, AuditSettings, JudgedAudit, TrendPoint
    from periplus.apps.audit.page_facts import AuditedFacts
    from periplus.insight.views import Views

    from . import CrawlState, Report


_SITES = 50
"""Sites whose state is shown, those with the most pages: as many rows as a table of the report has."""
_LINK_LANES = (Lane.DISCOVERY, Lane.SITEMAPS)
"""Queues of URLs that were never fetched."""
_OTHER_FILE = "name a file that can be written: -o FILE"

Describe = Callable[[SignalFacts], tuple[str, str]]
"""Names a signal, and describes in a sentence how far it can be trusted."""
Say = Callable[[str], None]


def report_of(
    collection: CollectionSetup,
    describe: Describe,
    *,
    say: Say = lambda _: None,
    on_step: Say = lambda _: None,
    executor: Executor | None = None,
) -> Report:
    """The report of a collection as data. `say` is called before long steps, `on_step` before every question."""
    from periplus.insight.views import Views

    from . import gather_report  # imports DuckDB: only where it is used

    folder, spooled = collection.folder, collection.layout.spooled
    with Views(folder, spooled=spooled, say=say, executor=executor) as views:
        state = crawl_state_of(collection, describe)
        return gather_report(views, folder.resolve().name, time.time(), state, say=on_step)


def check_report_file(file: Path) -> None:
    """Refuse a file that cannot be written before a long report is made for it."""
    problem = errno.EISDIR if file.is_dir() else 0 if file.absolute().parent.is_dir() else errno.ENOENT
    if problem:
        raise UsageError(f"{file}: {os.strerror(problem)}", hint=_OTHER_FILE)


def write_report(report: Report, file: Path) -> None:
    """Write a report as one HTML file, whole or not at all."""
    from . import page

    try:
        write_file(file, page(report).encode())
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint=_OTHER_FILE) from error


def described(facts: SignalFacts) -> tuple[str, str]:
    """A signal by the name of its kind, and its share of right signals in numbers."""
    if facts.judged < 1.0:
        return facts.kind, "no visit has tested it yet"
    share = f"{facts.precision:.0%} of {round(facts.judged):,} signals were followed by a change"
    return facts.kind, share if facts.is_heard else f"{share}; it is ignored"


def crawl_state_of(collection: CollectionSetup, describe: Describe) -> CrawlState:
    """Freshness of all copies; budgets, signals, robots.txt and queued URLs of the largest sites."""
    from . import Budget, CrawlState, KnownFreshness, Trust

    budgets: list[Budget] = []
    trusts: list[Trust] = []
    robots: dict[str, RobotsFile] = {}
    waiting: dict[str, int] = {}
    with states(collection.layout) as opened:
        fresh = freshness_if_revisited(list(opened.values()), time.time(), collection.config.refresh)
        down = [row for state in opened.values() for row in state.outages]
        for state, kept in _largest(opened.values()):
            balance = balance_of(kept, collection.config.balance)
            if balance is not None:
                budgets.append(Budget(str(kept.site), balance.sitemaps, balance.links, balance.epochs))
            known = of_site(kept, collection.config.churn, index_signals(state, kept.site))
            file = state.robots.get(kept.site)
            if file is not None:
                robots[str(kept.site)] = file
            waiting[str(kept.site)] = sum(state.queues.length(kept.site, lane) for lane in _LINK_LANES)
            signals = () if known is None else known.signals
            for each in signals:
                name, says = describe(each)
                trusts.append(Trust(str(kept.site), name, each.verdict, says))
    tries = {str(row.site): {"tried": row.tried_at, "next": row.next_at} for row in down}
    known_fresh = None
    if fresh is not None and fresh.is_narrow:
        known_fresh = KnownFreshness(fresh.pages, fresh.fresh, fresh.low, fresh.high, fresh.age)
    return CrawlState(known_fresh, tuple(budgets), tuple(trusts), explained, robots, waiting, tries)


def _largest(opened: Iterable[DiskState]) -> list[tuple[DiskState, SiteState]]:
    """The sites with the most pages, each with the state of its shard."""
    sites = ((state, kept) for state in opened for kept in state.sites)
    return nlargest(_SITES, sites, key=lambda each: (each[1].pages, each[1].site))


log = logging.getLogger("periplus")

_SHOWN = 5
"""Sites that an error names: enough to recognise the collection."""


def audited(
    collection: CollectionSetup,
    site: str | None = None,
    settings: AuditSettings | None = None,
    say: Say = log.info,
    facts: AuditedFacts | None = None,
) -> Audit:
    """The audit of one site of a collection, without any request. `facts`: of its pages, if they are known already."""
    return judged(collection, site, settings, say, facts).audit


def judged(
    collection: CollectionSetup,
    site: str | None = None,
    settings: AuditSettings | None = None,
    say: Say = log.info,
    facts: AuditedFacts | None = None,
) -> JudgedAudit:
    """The audit of one site of a collection, and what could be requested to complete it.

    Its budgets are those of the collection.
    """
    from periplus.apps.audit import AuditSettings, judge, load_checks  # imports DuckDB: not before a crawl
    from periplus.apps.audit.page_grid import keep_headings
    from periplus.insight.views import Views

    spooled = collection.layout.spooled
    with Views(collection.folder, spooled=spooled, say=say) as views:
        sites = _audited_sites(collection, views, site)
        robots, is_whole = _known(collection, sites)
        checks = load_checks(collection.folder)
        settings = replace(settings or AuditSettings(), budgets=collection.config.audit)
        found = judge(views, sites, robots, is_whole=is_whole, settings=settings, checks=checks, facts=facts)
        with suppress(OSError):  # a collection on a read-only disk can be audited as well
            keep_headings(views.database, collection.folder, sites[0])
        return found


def audit_trend_of(collection: CollectionSetup, site: str | None = None) -> tuple[TrendPoint, ...]:
    """The numbers of all audits of a site that the collection keeps, the oldest first."""
    from periplus.apps.audit import load_trend
    from periplus.insight.views import Views

    with Views(collection.folder, spooled=collection.layout.spooled) as views:
        return load_trend(collection.folder, _audited_sites(collection, views, site)[0])


def _audited_sites(collection: CollectionSetup, views: Views, site: str | None) -> list[str]:
    """All host names of the site to audit."""
    counts = [
        (str(row["site"]), int(row["pages"]))
        for row in views.rows("select site, count(*) filter (where is_page) as pages from urls group by site")
    ]
    sites = _chosen(collection, counts, site)
    if not sites:
        raise UsageError(f"{collection.folder} has no site", hint="crawl something into it first")
    return sites


def still_referred(collection: CollectionSetup, urls: Sequence[Url]) -> list[Url]:
    """The URLs among these that their sites link to, redirect to or list now."""
    from periplus.apps.audit.site_table import referred  # imports DuckDB: not before a crawl
    from periplus.insight.views import Views

    if not urls:
        return []
    sites = sorted({site_of(url) for url in urls})
    with Views(collection.folder, spooled=collection.layout.spooled) as views:
        return [Url(url) for url in referred(views, sites, urls)]


def _chosen(collection: CollectionSetup, counts: list[tuple[str, int]], wanted: str | None) -> list[str]:
    """All host names of the wanted site, or of the only one of the collection."""
    groups = grouped(counts)
    if wanted is not None:
        return names_of(groups, wanted, collection.folder)
    have_pages = {key_of(name): None for name, pages in counts if pages}
    seeds = dict.fromkeys(key_of(seed) for seed in collection.seeds)
    meant = [seed for seed in seeds if seed in have_pages] or list(have_pages) or list(seeds)[:1]
    if len(meant) > 1:
        some = ", ".join(meant[:_SHOWN]) + (", ..." if len(meant) > _SHOWN else "")
        hint = f'pick one: --site {meant[0]}, in Python site="{meant[0]}"'
        raise UsageError(f"{collection.folder} has {len(meant):,} sites: {some}", hint=hint)
    return groups.get(meant[0], meant) if meant else []


def _known(collection: CollectionSetup, sites: Sequence[str]) -> tuple[RobotsFile | None, bool]:
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


SITES_SHOWN = 20
"""Sites whose links are chosen where none is named: the largest."""
SCRATCH = "periplus-ulinks-"
"""How temporary folders begin."""


class SiteUlinks(Struct, frozen=True):
    """The links of a site. `urls`: from how many they were chosen; `tree` counts a sample of them."""

    site: str
    source: str
    urls: int
    ulinks: list[Ulink]
    tree: TreeStatistics


class WantedLinks(Struct, frozen=True):
    """How many links, by which algorithm."""

    k: int
    m: int
    is_exact: bool

    def of(self, sample: Sample, pages: frozenset[str] = frozenset()) -> list[Ulink]:
        """The links of a sample; `pages` are others that are known to be there."""
        if self.is_exact:
            return exact_ulinks(sample, self.k, self.m)
        return chosen_ulinks(sample, self.k, self.m, is_page=lambda urls: [url in pages for url in urls])


def ulinks_of(collection: CollectionSetup, wanted: WantedLinks, site: str | None) -> list[SiteUlinks]:
    """The links of a site, or of the largest ones. Raises `UsageError` if the collection has no such site."""
    if is_map(collection):
        with TemporaryDirectory(prefix=SCRATCH) as scratch:
            sample = sampled(collection, Path(scratch), repairs=not wanted.is_exact)
        name = str(site_of(collection.seeds[0]))
        tree = tree_statistics(one.url for one in sample.urls)
        return [SiteUlinks(name, "sitemaps", sample.total, wanted.of(sample), tree)]
    with asked(collection) as views:
        groups = grouped(sites_of(views))
        chosen = [names_of(groups, site, collection.folder)] if site else list(groups.values())[:SITES_SHOWN]
        found = []
        for names in chosen:
            sample = Sample(pages_of(views, names), repairs=not wanted.is_exact)
            links = entitled(wanted.of(sample), views)
            tree = tree_statistics(one.url for one in sample.urls)
            found.append(SiteUlinks(names[0], "crawl", sample.total, links, tree))
        return found


def asked(collection: CollectionSetup) -> Views:
    """Its tables, in SQL. DuckDB is loaded here: a crawl freezes what is loaded before it, and it complains of that."""
    from periplus.insight.views import Views

    return Views(collection.folder, spooled=collection.layout.spooled)


def sampled(collection: CollectionSetup, folder: Path, *, repairs: bool = True) -> Sample:
    """A sample of what the sitemaps of a collection list and a crawl would fetch."""
    spooled = collection.layout.spooled
    with TemporaryDirectory(dir=folder) as scratch, states(collection.layout) as opened:
        from periplus.apps.mapping.listed_urls import Judging

        judging = Judging(collection, opened)
        listed = listed_urls(collection.layout.tables, Path(scratch), judging.names, spooled=spooled)
        return Sample(
            (Listed(one.url, one.priority, one.lastmod) for one in listed if not judging.judge(one).reason),
            repairs=repairs,
        )
