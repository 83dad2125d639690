"""Every table that can be asked in SQL: its name, a sentence on what a row of it is, and how it is made.

The tables come as the crawl wrote them (`docs/tables.md`). `urls` and `site_ranks` are computed once and kept
(`making`); all others are views on these, written down here or in the module `rows` of a part, and shown in
`docs/measures.md`.

The words are those of Schonfeld & Shivakumar (2009). *Sitemaps* stands for all that sites say of themselves (sitemaps,
feeds, pings, archives), *Discovery* for all else (seeds, links, redirects, forms). *Seen* is a URL that was discovered
in a source, within the scope of the crawl; *crawled*, one that was requested; *unique*, one page of each cluster of
near-duplicates; *indexed*, one page of each cluster that may be indexed: it is there (200), does not forbid it
(noindex, or a preference against search), and names no other URL as its canonical that is believed. That stands in for
the index of a search engine, which we do not have.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

import re
from typing import Final

from periplus.model.rows import TableView, modules_of_parts, summary
from periplus.store.tables.declared import ROWS

from ..entity_rows import EntityRow
from .measured import MEASURES, columns_of

MAX_HOPS: Final = 20
"""Redirects that are followed from one URL: browsers stop at 20."""


TABLES: Final = tuple(TableView(name, summary(row)) for name, row in ROWS.items())
"""As the crawl wrote them."""

ITEMS: Final = TableView("items", "Items that an extractor made of the last version of each page; fields are columns.")
ITEM_VERSIONS: Final = TableView("item_versions", "Every item that an extractor returned, of all versions of pages.")
"""Both are written by the program that hands pages over (`store.items`)."""

ENTITIES: Final = TableView(EntityRow.table, summary(EntityRow))
"""Made from the archive when it is first asked for, and kept in the folder `insight` (`insight.entities`)."""

MADE: Final = (
    TableView("urls", "Every URL once, with everything known about it; the measures are over this table."),
    TableView("site_ranks", "PageRank of every site over links between sites, and the sum over its pages."),
)
"""Computed once, and kept in the folder `insight` of the collection until the tables grow."""

_ATTEMPTS = """\
select *, purpose = 'page' and (outcome = 'not-modified' or (outcome = 'fetched' and status < 400)) as is_page,
    (outcome = 'failed' and reason <> 'cancelled') or (outcome = 'fetched'
        and (status >= 500 or status = 429 or (purpose = 'page' and status >= 400))) as is_error
from (select * replace (if(purpose = 'probe' and lane <> 'probes', 'page', purpose) as purpose) from fetches)
where outcome <> 'excluded'"""
"""The counts of `engine.stats.CrawlStats` in SQL: pages as they were asked for, also while their site was down."""

_MISSED = """\
select url, site, domain, first_seen_at, status, main_length, own_links, resources, pagerank, case
    when reason = 'unwanted-type' then 'media'
    when outcome = 'failed' or status >= 400 then 'error'
    when outcome = 'redirected' or leads_to is not null then 'redirect'
    when same_as is not null and is_parameter_of_same then 'duplicate-parameter'
    when same_as is not null then 'duplicate-other'
    when noindex then 'noindex'
    when mime is null or (resources > 0 and main_length < 200) then 'media'
    when own_links >= 10 and main_length <= 400 * own_links then 'table-of-contents'
    else 'missing' end as class
from urls where is_crawled and not by_sitemaps"""

_HUBS = """\
with readings as (
    select url as page, min(read_at) as first_read_at, max(read_at) as last_read_at, count(*) as readings
    from pages group by url),
told as (select referrer as page, url, found_at from discoveries where source = 'link' and is_new)
select page, any_value(readings) as readings, count(*) as introduced,
    count(*) filter (where found_at > first_read_at + interval 1 second) as spawned,
    date_diff('second', any_value(first_read_at), any_value(last_read_at)) / 86400.0 as days,
    spawned / nullif(days, 0) as spawned_a_day
from told join readings using (page) group by page"""

_MEDIA = """\
select url, site, content_type, bytes, width, height, fetched_at, digest from (
    select url, site, lower(trim(split_part(content_type, ';', 1))) as content_type, bytes, width, height,
        ended_at as fetched_at, digest
    from fetches
    where purpose = 'page' and outcome = 'fetched' and status between 200 and 299 and content_type is not null
    qualify row_number() over (partition by url order by ended_at desc) = 1)
