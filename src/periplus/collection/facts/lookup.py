"""Looks up a collection, a site or a URL in the committed states of the shards, for `periplus info`.

`periplus info --json` prints the values of this module. The verdicts on a site and its domain are read from the tables.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.frontier import RobotsGate
from periplus.engine.frontier.site import NOT_PAGES
from periplus.engine.frontier.steering import Steering, SteeringState
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.revisit.facts import freshness_if_revisited
from periplus.engine.router import owner_of
from periplus.engine.stats import CrawlStats, waiting_urls
from periplus.model import (
    Discovery,
    Freshness,
    Lane,
    PageFreshness,
    Placement,
    Reject,
    Rewrite,
    RobotsFile,
    Site,
    SiteFreshness,
    SiteOutage,
    Source,
    SourceFacts,
    SubjectJudged,
    Url,
    UrlRecord,
    UsageError,
)
from periplus.parts.cloaking.facts import compared_pages
from periplus.parts.render.facts import templates_with_scripts
from periplus.policy.duplicates import Belief, Hint, HintKind, HintTarget, believe
from periplus.policy.filters import SiteFilterState, standard_chain
from periplus.store import DiskState, SiteState, State
from periplus.store.tables.declared import ImportedFileRow
from periplus.store.tables.files import has_rows
from periplus.urls import canonical, domain_of, site_of

from ..collection import CollectionSetup, states
from ..crawl_parts import setup_of
from ..seeds import possible_urls
from .balance import BalanceFacts, balance_of

_PAGE_STATUSES: Final = frozenset({200, 203, 304})


class CopyFacts(Struct, frozen=True):
    """A page among its near-duplicates: `pages` of them, itself included, of which `canonical` is preferred.

    `names` is the canonical URL that the page declares. Whether that is accepted, and why, is not known (`None`) where
    another shard has that URL.
    """

    canonical: Url
    pages: int
    likeness: float
    is_copy: bool
    names: Url | None = None
    is_believed: bool | None = None
    why: str = ""


def page_duplicates(opened: Mapping[int, State], shards: int, url: Url) -> CopyFacts | None:
    """Return the near-duplicates of a URL; `None` if no page was read there, or one with too little text to compare.

    Only those in the page's own shard: clusters over all shards come from the tables (`insight.clusters`).
    """
    number = owner_of(site_of(url), shards)
    placement = opened[number].sketches.get([url])[0] if number in opened else None
    if placement is None:
        return None
    facts = CopyFacts(placement.canonical, placement.size, placement.likeness, placement.is_copy, placement.names)
    names = placement.names
    if names is None or owner_of(site_of(names), shards) != number:
        return facts
    belief = _belief(opened[number], url, placement, names)
    return replace(facts, is_believed=belief.is_believed, why=belief.reason)


def _belief(state: State, url: Url, placement: Placement, names: Url) -> Belief:
    record, other = state.records.get([names])[0], state.sketches.get([names])[0]
    is_asked = record is not None and bool(record.visits or record.reason)
    target = HintTarget(
        is_asked=is_asked,
        is_like=None if other is None else other.cluster == placement.cluster,
        is_gone=is_asked and not _is_page(record),
        names=None if other is None else other.names,
    )
    return believe(Hint(url, names, HintKind.CANONICAL), target)


def _is_page(record: UrlRecord | None) -> bool:
    return record is not None and not record.reason and record.status in _PAGE_STATUSES


def verdicts_on(collection: CollectionSetup, site: str) -> tuple[SubjectJudged, ...]:
    """The last verdict of each judge on a site, on its templates of URLs, and on its domain."""
    import pyarrow as pa  # a third of the start of `periplus info`, which needs it for single sites only
    import pyarrow.compute as pc

    from periplus.store.tables.reader import rows_of
    from periplus.store.tables.verdicts import scan_verdicts

    subjects = pa.array([site, domain_of(site, tuple(collection.config.scope.suffixes)) or site])
    last: dict[tuple[str, str], SubjectJudged] = {}
    for batch in scan_verdicts(collection.folder, collection.layout.spooled):
        named = batch["subject"].cast(pa.string())
        of_templates = pc.starts_with(named, pattern=f"{site}/")
        for row in rows_of(SubjectJudged, batch.filter(pc.or_(pc.is_in(named, value_set=subjects), of_templates))):
            key = (row.subject, row.judge)
            if key not in last or row.judged_at >= last[key].judged_at:
                last[key] = row
    return tuple(row for _, row in sorted(last.items()))


def imported_files(collection: CollectionSetup) -> tuple[ImportedFileRow, ...]:
    """The first files that the collection was imported from, with who wrote them."""
    layout, table = collection.layout, ImportedFileRow.table
    if not has_rows(layout.tables, table, layout.spooled):
        return ()
    from periplus.store.tables.reader import rows_of, scan  # loads Arrow

    batches = scan(layout.tables, table, spooled=layout.spooled)
    return tuple(islice((row for batch in batches for row in rows_of(ImportedFileRow, batch)), LARGEST))


def verdict_lines(verdicts: tuple[SubjectJudged, ...]) -> list[tuple[str, str]]:
    """A line for each verdict, with its reasons."""
    return [
        (each.judge, f"{each.subject} is judged {each.verdict} ({each.score:.2f}): {'; '.join(each.evidence)}")
        for each in verdicts
    ]


LARGEST = 20
"""Sites listed in `CollectionFacts.largest`: more than a person reads."""


class SiteLine(Struct, frozen=True):
    """A site in a list. `pages` counts requests for pages, also those that failed."""

    site: Site
    pages: int
    queued: int
    bytes: int
    failures: int
    retired: str


class SiteTotals(Struct):
    """The sum of the lines of all sites: page requests, queue entries and bytes.

    A URL that two sources name has two entries (`twice` counts these URLs); one that waits for a retry has none
    (`retries`), nor has one that waits to be ranked (`pooled`). Sitemaps and other files that wait are counted apart
    (`files`).
    """

    pages: int = 0
    queued: int = 0
    bytes: int = 0
    twice: int = 0
    retries: int = 0
    files: int = 0
    pooled: int = 0

    def add(self, line: SiteLine) -> None:
        """Count one more site."""
        self.pages += line.pages
        self.queued += line.queued
        self.bytes += line.bytes


class CollectionFacts(Struct, frozen=True):
    """A whole collection. `largest` are the sites with the most pages; `retired` counts sites by reason.

    `freshness` is what is known of its copies, as of now. `queued` counts URLs, each once, those that wait for a retry
    and to be ranked included; `total` is the sum over all sites. `script_templates` are templates whose pages seem to
    need scripts, `compared` pages that were also requested with a browser's name; `None`: none should be. `outages` are
    sites that are down, the latest first; `imported` the files of others that it was made of, the first of them.
    """

    collection: str
    seeds: int
    shards: int
    tally: CrawlStats
    known: int
    queued: int
    sites: int
    retired: dict[str, int]
    largest: tuple[SiteLine, ...]
    freshness: Freshness | None = None
    total: SiteTotals = msgspec.field(default_factory=SiteTotals)
    script_templates: int = 0
    compared: int | None = None
    outages: tuple[SiteOutage, ...] = ()
    imported: tuple[ImportedFileRow, ...] = ()


class RobotsFacts(Struct, frozen=True):
    """The robots.txt of a site. `access` is `rules`, `all` or `none`."""

    access: str
    status: int | None
    reason: str
    bytes: int
    fetched_at: float
    expires_at: float
    crawl_delay: float | None


class SiteFacts(Struct, frozen=True):
    """A site. `delay` is the politeness delay in seconds: the longer of our setting and its Crawl-delay.

    `balance` is how its budget moved between links and sitemaps, if it has both; `sources` how many URLs each of them
    found (only in `site_facts`); `freshness` how often its pages change and how far its signals are trusted; `verdicts`
    what judges concluded about it and its domain. `outage`: it is down.
    """

    site: Site
    shard: int
    ip: str | None
    pages: int
    queued: dict[str, int]
    bytes: int
    failures: int
    retired: str
    ready_at: float
    delay: float
    robots: RobotsFacts | None
    home_refused: str
    balance: BalanceFacts | None = None
    sources: SourceFacts | None = None
    freshness: SiteFreshness | None = None
    verdicts: tuple[SubjectJudged, ...] = ()
    outage: SiteOutage | None = None


class RefusedDiscovery(Struct, frozen=True):
    """What a filter refused when it was found (`found_at`, POSIX time), where that was, and why."""

    url: Url
    source: str
    referrer: Url | None
    found_at: float
    reason: str
    rule: str


class UrlFacts(Struct, frozen=True):
    """A URL. `robots` and `filtered`: why robots.txt or the filters refuse it; empty if they do not.

    `refused` is the last time that a URL which is not known was found. `levels` counts visits by how much the page had
    changed; only `major` ones count in the record and for the rate. `copies` are the near-duplicates of the page;
    `freshness` holds when it is visited again, and why.
    """

    url: Url
    is_known: bool
    record: UrlRecord | None
    robots: str
    robots_rule: str
    filtered: str
    filter_rule: str
    known_as: Url | None
    site: SiteFacts | None
    copies: CopyFacts | None = None
    freshness: PageFreshness | None = None
    is_watched: bool = False
    refused: RefusedDiscovery | None = None
    levels: dict[str, int] = {}


def collection_facts(collection: CollectionSetup) -> CollectionFacts:
    """Return what is known of a whole collection."""
    tally, queued, entries, sites = CrawlStats(), 0, 0, 0
    total = SiteTotals()
    retired: Counter[str] = Counter()
    largest: list[tuple[int, Site, SiteLine]] = []
    down: list[SiteOutage] = []  # the latest of each shard
    with states(collection.layout) as opened:
        for state in opened.values():
            meta = state.meta(ShardMeta)
            tally += CrawlStats() if meta is None else meta.stats
            twice = 0 if meta is None else meta.frontier.queued_twice
            sites += len(state.sites)
            entries += len(state.queues)
            queued += waiting_urls(len(state.queues), twice)
            total.pooled += 0 if meta is None or meta.frontier.scores is None else meta.frontier.scores.pooled
            retired.update(each.retired for each in state.sites if each.retired)
            down += nlargest(LARGEST, state.outages, key=lambda row: (row.since, row.site))
            largest += nlargest(LARGEST, _ranked(state, state.sites, total))
        known = list(opened.values())
        freshness = freshness_if_revisited(known, time.time(), collection.config.refresh)
        compared = compared_pages(known) if collection.config.cloaking.enabled else None
        script_templates = templates_with_scripts(known)
    queued, entries = queued - total.files, entries - total.files
    total.twice, total.retries = entries - queued, entries - total.queued
    queued += total.pooled
    lines = tuple(line for _, _, line in sorted(largest, key=lambda row: (-row[0], row[1]))[:LARGEST])
    return CollectionFacts(
        collection=str(collection.folder),
        seeds=len(collection.seeds),
        shards=collection.layout.shards,
        tally=tally,
        known=tally.known,
        queued=queued,
        sites=sites,
        retired=dict(retired),
        largest=lines,
        total=total,
        outages=tuple(nlargest(LARGEST, down, key=lambda row: (row.since, row.site))),
        imported=imported_files(collection),
        freshness=freshness,
        compared=compared,
        script_templates=script_templates,
    )


def _ranked(state: DiskState, sites: Iterable[SiteState], total: SiteTotals) -> Iterable[tuple[int, Site, SiteLine]]:
    for each in sites:
        lengths = queued_by_lane(state, each.site)
        queued = pages_in(lengths)
        total.files += sum(lengths.values()) - queued
        line = SiteLine(each.site, each.pages, queued, each.downloaded, each.failures, each.retired)
        total.add(line)
        yield each.pages, each.site, line


def site_facts(collection: CollectionSetup, site: Site) -> SiteFacts | None:
    """Return what is known of a site; `None` if the collection has no such site."""
    number = owner_of(site, max(collection.layout.shards, 1))
    with states(collection.layout) as opened:
        facts = _site_facts(collection, opened[number], site, number) if number in opened else None
        if facts is None:
            return None
        from periplus.engine.sitemaps.show import sources_of

        return replace(facts, sources=sources_of(opened[number], site), verdicts=verdicts_on(collection, site))


def _site_facts(collection: CollectionSetup, state: DiskState, site: Site, shard: int) -> SiteFacts | None:
    from periplus.engine.revisit.show import of_site  # these load more than facts of a whole collection need
    from periplus.engine.sitemaps.show import index_signals

    config = collection.config
    kept = state.sites.get([site])[0]
    queued = queued_by_lane(state, site)
    if kept is None and not queued:
        return None
    kept = kept or SiteState(site)
    gate = RobotsGate(state.robots, config.crawler_identity.token)
    file = state.robots.get(site)
    home = canonical(f"http://{site}/")
    refusal = gate.refusal(site, home) if file is not None and home is not None else None
    return SiteFacts(
        site=site,
        shard=shard,
        ip=kept.ip,
        pages=kept.pages,
        queued=queued,
        bytes=kept.downloaded,
        failures=kept.failures,
        retired=kept.retired,
        ready_at=kept.ready_at,
        delay=max(config.politeness.delay, kept.delay or 0.0),
        robots=None if file is None else _robots_facts(file, gate.delay(site)),
        home_refused=f"{refusal[0]} {refusal[1]}".strip() if refusal else "",
        balance=balance_of(kept, config.balance),
        outage=state.outages.get(site),
        freshness=of_site(kept, config.churn, index_signals(state, site)),
    )


def _robots_facts(file: RobotsFile, delay: float | None) -> RobotsFacts:
    return RobotsFacts(file.access, file.status, file.reason, len(file.body), file.fetched_at, file.expires_at, delay)


def queued_by_lane(state: DiskState, site: Site) -> dict[str, int]:
    """How many URLs of a site wait in each lane; one that links and sitemaps name waits in two."""
    lengths = {lane.value: state.queues.length(site, lane) for lane in Lane}
    return {lane: length for lane, length in lengths.items() if length}


def pages_in(lanes: Mapping[str, int]) -> int:
    """How many of the URLs that wait are of pages, by lane; the others are sitemaps, probes and files of pages."""
    return sum(lanes.values()) - sum(lanes.get(lane.value, 0) for lane in NOT_PAGES)


def url_facts(collection: CollectionSetup, text: str) -> UrlFacts:
    """Return what is known of a URL; without a scheme, of the known one of http and https."""
    urls = possible_urls(text)
    if not urls:
        raise UsageError(f"{text!r} is not a URL", hint="write it as https://example.org/page")
    known = [facts for url in urls if (facts := _url_facts(collection, url)).is_known]
    if known:
        compared = _rows(collection, "changes", ("url", "level"), [known[0].url])
        return replace(known[0], levels=dict(Counter(row["level"] for row in compared)))
    found = _rows(collection, "discoveries", ("url", "source", "referrer", "found_at", "refused", "rule"), urls)
    last = max((row for row in found if row["refused"]), key=lambda row: row["found_at"], default=None)
    if last is None:
        return _url_facts(collection, urls[0])
    at, rule = last["found_at"].timestamp(), last["rule"] or ""
    refused = RefusedDiscovery(last["url"], last["source"], last["referrer"], at, last["refused"], rule)
    return replace(_url_facts(collection, refused.url), refused=refused)


def _rows(
    collection: CollectionSetup, table: str, columns: Sequence[str], urls: Sequence[Url]
) -> Iterator[dict[str, Any]]:
    """The rows of a table about some URLs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from periplus.store.tables import scan

    layout, wanted = collection.layout, pa.array(urls, pa.string())
    for batch in scan(layout.tables, table, spooled=layout.spooled, columns=columns):
        yield from batch.filter(pc.is_in(batch["url"].cast(pa.string()), wanted)).to_pylist()


