"""What is known of a collection, of a site in it, and of a URL, gathered from what the shards have committed.

Everything is read without disturbing a crawl that runs. The values here are what `periplus info --json` prints; how
they are said in words is in `info`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from heapq import nlargest

from msgspec import Struct
from msgspec.structs import replace

from periplus.assembly import weights_of, with_scheme
from periplus.config import Config
from periplus.crawl.frontier import RobotsGate
from periplus.crawl.machine import ShardMeta
from periplus.crawl.placement import owner_of
from periplus.crawl.revisit import Freshness
from periplus.crawl.stats import CrawlStats
from periplus.model import Discovery, Lane, Reject, Rewrite, RobotsFile, Site, Source, Url, UrlRecord, UsageError
from periplus.policy.filters import SiteLessons, standard_chain
from periplus.store import DiskState, SiteState
from periplus.urls import canonical, site_of

from ..collection import Collection, states
from . import freshness
from .duplicates import CopyFacts, of_page
from .freshness import PageFreshness, SiteFreshness
from .sources import BalanceFacts, SourceFacts, balance_of, sources_of

LARGEST = 20
"""Sites that are named one by one."""


class SiteLine(Struct, frozen=True):
    """A site in a list."""

    site: Site
    pages: int
    queued: int
    bytes: int
    failures: int
    retired: str


class CollectionFacts(Struct, frozen=True):
    """Of the whole collection. `largest` are the sites with the most pages; `retired` counts sites by reason.

    `freshness` is what is known of its copies, as of now.
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


class RobotsFacts(Struct, frozen=True):
    """Of the robots.txt of a site. `access` is `rules`, `all` or `none`."""

    access: str
    status: int | None
    reason: str
    bytes: int
    fetched_at: float
    expires_at: float
    crawl_delay: float | None


class SiteFacts(Struct, frozen=True):
    """Of one site. `delay` is what it is left alone for, in seconds, by our settings and its own wish.

    `balance` is how its budget moved between links and sitemaps, if it has both; `sources` what each of them brought,
    where the site itself is asked about; `freshness` how often its pages change and how far it is believed.
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


class UrlFacts(Struct, frozen=True):
    """Of one URL. `robots` and `filtered`: why it may not or shall not be fetched; empty if nothing is in the way.

    `copies` is of the page there, among those that say the same; `freshness` says when it is visited again, and why.
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


def of_collection(collection: Collection) -> CollectionFacts:
    """All shards as one."""
    tally, known, queued, sites = CrawlStats(), 0, 0, 0
    retired: Counter[str] = Counter()
    largest: list[tuple[int, Site, SiteLine]] = []
    with states(collection.layout) as opened:
        for state in opened.values():
            meta = state.meta(ShardMeta)
            tally += CrawlStats() if meta is None else meta.stats
            known, queued, sites = known + len(state.records), queued + len(state.queues), sites + len(state.sites)
            retired.update(each.retired for each in state.sites if each.retired)
            largest += nlargest(LARGEST, _ranked(state, state.sites))
        fresh = freshness.of_collection(opened.values(), time.time())
    lines = tuple(line for _, _, line in sorted(largest, key=lambda row: (-row[0], row[1]))[:LARGEST])
    return CollectionFacts(
        collection=str(collection.folder),
        seeds=len(collection.seeds),
        shards=collection.layout.shards,
        tally=tally,
        known=known,
        queued=queued,
        sites=sites,
        retired=dict(retired),
        largest=lines,
        freshness=fresh,
    )


def _ranked(state: DiskState, sites: Iterable[SiteState]) -> Iterable[tuple[int, Site, SiteLine]]:
    for each in sites:
        queued = sum(_queued(state, each.site).values())
        line = SiteLine(each.site, each.pages, queued, each.downloaded, each.failures, each.retired)
        yield each.pages, each.site, line


def of_site(collection: Collection, site: Site) -> SiteFacts | None:
    """One site; `None` if nobody has heard of it."""
    number = owner_of(site, max(collection.layout.shards, 1))
    with states(collection.layout) as opened:
        facts = _site_facts(collection.config, opened[number], site, number) if number in opened else None
        return None if facts is None else replace(facts, sources=sources_of(opened[number], site))


def _site_facts(config: Config, state: DiskState, site: Site, shard: int) -> SiteFacts | None:
    kept = state.sites.get([site])[0]
    queued = _queued(state, site)
    if kept is None and not queued:
        return None
    kept = kept or SiteState(site)
    gate = RobotsGate(state.robots, config.identity.token)
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
        freshness=freshness.of_site(kept, state, config.churn),
    )


def _robots_facts(file: RobotsFile, delay: float | None) -> RobotsFacts:
    return RobotsFacts(file.access, file.status, file.reason, len(file.body), file.fetched_at, file.expires_at, delay)


def _queued(state: DiskState, site: Site) -> dict[str, int]:
    lengths = {lane.value: state.queues.length(site, lane) for lane in Lane}
    return {lane: length for lane, length in lengths.items() if length}


def of_url(collection: Collection, text: str) -> UrlFacts:
    """One URL, as it was typed; without a scheme the one that is known is meant."""
    forms = [text] if "://" in text else [with_scheme(text), f"http://{text}", f"https://{text}"]
    urls = [url for form in forms if (url := canonical(form)) is not None]
    if not urls:
        raise UsageError(f"{text!r} is no URL", hint="write it as https://example.org/page")
    known = [facts for url in urls if (facts := _url_facts(collection, url)).is_known]
    return known[0] if known else _url_facts(collection, urls[0])


def _url_facts(collection: Collection, url: Url) -> UrlFacts:
    config, site = collection.config, site_of(url)
    number = owner_of(site, max(collection.layout.shards, 1))
    record: UrlRecord | None = None
    refusal: tuple[str, str] | None = None
    facts: SiteFacts | None = None
    copies: CopyFacts | None = None
    fresh: PageFreshness | None = None
    kept: SiteLessons | None = None
    with states(collection.layout) as opened:
        if number in opened:
            state = opened[number]
            meta = state.meta(ShardMeta)
            weigh = weights_of(config, collection.layout, None if meta is None else meta.revisits)
            record = state.records.get([url])[0]
            facts = _site_facts(config, state, site, number)
            refusal = (
                RobotsGate(state.robots, config.identity.token).refusal(site, url) if facts and facts.robots else None
            )
            known = state.sites.get([site])[0]
            kept = None if known is None else known.traps
            copies = of_page(opened, collection.layout.shards, url)
            if record is not None:
                fresh = freshness.of_page(state, record, config.refresh, time.time(), weigh)
    reason, rule, other = _judged(collection, url, record, kept)
    robots = refusal or ("", "")
    return UrlFacts(url, record is not None, record, *robots, reason, rule, other, facts, copies, fresh)


def _judged(
    collection: Collection, url: Url, record: UrlRecord | None, lessons: SiteLessons | None
) -> tuple[str, str, Url | None]:
    """What the filters would say of the URL if it was found now."""
    chain = standard_chain(collection.seeds, collection.config.filters, recall=lambda _: lessons)
    source = record.first_seen[0].source if record else Source.SEED if url in collection.seeds else Source.LINK
    verdict = chain.judge(Discovery(url, source, 0.0, record.depth if record else 1))
    match verdict:
        case Reject(reason=reason, rule=rule):
            return reason, rule, None
        case Rewrite(url=other, rule=rule):
            return "", rule, other
        case _:
            return "", "", None
