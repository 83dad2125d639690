"""How `urls` is made: one row for every URL that was seen, out of all seven tables, the graph and the clusters.

*Seen* leaves out what nobody asked for: URLs that are out of scope, excluded, too far away, over a budget, or that end
like a picture. What was refused because its kind had brought nothing (`low-yield` and the like) was seen all the same:
it is the noise that a source makes.

How a URL is doing is what its last visit says that had a lasting answer: a timeout today does not unmake the page of
yesterday. Clusters and PageRank come from `insight.clusters` and `insight.graph` by the hash of the URL.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from periplus.insight.clusters import clusters_of
from periplus.insight.graph import ranks_of, site_ranks_of
from periplus.urls import domain_of

if TYPE_CHECKING:
    from .connection import Views

NOT_ASKED: Final = ("scheme", "extension", "out-of-scope", "excluded", "not-included", "link-depth", "site-budget")
"""Refusals that say nothing about who told of a URL."""
LISTING: Final = ("sitemap", "feed", "ping", "archive")
"""What sites say of themselves: Sitemaps, as opposed to Discovery."""


def _words(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


_TOLD: Final = f"""
create temp table told as
select url, any_value(site) as site,
    min(found_at) as first_seen_at,
    min(found_at) filter (where source in {_words(LISTING)}) as sitemaps_at,
    min(found_at) filter (where source not in {_words(LISTING)}) as discovery_at,
    min(depth) filter (where source not in {_words(LISTING)}) as depth,
    arg_min(source, found_at) as first_source,
    bool_or(source = 'ping' or referrer in (select url from sitemaps where origin = 'ping')) as is_pinged,
    case when bool_or(refused is null) then null else min(refused) end as refused
from discoveries where refused is null or refused not in {_words(NOT_ASKED)} group by url
"""

_VISITED: Final = """
create temp table visited as
with visits as (
    select *, epoch_us(ended_at) + case
        when outcome = 'failed' or status = 429 or status >= 500 then 0 else 1::bigint << 61 end as weight
    from fetches where purpose = 'page' and outcome <> 'excluded')
select url, count(*) as visits, min(started_at) as first_visited_at, max(ended_at) as visited_at,
    arg_max(outcome, weight) as outcome, arg_max(status, weight) as status, arg_max(reason, weight) as reason,
    arg_max(content_type, weight) as content_type, arg_max(target, weight) as target,
    arg_max(duration, weight) as seconds, sum(bytes)::bigint as bytes
from visits group by url
"""

_READ: Final = """
create temp table reading as
select url, max(read_at) as read_at, count(*) as readings,
    arg_max(title, read_at) as title, arg_max(language, read_at) as language, arg_max(mime, read_at) as mime,
    arg_max(canonical, read_at) as canonical, arg_max(coalesce(refresh, script_redirect), read_at) as leads_to,
    arg_max(noindex, read_at) as noindex, arg_max(text_length, read_at) as text_length,
    arg_max(main_length, read_at) as main_length, arg_max(links, read_at) as links,
    arg_max(resources, read_at) as resources
from pages group by url
"""

_URLS: Final = """
with known as (
    select told.*, domains.domain, hash(told.url) as key,
        sitemaps_at is not null as by_sitemaps, discovery_at is not null as by_discovery,
        visited.* exclude (url), visits is not null as is_crawled,
        reading.* exclude (url, links), reading.links as outlinks,
        coalesce(outcome = 'not-modified' or (outcome = 'fetched' and status = 200), false) and read_at is not null
            as is_page,
        coalesce(ranks.pagerank, 0.0) as pagerank, coalesce(ranks.inlinks, 0) as inlinks,
        coalesce(ranks.own_links, 0) as own_links, ranks.clicks as clicks,
        coalesce(clusters.cluster, hash(told.url)) as cluster
    from told
        join domains using (site)
        left join visited using (url)
        left join reading using (url)
        left join ranks on ranks.key = hash(told.url)
        left join clusters on clusters.key = hash(told.url)),
crowds as (
    select cluster, count(*) as pages, arg_min(url, row(not by_sitemaps, -pagerank, length(url), url)) as best
    from known where is_page group by cluster having count(*) > 1),
variants as (
    select cluster, split_part(url, '?', 1) as path from known
    where is_page and cluster in (select cluster from crowds) group by all having count(*) > 1)
select known.* exclude (key, cluster, leads_to, target), cluster,
    case when is_page and best <> url then best
        when is_page and canonical <> url then canonical end as same_as,
    is_page and coalesce(best = url, true) as is_representative,
    is_page and not coalesce(noindex, false) and coalesce(canonical = url, true) as is_indexable,
    coalesce(contains(url, '?') and (variants.path is not null
        or split_part(canonical, '?', 1) = split_part(url, '?', 1)), false) as is_parameter_of_same,
    case when target is not null then target when leads_to <> url then leads_to end as leads_to
from known left join crowds using (cluster)
    left join variants on variants.cluster = known.cluster and variants.path = split_part(url, '?', 1)
"""


def make(views: Views) -> None:
    """Reckon `urls` and `site_ranks`, and keep them."""
    views.prepare("discoveries fetches pages links sitemaps")
    database = views.database
    for sql in (_TOLD, _VISITED, _READ):
        database.execute(sql)
    sites = [row[0] for row in database.execute("select distinct site from told").fetchall()]
    domains = [domain_of(site) or site for site in sites]
    database.register(
        "domains", pa.table({"site": pa.array(sites, pa.string()), "domain": pa.array(domains, pa.string())})
    )
    database.register("ranks", ranks_of(database))
    database.register("clusters", clusters_of(database, views.tables, views.spooled))
    views.kept.begin()
    _write(views, "urls", _URLS)
    database.register("ranked_sites", site_ranks_of(database))
    _write(views, "site_ranks", _SITE_RANKS.format(urls=views.kept.draft("urls")))
    views.kept.publish(["urls", "site_ranks"])
    for name in ("told", "visited", "reading"):
        database.execute(f"drop table {name}")
    for name in ("domains", "ranks", "clusters", "ranked_sites"):
        database.unregister(name)


_SITE_RANKS: Final = """
select site, any_value(domain) as domain, coalesce(any_value(ranked.pagerank), 0.0) as pagerank,
    sum(urls.pagerank) as held, count(*) as urls, count(*) filter (where is_page) as pages
from read_parquet('{urls}') as urls left join ranked_sites as ranked using (site) group by site
"""


def _write(views: Views, name: str, sql: str) -> None:
    draft = str(views.kept.draft(name)).replace("'", "''")
    views.database.execute(f"copy ({sql}) to '{draft}' (format parquet, compression zstd)")
