"""Every table that can be asked in SQL: its name, a sentence on what a row of it is, and how it is made.

The nine tables come as the crawl wrote them (`docs/tables.md`). `urls` and `site_ranks` are computed once and kept
(`making`); all others are views on these, written down here and in `docs/measures.md`.

The words are those of Schonfeld & Shivakumar (2009). *Sitemaps* stands for all that sites say of themselves (sitemaps,
feeds, pings, archives), *Discovery* for all else (seeds, links, redirects, forms). *Seen* is a URL that was discovered
in a source, within the scope of the crawl; *crawled*, one that was requested; *unique*, one page of each cluster of
near-duplicates; *indexed*, one page of each cluster that may be indexed: it is there (200), does not forbid it
(noindex, or a preference against search), and names no other URL as its canonical. That stands in for the index of a
search engine, which we do not have.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .measured import MEASURES, columns_of

MAX_HOPS: Final = 20
"""Redirects that are followed from one URL: browsers stop at 20."""


class View(Struct, frozen=True):
    """A view or table that can be queried. `sql` is empty for a table."""

    name: str
    says: str
    sql: str = ""


TABLES: Final = (
    View("discoveries", "Every URL that was found, its source, and whether it was accepted."),
    View("fetches", "Every request that ended, successfully or not."),
    View("pages", "Every body that was read as a page."),
    View("links", "Every link of every page that was read."),
    View("sitemaps", "Every visit to a sitemap, feed or archive, with its state after it."),
    View("sitemap_entries", "The entries of sitemaps, reading by reading."),
    View("changes", "Every comparison of two visits to a URL."),
    View("verdicts", "Every judgement of a URL, a site or a domain, with its evidence."),
    View("form_probes", "What became known of each form, over time."),
)
"""As the crawl wrote them."""

ITEMS: Final = View("items", "Every item that an extractor returned; its fields are columns.")
"""Written by the program that hands pages over (`store.items`)."""

MADE: Final = (
    View("urls", "Every URL once, with everything known about it; the measures are over this table."),
    View("site_ranks", "PageRank of every site over links between sites, and the sum over its pages."),
)
"""Computed once, and kept in the folder `insight` of the collection until the tables grow."""

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

_CHANGE_RATES = """\
with visits as (
    select url, site, is_change,
        date_diff('second', lag(seen_at) over (partition by url order by seen_at), seen_at) / 86400.0 as days
    from changes)
select site, count(*) as comparisons, count(*) filter (where is_change) as changed,
    count(*) filter (where is_change) / count(*) as share, avg(days) as days_between,
    -ln((count(*) - count(*) filter (where is_change) + .5) / (count(*) + .5)) / nullif(avg(days), 0) as changes_a_day
from visits group by site"""

_LASTMOD_TRUST = """\
with visits as (
    select url, site, seen_at, level in ('minor', 'major') as has_changed,
        coalesce(lag(seen_at) over (partition by url order by seen_at), (
            select min(ended_at) from fetches where fetches.url = changes.url and outcome = 'fetched')) as before
    from changes),
told as (
    select url, read_at, max(lastmod) over (partition by url order by read_at range unbounded preceding) as lastmod
    from sitemap_entries where kind = 'page' and lastmod is not null and url in (select url from changes)),
later as (
    select visits.*, told.lastmod from visits asof left join told
    on visits.url = told.url and visits.seen_at >= told.read_at),
judged as (
    select later.*, coalesce(later.lastmod > told.lastmod, false) as has_moved, told.lastmod is not null as is_dated
    from later asof left join told on later.url = told.url and later.before >= told.read_at)
select site, count(*) as revisits, count(*) filter (where not has_changed) as needless,
    count(*) filter (where not has_changed) / count(*) as needless_share,
    count(*) filter (where is_dated) as dated, count(*) filter (where has_moved) as moved,
    count(*) filter (where has_moved and has_changed) as justified,
    count(*) filter (where has_moved and has_changed) / nullif(count(*) filter (where has_moved), 0) as precision,
    count(*) filter (where has_moved and has_changed)
        / nullif(count(*) filter (where is_dated and has_changed), 0) as recall
