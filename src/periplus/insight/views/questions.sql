-- Questions worth asking of any collection, in the order of a report.

-- name: glance
-- says: URLs that are known, fetched and unique, and how many of them sites list.
-- advice: If much is seen and little is unique, look at `missed_classes` and `duplicates` before crawling more.
select seen, crawled, "unique", indexed, coverage, unique_coverage, index_coverage, pagerank_coverage
from measures

-- name: sources
-- says: URLs of each source, and unique pages for each visit.
-- advice: Give the budget to the source with the higher efficiency; `[balance]` does so by itself.
select 'sitemaps' as source, seen_sitemaps as seen, crawled_sitemaps as crawled, unique_sitemaps as "unique", indexed_sitemaps as indexed, signal_to_noise_sitemaps as signal_to_noise, efficiency_sitemaps as efficiency
from measures union all
select 'discovery', seen_discovery, crawled_discovery, unique_discovery, indexed_discovery, signal_to_noise_discovery, efficiency_discovery
from measures

-- name: new_urls_over_time
-- says: When each source found new URLs (figure 2 of Schonfeld & Shivakumar).
-- advice: Bursts from sitemaps are rebuilt files: read them as often as they burst, not more.
select hour, source, sum(urls)::bigint as urls from new_urls group by hour, source order by hour, source

-- name: unique_coverage_by_size
-- says: Coverage of each site by its sitemaps, against its size (figure 3).
-- advice: Large sites with little coverage are where links have to be followed.
select site, seen, unique_coverage from site_measures order by seen desc, site

-- name: unique_against_coverage
-- says: Whether sitemaps contain fewer copies than the rest of a site: above the diagonal they do (figure 4).
-- advice: Below the diagonal a sitemap lists copies: its owner should list one URL of each page.
select site, coverage, unique_coverage, crawled from site_measures where crawled > 0 order by crawled desc, site

-- name: index_against_unique_coverage
-- says: Whether what sitemaps list is worth more than the rest: above the diagonal it is (figure 5b).
-- advice: Where the utility is above 1, visit what sitemaps list first.
select site, unique_coverage, index_coverage, utility from site_measures where indexed > 0 order by indexed desc, site

-- name: pagerank_against_unique_coverage
-- says: Whether sitemaps list the pages that others link to (figure 5a).
-- advice: A sitemap that covers many pages and little PageRank leaves out the pages that matter.
select site, unique_coverage, pagerank_coverage from site_measures where crawled > 0 order by crawled desc, site

-- name: first_seen
-- says: Which source found a URL first, of those found by both, with and without a ping (figure 7).
-- advice: Where links are first, sitemaps are read too seldom or written too late.
select is_pinged, count(*) filter (where seen_delta > 0) as sitemaps_first, count(*) filter (where seen_delta < 0) as discovery_first, count(*) filter (where seen_delta = 0) as together, avg(seen_delta) as mean_seconds_earlier
from seen_deltas group by is_pinged order by is_pinged

-- name: first_seen_by_day
-- says: When sitemaps and when links first found the same URLs (figure 6).
-- advice: Points far above the diagonal were found by links long after the sitemap had them.
select date_trunc('day', sitemaps_at) as sitemaps_day, date_trunc('day', discovery_at) as discovery_day, count(*) as urls
from seen_deltas group by all order by all

-- name: missed
-- says: What the pages are that were found and that no sitemap lists (table 2).
-- advice: Only the class `missing` is a gap; tables of contents and copies are left out rightly by most.
select "class", sum(urls)::bigint as urls from missed_classes group by "class" order by urls desc

-- name: pagerank_by_depth
-- says: PageRank by the number of clicks from the seeds.
-- advice: If deep pages have much of it, breadth_first reaches them late: try another --order.
select * from depth_ranks order by clicks nulls last

-- name: cumulative_pagerank
-- says: Share of all PageRank found, by the number of visits.
-- advice: The faster it rises, the better the order; compare --order pagerank or opic.
select pages, share from cumulative_ranks
where pages % greatest((select max(pages) from cumulative_ranks) // 100, 1) = 0 order by pages

-- name: hubs
-- says: Pages on which new URLs appear, and how many a day.
-- advice: Come back to these often: they show what is new for one visit.
select * from hubs order by spawned_a_day desc nulls last, introduced desc, page limit 20

-- name: best_pages
-- says: The pages of the highest PageRank.
-- advice: If these are not the pages you want, the seeds or the scope are not what you meant.
select url, pagerank, inlinks, clicks from ranks order by pagerank desc, url limit 20

-- name: best_sites
-- says: The sites of the highest PageRank over links between sites, and the sum over their pages.
-- advice: A site with much PageRank and few links from others ranks itself: look at its links.
select * from site_ranks order by pagerank desc, site limit 20

-- name: statuses
-- says: How the last visits to each site ended.
-- advice: Many errors on one site: its links or sitemap are stale, or it does not want to be crawled.
select * from statuses order by urls desc, site

-- name: outages
-- says: Which sites were down, and why; those that still are come first.
-- advice: Their pages keep their good versions; `periplus info DIR SITE` says when a site is tried next.
select site, since, max(until) as until, arg_max(reason, seen_at) as reason from outages
group by site, since having coalesce(max(until) > since and arg_max(reason, seen_at) <> 'not-down', true)
order by until desc nulls first, since desc limit 50

-- name: slowest
-- says: The pages that took longest to answer.
-- advice: A slow site deserves a longer delay between requests.
select url, seconds, bytes, status from urls where is_crawled order by seconds desc nulls last, url limit 20

-- name: largest
-- says: The URLs that cost most bytes, over all visits.
-- advice: What is large and not a page can be left out with --exclude.
select url, bytes, visits, content_type from urls where is_crawled order by bytes desc nulls last, url limit 20

-- name: duplicates
-- says: The largest clusters of near-duplicates.
-- advice: Many URLs of one path in a cluster: a parameter that does not change the page; leave it out with --exclude.
select * from duplicates order by pages desc, url limit 20

-- name: wasted
-- says: Sites, domains and URLs with a bad verdict, the requests they cost, and why.
-- advice: Name what was judged wrongly in `[spam] trusted`; `periplus spam explain DIR SITE` shows every feature.
select subject, judge, verdict, score, coalesce(by_site.requests, by_domain.requests, 0) as requests,
    array_to_string(evidence, '; ') as why
from (select * from verdicts where kind <> 'template' and judge not in ('forms', 'dust')
        and verdict not in ('clean', 'trusted', 'unknown', 'dynamic-serving')
    qualify row_number() over (partition by kind, subject, judge order by judged_at desc) = 1) as judged
left join (select site, count(*) as requests from fetches group by site) as by_site
    on kind = 'site' and by_site.site = subject
left join (select domain, count(*) as requests from fetches group by domain) as by_domain
    on kind = 'domain' and by_domain.domain = subject
order by requests desc, score desc, subject, judge
