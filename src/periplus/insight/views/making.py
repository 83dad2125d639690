"""Makes `urls`: one row for every URL that was seen, from the tables, the graph and the clusters.

*Seen* leaves out what the crawl was not asked for: URLs that are out of scope, excluded, too far away, over a budget,
or that end like a picture. What was refused because its kind had yielded nothing (`low-yield` and the like) still
counts as seen: it is the noise that a source makes. A URL is refused when it is discovered (`discoveries`), or when
its turn comes: by robots.txt, or by what its kind has yielded since (`fetches`, excluded). `refused` is either.

The status of a URL is that of its last visit with a lasting answer: a timeout today does not remove the page of
yesterday. A page that names another URL as its canonical is not indexable if that is believed (`BELIEVED`).

Clusters and PageRank come from `insight.clusters` and `insight.graph`, which know URLs by fingerprints; the tables are
joined by the MD5 of URLs, because DuckDB's own hash gives many that differ in two places the same number.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from periplus.store.tables import count_rows
from periplus.urls import domain_of, fingerprints

from ..clusters import clusters_of
from ..executors import ProcessExecutor, Workplace
from ..graph import Ranked, Seen, places, ranked

if TYPE_CHECKING:
    from .connection import Views

NOT_ASKED: Final = ("scheme", "extension", "out-of-scope", "excluded", "not-included", "link-depth", "site-budget")
"""Refusals that are not caused by the source of a URL."""
LISTING: Final = ("sitemap", "feed", "ping", "archive")
"""Sources published by sites: Sitemaps, as opposed to Discovery."""
BYTES_A_LINK: Final = 30
BYTES_A_URL: Final = 100
BYTES_A_PAGE: Final = 250
"""Bytes that a row takes while all is computed in one memory, about."""
_ROWS_AT_ONCE: Final = 100_000
_NOTHING: Final = (
    np.empty(0, np.int64),
    np.empty(0, np.uint64),
    np.empty(0, np.int32),
    np.empty(0, np.bool_),
    np.empty(0, np.bool_),
)


def _words(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


_DISCOVERED: Final = f"""
select row_number() over () - 1 as id, md5_number_lower(url) as key, * from (select url, any_value(site) as site,
    min(found_at) as first_seen_at,
    min(found_at) filter (where source in {_words(LISTING)}) as sitemaps_at,
    min(found_at) filter (where source not in {_words(LISTING)}) as discovery_at,
    min(depth) filter (where source not in {_words(LISTING)}) as depth,
    arg_min(source, found_at) as first_source,
    bool_or(source = 'ping' or coalesce(referrer in (select url from sitemaps where origin = 'ping'), false))
        as is_pinged,
    case when bool_or(refused is null) then null else min(refused) end as refused,
    bool_or(source = 'seed') as is_seed
from discoveries where refused is null or refused not in {_words(NOT_ASKED)} group by url)
"""

_VISITED: Final = """
create or replace temp table visited as
with requests as (
    select *, md5_number_lower(url) as key, epoch_us(ended_at) + case
        when reason = 'unwanted-type' then 1::bigint << 61
        when outcome = 'failed' or status = 429 or status >= 500 then 0 else 1::bigint << 61 end as weight
    from fetches where purpose = 'page' and outcome <> 'excluded')
select key, count(*) as visits, min(started_at) as first_visited_at, max(ended_at) as visited_at,
    arg_max(outcome, weight) as outcome, arg_max(status, weight) as status, arg_max_null(reason, weight) as reason,
    arg_max(content_type, weight) as content_type, arg_max_null(target, weight) as target,
    arg_max(duration, weight) as seconds, sum(bytes)::bigint as bytes
from requests group by key
"""

_KEPT_OUT: Final = """
create or replace temp table kept_out as
select md5_number_lower(url) as key, arg_max(reason, ended_at) as kept_out
from fetches where purpose = 'page' and outcome = 'excluded' group by key
"""

_READ: Final = """
create or replace temp table reading as
select md5_number_lower(url) as key, read_at, title, language, mime, canonical,
    coalesce(refresh, script_redirect) as leads_to, noindex, text_length, main_length, links as outlinks, resources,
    coalesce(search = 'disallow', false) as is_not_for_search,
    case when canonical <> url then md5_number_lower(canonical) end as names_key,
    coalesce(list_contains(problems, 'soft-404'), false)
        or url in (select subject from verdicts where judge = 'soft-404') as is_absent
