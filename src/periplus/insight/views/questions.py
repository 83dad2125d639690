"""Questions worth asking of any collection, by name: what the answer shows, what to do about it, and the SQL.

A page that shows a number can show its query beside it. Each is a plain `select` over the views of `catalogue`, to be
typed into `periplus query` as it stands; the papers' figures that it answers for are named.
"""

from __future__ import annotations

from typing import Final

from periplus.model.rows import TableQuestion, modules_of_parts

_OF_EVERY_CRAWL: Final = (
    TableQuestion(
        "glance",
        "URLs that are known, fetched and unique, and how many of them sites list.",
        "If much is seen and little is unique, look at `missed_classes` and `duplicates` before crawling more.",
        'select seen, crawled, "unique", indexed, coverage, unique_coverage, index_coverage, pagerank_coverage\n'
        "from measures",
    ),
    TableQuestion(
        "sources",
        "URLs of each source, and unique pages for each visit.",
        "Give the budget to the source with the higher efficiency; `[balance]` does so by itself.",
        "select 'sitemaps' as source, seen_sitemaps as seen, crawled_sitemaps as crawled,"
        ' unique_sitemaps as "unique", indexed_sitemaps as indexed, signal_to_noise_sitemaps as signal_to_noise,'
        " efficiency_sitemaps as efficiency\nfrom measures union all\n"
        "select 'discovery', seen_discovery, crawled_discovery, unique_discovery, indexed_discovery,"
        " signal_to_noise_discovery, efficiency_discovery\nfrom measures",
    ),
    TableQuestion(
        "new_urls_over_time",
        "When each source found new URLs (figure 2 of Schonfeld & Shivakumar).",
        "Bursts from sitemaps are rebuilt files: read them as often as they burst, not more.",
        "select hour, source, sum(urls)::bigint as urls from new_urls group by hour, source order by hour, source",
    ),
    TableQuestion(
        "unique_coverage_by_size",
        "Coverage of each site by its sitemaps, against its size (figure 3).",
        "Large sites with little coverage are where links have to be followed.",
        "select site, seen, unique_coverage from site_measures order by seen desc, site",
    ),
    TableQuestion(
        "unique_against_coverage",
        "Whether sitemaps contain fewer copies than the rest of a site: above the diagonal they do (figure 4).",
        "Below the diagonal a sitemap lists copies: its owner should list one URL of each page.",
        "select site, coverage, unique_coverage, crawled from site_measures where crawled > 0"
        " order by crawled desc, site",
    ),
    TableQuestion(
        "index_against_unique_coverage",
        "Whether what sitemaps list is worth more than the rest: above the diagonal it is (figure 5b).",
        "Where the utility is above 1, visit what sitemaps list first.",
        "select site, unique_coverage, index_coverage, utility from site_measures where indexed > 0"
        " order by indexed desc, site",
    ),
    TableQuestion(
        "pagerank_against_unique_coverage",
        "Whether sitemaps list the pages that others link to (figure 5a).",
        "A sitemap that covers many pages and little PageRank leaves out the pages that matter.",
        "select site, unique_coverage, pagerank_coverage from site_measures where crawled > 0"
        " order by crawled desc, site",
    ),
    TableQuestion(
        "first_seen",
        "Which source found a URL first, of those found by both, with and without a ping (figure 7).",
        "Where links are first, sitemaps are read too seldom or written too late.",
        "select is_pinged, count(*) filter (where seen_delta > 0) as sitemaps_first,"
        " count(*) filter (where seen_delta < 0) as discovery_first,"
        " count(*) filter (where seen_delta = 0) as together, avg(seen_delta) as mean_seconds_earlier\n"
        "from seen_deltas group by is_pinged order by is_pinged",
    ),
    TableQuestion(
        "first_seen_by_day",
        "When sitemaps and when links first found the same URLs (figure 6).",
        "Points far above the diagonal were found by links long after the sitemap had them.",
        "select date_trunc('day', sitemaps_at) as sitemaps_day, date_trunc('day', discovery_at) as discovery_day,"
        " count(*) as urls\nfrom seen_deltas group by all order by all",
    ),
    TableQuestion(
        "missed",
        "What the pages are that were found and that no sitemap lists (table 2).",
        "Only the class `missing` is a gap; tables of contents and copies are left out rightly by most.",
        'select "class", sum(urls)::bigint as urls from missed_classes group by "class" order by urls desc',
    ),
    TableQuestion(
        "pagerank_by_depth",
        "PageRank by the number of clicks from the seeds.",
        "If deep pages have much of it, breadth_first reaches them late: try another --order.",
        "select * from depth_ranks order by clicks nulls last",
    ),
    TableQuestion(
        "cumulative_pagerank",
        "Share of all PageRank found, by the number of visits.",
        "The faster it rises, the better the order; compare --order pagerank or opic.",
        "select pages, share from cumulative_ranks\n"
        "where pages % greatest((select max(pages) from cumulative_ranks) // 100, 1) = 0 order by pages",
    ),
    TableQuestion(
        "hubs",
        "Pages on which new URLs appear, and how many a day.",
        "Come back to these often: they show what is new for one visit.",
        "select * from hubs order by spawned_a_day desc nulls last, introduced desc, page limit 20",
    ),
    TableQuestion(
        "best_pages",
        "The pages of the highest PageRank.",
        "If these are not the pages you want, the seeds or the scope are not what you meant.",
        "select url, pagerank, inlinks, clicks from ranks order by pagerank desc, url limit 20",
    ),
    TableQuestion(
        "best_sites",
        "The sites of the highest PageRank over links between sites, and the sum over their pages.",
        "A site with much PageRank and few links from others ranks itself: look at its links.",
        "select * from site_ranks order by pagerank desc, site limit 20",
    ),
    TableQuestion(
        "statuses",
        "How the last visits to each site ended.",
        "Many errors on one site: its links or sitemap are stale, or it does not want to be crawled.",
        "select * from statuses order by urls desc, site",
    ),
    TableQuestion(
        "outages",
        "Which sites were down, and why; those that still are come first.",
        "Their pages keep their good versions; `periplus info DIR SITE` says when a site is tried next.",
        "select site, since, max(until) as until, arg_max(reason, seen_at) as reason from outages\n"
        "group by site, since having coalesce(max(until) > since and arg_max(reason, seen_at) <> 'not-down', true)\n"
        "order by until desc nulls first, since desc limit 50",
    ),
    TableQuestion(
        "slowest",
        "The pages that took longest to answer.",
        "A slow site deserves a longer delay between requests.",
        "select url, seconds, bytes, status from urls where is_crawled order by seconds desc nulls last, url limit 20",
    ),
    TableQuestion(
        "largest",
        "The URLs that cost most bytes, over all visits.",
        "What is large and not a page can be left out with --exclude.",
        "select url, bytes, visits, content_type from urls where is_crawled"
        " order by bytes desc nulls last, url limit 20",
    ),
    TableQuestion(
        "duplicates",
        "The largest clusters of near-duplicates.",
        "Many URLs of one path in a cluster: a parameter that does not change the page; leave it out with --exclude.",
        "select * from duplicates order by pages desc, url limit 20",
    ),
    TableQuestion(
        "wasted",
        "Sites, domains and URLs with a bad verdict, the requests they cost, and why.",
        "Name what was judged wrongly in `[spam] trusted`; `periplus spam explain DIR SITE` shows every feature.",
        "select subject, judge, verdict, score, coalesce(by_site.requests, by_domain.requests, 0) as requests,\n"
        "    array_to_string(evidence, '; ') as why\n"
        "from (select * from verdicts where kind <> 'template' and judge not in ('forms', 'dust')\n"
        "        and verdict not in ('clean', 'trusted', 'unknown', 'dynamic-serving')\n"
        "    qualify row_number() over (partition by kind, subject, judge order by judged_at desc) = 1) as judged\n"
        "left join (select site, count(*) as requests from fetches group by site) as by_site\n"
        "    on kind = 'site' and by_site.site = subject\n"
        "left join (select domain, count(*) as requests from fetches group by domain) as by_domain\n"
        "    on kind = 'domain' and by_domain.domain = subject\n"
        "order by requests desc, score desc, subject, judge",
    ),
)

_OF_PARTS: Final = [question for module in modules_of_parts() for question in getattr(module, "QUESTIONS", ())]

QUESTIONS: Final[dict[str, TableQuestion]] = {question.name: question for question in (*_OF_EVERY_CRAWL, *_OF_PARTS)}
"""By name, in the order of a report; last those of parts."""
