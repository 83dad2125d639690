-- Every view of a crawl, in the order in which to show them.

-- name: crawled
-- says: The URLs that were requested.
select * from urls where is_crawled

-- name: attempts
-- says: Every request that was sent; `is_page` and `is_error` as the crawl counts pages and errors.
-- The counts of `engine.stats.CrawlStats`: pages as they were asked for, also while their site was down.
select *, purpose = 'page' and (outcome = 'not-modified' or (outcome = 'fetched' and status < 400)) as is_page,
    (outcome = 'failed' and reason <> 'cancelled') or (outcome = 'fetched'
        and (status >= 500 or status = 429 or (purpose = 'page' and status >= 400))) as is_error
from (select * replace (if(purpose = 'probe' and lane <> 'probes', 'page', purpose) as purpose) from fetches)
where outcome <> 'excluded'

-- name: unique_pages
-- says: One page of each cluster of near-duplicates: listed, else of the highest PageRank, else the shortest.
select * from urls where is_representative

-- name: indexed
-- says: One page of each cluster that may be indexed.
select * from urls where is_indexable qualify row_number() over (partition by cluster order by not by_sitemaps, pagerank desc, length(url), url) = 1

-- name: measures
-- says: Every measure of the whole collection, in one row.
select
{measures}
from urls

-- name: site_measures
-- says: Every measure, a row for each site.
select site,
{measures}
from urls group by site

-- name: domain_measures
-- says: Every measure, a row for each registrable domain.
select domain,
{measures}
from urls group by domain

-- name: prefix_measures
-- says: Every measure, a row for each first folder of each site.
select prefix,
{measures}
from (select *, regexp_extract(url, '^[a-z]+://[^/]+/([^/?]+/)?') as prefix from urls) group by prefix

-- name: seen_deltas
-- says: URLs found by both sources, and how many seconds earlier by Sitemaps.
select url, site, domain, first_seen_at, discovery_at, sitemaps_at, is_pinged,
    (epoch_us(discovery_at) - epoch_us(sitemaps_at)) / 1e6 as seen_delta
from urls where by_discovery and by_sitemaps

-- name: new_urls
-- says: Number of URLs that each source found first, by the hour.
select date_trunc('hour', sitemaps_at) as hour, 'sitemaps' as source, site, domain, count(*) as urls
from urls where by_sitemaps group by all
union all
select date_trunc('hour', discovery_at), 'discovery', site, domain, count(*)
from urls where by_discovery group by all

-- name: missed
-- says: Every crawled URL that is missing in Sitemaps, with its class.
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
from urls where is_crawled and not by_sitemaps

-- name: missed_classes
-- says: The number of URLs that Sitemaps missed, by class and site.
select site, class, count(*) as urls from missed group by site, class

-- name: duplicates
-- says: Every cluster of near-duplicates: its representative, and how many pages and sites.
select any_value(url) filter (where is_representative) as url, count(*) as pages, count(distinct site) as sites, count(*) filter (where by_sitemaps) as listed
from urls where is_page group by cluster having count(*) > 1

-- name: ranks
-- says: PageRank, links and clicks from a seed of every seen URL with links. Linked URLs out of scope have no row and the rest of the sum, which is 1.
select url, site, domain, pagerank, inlinks, outlinks, own_links, clicks from urls where pagerank > 0

-- name: depth_ranks
-- says: PageRank by the number of clicks from the seeds.
select clicks, count(*) as urls, sum(pagerank) as pagerank, avg(pagerank) as mean, median(pagerank) as median
from urls where pagerank > 0 group by clicks

-- name: cumulative_ranks
-- says: Share of all PageRank that the crawl had after each page, in the order of visits.
select row_number() over visits as pages, url, first_visited_at,
    sum(pagerank) over visits / (select sum(pagerank) from urls) as share
from urls where is_crawled window visits as (order by first_visited_at, url rows unbounded preceding)

-- name: hubs
-- says: Pages on which new URLs were found first: how many, and how many a day after the first visit.
with readings as (
    select url as page, min(read_at) as first_read_at, max(read_at) as last_read_at, count(*) as readings
    from pages group by url),
