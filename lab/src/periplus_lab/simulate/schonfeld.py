"""Schonfeld & Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty" (WWW 2009), reproduced on a crawl of the lab.

The paper measures Google's crawl, which is not published. Here the real crawler crawls the lab's web over loopback, by
links and sitemaps together, and the paper's measures are taken from its tables (`insight.views`). Half of the sites
whose robots.txt names a sitemap announce it by a ping. The lab's sites are generated (`sites`): a value that
agrees shows that such a web is consistent with the paper's, and a value that differs may be due to the mix of sites.

Left out: Figures 1 and 8 (the pipeline; `balance` runs the algorithm), Figure 2 (URLs over a year), Figure 6 (six
months), and the percentages of Tables 1 and 2 that the text does not give. The paper's times are days; a crawl of the
lab takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.formats.robots import parse
from periplus.insight.views import Views
from periplus.model import Url
from periplus_lab import World
from periplus_lab.http import Request
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import Profile

from .findings import AGREES, NOT_COMPARABLE, ReplicatedValue, finding, mean_interval
from .results import Reproduction

PAGES: Final = 1_000
"""Pages of the lab's web by default: enough for 20 sites, so that shares of sites mean something."""
PAGES_A_SITE: Final = 50
SHARE_TOLERANCE: Final = 0.1
"""A share agrees if it is within this of the paper's: a rough match, since the lab's sites are not the paper's."""
FETCHES_A_PAGE: Final = 5
"""A crawl ends after this many fetches for each page of the lab: copies and traps have URLs without end."""
_FAST: Final[Mapping[str, object]] = {
    "sitemaps.follow": True,
    "scope.kind": "host",
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "retries.backoff": 0.02,
}
"""The lab is ours: no delay between requests. Its other hosts, which are hostile, are out of scope."""
PROFILES: Final = tuple(profile for profile in Profile if profile is not Profile.DIRTY)
"""Kinds of sites, in turn. Those whose sitemaps list URLs without end are left out, as the paper's spam filter does."""

_WHOLE: Final = """
select coverage, unique_coverage, index_coverage, pagerank_coverage, signal_to_noise_sitemaps,
    signal_to_noise_discovery, efficiency_sitemaps, efficiency_discovery from measures"""
_SITES: Final = """
select seen, coverage, unique_coverage, index_coverage from site_measures
where seen_sitemaps > 0 and seen_discovery > 0 and "unique" > 0"""
_FIRST: Final = """
select is_pinged, count(*) filter (where seen_delta > 0) as sitemaps, count(*) filter (where seen_delta < 0) as links,
    sum(seen_delta) as seconds, count(*) as urls
from seen_deltas group by is_pinged"""
_FORMATS: Final = "select format, coalesce(entries, 0) as entries from sitemap_formats"
_FIELDS: Final = """
select sum(lastmod * entries) as lastmod, sum(changefreq * entries) as changefreq, sum(priority * entries) as priority,
    sum(entries) as entries from sitemap_fields"""
_MISSED: Final = 'select "class", sum(urls)::bigint as urls from missed_classes group by "class"'
_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "errors": frozenset({"error"}),
    "redirects and undetected copies": frozenset({"redirect", "duplicate-parameter", "duplicate-other"}),
    "of doubtful use": frozenset({"table-of-contents", "media", "noindex"}),
    "missing content": frozenset({"missing"}),
}
"""The rows of Table 2 as the paper sums them, and our classes of URLs that sitemaps omit."""

Numbers = dict[str, float]


