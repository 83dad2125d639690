"""Judges every host and domain of a collection by its pages, its name and its links, and says why.

The features come from the tables: counts of pages from `pages`, links between domains from `links` and redirects,
addresses from `fetches`, new URLs from `discoveries`. Hosts are judged twice: those that are almost certainly spam
after the first time, and those that a person has banned, are the seeds of anti-trust for the second. A host with few
pages is also judged by those of its domain and of domains that it links to; a domain of
which no page was read, by the domains that link to it. Results are
verdicts with the three features that spoke loudest, and a table of probabilities for the crawl (`parts.spam.scores`).
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from periplus.graph import unique_edges
from periplus.insight.views import Views
from periplus.model import PageStatistics, SubjectJudged
from periplus.store.tables import pandas_import  # noqa: F401 - before the first array is made
from periplus.urls import domain_of

from .features import Features, page_features
from .link_features import DomainGraph, inverse_pagerank, link_features
from .model import Contribution, Model, PageMeans, loudest, neighbour_part, pooled_pages, probability, shrinkage
from .scores import written
from .settings import SpamSettings
from .training import Example
from .verdict import BANNED, SURE, TRUSTED, domain_score, is_retired, overridden, word_of

Numbers = NDArray[np.int64]

JUDGE: Final = "spam"
"""The judge of these verdicts, and the kind of the learnt file."""
PAGES_A_HOST: Final = 100
"""Pages of a host that are judged, chosen by a hash of the URL: more would not change the mean."""
MAX_PAGES: Final = 200_000
"""Pages that are judged in all, the same number of each host as far as they go."""
MAX_SEEDS: Final = 200
"""Domains that `seeds` proposes at most: as many as a person looks at."""
_FOLLOWED: Final = "(rel = '' or not regexp_matches(rel, '(^|\\s)(nofollow|ugc|sponsored)(\\s|$)'))"
"""Most links have no `rel`, and need no pattern."""
_COUNTS: Final = PageStatistics.__struct_fields__

_PAGES: Final = f"""\
with last as (
    select site, url, links, main_digest, main_length, {", ".join(_COUNTS)} from pages where words is not null
    qualify row_number() over (partition by url order by read_at desc) = 1),
texts as (select main_digest, count(*) as copies from last where main_length > 0 group by main_digest),
chosen as (
    select last.*, coalesce(copies, 1) > 1 as is_copy, count(*) over (partition by site) as pages
    from last left join texts using (main_digest)
    qualify row_number() over (partition by site order by hash(url), url) <= {PAGES_A_HOST}
    order by row_number() over (partition by site order by hash(url), url), site limit {MAX_PAGES}),
outgoing as (
    select page as url, count(distinct theirs.number) filter (theirs.number <> own.number) as outgoing_domains
    from current_links
    join spam_domains as own on own.site = current_links.site
    join spam_domains as theirs on theirs.site = target_site
    where current_links.site <> target_site and page in (select url from chosen) group by page)
select chosen.*, coalesce(outgoing_domains, 0) as outgoing_domains from chosen left join outgoing using (url)
order by site, url"""

_SITES: Final = """\
select distinct site from (select site from fetches union all select target_site from links) where site is not null"""

_PAIRS: Final = f"""\
select distinct site, target_site from links where site <> target_site and {_FOLLOWED}
union
select site, split_part(target, '/', 3) as target_site from fetches where outcome = 'redirected' and purpose = 'page'"""
"""Pairs of sites with a link. Their domains are looked up afterwards: given a condition on the domains of both ends,
DuckDB joins all domains with all others before it looks at links."""

_HOSTS: Final = """\
with asked as (
    select site, any_value(ip) as ip, (epoch(max(ended_at)) - epoch(min(started_at))) / 3600 as hours
    from fetches where purpose = 'page' and outcome <> 'excluded' group by site),
addresses as (
    select ip, count(distinct number) as domains from asked join spam_domains using (site) where ip is not null
    group by ip),
