"""Which hosts of a collection are mirrors of others, and which domains are parked: a job over the tables.

    found = judge_hosts(views, now)      # verdicts, and what the crawl is to know of them

Candidates are hosts whose known paths resemble each other, whose home pages are the same, or that have some texts in
common (`parts.mirrors.policy`). Their pages are then compared path by path, as far as both hosts were crawled; so a job
that runs later sees more. No request is made.
"""

# ruff: noqa: S608 - SQL is put together from our own words

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.part import Setup
from periplus.insight.views import Views
from periplus.model import Domain, Site, SubjectJudged
from periplus.policy.duplicates import brief_of
from periplus.store import LearntFiles
from periplus.store.tables.verdicts import write_verdicts
from periplus.urls import domain_of

from .parked import HomePage, OtherPage, parked_domains, suspicion
from .policy import (
    MAX_PATHS,
    HostFacts,
    HostPaths,
    LearntHosts,
    MirrorFound,
    SitePage,
    candidate_pairs,
    encode_hosts,
    mappings_of,
    path_sketch,
    rules_of,
    verify,
)
from .settings import MirrorSettings, MirrorTables, ParkedSettings

DomainOf = Callable[[str], Domain | None]
"""The registrable domain of a host."""

JUDGE: Final = "mirrors"
PARKED: Final = "parked"
MAX_PAGES: Final = 20_000
"""Pages of a host that are compared: those with the shortest paths."""
_MAX_SHARING: Final = 16
"""Hosts with one text, above which it says nothing of any two of them: a licence, an error page."""
_FEWEST_SHARED: Final = 5
"""Texts that two hosts have in common from which they are compared whatever their paths."""
_WORD_LENGTH: Final = 6
"""Characters of a word, with its space, by which the words of a page are estimated from the length of its text."""
_MAX_OTHERS: Final = 8
"""Pages of a host, besides its home page, that show whether a suspect has a text of its own: the shortest paths."""
_PATH: Final = "regexp_replace(url, '^[a-z]+://[^/]+', '')"
_LAST_PAGES: Final = f"""
    (select site, {_PATH} as path, sketch, main_digest, main_length, text_length, links, problems, url,
        title
     from pages {{where}} qualify row_number() over (partition by url order by read_at desc) = 1)
"""
_PAGES: Final = _LAST_PAGES.format(where="")
"""The last version of each page."""
_PAGES_OF_SITE: Final = _LAST_PAGES.format(where="where site = $site")
"""The last version of each page of a host: chosen before the last versions are looked for, not after."""


class JudgedHosts(Struct, frozen=True):
    """The verdicts of a job by judge, and the file for the crawl."""

    mirrors: tuple[SubjectJudged, ...]
    parked: tuple[SubjectJudged, ...]
    learnt: LearntHosts
    candidates: int = 0


def judge_hosts(
    views: Views,
    now: float,
    *,
    trust: dict[Domain, float] | None = None,
    settings: MirrorSettings | None = None,
    parked_settings: ParkedSettings | None = None,
    suffixes: tuple[str, ...] = (),
) -> JudgedHosts:
    """Judge all hosts of a collection. `trust` is that of domains, if it was computed; `suffixes` as in the scope."""
    settings, parked_settings = settings or MirrorSettings(), parked_settings or ParkedSettings()
    domain = partial(domain_of, further=suffixes)
    pairs = candidate_pairs(
        _host_paths(views),
        [*_sharing_texts(views), *_sharing_home_pages(views)],
        least=settings.least_resemblance,
        fewest=settings.fewest_paths,
    )
    found = _verified(views, pairs, settings)
    facts = _facts(views, {site for each in found for site in (each.one, each.other)}, trust or {}, domain)
    rules = rules_of(found, facts)
    parked = parked_domains(_home_pages(views, parked_settings, domain), parked_settings)
    return JudgedHosts(
        tuple(_mirror_verdicts(found, rules, now)),
        tuple(
            SubjectJudged(each.domain, "domain", PARKED, "parked", each.share, each.evidence, now) for each in parked
        ),
        LearntHosts(tuple(rules), tuple(each.domain for each in parked)),
        len(pairs),
    )


# candidates