from pages semi join (select url, max(read_at) as read_at from pages group by url) using (url, read_at)
"""

_IS_PAGE: Final = "(outcome = 'not-modified' or (outcome = 'fetched' and status = 200))"

_CROWDS: Final = f"""
create or replace temp table crowds as
with members as (
    select id, cluster, url, split_part(url, '?', 1) as path, sitemaps_at is null as is_unlisted, pagerank
    from told join facts using (id) join visited using (key) join reading using (key)
    where is_crowded and {_IS_PAGE})
select id, count(*) over (partition by cluster, path) > 1 as has_variants,
    first_value(url) over (partition by cluster order by is_unlisted, pagerank desc, length(url), url) as best
from members
"""

_NAMED: Final = f"""
create or replace temp table named as
select told.key as names_key, visits is not null or refused is not null or kept_out is not null as is_asked,
    coalesce({_IS_PAGE} and read_at is not null, false) as is_there, canonical as names, cluster as named_cluster
from told join facts using (id) left join visited using (key) left join kept_out using (key)
    left join reading using (key)
where key in (select names_key from reading)
"""
"""The URLs that other pages name as their canonical."""

BELIEVED: Final = """case
    when canonical is null or canonical = url then null
    when is_asked and not is_there then null
    when names <> canonical then null
    when is_asked then case when named_cluster = cluster then canonical end
    when regexp_extract(canonical, '^[a-z]+://([^/]+)', 1) <> site then null
    when canonical in ('http://' || site || '/', 'https://' || site || '/') then null
    else canonical end"""
"""The other URL that a page names as its canonical, if that is believed: `policy.duplicates.believe` in SQL."""

_URLS: Final = f"""
with known as (
    select told.* exclude (key, is_seed, refused), domain,
        case when visits is null then coalesce(refused, kept_out) else refused end as refused,
        sitemaps_at is not null as by_sitemaps, discovery_at is not null as by_discovery,
        visited.* exclude (key, target), visits is not null as is_crawled,
        reading.* exclude (key, leads_to), coalesce({_IS_PAGE} and read_at is not null, false) as is_page,
        case when target is not null then target when leads_to <> told.url then leads_to end as leads_to,
        pagerank, inlinks, own_links, clicks, cluster, coalesce(best, told.url) as best, has_variants
    from told join facts using (id) join domains using (site)
        left join visited using (key) left join kept_out using (key)
        left join reading using (key) left join crowds using (id)),
believing as (
    select known.* exclude (names_key), {BELIEVED} as believed_canonical from known left join named using (names_key))
select * exclude (id, best, has_variants, is_absent, is_not_for_search),
    case when not is_page then null when best <> url then best else believed_canonical end as same_as,
    is_page and best = url as is_representative,
    is_page and not coalesce(noindex or is_absent or is_not_for_search, false)
        and believed_canonical is null as is_indexable,
    contains(url, '?') and (coalesce(has_variants, false)
        or coalesce(split_part(believed_canonical, '?', 1) = split_part(url, '?', 1), false)) as is_parameter_of_same
from believing
"""

_SITE_RANKS: Final = """
select site, any_value(urls.domain) as domain, any_value(site_pagerank) as pagerank,
    sum(urls.pagerank) as held, count(*) as urls, count(*) filter (where is_page) as pages