where content_type not in ('text/html', 'application/xhtml+xml', 'application/vnd.wap.xhtml+xml', 'text/plain')"""

_CURRENT_LINKS = """\
select links.* from links semi join (select url as page, max(read_at) as read_at from pages group by url)
using (page, read_at)"""

_FAILING = """\
is_crawled and coalesce(reason, '') <> 'unwanted-type' and (outcome = 'failed' or status >= 400)"""
"""Condition for a URL whose last fetch failed; a file that is not a page is there."""

_REDIRECT_CHAINS = f"""\
with recursive hops as (
    select url, site, leads_to from urls
    where is_crawled and leads_to is not null and (outcome = 'redirected' or (status = 200 and leads_to <> url))),
walk as (
    select url, site, leads_to as ends_at, 1 as hops, [url, leads_to] as path, leads_to = url as is_loop from hops
    union all
    select walk.url, walk.site, hops.leads_to, walk.hops + 1, list_append(walk.path, hops.leads_to),
        list_contains(walk.path, hops.leads_to)
    from walk join hops on hops.url = walk.ends_at where not walk.is_loop and walk.hops < {MAX_HOPS})
select walk.url, walk.site, hops, ends_at, is_loop, path, last.status as end_status,
    is_loop or walk.url not in (select leads_to from hops) as is_start,
    is_loop or coalesce(is_failing, false) as is_broken
from (select * from walk qualify row_number() over (partition by url order by hops desc) = 1) as walk
    left join (select url, status, {_FAILING} as is_failing from urls) as last on last.url = walk.ends_at"""

_BROKEN_LINKS = f"""\
with broken as (
    select url, url as ends_at, false as is_loop from urls where {_FAILING}
    union all select url, ends_at, is_loop from redirect_chains where is_broken)
select page, current_links.site, target as url, target_site, anchor, status,
    case when is_loop then 'redirect-loop' else reason end as reason, visited_at, ends_at