def reproduce_schonfeld(
    folder: Path,
    pages: int = PAGES,
    *,
    seeds: Sequence[int] = (0,),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Reproduction:
    """Crawl a lab of each seed into `folder`/SEED, and compare the measures with the paper's."""
    measured = []
    for done, seed in enumerate(seeds):
        progress(done, len(seeds))
        own = folder / str(seed)
        crawl_lab(own, World(seed, max(2, pages // PAGES_A_SITE), pages=pages, profiles=PROFILES))
        measured.append(measured_in(own))
    progress(len(seeds), len(seeds))
    rows = [{"seed": seed, **numbers} for seed, numbers in zip(seeds, measured, strict=True)]
    return Reproduction(findings_of(measured), rows)


def crawl_lab(folder: Path, world: World) -> None:
    """Crawl all sites of a world to the end; every second sitemap that robots.txt names is announced by a ping."""
    folder.mkdir(parents=True, exist_ok=True)
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        limit = FETCHES_A_PAGE * sum(1 for site in world.sites() for _ in world.urls(site.host, world.epoch))
        config = Config().with_options({**_FAST, "wire.proxy": lab.base, "crawl.limit": limit})
        config.check()
        crawl = open_crawl(config, folder, seeds_from([site.url for site in world.sites()]), 1)
        crawl.ping(sitemaps=_named_sitemaps(world)[::2])
        crawl.run()
    settle(folder)


def _named_sitemaps(world: World) -> list[Url]:
    found = []
    for site in world.sites():
        answer = world.answer(Request("GET", site.host, "/robots.txt", (("user-agent", "periplus"),), world.epoch))
        body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
        if answer.status == 200:
            found += [Url(url) for url in parse(body).sitemaps[:1]]
    return found


def measured_in(folder: Path) -> Numbers:
    """The paper's measures of one collection."""
    with Views(folder) as views:
        numbers: Numbers = {key: _number(value) for key, value in views.rows(_WHOLE)[0].items()}
        numbers |= _by_site(views.rows(_SITES))
        numbers |= _first_seen(views.rows(_FIRST))
        entries = {str(row["format"]): float(row["entries"]) for row in views.rows(_FORMATS)}
        numbers["xml"] = _ratio(entries.get("urlset", 0.0), sum(entries.values()))
        fields = views.rows(_FIELDS)[0]
        for name in ("lastmod", "changefreq", "priority"):
            numbers[name] = _ratio(_number(fields[name]), _number(fields["entries"]))
        missed = {str(row["class"]): float(row["urls"]) for row in views.rows(_MISSED)}
        for group, classes in _GROUPS.items():
            numbers[group] = _ratio(sum(missed.get(each, 0.0) for each in classes), sum(missed.values()))
    return numbers


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def _by_site(rows: Sequence[Mapping[str, Any]]) -> Numbers:
    """Figures 3 to 5: distributions over the sites that both sources have URLs of."""
    unique = np.array([_number(row["unique_coverage"]) for row in rows])
    covered = np.array([_number(row["coverage"]) for row in rows])
    index = np.array([_number(row["index_coverage"]) for row in rows])
    sizes = np.log([max(float(row["seen"]), 1.0) for row in rows])
    varies = len(rows) > 2 and float(np.std(unique)) > 0 and float(np.std(sizes)) > 0
    differing = index[np.isfinite(index) & (np.abs(index - unique) > 1e-9)]
    above = (index > unique + 1e-9).sum()
    return {
        "sites": float(len(rows)),
        "above_half": _ratio(float((unique > 0.5).sum()), len(rows)),
        "above_ninety": _ratio(float((unique > 0.9).sum()), len(rows)),
        "size_correlation": float(np.corrcoef(sizes, unique)[0, 1]) if varies else float("nan"),
        "fewer_copies": float(np.mean(unique - covered)) if len(rows) else float("nan"),
        "index_above": _ratio(float(above), len(differing)),
    }


def _first_seen(rows: Sequence[Mapping[str, Any]]) -> Numbers:
    """Section 5.2 and Figure 7: which source had a URL first, with and without a ping."""
    shares = {
        bool(row["is_pinged"]): _ratio(float(row["sitemaps"]), float(row["sitemaps"] + row["links"])) for row in rows
    }
    sitemaps, links = (sum(float(row[name]) for row in rows) for name in ("sitemaps", "links"))
    pinged, others = shares.get(True, float("nan")), shares.get(False, float("nan"))
    return {
        "sitemaps_first": _ratio(sitemaps, sitemaps + links),
        "first_with_ping": pinged,
        "first_without_ping": others,
        "ping_difference": pinged - others,
        "seconds_earlier": _ratio(
            sum(_number(row["seconds"]) for row in rows), sum(float(row["urls"]) for row in rows)
        ),
    }


def findings_of(measured: Sequence[Numbers]) -> list[ReplicatedValue]:
    """Every measure beside the paper's value; tolerances are stated here, before a crawl is run."""

    def share(
        what: str, paper: float | None, name: str, note: str = "", tolerance: float = SHARE_TOLERANCE
    ) -> ReplicatedValue:
        return finding(what, paper, [each[name] for each in measured], "share", tolerance=tolerance, note=note)

    def above(what: str, name: str, note: str) -> ReplicatedValue:
        """Whether a share is above one half, where the paper says "most"."""
        values = [each[name] for each in measured]
        mean, low, high = mean_interval(values)
        verdict = AGREES if mean > 0.5 else f"differs by {mean - 0.5:+.3g} share"
        bounds = (low, high) if len(values) > 1 else (None, None)
        return ReplicatedValue(
            what, None, mean, "share", verdict if mean == mean else NOT_COMPARABLE, note, 0.0, *bounds
        )

    pings = "; ".join(
        f"{name.replace('_', ' ')} {mean_interval(each[name] for each in measured)[0]:.3g}"
        for name in ("first_with_ping", "first_without_ping")
    )
    return [
        share("Section 3: listed URLs with lastmod", 0.58, "lastmod"),
        share("Section 3: listed URLs with changefreq", 0.07, "changefreq"),
        share("Section 3: listed URLs with priority", 0.61, "priority"),
        above("Table 1: most listed URLs are in XML sitemaps", "xml", "the percentages are not in the paper's text"),
        share("Section 4.1, amazon.com: efficiency of Discovery", 0.63, "efficiency_discovery", "the paper: one site"),
        share("Section 4.1, amazon.com: efficiency of Sitemaps", 0.86, "efficiency_sitemaps", "the paper: one site"),
        share("Section 4.3, pubmed: efficiency of Sitemaps", 0.99, "efficiency_sitemaps", "the paper: one archive"),
        share(
            "Section 4.3, pubmed: UniqueCoverage", 0.85, "unique_coverage", "the paper: 1.7 of 2.0 million unique pages"
        ),
        *(
            share(f"Table 2, pubmed: omitted URLs that are {group}", paper, group, "the paper: classified by hand")
            for group, paper in zip(_GROUPS, (0.08, 0.21, 0.51, 0.20), strict=True)
        ),
        share("Figure 3: sites with UniqueCoverage above 50 %", 0.46, "above_half", "the paper: at least 46 %"),
        share("Figure 3: sites with UniqueCoverage above 90 %", 0.12, "above_ninety", "the paper: above 12 %"),
        finding(
            "Figure 3: correlation of size and UniqueCoverage",
            0.0,
            [each["size_correlation"] for each in measured],
            tolerance=0.3,
            note="the paper: no apparent correlation; here with the logarithm of the size",
        ),
        share("Figure 4: UniqueCoverage less Coverage", 0.0, "fewer_copies", "the paper: mostly similar", 0.05),
        above(
            "Figure 5b: most sites have IndexCoverage above UniqueCoverage",
            "index_above",
            "of the sites where the two differ",
        ),
        share(
            "Section 5.2: URLs first seen by Sitemaps", 0.78, "sitemaps_first", "the paper: 5 billion URLs in 6 months"
        ),
        share("Figure 7: first seen by Sitemaps, with a ping less without", 0.0, "ping_difference", pings),
        share("Coverage", None, "coverage"),
        share("PageRankCoverage", None, "pagerank_coverage"),
        share("SignalToNoise of Sitemaps", None, "signal_to_noise_sitemaps"),
        share("SignalToNoise of Discovery", None, "signal_to_noise_discovery"),
        finding(
            "Sitemaps earlier than Discovery by, mean",
            None,
            [each["seconds_earlier"] for each in measured],
            "s",
            note="discovery latency; the paper plots days (Figure 6)",
        ),
    ]