told as (select referrer as page, url, found_at from discoveries where source = 'link' and is_new)
select page, any_value(readings) as readings, count(*) as introduced,
    count(*) filter (where found_at > first_read_at + interval 1 second) as spawned,
    date_diff('second', any_value(first_read_at), any_value(last_read_at)) / 86400.0 as days,
    spawned / nullif(days, 0) as spawned_a_day
from told join readings using (page) group by page

-- name: statuses
-- says: How the last visits to the URLs of each site ended.
select site, outcome, status, reason, count(*) as urls from urls where is_crawled group by all

-- name: current_links
-- says: The links of the last reading of every page; `links` has those of all readings.
select links.* from links semi join (select url as page, max(read_at) as read_at from pages group by url)
using (page, read_at)

-- name: broken_links
-- says: Every link of an existing page to a URL whose last fetch failed, or that redirects to one (`ends_at`) or in a loop.
with broken as (
    select url, url as ends_at, false as is_loop from urls where is_crawled and coalesce(reason, '') <> 'unwanted-type' and (outcome = 'failed' or status >= 400)
    union all select url, ends_at, is_loop from redirect_chains where is_broken)
select page, current_links.site, target as url, target_site, anchor, status,
    case when is_loop then 'redirect-loop' else reason end as reason, visited_at, ends_at
from current_links join (select url as page from urls where is_page) using (page)
    join broken on broken.url = target
    join (select url as ends_at, status, reason, visited_at from urls) using (ends_at)

-- name: redirect_chains
-- says: Every redirect with its final target and hops; `is_start`: no other redirect leads to it; `is_broken`: it ends in an error or a loop.
with recursive hops as (
    select url, site, leads_to from urls
    where is_crawled and leads_to is not null and (outcome = 'redirected' or (status = 200 and leads_to <> url))),
walk as (
    select url, site, leads_to as ends_at, 1 as hops, [url, leads_to] as path, leads_to = url as is_loop from hops
    union all
    select walk.url, walk.site, hops.leads_to, walk.hops + 1, list_append(walk.path, hops.leads_to),
        list_contains(walk.path, hops.leads_to)
    from walk join hops on hops.url = walk.ends_at where not walk.is_loop and walk.hops < {max_hops})
select walk.url, walk.site, hops, ends_at, is_loop, path, last.status as end_status,
    is_loop or walk.url not in (select leads_to from hops) as is_start,
    is_loop or coalesce(is_failing, false) as is_broken
from (select * from walk qualify row_number() over (partition by url order by hops desc) = 1) as walk
    left join (select url, status, is_crawled and coalesce(reason, '') <> 'unwanted-type' and (outcome = 'failed' or status >= 400) as is_failing from urls) as last on last.url = walk.ends_at

-- name: orphans
-- says: Indexable pages that a sitemap lists and no link leads to, in a finished crawl.
select url, site, title, pagerank, visited_at from urls
where by_sitemaps and is_indexable and leads_to is null and first_source <> 'seed'
    and url not in (select target from current_links where page <> target and target is not null)
    and url not in (select ends_at from redirect_chains where url in (select target from current_links))
    and cluster not in (select cluster from urls join current_links on target = url where page <> target)

-- name: duplicate_titles
-- says: Titles of several indexable pages of a site, with the pages.
select site, any_value(title) as title, count(*) as pages, list(url order by length(url), url) as urls
from urls where is_indexable and is_representative and trim(coalesce(title, '')) <> ''
group by site, lower(trim(title)) having count(*) > 1

-- name: media
-- says: Every file that is not a page: content_type, bytes, and width and height of pictures.
select url, site, content_type, bytes, width, height, fetched_at, digest from (
    select url, site, lower(trim(split_part(content_type, ';', 1))) as content_type, bytes, width, height,
        ended_at as fetched_at, digest
    from fetches
    where purpose = 'page' and outcome = 'fetched' and status between 200 and 299 and content_type is not null
    qualify row_number() over (partition by url order by ended_at desc) = 1)
where content_type not in ('text/html', 'application/xhtml+xml', 'application/vnd.wap.xhtml+xml', 'text/plain')
