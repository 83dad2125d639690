"""The measures as functions: each asks one question, and `..._sql` gives the question itself, to be shown beside.

The SQL stands for itself: typed into `periplus query DIR` it gives the same numbers.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeVar

import msgspec

from periplus.insight.views import MEASURES, Views, columns_of

from .parts import EVERYTHING, Part, urls_of
from .values import CumulativeRank, DepthRank, Hub, Measures, MissedClass, NewUrls, SeenPair

By = Literal["site", "domain", "prefix"]
Every = Literal["minute", "hour", "day", "week", "month"]
CLASSES: Final = {
    "error": "the server answers with an error, or not at all",
    "redirect": "it leads to another URL",
    "duplicate-parameter": "another URL of the same path, with other parameters, says the same",
    "duplicate-other": "another URL says the same, or is named as its canonical",
    "noindex": "it asks not to be indexed",
    "media": "a picture or another medium, with hardly a text",
    "table-of-contents": "it is a list of links to other pages of its site",
    "missing": "a page of its own that Sitemaps should have told of",
}
"""What a URL can be that Sitemaps missed, after Schonfeld & Shivakumar (2009, table 2)."""
_PREFIX: Final = "regexp_extract(url, '^[a-z]+://[^/]+/([^/?]+/)?')"

Value = TypeVar("Value", bound=msgspec.Struct)


def measures_sql(part: Part = EVERYTHING, by: By | None = None) -> str:
    """The question of `measures` or, with `by`, of `measures_by`."""
    key = {None: "", "site": "site, ", "domain": "domain, ", "prefix": f"{_PREFIX} as prefix, "}[by]
    order = f" group by {by} order by seen desc, {by}" if by else ""
    return f"select {key}\n{columns_of(MEASURES)}\nfrom {urls_of(part)}{order}"


def measures(views: Views, part: Part = EVERYTHING) -> Measures:
    """All measures of a part of the collection, taken together."""
    (found,) = _values(views, measures_sql(part), Measures)
    return found


def measures_by(views: Views, by: By, part: Part = EVERYTHING) -> dict[str, Measures]:
    """The same of each site, domain, or first folder of a site; those with the most URLs first."""
    rows = views.rows(measures_sql(part, by))
    return {str(row.pop(by)): msgspec.convert(row, Measures) for row in rows}


def new_urls_sql(part: Part = EVERYTHING, every: Every = "hour") -> str:
    """The question of `new_urls`."""
    urls = urls_of(part)
    return f"""\
select epoch(period) as at, count(*) filter (where source = 'sitemaps') as sitemaps,
    count(*) filter (where source = 'discovery') as discovery
from (
    select date_trunc('{every}', sitemaps_at) as period, 'sitemaps' as source from {urls} where by_sitemaps
    union all
    select date_trunc('{every}', discovery_at), 'discovery' from {urls} where by_discovery)
group by period order by period"""


def new_urls(views: Views, part: Part = EVERYTHING, every: Every = "hour") -> list[NewUrls]:
    """New URLs over time, by source (figure 2 of the paper); periods without any are left out."""
    return _values(views, new_urls_sql(part, every), NewUrls)


def seen_pairs_sql(part: Part = EVERYTHING, every: Every = "day") -> str:
    """The question of `seen_pairs`."""
    return f"""\
select epoch(date_trunc('{every}', sitemaps_at)) as sitemaps_at,
    epoch(date_trunc('{every}', discovery_at)) as discovery_at, count(*) as urls
from {urls_of(part)} where by_sitemaps and by_discovery group by 1, 2 order by 1, 2"""


def seen_pairs(views: Views, part: Part = EVERYTHING, every: Every = "day") -> list[SeenPair]:
    """When Sitemaps and when Discovery first told of the URLs that both did (figure 6 of the paper)."""
    return _values(views, seen_pairs_sql(part, every), SeenPair)


def missed_sql(part: Part = EVERYTHING, examples: int = 3) -> str:
    """The question of `missed`."""
    return f"""\
select class as name, count(*) as urls, (array_agg(url order by pagerank desc, url))[:{examples}] as examples
from missed where url in (select url from {urls_of(part)}) group by class"""


def missed(views: Views, part: Part = EVERYTHING, examples: int = 3) -> list[MissedClass]:
    """What the URLs are that were crawled and that Sitemaps did not tell of, class by class; all classes are there."""
    found = {row["name"]: row for row in views.rows(missed_sql(part, examples))}
    total = sum(row["urls"] for row in found.values())
    nothing: dict[str, Any] = {"urls": 0, "examples": []}
    return [
        MissedClass(name, says, row["urls"], row["urls"] / total if total else 0.0, tuple(row["examples"]))
        for name, says in CLASSES.items()
        for row in [found.get(name, nothing)]
    ]


def depth_ranks_sql(part: Part = EVERYTHING) -> str:
    """The question of `depth_ranks`."""
    return f"""\
select clicks, count(*) as urls, sum(pagerank) as pagerank, avg(pagerank) as mean, median(pagerank) as median
from {urls_of(part)} where pagerank > 0 group by clicks order by clicks nulls last"""


def depth_ranks(views: Views, part: Part = EVERYTHING) -> list[DepthRank]:
    """PageRank against depth: the nearest first, what nobody can click to last."""
    return _values(views, depth_ranks_sql(part), DepthRank)


def cumulative_ranks_sql(part: Part = EVERYTHING, points: int = 100) -> str:
    """The question of `cumulative_ranks`."""
    urls = urls_of(part)
    return f"""\
with visits as (
    select row_number() over turn as pages, count(*) over () as total,
        sum(pagerank) over turn / nullif((select sum(pagerank) from {urls}), 0) as share
    from {urls} where is_crawled window turn as (order by first_visited_at, url rows unbounded preceding))
select pages, coalesce(share, 0.0) as share from visits
where pages = total or pages % greatest(total // {points}, 1) = 0 order by pages"""


def cumulative_ranks(views: Views, part: Part = EVERYTHING, points: int = 100) -> list[CumulativeRank]:
    """How much of all PageRank the crawl had found after so many visits, at about so many points."""
    return _values(views, cumulative_ranks_sql(part, points), CumulativeRank)


def hubs_sql(part: Part = EVERYTHING, limit: int = 20) -> str:
    """The question of `hubs`."""
    return f"""\
select * from hubs where page in (select url from {urls_of(part)})
order by spawned_a_day desc nulls last, introduced desc, page limit {limit}"""


def hubs(views: Views, part: Part = EVERYTHING, limit: int = 20) -> list[Hub]:
    """The pages on which new URLs appear: the busiest first."""
    return _values(views, hubs_sql(part, limit), Hub)


def _values(views: Views, sql: str, kind: type[Value]) -> list[Value]:
    rows: Iterable[dict[str, Any]] = views.rows(sql)
    return [msgspec.convert(row, kind) for row in rows]