from judged group by site having count(*) filter (where is_dated) > 0"""

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

_LAST_WHOLE = """\
select e.* from sitemap_entries e join (
    select sitemap, max(read_at) as read_at from sitemap_entries where kind = 'summary' group by sitemap)
using (sitemap, read_at) where kind = 'page'"""

_CURRENT_LINKS = """\
select links.* from links semi join (select url as page, max(read_at) as read_at from pages group by url)
using (page, read_at)"""

_REDIRECT_CHAINS = f"""\
with recursive hops as (
    select url, site, leads_to from urls
    where is_crawled and leads_to is not null and leads_to <> url and (outcome = 'redirected' or status = 200)),
walk as (
    select url, site, leads_to as ends_at, 1 as hops, [url, leads_to] as path, false as is_loop from hops
    union all
    select walk.url, walk.site, hops.leads_to, walk.hops + 1, list_append(walk.path, hops.leads_to),
        list_contains(walk.path, hops.leads_to)
    from walk join hops on hops.url = walk.ends_at where not walk.is_loop and walk.hops < {MAX_HOPS})
select walk.url, walk.site, hops, ends_at, is_loop, path, last.status as end_status,
    is_loop or walk.url not in (select leads_to from hops) as is_start
from (select * from walk qualify row_number() over (partition by url order by hops desc) = 1) as walk
    left join urls as last on last.url = walk.ends_at"""

_BROKEN_LINKS = """\
select page, current_links.site, target as url, target_site, anchor, status, reason, visited_at
from current_links join (select url as page from urls where is_page) using (page)
    join (select url as target, status, reason, visited_at from urls where is_crawled
        and coalesce(reason, '') <> 'unwanted-type' and (outcome = 'failed' or status >= 400)) using (target)"""

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

DERIVED: Final = (
    View("crawled", "The URLs that were requested.", "select * from urls where is_crawled"),
    View(
        "unique_pages",
        "One page of each cluster of near-duplicates: listed, else of the highest PageRank, else the shortest.",
        "select * from urls where is_representative",
    ),
    View(
        "indexed",
        "One page of each cluster that may be indexed.",
        "select * from urls where is_indexable qualify row_number() over"
        " (partition by cluster order by not by_sitemaps, pagerank desc, length(url), url) = 1",
    ),
    View("measures", "Every measure of the whole collection, in one row.", f"select\n{_MEASURED}\nfrom urls"),
    View(
        "site_measures",
        "Every measure, a row for each site.",
        f"select site,\n{_MEASURED}\nfrom urls group by site",
    ),
    View(
        "domain_measures",
        "Every measure, a row for each registrable domain.",
        f"select domain,\n{_MEASURED}\nfrom urls group by domain",
    ),
    View(
        "prefix_measures",
        "Every measure, a row for each first folder of each site.",
        f"select prefix,\n{_MEASURED}\nfrom (select *, regexp_extract(url, '^[a-z]+://[^/]+/([^/?]+/)?') as prefix"
        " from urls) group by prefix",
    ),
    View(
        "seen_deltas",
        "URLs found by both sources, and how many seconds earlier by Sitemaps.",
        "select url, site, domain, first_seen_at, discovery_at, sitemaps_at, is_pinged,\n"
        "    (epoch_us(discovery_at) - epoch_us(sitemaps_at)) / 1e6 as seen_delta\n"
        "from urls where by_discovery and by_sitemaps",
    ),
    View(
        "new_urls",
        "Number of URLs that each source found first, by the hour.",
        "select date_trunc('hour', sitemaps_at) as hour, 'sitemaps' as source, site, domain, count(*) as urls\n"
        "from urls where by_sitemaps group by all\nunion all\n"
        "select date_trunc('hour', discovery_at), 'discovery', site, domain, count(*)\n"
        "from urls where by_discovery group by all",
    ),
    View("missed", "Every crawled URL that is missing in Sitemaps, with its class.", _MISSED),
    View(
        "missed_classes",
        "The number of URLs that Sitemaps missed, by class and site.",
        "select site, class, count(*) as urls from missed group by site, class",
    ),
    View(
        "duplicates",
        "Every cluster of near-duplicates: its representative, and how many pages and sites.",
        "select any_value(url) filter (where is_representative) as url, count(*) as pages,"
        " count(distinct site) as sites, count(*) filter (where by_sitemaps) as listed\n"
        "from urls where is_page group by cluster having count(*) > 1",
    ),
    View(
        "ranks",
        "PageRank, links and clicks from a seed of every URL with links.",
        "select url, site, domain, pagerank, inlinks, outlinks, own_links, clicks from urls where pagerank > 0",
    ),
    View(
        "depth_ranks",
        "PageRank by the number of clicks from the seeds.",
        "select clicks, count(*) as urls, sum(pagerank) as pagerank, avg(pagerank) as mean,"
        " median(pagerank) as median\nfrom urls where pagerank > 0 group by clicks",
    ),
    View(
        "cumulative_ranks",
        "Share of all PageRank that the crawl had after each page, in the order of visits.",
        "select row_number() over visits as pages, url, first_visited_at,\n"
        "    sum(pagerank) over visits / (select sum(pagerank) from urls) as share\n"
        "from urls where is_crawled window visits as (order by first_visited_at, url rows unbounded preceding)",
    ),
    View(
        "hubs", "Pages on which new URLs were found first: how many, and how many a day after the first visit.", _HUBS
    ),
    View(
        "sitemap_files",
        "The current state of every sitemap, feed and archive.",
        "select * from sitemaps qualify row_number() over (partition by url order by visited_at desc) = 1",
    ),
    View(
        "sitemap_formats",
        "Number of files of each format, of pages they list, and of files with problems.",
        "select coalesce(kind, 'unread') as format, count(*) as files, sum(entries)::bigint as entries,"
        " sum(bytes)::bigint as bytes,"
        " count(*) filter (where problem_count > 0) as with_problems\nfrom sitemap_files group by format",
    ),
    View("listed_entries", "The entries of the last complete reading of every sitemap.", _LAST_WHOLE),
    View(
        "sitemap_fields",
        "Share of listed pages with a lastmod, a changefreq, a priority, by site.",
        "select site, count(*) as entries, count(lastmod) / count(*) as lastmod,"
        " count(changefreq) / count(*) as changefreq, count(priority) / count(*) as priority\n"
        "from listed_entries group by site",
    ),
    View(
        "statuses",
        "How the last visits to the URLs of each site ended.",
        "select site, outcome, status, reason, count(*) as urls from urls where is_crawled group by all",
    ),
    View(
        "current_links",
        "The links of the last reading of every page; `links` has those of all readings.",
        _CURRENT_LINKS,
    ),
    View(
        "broken_links",
        "Every link of an existing page to a URL whose last fetch failed.",
        _BROKEN_LINKS,
    ),
    View(
        "redirect_chains",
        "Every redirect with its final target and hops; `is_start`: no other redirect leads to it.",
        _REDIRECT_CHAINS,
    ),
    View(
        "orphans",
        "Indexable pages that a sitemap lists and no link leads to, in a finished crawl.",
        _ORPHANS,
    ),
    View("duplicate_titles", "Titles of several indexable pages of a site, with the pages.", _DUPLICATE_TITLES),
    View(
        "media",
        "Every file that is not a page: type, bytes, and width and height of pictures.",
        _MEDIA,
    ),
    View(
        "forms",
        "Every form: its kind, whether it is submitted, and what was found by it.",
        "select * from form_probes\n"
        "qualify row_number() over (partition by form order by seen_at desc, requests desc) = 1",
    ),
    View("change_rates", "How often pages of each site had changed when they were visited again.", _CHANGE_RATES),
    View(
        "lastmod_trust",
        "How often pages had changed when their lastmod was updated, by site; and needless visits.",
        _LASTMOD_TRUST,
    ),
)
"""On the tables above, and on each other."""

VIEWS: Final = {view.name: view for view in (*TABLES, ITEMS, *MADE, *DERIVED)}
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
    return any(VIEWS[name] in MADE or needs_computed(VIEWS[name].sql) for name in names_in(sql))