from current_links join (select url as page from urls where is_page) using (page)
    join broken on broken.url = target
    join (select url as ends_at, status, reason, visited_at from urls) using (ends_at)"""

_ORPHANS = """\
select url, site, title, pagerank, visited_at from urls
where by_sitemaps and is_indexable and leads_to is null and first_source <> 'seed'
    and url not in (select target from current_links where page <> target and target is not null)
    and url not in (select ends_at from redirect_chains where url in (select target from current_links))
    and cluster not in (select cluster from urls join current_links on target = url where page <> target)"""

_DUPLICATE_TITLES = """\
select site, any_value(title) as title, count(*) as pages, list(url order by length(url), url) as urls
from urls where is_indexable and is_representative and trim(coalesce(title, '')) <> ''
group by site, lower(trim(title)) having count(*) > 1"""

_MEASURED: Final = columns_of(MEASURES)

_OF_EVERY_CRAWL: Final = (
    TableView("crawled", "The URLs that were requested.", "select * from urls where is_crawled"),
    TableView(
        "attempts",
        "Every request that was sent; `is_page` and `is_error` as the crawl counts pages and errors.",
        _ATTEMPTS,
    ),
    TableView(
        "unique_pages",
        "One page of each cluster of near-duplicates: listed, else of the highest PageRank, else the shortest.",
        "select * from urls where is_representative",
    ),
    TableView(
        "indexed",
        "One page of each cluster that may be indexed.",
        "select * from urls where is_indexable qualify row_number() over"
        " (partition by cluster order by not by_sitemaps, pagerank desc, length(url), url) = 1",
    ),
    TableView("measures", "Every measure of the whole collection, in one row.", f"select\n{_MEASURED}\nfrom urls"),
    TableView(
        "site_measures",
        "Every measure, a row for each site.",
        f"select site,\n{_MEASURED}\nfrom urls group by site",
    ),
    TableView(
        "domain_measures",
        "Every measure, a row for each registrable domain.",
        f"select domain,\n{_MEASURED}\nfrom urls group by domain",
    ),
    TableView(
        "prefix_measures",
        "Every measure, a row for each first folder of each site.",
        f"select prefix,\n{_MEASURED}\nfrom (select *, regexp_extract(url, '^[a-z]+://[^/]+/([^/?]+/)?') as prefix"
        " from urls) group by prefix",
    ),
    TableView(
        "seen_deltas",
        "URLs found by both sources, and how many seconds earlier by Sitemaps.",
        "select url, site, domain, first_seen_at, discovery_at, sitemaps_at, is_pinged,\n"
        "    (epoch_us(discovery_at) - epoch_us(sitemaps_at)) / 1e6 as seen_delta\n"
        "from urls where by_discovery and by_sitemaps",
    ),
    TableView(
        "new_urls",
        "Number of URLs that each source found first, by the hour.",
        "select date_trunc('hour', sitemaps_at) as hour, 'sitemaps' as source, site, domain, count(*) as urls\n"
        "from urls where by_sitemaps group by all\nunion all\n"
        "select date_trunc('hour', discovery_at), 'discovery', site, domain, count(*)\n"
        "from urls where by_discovery group by all",
    ),
    TableView("missed", "Every crawled URL that is missing in Sitemaps, with its class.", _MISSED),
    TableView(
        "missed_classes",
        "The number of URLs that Sitemaps missed, by class and site.",
        "select site, class, count(*) as urls from missed group by site, class",
    ),
    TableView(
        "duplicates",
        "Every cluster of near-duplicates: its representative, and how many pages and sites.",
        "select any_value(url) filter (where is_representative) as url, count(*) as pages,"
        " count(distinct site) as sites, count(*) filter (where by_sitemaps) as listed\n"
        "from urls where is_page group by cluster having count(*) > 1",
    ),
    TableView(
        "ranks",
        "PageRank, links and clicks from a seed of every seen URL with links. Linked URLs out of scope have no row and"
        " the rest of the sum, which is 1.",
        "select url, site, domain, pagerank, inlinks, outlinks, own_links, clicks from urls where pagerank > 0",
    ),
    TableView(
        "depth_ranks",
        "PageRank by the number of clicks from the seeds.",
        "select clicks, count(*) as urls, sum(pagerank) as pagerank, avg(pagerank) as mean,"
        " median(pagerank) as median\nfrom urls where pagerank > 0 group by clicks",
    ),
    TableView(
        "cumulative_ranks",
        "Share of all PageRank that the crawl had after each page, in the order of visits.",
        "select row_number() over visits as pages, url, first_visited_at,\n"
        "    sum(pagerank) over visits / (select sum(pagerank) from urls) as share\n"
        "from urls where is_crawled window visits as (order by first_visited_at, url rows unbounded preceding)",
    ),
    TableView(
        "hubs", "Pages on which new URLs were found first: how many, and how many a day after the first visit.", _HUBS
    ),
    TableView(
        "statuses",
        "How the last visits to the URLs of each site ended.",
        "select site, outcome, status, reason, count(*) as urls from urls where is_crawled group by all",
    ),
    TableView(
        "current_links",
        "The links of the last reading of every page; `links` has those of all readings.",
        _CURRENT_LINKS,
    ),
    TableView(
        "broken_links",
        "Every link of an existing page to a URL whose last fetch failed, or that redirects to one (`ends_at`) or in a"
        " loop.",
        _BROKEN_LINKS,
    ),
    TableView(
        "redirect_chains",
        "Every redirect with its final target and hops; `is_start`: no other redirect leads to it; `is_broken`: it ends"
        " in an error or a loop.",
        _REDIRECT_CHAINS,
    ),
    TableView(
        "orphans",
        "Indexable pages that a sitemap lists and no link leads to, in a finished crawl.",
        _ORPHANS,
    ),
    TableView("duplicate_titles", "Titles of several indexable pages of a site, with the pages.", _DUPLICATE_TITLES),
    TableView(
        "media",
        "Every file that is not a page: content_type, bytes, and width and height of pictures.",
        _MEDIA,
    ),
)

DERIVED: Final = (*_OF_EVERY_CRAWL, *(view for module in modules_of_parts() for view in getattr(module, "VIEWS", ())))
"""On the tables above, and on each other; last those of parts."""

VIEWS: Final = {view.name: view for view in (*TABLES, ITEMS, ITEM_VERSIONS, ENTITIES, *MADE, *DERIVED)}
"""Everything by its name, in the order in which to show it."""

_NAMES: Final = re.compile(r"\w+")
_TEXTS: Final = re.compile(r"'[^']*'")
"""Literals, whose words are not names of tables; one with a quotation mark in it counts as two."""


def names_in(sql: str) -> list[str]:
    """The tables and views that are named in some SQL."""
    return sorted(set(_NAMES.findall(_TEXTS.sub("", sql).lower())) & VIEWS.keys())


def tables_in(sql: str) -> set[str]:
    """The tables of the crawl that a query reads, by itself or through views."""
    found: set[str] = set()
    for name in names_in(sql):
        found |= {name} if VIEWS[name] in TABLES else tables_in(VIEWS[name].sql)
    return found


def needs_computed(sql: str) -> bool:
    """Whether a query rests on the computed tables, by itself or through a view."""
    return any(VIEWS[name] in (*MADE, ENTITIES) or needs_computed(VIEWS[name].sql) for name in names_in(sql))