def _url_facts(collection: CollectionSetup, url: Url) -> UrlFacts:
    from periplus.engine.revisit.facts import price_of
    from periplus.engine.revisit.setup import weights_of
    from periplus.engine.revisit.show import of_page

    config, site, setup = collection.config, site_of(url), setup_of(collection)
    number = owner_of(site, max(collection.layout.shards, 1))
    record: UrlRecord | None = None
    refusal: tuple[str, str] | None = None
    facts: SiteFacts | None = None
    copies: CopyFacts | None = None
    freshness: PageFreshness | None = None
    is_watched = False
    kept: SiteFilterState | None = None
    steering = Steering(SteeringState())
    with states(collection.layout) as opened:
        if number in opened:
            state = opened[number]
            meta = state.meta(ShardMeta)
            steering = steering if meta is None else Steering(meta.frontier.steering)
            record = state.records.get([url])[0]
            facts = _site_facts(collection, state, site, number)
            refusal = (
                RobotsGate(state.robots, config.crawler_identity.token).refusal(site, url)
                if facts and facts.robots
                else None
            )
            known = state.sites.get([site])[0]
            kept = None if known is None else known.traps
            copies = page_duplicates(opened, collection.layout.shards, url)
            is_watched = price_of(state) is not None
            if record is not None:
                weights = weights_of(setup, state)
                freshness = of_page(state, record, config.refresh, time.time(), weights)
    reason, rule, other = _judged(collection, url, record, kept)
    if not reason and (pattern := steering.refusal(other or url)) is not None:
        reason, rule = "excluded", pattern
    robots = refusal or ("", "")
    return UrlFacts(url, record is not None, record, *robots, reason, rule, other, facts, copies, freshness, is_watched)


def _judged(
    collection: CollectionSetup, url: Url, record: UrlRecord | None, state: SiteFilterState | None
) -> tuple[str, str, Url | None]:
    """Return what the filters would decide if the URL was found now."""
    from periplus.parts.dust.part import renames_for

    learning = [renames_for(setup_of(collection))]
    chain = standard_chain(collection.seeds, collection.config.filters, lambda _: state, learning=learning)
    source = record.first_seen[0].source if record else Source.SEED if url in collection.seeds else Source.LINK
    verdict = chain.judge(Discovery(url, source, 0.0, record.depth if record else 1))
    match verdict:
        case Reject(reason=reason, rule=rule):
            return reason, rule, None
        case Rewrite(url=other, rule=rule):
            return "", rule, other
        case _:
            return "", "", None