found as (select site, count(*) filter (where is_new) as found from discoveries group by site)
select site, addresses.domains as address_domains, found / greatest(hours, 1) as spawn
from asked left join addresses using (ip) left join found using (site)"""


class HostFacts(Struct, frozen=True):
    """What is known of a host: its features among others, what some of its pages add up to, and how many it has.

    `neighbours`: what the pages of its domain, and of domains that it links to, add if it has few pages.
    """

    host: str
    domain: str
    features: Features
    pages: PageMeans
    page_count: int
    neighbours: Contribution | None = None


class _HostPages(Struct, frozen=True):
    """The pages of a host: what those that were chosen add up to, how many of them are copies, and how many it has."""

    means: PageMeans
    copies: int
    count: int


class SpamJudgement(Struct, frozen=True):
    """The verdicts on hosts and domains, and the table for the crawl."""

    verdicts: tuple[SubjectJudged, ...]
    learnt: bytes
    hosts: dict[str, float]
    domains: dict[str, float]


class SpamJob:
    """Judges a collection. `suffixes` are further public suffixes (`[scope] suffixes`)."""

    def __init__(self, views: Views, model: Model, settings: SpamSettings, suffixes: Sequence[str] = ()) -> None:
        self._views = views
        self.model = model
        self._settings = settings
        self._suffixes = tuple(suffixes)
        self._names = self._register_domains()
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._edges = self._read_edges()
        self._wire = self._read_wire()
        self._hosts = {host: self._summary(rows) for host, rows in self._pages()}

    def judge(self, now: float) -> SpamJudgement:
        """Judge every host twice, the second time with anti-trust from what was certain at first."""
        facts = self.facts(())
        sure = {each.domain for each in facts if self._score(each) > SURE}
        facts = self.facts(sure) if sure or self._settings.banned else facts
        hosts = {each.host: self._score(each) for each in facts}
        by_domain: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for each in facts:
            by_domain[each.domain].append((hosts[each.host], each.page_count))
        domains = {domain: overridden(domain, domain_score(some), self._settings) for domain, some in by_domain.items()}
        unread = self._unread(domains)
        verdicts = [verdict for each in facts if (verdict := self._verdict(each, hosts[each.host], now)) is not None]
        verdicts += self._on_domains(domains, by_domain, hosts, facts, now)
        verdicts += [self._on_unread(name, score, now) for name, score in unread.items()]
        retired = tuple(each.host for each in facts if is_retired(hosts[each.host], each.page_count, self._settings))
        return SpamJudgement(tuple(verdicts), written(hosts, domains | unread, retired), hosts, domains)

    def facts(self, spam: Iterable[str]) -> list[HostFacts]:
        """What is known of every host that has a page, given domains that are spam."""
        graph = self.graph(spam)
        links = link_features(graph) if graph.count > 1 and len(graph.sources) else None
        found = []
        for host, read in self._hosts.items():
            domain = self._domain(host)
            number = self._numbers.get(domain)
            among = {} if links is None or number is None else links.of(number)
            chosen = read.means.pages
            repeated: Features = {"duplicate_share": read.copies / chosen} if chosen > 1 else {}
            features = among | repeated | self._wire.get(host, {})
            found.append(HostFacts(host, domain, features, read.means, read.count))
        return self._with_neighbours(found)

    def _with_neighbours(self, facts: list[HostFacts]) -> list[HostFacts]:
        """The same, with what the pages of their domains and of linked domains say of hosts with few pages."""
        places = np.array([self._numbers[each.domain] for each in facts], np.int64)
        sums = np.array([each.pages.total for each in facts], float)
        counts = np.array([each.pages.pages for each in facts], float)
        pooled = pooled_pages(*self._edges, len(self._names), places, sums, counts)
        return [
            replace(each, neighbours=neighbour_part(total, count, each.pages.total, each.pages.pages))
            for each, (total, count) in zip(facts, pooled, strict=True)
        ]

    def graph(self, spam: Iterable[str] = ()) -> DomainGraph:
        """The links between domains, from the seeds of the crawl and trusted domains to known spam."""
        seeds = self._views.rows(
            "select distinct split_part(url, '/', 3) as site from discoveries where source = 'seed'"
        )
        trusted = {self._domain(row["site"]) for row in seeds} | {self._domain(each) for each in self._settings.trusted}
        banned = {self._domain(each) for each in self._settings.banned} | {*spam}
        sources, targets = self._edges
        names = len(self._names)
        return DomainGraph(sources, targets, names, self._places(trusted - banned), self._places(banned))

    def seeds(self) -> list[tuple[str, float]]:
        """Domains from which most others are reached, best first: a person may confirm them as seeds of trust."""
        graph = self.graph()
        if not graph.count:
            return []
        ranks = inverse_pagerank(graph)
        best = np.argsort(-ranks, kind="stable")[:MAX_SEEDS]
        return [(self._names[number], float(ranks[number])) for number in best.tolist()]

    def explain(self, host: str) -> tuple[HostFacts, list[Contribution]] | None:
        """What is known of a host, and what each feature adds; `None` without pages of it."""
        first = self.facts(())
        sure = {each.domain for each in first if self._score(each) > SURE}
        for each in self.facts(sure) if sure or self._settings.banned else first:
            if each.host == host:
                return each, self._parts(each)
        return None

    def examples(self, labels: dict[str, bool]) -> list[Example]:
        """The labelled hosts that have pages, to train a model on."""
        pages = {host: tuple(map(_page, rows)) for host, rows in self._pages() if host in labels}
        return [
            Example(each.host, labels[each.host], pages[each.host], each.features, shrinkage(each.pages.pages))
            for each in self.facts(())
            if each.host in labels
        ]

    # reading

    def _register_domains(self) -> list[str]:
        """Number the domains of all sites of the collection, for the queries here."""
        found: dict[str, int] = {}
        sites, numbers = [pa.array([], pa.string())], [np.zeros(0, np.int64)]
        for batch in self._views.ask(_SITES):
            sites.append(batch.column("site").cast(pa.string()))
            domains = map(self._domain, sites[-1].to_pylist())
            numbers.append(np.array([found.setdefault(domain, len(found)) for domain in domains], np.int64))
        names = sorted(found)
        places = np.zeros(len(names), np.int64)
        places[[found[name] for name in names]] = np.arange(len(names))
        table = pa.table({"site": pa.chunked_array(sites), "number": places[np.concatenate(numbers)]})
        self._views.database.register("spam_domains", table)
        return names

    def _read_edges(self) -> tuple[Numbers, Numbers]:
        """The links between domains, each pair once: a batch of sites at a time, because these are many."""
        keys = [np.zeros(0, np.int64)]
        count = len(self._names)
        for batch in self._views.ask(_PAIRS):
            sources, targets = (self._numbers_of(batch.column(name)) for name in ("site", "target_site"))
            known = (sources >= 0) & (targets >= 0)
            keys.append(sources[known] * count + targets[known])
        sources, targets = np.divmod(np.concatenate(keys), max(count, 1))
        return unique_edges(sources, targets, count)

    def _numbers_of(self, sites: pa.Array) -> Numbers:
        """The number of the domain of each site; -1 where it has none."""
        encoded = sites.dictionary_encode()
        known = [self._numbers.get(self._domain(site), -1) if site else -1 for site in encoded.dictionary.to_pylist()]
        codes = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        found: Numbers = np.array([*known, -1], np.int64)[codes]
        return found

    def _read_wire(self) -> dict[str, Features]:
        """What the wire says of hosts."""
        return {
            str(row["site"]): {"address_domains": _number(row["address_domains"]), "spawn": _number(row["spawn"])}
            for row in self._views.rows(_HOSTS)
        }

    def _pages(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The chosen pages of each host, one host at a time."""
        rows = (row for batch in self._views.ask(_PAGES) for row in batch.to_pylist())
        for host, some in groupby(rows, itemgetter("site")):
            yield str(host), list(some)

    def _summary(self, rows: Sequence[dict[str, Any]]) -> _HostPages:
        copies = sum(row["is_copy"] for row in rows)
        return _HostPages(self.model.means_of(map(_page, rows)), copies, int(rows[0]["pages"]))

    def _domain(self, site: str) -> str:
        return str(domain_of(site, self._suffixes) or site)

    def _places(self, domains: Iterable[str]) -> Numbers:
        return np.array(sorted(self._numbers[name] for name in domains if name in self._numbers), np.int64)

    # judging

    def _score(self, facts: HostFacts) -> float:
        logit = self.model.intercept + sum(part.weight for part in self._parts(facts))
        return overridden(facts.host, probability(logit), self._settings)

    def _parts(self, facts: HostFacts) -> list[Contribution]:
        """What each feature of a host adds, and its neighbours."""
        parts = self.model.host_parts(facts.host, facts.features, facts.pages)
        return parts if facts.neighbours is None else [*parts, facts.neighbours]

    def _unread(self, domains: dict[str, float]) -> dict[str, float]:
        """Domains without a page that most linking domains are spam of: the mean of these, where it is above .5."""
        sources, targets = self._edges
        scores = np.zeros(len(self._names))
        for name, score in domains.items():
            scores[self._numbers[name]] = score
        linking = np.bincount(targets, minlength=len(scores))
        means = np.bincount(targets, scores[sources], len(scores)) / np.maximum(linking, 1)
        names = (self._names[number] for number in np.flatnonzero(means > self._settings.spam_above).tolist())
        found = {name: float(means[self._numbers[name]]) for name in names if name not in domains}
        return {name: score for name, score in found.items() if overridden(name, score, self._settings) == score}

    def _on_unread(self, name: str, score: float, now: float) -> SubjectJudged:
        evidence = "no page of it was read; most of the domains that link to it are spam"
        return SubjectJudged(name, "domain", JUDGE, word_of(name, score, self._settings), score, (evidence,), now)

    def _verdict(self, facts: HostFacts, score: float, now: float) -> SubjectJudged | None:
        """The verdict on a host; `None` for one that neither features nor settings name."""
        word = word_of(facts.host, score, self._settings)
        if word in (TRUSTED, BANNED):
            return SubjectJudged(facts.host, "site", JUDGE, word, score, (f"named in `[spam] {word}`",), now)
        if score <= self._settings.doubtful_above:
            return None
        evidence = loudest(self._parts(facts))
        return SubjectJudged(facts.host, "site", JUDGE, word, score, evidence, now)

    def _on_domains(
        self,
        domains: dict[str, float],
        by_domain: dict[str, list[tuple[float, int]]],
        hosts: dict[str, float],
        facts: Sequence[HostFacts],
        now: float,
    ) -> list[SubjectJudged]:
        worst: dict[str, HostFacts] = {}
        for each in facts:
            if each.domain not in worst or hosts[each.host] > hosts[worst[each.domain].host]:
                worst[each.domain] = each
        found = []
        for domain, score in domains.items():
            word = word_of(domain, score, self._settings)
            if score > self._settings.doubtful_above and word not in (TRUSTED, BANNED):
                each = worst[domain]
                judged = f"{len(by_domain[domain])} hosts judged, the worst is {each.host}"
                reasons = loudest(self._parts(each), 2)
                found.append(SubjectJudged(domain, "domain", JUDGE, word, score, (judged, *reasons), now))
        return found


def _page(row: dict[str, Any]) -> Features:
    counts = PageStatistics(**{name: row[name] for name in _COUNTS})
    return page_features(counts, int(row["links"]), int(row["outgoing_domains"]))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
