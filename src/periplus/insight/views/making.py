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

import duckdb
import pyarrow as pa

from periplus.insight.clusters import clusters_of
from periplus.insight.graph import ranks_of
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
select url, hash(url) as key, any_value(site) as site,
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
with requests as (
    select *, hash(url) as key, epoch_us(ended_at) + case
        when outcome = 'failed' or status = 429 or status >= 500 then 0 else 1::bigint << 61 end as weight
    from fetches where purpose = 'page' and outcome <> 'excluded')
select key, count(*) as visits, min(started_at) as first_visited_at, max(ended_at) as visited_at,
    arg_max(outcome, weight) as outcome, arg_max(status, weight) as status, arg_max(reason, weight) as reason,
    arg_max(content_type, weight) as content_type, arg_max(target, weight) as target,
    arg_max(duration, weight) as seconds, sum(bytes)::bigint as bytes
from requests group by key
"""

_READ: Final = """
create temp table reading as
select hash(url) as key, read_at, title, language, mime, canonical, coalesce(refresh, script_redirect) as leads_to,
    noindex, text_length, main_length, links as outlinks, resources
from pages semi join (select url, max(read_at) as read_at from pages group by url) using (url, read_at)
"""

_IS_PAGE: Final = "(outcome = 'not-modified' or (outcome = 'fetched' and status = 200))"

_CROWDS: Final = f"""
create temp table crowds as
with members as (
    select key, cluster, url, split_part(url, '?', 1) as path, sitemaps_at is null as is_unlisted,
        coalesce(pagerank, 0) as pagerank
    from clusters join told using (key) join visited using (key) join reading using (key) left join ranks using (key)
    where {_IS_PAGE})
select key, cluster, count(*) over (partition by cluster, path) > 1 as has_variants,
    first_value(url) over (partition by cluster order by is_unlisted, pagerank desc, length(url), url) as best
from members
"""

_URLS: Final = f"""
with known as (
    select told.*, domain, sitemaps_at is not null as by_sitemaps, discovery_at is not null as by_discovery,
        visited.* exclude (key, target), visits is not null as is_crawled,
        reading.* exclude (key, leads_to), coalesce({_IS_PAGE} and read_at is not null, false) as is_page,
        case when target is not null then target when leads_to <> url then leads_to end as leads_to,
        coalesce(pagerank, 0.0) as pagerank, coalesce(inlinks, 0) as inlinks, coalesce(own_links, 0) as own_links,
        clicks, coalesce(cluster, key) as cluster, coalesce(best, url) as best, has_variants
    from told join domains using (site) left join visited using (key) left join reading using (key)
        left join ranks using (key) left join crowds using (key))
select * exclude (key, best, has_variants),
    case when not is_page then null when best <> url then best when canonical <> url then canonical end as same_as,
    is_page and best = url as is_representative,
    is_page and not coalesce(noindex, false) and coalesce(canonical = url, true) as is_indexable,
    contains(url, '?') and (coalesce(has_variants, false)
        or coalesce(split_part(canonical, '?', 1) = split_part(url, '?', 1), false)) as is_parameter_of_same
from known
"""


def make(views: Views) -> None:
    """Reckon `urls` and `site_ranks`, and keep them."""
    views.prepare("discoveries fetches pages links sitemaps")
    database = views.database
    ranks, site_ranks = ranks_of(database)
    database.register("ranks", ranks)
    database.register("ranked_sites", site_ranks)
    database.register("clusters", clusters_of(database))
    for sql in (_TOLD, _VISITED, _READ, _CROWDS):
        database.execute(sql)
    database.register("domains", _domains(database))
    views.kept.begin()
    _write(views, "urls", _URLS)
    _write(views, "site_ranks", _SITE_RANKS.format(urls=views.kept.draft("urls")))
    views.kept.publish(["urls", "site_ranks"])
    for name in ("told", "visited", "reading", "crowds"):
        database.execute(f"drop table {name}")
    for name in ("domains", "ranks", "clusters", "ranked_sites"):
        database.unregister(name)


def _domains(database: duckdb.DuckDBPyConnection) -> pa.Table:
    """The registrable domain of every site; an address is its own."""
    sites = [row[0] for row in database.execute("select distinct site from told").fetchall()]
    domains = [domain_of(site) or site for site in sites]
    return pa.table({"site": pa.array(sites, pa.string()), "domain": pa.array(domains, pa.string())})


_SITE_RANKS: Final = """
select site, any_value(domain) as domain, coalesce(any_value(ranked.pagerank), 0.0) as pagerank,
    sum(urls.pagerank) as held, count(*) as urls, count(*) filter (where is_page) as pages
from read_parquet('{urls}') as urls left join ranked_sites as ranked on ranked.key = hash(site) group by site
"""


def _write(views: Views, name: str, sql: str) -> None:
    draft = str(views.kept.draft(name)).replace("'", "''")
    views.database.execute(f"copy ({sql}) to '{draft}' (format parquet)")