def _host_paths(views: Views) -> list[HostPaths]:
    """The sketch of the shortest known paths of each host."""
    rows = views.ask(
        f"""
        select distinct site, {_PATH} as path from discoveries where refused is null
        qualify row_number() over (partition by site order by length(path), path) <= {MAX_PATHS} order by site
        """
    )
    pairs = (pair for batch in rows for pair in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return [path_sketch(site, [path for _, path in some]) for site, some in groupby(pairs, itemgetter(0))]


def _sharing_texts(views: Views) -> list[tuple[Site, Site]]:
    """Pairs of hosts with some texts in common."""
    rows = views.rows(
        f"""
        with texts as (select distinct site, main_digest from {_PAGES} where main_length > 0),
        shared as (select main_digest from texts group by all having count(*) between 2 and {_MAX_SHARING})
        select a.site as one, b.site as other from texts a join shared using (main_digest)
        join texts b using (main_digest) where a.site < b.site
        group by all having count(*) >= {_FEWEST_SHARED} order by all
        """
    )
    return [(row["one"], row["other"]) for row in rows]


def _sharing_home_pages(views: Views) -> list[tuple[Site, Site]]:
    """Pairs of hosts whose home pages have the same text."""
    rows = views.rows(
        f"""
        select list(site order by site) as sites from {_PAGES} where path = '/' and main_length > 0
        group by main_digest having count(*) between 2 and {_MAX_SHARING} order by all
        """
    )
    return [pair for row in rows for pair in combinations(row["sites"], 2)]


# verification


def _verified(views: Views, pairs: Sequence[tuple[Site, Site]], settings: MirrorSettings) -> list[MirrorFound]:
    pages: dict[Site, dict[str, SitePage]] = {}
    found: list[MirrorFound] = []
    waiting = _last_uses(pairs)
    for place, (one, other) in enumerate(pairs):
        for site in (one, other):
            if site not in pages:
                pages[site] = _pages_of(views, site)
        found += _compared((one, pages[one]), (other, pages[other]), settings)
        for site in (one, other):
            if waiting[site] == place:
                del pages[site]
    return found


def _last_uses(pairs: Sequence[tuple[Site, Site]]) -> dict[Site, int]:
    """The last pair of each host, after which its pages are not needed."""
    return {site: place for place, pair in enumerate(pairs) for site in pair}


def _compared(
    one: tuple[Site, dict[str, SitePage]], other: tuple[Site, dict[str, SitePage]], settings: MirrorSettings
) -> list[MirrorFound]:
    """The mirrors between two hosts: the whole hosts, or else the parts that their common texts suggest."""
    whole = verify(one, other, ("/", "/"), settings)
    if whole is not None:
        return [whole]
    roots = [pair for pair in mappings_of(_same_texts(one[1], other[1])) if pair != ("/", "/")]
    parts = [part for pair in roots if (part := verify(one, other, pair, settings)) is not None]
    return [part for part in parts if not any(_is_inside(part, wider) for wider in parts if wider is not part)]


def _same_texts(one: dict[str, SitePage], other: dict[str, SitePage]) -> Iterable[tuple[str, str]]:
    """Pairs of paths with the same text, of texts that each host has once."""
    paths: dict[int, list[str]] = defaultdict(list)
    for path, page in other.items():
        paths[page.main].append(path)
    for path, page in one.items():
        if not page.is_absent and len(paths.get(page.main, ())) == 1:
            yield path, paths[page.main][0]


def _is_inside(part: MirrorFound, wider: MirrorFound) -> bool:
    return part.one_root.startswith(wider.one_root) and part.other_root.startswith(wider.other_root)


def _pages_of(views: Views, site: Site) -> dict[str, SitePage]:
    """What a host answered, by path: pages without soft 404s, and what is not there."""
    pages = views.rows(
        f"""
        select path, sketch, main_digest from {_PAGES_OF_SITE}
        where main_length > 0 and not list_contains(coalesce(problems, []), 'soft-404')
        order by length(path), path limit {MAX_PAGES}
        """,
        {"site": site},
    )
    absent = views.rows(
        f"""
        select distinct {_PATH} as path from fetches
        where site = $site and purpose = 'page' and status in (404, 410) limit {MAX_PAGES}
        """,
        {"site": site},
    )
    found = {row["path"]: SitePage(is_absent=True) for row in absent}
    return found | {row["path"]: SitePage(brief_of(row["sketch"]), row["main_digest"]) for row in pages}


# which host is kept


def _facts(views: Views, sites: set[Site], trust: dict[Domain, float], domain: DomainOf) -> dict[Site, HostFacts]:
    """Collect the evidence for each host: trust of its domain, hosts that link to it, and whether sitemaps list it."""
    if not sites:
        return {}
    wanted: dict[str, object] = {"sites": sorted(sites)}
    referrers = _counted(
        views.rows(
            """
            select target_site as site, count(distinct site) as count from links
            where target_site in (select unnest($sites)) and site <> target_site group by all
            """,
            wanted,
        )
    )
    listed = _counted(
        views.rows(
            """
            select regexp_extract(url, '^[a-z]+://([^/]+)', 1) as site, count(*) as count from sitemap_entries
            where kind = 'page' and regexp_extract(url, '^[a-z]+://([^/]+)', 1) in (select unnest($sites)) group by all
            """,
            wanted,
        )
    )
    return {
        site: HostFacts(trust.get(domain(site) or Domain(""), 0.0), referrers.get(site, 0), site in listed)
        for site in sites
    }


def _counted(rows: list[dict[str, Any]]) -> dict[Site, int]:
    return {row["site"]: row["count"] for row in rows}


def _mirror_verdicts(found: Sequence[MirrorFound], rules: Sequence[Any], now: float) -> Iterable[SubjectJudged]:
    """A verdict for each host that is renamed."""
    by_pair = {frozenset((each.one, each.other)): each for each in found}
    for rule in rules:
        each = by_pair[frozenset((rule.site, rule.target))]
        verdict = "mirror" if rule.root == "/" else "partial-mirror"
        where = f"its URLs below {rule.root} are renamed to http://{rule.target}{rule.target_root}"
        yield SubjectJudged(rule.site, "site", JUDGE, verdict, each.score, (*each.evidence, where), now)


# parked domains


def _home_pages(views: Views, settings: ParkedSettings, domain: DomainOf) -> list[HomePage]:
    """The home page of each domain: of the host with the shortest name."""
    homes = views.rows(
        f"""
        select site, url, title, sketch, text_length from {_PAGES}
        where path = '/' and links > 0 and text_length between 1 and {_WORD_LENGTH * settings.max_words}
        """
    )
    by_domain: dict[Domain, dict[str, Any]] = {}
    for row in sorted(homes, key=lambda row: (len(row["site"]), row["site"])):
        name = domain(row["site"])
        if name is not None:
            by_domain.setdefault(name, row)
    targets = _targets(views, [row["url"] for row in by_domain.values()], domain)
    pages = [
        HomePage(
            name, row["text_length"] // _WORD_LENGTH, row["sketch"], targets.get(row["url"], ()), row["title"] or ""
        )
        for name, row in by_domain.items()
    ]
    suspects = [page for page in pages if suspicion(page, settings) is not None]
    return _with_others(views, suspects, domain) if suspects else []


def _with_others(views: Views, pages: list[HomePage], domain: DomainOf) -> list[HomePage]:
    """Home pages with what is known of the other pages of their domains."""
    names = {page.domain for page in pages}
    sites = {row["site"]: domain(row["site"]) for row in views.rows("select distinct site from discoveries")}
    wanted: dict[str, object] = {"sites": sorted(site for site, name in sites.items() if name in names)}
    read = views.rows(
        f"""
        select site, path, sketch from {_PAGES} where site in (select unnest($sites)) and path <> '/'
            and main_length > 0 and not list_contains(coalesce(problems, []), 'soft-404')
        qualify row_number() over (partition by site order by length(path), path) <= {_MAX_OTHERS} order by all
        """,
        wanted,
    )
    others: dict[Domain | None, list[OtherPage]] = defaultdict(list)
    for row in read:
        others[sites[row["site"]]].append(OtherPage(row["path"], row["sketch"]))
    known: Counter[Domain | None] = Counter()
    for row in views.rows(
        f"""
        select site, count(distinct url) as count from discoveries
        where site in (select unnest($sites)) and {_PATH} <> '/' and refused is null group by site
        """,
        wanted,
    ):
        known[sites[row["site"]]] += row["count"]
    return [replace(page, others=tuple(others[page.domain]), known=known[page.domain]) for page in pages]


def _targets(views: Views, urls: list[str], domain: DomainOf) -> dict[str, list[Domain | None]]:
    """The domains to which the links of some pages lead; `None` for their own."""
    rows = views.rows(
        """
        select page, site, target_site, count(*) as count from links
        where page in (select unnest($urls)) group by all order by all
        """,
        {"urls": urls},
    )
    found: dict[str, list[Domain | None]] = defaultdict(list)
    for row in rows:
        own, target = domain(row["site"]), domain(row["target_site"])
        found[row["page"]] += [None if target == own else target] * row["count"]
    return found


def write_judged_hosts(setup: Setup, views: Views, now: float) -> dict[str, Sequence[SubjectJudged]]:
    """Judge the hosts of a collection; write the verdicts, and what a running or later crawl follows."""
    tables = setup.settings.some(MirrorTables)
    judged = judge_hosts(
        views,
        now,
        settings=tables.mirrors,
        parked_settings=tables.parked,
        suffixes=setup.settings.value("scope.suffixes"),
    )
    write_verdicts(setup.layout.folder, JUDGE, judged.mirrors)
    write_verdicts(setup.layout.folder, PARKED, judged.parked)
    LearntFiles(setup.layout.learnt).write("mirrors", encode_hosts(judged.learnt))
    return {"mirrors": judged.mirrors, "parked": judged.parked}
