"""The measures as expressions of SQL over the table `urls`: written once, for functions, views and the report.

Definitions are those of Schonfeld & Shivakumar (2009, section 5), over the URLs of a domain, a site or a prefix:

    Coverage         = |Crawled_Sitemaps| / |Crawled|           UniqueCoverage   = |Unique_Sitemaps| / |Unique|
    IndexCoverage    = |Indexed_Sitemaps| / |Indexed|           PageRankCoverage = PageRank of Sitemaps' URLs / of all
    SignalToNoise_X  = |Unique_X| / |Seen_X|                    utility          = IndexCoverage / UniqueCoverage
    SeenDelta        = sum of (first seen by Discovery - first seen by Sitemaps), of URLs that both have seen

X is Sitemaps or Discovery; denominators without X are over the union of both. A cluster of near-duplicates counts as
one page of those among whose URLs a page of it is, so that nothing depends on which of its URLs stands for it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Measure(Struct, frozen=True):
    """A number about some URLs: its meaning, and its SQL."""

    name: str
    says: str
    sql: str


def _of(what: str, where: str) -> str:
    return f"count({what}) filter (where {where})"


_CLUSTER = "distinct cluster"
_S, _D = "by_sitemaps", "by_discovery"
_DELTA = "(epoch_us(discovery_at) - epoch_us(sitemaps_at))"
_FIRST, _LATER = "sitemaps_at < discovery_at", "discovery_at < sitemaps_at"


def _share(first: str, later: str, ping: str) -> str:
    """SQL for the share that Sitemaps saw first, of the URLs that one source saw before the other."""
    ahead = _of("*", f"{first}{ping}")
    return f"{ahead} / nullif({_of('*', f'({first} or {later}){ping}')}, 0)"


MEASURES: Final = (
    Measure("seen", "URLs found by any source.", "count(*)"),
    Measure("seen_sitemaps", "URLs found by Sitemaps.", _of("*", _S)),
    Measure("seen_discovery", "URLs found by Discovery.", _of("*", _D)),
    Measure("seen_both", "URLs found by both.", _of("*", f"{_S} and {_D}")),
    Measure("crawled", "URLs that were requested.", _of("*", "is_crawled")),
    Measure("crawled_sitemaps", "Of these, found by Sitemaps.", _of("*", f"is_crawled and {_S}")),
    Measure("crawled_discovery", "Of these, found by Discovery.", _of("*", f"is_crawled and {_D}")),
    Measure("unique", "Pages that are not near-duplicates of others.", _of(_CLUSTER, "is_page")),
    Measure("unique_sitemaps", "Of these, found by Sitemaps.", _of(_CLUSTER, f"is_page and {_S}")),
    Measure("unique_discovery", "Of these, found by Discovery.", _of(_CLUSTER, f"is_page and {_D}")),
    Measure("indexed", "Unique pages that may be indexed.", _of(_CLUSTER, "is_indexable")),
    Measure("indexed_sitemaps", "Of these, found by Sitemaps.", _of(_CLUSTER, f"is_indexable and {_S}")),
    Measure("indexed_discovery", "Of these, found by Discovery.", _of(_CLUSTER, f"is_indexable and {_D}")),
    Measure(
        "coverage",
        "Share of the crawled URLs found by Sitemaps.",
        "crawled_sitemaps / nullif(crawled, 0)",
    ),
    Measure(
        "unique_coverage",
        "Share of the unique pages found by Sitemaps.",
        'unique_sitemaps / nullif("unique", 0)',
    ),
    Measure(
        "index_coverage",
        "Share of the indexable pages found by Sitemaps.",
        "indexed_sitemaps / nullif(indexed, 0)",
    ),
    Measure(
        "pagerank_coverage",
        "Share of the PageRank on URLs found by Sitemaps.",
        f"sum(pagerank) filter (where {_S}) / nullif(sum(pagerank), 0)",
    ),
    Measure(
        "signal_to_noise_sitemaps",
        "Unique pages for each URL found by Sitemaps.",
        "unique_sitemaps / nullif(seen_sitemaps, 0)",
    ),
    Measure(
        "signal_to_noise_discovery",
        "Unique pages for each URL found by Discovery.",
        "unique_discovery / nullif(seen_discovery, 0)",
    ),
    Measure(
        "efficiency_sitemaps",
        "Unique pages for each URL of Sitemaps that was crawled.",
        "unique_sitemaps / nullif(crawled_sitemaps, 0)",
    ),
    Measure(
        "efficiency_discovery",
        "Unique pages for each URL of Discovery that was crawled.",
        "unique_discovery / nullif(crawled_discovery, 0)",
    ),
    Measure(
        "utility",
        "Above 1, pages in Sitemaps are worth more than the rest.",
        "index_coverage / nullif(unique_coverage, 0)",
    ),
    Measure(
        "seen_delta",
        "Seconds by which Sitemaps were earlier than Discovery, summed over URLs found by both.",
        f"sum({_DELTA}) / 1e6",
    ),
    Measure("seen_delta_mean", "The same, mean of a URL.", f"avg({_DELTA}) / 1e6"),
    Measure(
        "first_seen_share",
        "Share of URLs found first by Sitemaps, of those not found by both at the same time.",
        _share(_FIRST, _LATER, ""),
    ),
    Measure(
        "first_seen_share_pinged",
        "The same, of URLs in files announced by a ping.",
        _share(_FIRST, _LATER, " and is_pinged"),
    ),
    Measure(
        "first_seen_share_unpinged",
        "The same, of all others.",
        _share(_FIRST, _LATER, " and not is_pinged"),
    ),
    Measure(
        "ping_share",
        "What a ping adds to that share; 0 in the paper.",
        "first_seen_share_pinged - first_seen_share_unpinged",
    ),
)
"""In an order in which each uses only those before it."""


def columns_of(measures: tuple[Measure, ...]) -> str:
    """The measures as columns of a `select`."""
    return ",\n".join(f'    {measure.sql} as "{measure.name}"' for measure in measures)