from read_parquet({urls}) as urls join domains using (site) group by site
"""


def make(views: Views) -> None:
    """Compute `urls` and `site_ranks`, and keep them."""
    views.prepare("discoveries fetches pages sitemaps verdicts")
    database = views.database
    told = _quoted(views.scratch / "told.parquet")
    database.execute(f"copy ({_DISCOVERED}) to {told}")  # out of the way while PageRank needs the memory
    database.execute(f"create or replace temp view told as select * from read_parquet({told})")
    views.kept.begin()
    seen, sites = _seen(database)
    with _workplace(views, "links", BYTES_A_LINK, len(seen.keys) * BYTES_A_URL) as workplace:
        ranks = ranked(views.tables, views.spooled, seen, workplace)
    pa.default_memory_pool().release_unused()
    with _workplace(views, "pages", BYTES_A_PAGE) as workplace:
        clusters = clusters_of(views.tables, views.spooled, workplace=workplace)
    pa.default_memory_pool().release_unused()
    database.register("facts", _facts(seen, ranks, clusters))
    database.register("domains", _domains(sites, ranks))
    for sql in (_VISITED, _KEPT_OUT, _READ, _CROWDS, _NAMED):
        database.execute(sql)
    _write(views, "urls", _URLS)
    _write(views, "site_ranks", _SITE_RANKS.format(urls=_quoted(views.kept.draft("urls"))))
    views.kept.publish(["urls", "site_ranks"])
    for name in ("table visited", "table kept_out", "table reading", "table crowds", "table named", "view told"):
        database.execute(f"drop {name}")
    for name in ("facts", "domains"):
        database.unregister(name)


@contextmanager
def _workplace(views: Views, table: str, bytes_a_row: int, besides: int = 0) -> Iterator[Workplace | None]:
    """Where to process a table: in this memory (`None`) if it fits and no executor was given."""
    needed = count_rows(views.tables, table, spooled=views.spooled) * bytes_a_row + besides
    allowed = views.settings.memory_bytes
    if views.executor is not None:
        yield Workplace(views.executor, views.kept.folder)
    elif needed <= allowed:
        yield None
    else:
        with closing(ProcessExecutor()) as executor:
            yield Workplace(executor, views.kept.folder, allowed // (2 * executor.workers))


def _seen(database: duckdb.DuckDBPyConnection) -> tuple[Seen, list[str]]:
    """The discovered URLs, by their numbers; and the names of their sites."""
    numbers: dict[str, int] = {}
    parts: list[tuple[NDArray[Any], ...]] = [_NOTHING]
    for batch in database.sql(
        "select id, url, site, reading.key is not null as is_page, is_seed"
        " from told left join (select distinct md5_number_lower(url) as key from pages) as reading using (key)"
    ).to_arrow_reader(_ROWS_AT_ONCE):
        keys = np.array(fingerprints(batch["url"].to_pylist()), np.uint64)
        sites = [numbers.setdefault(site, len(numbers)) for site in batch["site"].to_pylist()]
        claims = (batch[name].to_numpy(zero_copy_only=False) for name in ("is_page", "is_seed"))
        parts.append((batch["id"].to_numpy(), keys, np.array(sites, np.int32), *claims))
    ids, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(ids)
    return Seen(*(column[order] for column in columns)), list(numbers)


def _facts(seen: Seen, ranks: Ranked, clusters: tuple[NDArray[np.uint64], NDArray[np.uint64]]) -> pa.Table:
    """The computed columns of each URL, by its number. A URL in no cluster is a cluster of its own."""
    members, firsts = clusters
    at = places(members, seen.keys)
    return pa.table(
        {
            "id": np.arange(len(seen.keys)),
            "pagerank": ranks.pagerank,
            "inlinks": ranks.inlinks,
            "own_links": ranks.own_links,
            "clicks": pa.array(ranks.clicks, mask=ranks.clicks < 0),
            "cluster": np.where(at >= 0, np.append(firsts, np.uint64(0))[at], seen.keys),
            "is_crowded": at >= 0,
        }
    )


def _domains(sites: list[str], ranks: Ranked) -> pa.Table:
    """The registrable domain of every site (an address is its own), and its PageRank."""
    domains = [domain_of(site) or site for site in sites]
    columns = {"site": pa.array(sites, pa.string()), "domain": pa.array(domains, pa.string())}
    return pa.table(columns | {"site_pagerank": pa.array(ranks.of_sites, pa.float64())})


def _write(views: Views, name: str, sql: str) -> None:
    views.database.execute(f"copy ({sql}) to {_quoted(views.kept.draft(name))} (format parquet)")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
