"""Everything that the report asks, in the order in which it is shown, with the sentences beside the numbers.

The questions are those of `insight.views.QUESTIONS` where there is one, bounded so that the page is as large for a
million sites as for a hundred; the sentences are for people who never read the papers. Which figure of which paper a
part does again stands in `docs/report.md`.
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

from typing import Final

from periplus.insight.views import QUESTIONS

from .values import Asked, Column

MOST_SITES: Final = 200
"""Sites in a figure: the largest."""
_ROWS: Final = 20

WAITS: Final = "waits"
"""The reason of URLs that nothing keeps from being visited."""

CHAPTERS: Final = {
    "sources": (
        "Where URLs come from",
        "What sites list about themselves (Sitemaps: sitemaps, feeds, pings), beside what links lead to.",
    ),
    "budget": (
        "What each source earned",
        "Visits are the budget of a crawl; a source earns them by pages that say something new.",
    ),
    "sitemaps": ("Sitemaps and feeds", "The files in which sites list their pages, and what they say there."),
    "ranks": (
        "Which pages matter",
        "PageRank: the share of visitors who would be on a page if all followed links by chance.",
    ),
    "freshness": (
        "Freshness and change",
        "How likely the copies are still what the web shows, and how often pages change.",
    ),
    "troubles": ("Errors, slow and large", "What visits brought besides pages."),
    "copies": (
        "Pages that say the same",
        "Pages of nearly the same text form a cluster, of which one is worth keeping.",
    ),
}
"""Name, title, and what it is about; useful links come last, by themselves."""

_SITE = Column("site", "site", "text")
_URL = Column("url", "URL", "url")


def _bounded(name: str, most: int = MOST_SITES) -> str:
    """A question that is worth asking, for the first rows; one more tells whether there are others."""
    return f"{QUESTIONS[name].sql}\nlimit {most}"


GLANCE: Final = (
    Asked(
        "glance", "glance", "The collection", "", "", QUESTIONS["glance"].sql,
        (
            Column("seen", "URLs heard of"), Column("crawled", "visited"), Column("unique", "unique pages"),
            Column("indexed", "of these may be indexed"), Column("coverage", "of the visited are listed", "share"),
            Column("unique_coverage", "of the unique pages are listed", "share"),
            Column("index_coverage", "of the indexable are listed", "share"),
            Column("pagerank_coverage", "of PageRank is listed", "share"),
        ),
    ),
    Asked(
        "requests", "glance", "The requests", "", "",
        "select count(*) as requests, sum(bytes)::bigint as bytes, count(distinct site) as sites,\n"
        "    epoch(min(started_at)) as began, epoch(max(ended_at)) as ended\nfrom fetches where outcome <> 'excluded'",
        (
            Column("requests", "requests"), Column("bytes", "downloaded", "bytes"), Column("sites", "sites"),
            Column("began", "from", "moment"), Column("ended", "to", "moment"),
        ),
    ),
)  # fmt: skip
"""One row each: the tiles at the top."""

ASKED: Final = (
    Asked(
        "new_urls", "sources", "New URLs over time",
        "How many URLs each source told of for the first time, and when.",
        "Peaks of the blue line are sitemaps that were read or rebuilt: read them as often as they peak, not more.",
        "", (Column("since", "from", "moment"), Column("sitemaps", "by sitemaps"), Column("discovery", "by links")),
        "times", 200,
    ),
    Asked(
        "first_seen", "sources", "Who knew a URL first",
        "Of the URLs that both sources told of: which was first. A ping is a site announcing its files itself.",
        "Where links are first, sitemaps are read too seldom or written too late.",
        QUESTIONS["first_seen"].sql,
        (
            Column("is_pinged", "pinged", "text"), Column("sitemaps_first", "sitemaps first"),
            Column("discovery_first", "links first"), Column("together", "together"),
            Column("mean_seconds_earlier", "sitemaps earlier by", "seconds"),
        ),
        "first",
    ),
    Asked(
        "coverage_by_size", "sources", "How much of a site its sitemap covers",
        "Each point is a site: the larger, the further right; the more of its unique pages are listed, the higher.",
        "Low points to the right are large sites with poor sitemaps: there links have to be followed.",
        "select site, seen, \"unique\", unique_coverage from site_measures where \"unique\" > 0"
        f" order by seen desc, site\nlimit {MOST_SITES}",
        (_SITE, Column("seen", "URLs heard of"), Column("unique", "unique pages"),
         Column("unique_coverage", "of these listed", "share")),
        "size", MOST_SITES,
    ),
    Asked(
        "unique_against_coverage", "sources", "Do sitemaps hold fewer copies?",
        "Each point is a site: the share of its visited URLs that is listed, against that of its unique pages.",
        "Points below the line have sitemaps that list copies: their owners should list one URL of each page.",
        _bounded("unique_against_coverage"),
        (_SITE, Column("crawled", "visited"), Column("coverage", "of the visited listed", "share"),
         Column("unique_coverage", "of the unique listed", "share")),
        "copies_line", MOST_SITES,
    ),
    Asked(
        "index_against_unique", "sources", "Do sitemaps list the better pages?",
        "Each point is a site: the share of its unique pages that is listed, against that of its indexable pages.",
        "Points above the line: what is listed is worth more than the rest, so visit it first.",
        _bounded("index_against_unique_coverage"),
        (_SITE, Column("unique_coverage", "of the unique listed", "share"),
         Column("index_coverage", "of the indexable listed", "share"), Column("utility", "second to first", "number")),
        "index_line", MOST_SITES,
    ),
    Asked(
        "pagerank_against_unique", "sources", "Do sitemaps list what others link to?",
        "Each point is a site: the share of its unique pages that is listed, against the PageRank of what is listed.",
        "Points far below the line leave out the pages that matter: follow links there first.",
        _bounded("pagerank_against_unique_coverage"),
        (_SITE, Column("unique_coverage", "of the unique listed", "share"),
         Column("pagerank_coverage", "of PageRank listed", "share")),
        "rank_line", MOST_SITES,
    ),
    Asked(
        "refused", "sources", "Why URLs were not visited",
        "What kept the crawl from URLs that it heard of, at once or when their turn came; the others wait for theirs.",
        "If it keeps out pages that you want, the rule stands in periplus.toml; `periplus info DIR URL` names it.",
        f"select coalesce(refused, '{WAITS}') as reason, count(*) as urls, count(distinct site) as sites\n"
        "from urls where not is_crawled group by all order by urls desc, reason\nlimit 20",
        (Column("reason", "reason", "text"), Column("urls", "URLs"), Column("sites", "sites"),
         Column("meaning", "meaning", "text")),
    ),
    Asked(
        "sources", "budget", "What a visit brings",
        "Of the URLs of each source that were visited: how many brought a page that says something of its own.",
        "Give more visits to the source whose visits bring more; the crawl does so by itself, site by site.",
        QUESTIONS["sources"].sql + "\norder by source desc",
        (
            Column("source", "source", "text"), Column("seen", "URLs heard of"), Column("crawled", "visited"),
            Column("unique", "unique pages"), Column("indexed", "may be indexed"),
            Column("signal_to_noise", "unique for each heard of", "share"),
            Column("efficiency", "unique for each visited", "share"),
        ),
        "efficiency",
    ),
    Asked(
        "visits", "budget", "Where visits went",
        "How many visits each site got because its sitemaps asked for them, and how many because links led there.",
        "A site whose bar is nearly all of one colour has one good source, or only one: look at its row in the table.",
        "select site, count(*) filter (where lane = 'sitemaps') as sitemaps,\n"
        "    count(*) filter (where lane = 'discovery') as discovery,\n"
        "    count(*) filter (where lane = 'refresh') as again, count(*) as visits\n"
        "from fetches where purpose = 'page' and outcome <> 'excluded'\n"
        "group by site order by visits desc, site\nlimit 50",
        (_SITE, Column("visits", "visits"), Column("sitemaps", "for sitemaps"), Column("discovery", "for links"),
         Column("again", "to see again")),
        "visits",
    ),
    Asked(
        "formats", "sitemaps", "Formats",
        "In which formats sites list their pages, and how many entries there are in each.",
        "Files with problems are read as far as possible; `periplus read FILE` says where they are wrong.",
        _bounded("sitemap_formats", _ROWS),
        (Column("format", "format", "text"), Column("files", "files"), Column("entries", "entries"),
         Column("bytes", "size", "bytes"), Column("with_problems", "with problems")),
        "formats",
    ),
    Asked(
        "fields", "sitemaps", "What sites say of their pages",
        "How many sites give most of the pages they list a date of the last change, a frequency, a priority.",
        "Without a date (lastmod) a page has to be visited to know whether it changed.",
        _bounded("sitemap_fields", 50),
        (_SITE, Column("entries", "entries"), Column("lastmod", "with lastmod", "share"),
         Column("changefreq", "with changefreq", "share"), Column("priority", "with priority", "share")),
        "fields",
    ),
    Asked(
        "missed", "sitemaps", "What sitemaps leave out",
        "What the URLs are that were visited and that no sitemap lists.",
        "Only really missing pages are a gap; errors, redirects, copies and lists are left out rightly by most.",
        QUESTIONS["missed"].sql + ', "class"', (Column("class", "what it is", "text"), Column("urls", "URLs")),
        "classes",
    ),
    Asked(
        "depth", "ranks", "PageRank by distance",
        "How much of all PageRank lies so many clicks from the pages where the crawl began.",
        "If deep pages hold much of it, going breadth first comes late to them: try `periplus crawl --order opic`.",
        QUESTIONS["pagerank_by_depth"].sql + "\nlimit 50",
        (Column("clicks", "clicks"), Column("urls", "URLs"), Column("pagerank", "PageRank", "share"),
         Column("mean", "of each, on average", "number"), Column("median", "of the middle one", "number")),
        "depth",
    ),
    Asked(
        "cumulative", "ranks", "How soon the crawl had what matters",
        "The share of all PageRank that the crawl had after so many visits; by lot it would be a straight line.",
        "The faster it rises, the better the order; `periplus simulate ordering --collection` compares others.",
        QUESTIONS["cumulative_pagerank"].sql, (Column("pages", "visits"), Column("share", "PageRank", "share")),
        "cumulative", 200,
    ),
    Asked(
        "best_sites", "ranks", "The sites of the highest PageRank",
        "The sites that other sites link to, and the PageRank that all their pages hold together.",
        "A site whose pages hold much and to which few others link ranks itself: look at its links.",
        QUESTIONS["best_sites"].sql,
        (_SITE, Column("pagerank", "PageRank of the site", "share"), Column("held", "held by its pages", "share"),
         Column("urls", "URLs heard of"), Column("pages", "pages")),
        "sites",
    ),
    Asked(
        "best_pages", "ranks", "The pages of the highest PageRank",
        "The pages that links lead to most, from pages that links lead to.",
        "If these are not the pages you want, the seeds or the scope are not what you meant.",
        QUESTIONS["best_pages"].sql,
        (_URL, Column("pagerank", "PageRank", "share"), Column("inlinks", "links to it"), Column("clicks", "clicks")),
    ),
    Asked(
        "hubs", "ranks", "Pages that tell of new ones",
        "Pages whose links told of the most new URLs, and how many of these appeared after the first visit.",
        "Come back to those with many new URLs a day: one visit shows all that is new.",
        QUESTIONS["hubs"].sql,
        (Column("page", "page", "url"), Column("introduced", "told of"), Column("readings", "visits"),
         Column("spawned", "after the first visit"), Column("spawned_a_day", "new a day", "number")),
    ),
    Asked(
        "change_rates", "freshness", "How often pages change",
        "Of visits to pages that were known already: how many found a change, and how many a day that makes.",
        "Sites that never change can wait; `periplus watch` learns this page by page.",
        _bounded("change_rates", 50),
        (_SITE, Column("comparisons", "seen again"), Column("changed", "had changed"),
         Column("share", "share", "share"),
         Column("days_between", "days between", "number"), Column("changes_a_day", "changes a day", "number")),
        "changes",
    ),
    Asked(
        "statuses", "troubles", "How visits ended, by site",
        "How the last visit to each URL ended: a page, a redirect, an error of the site, or no whole answer.",
        "Many errors on one site: its links or its sitemap are stale, or it does not want to be crawled.",
        "select site, count(*) as visited, count(*) filter (where is_ok) as pages,\n"
        "    count(*) filter (where outcome = 'redirected') as redirects,\n"
        "    count(*) filter (where not is_ok and outcome <> 'redirected' and status between 400 and 499) as gone,\n"
        "    count(*) filter (where not is_ok and outcome <> 'redirected' and status >= 500) as broken,\n"
        "    visited - pages - redirects - gone - broken as no_answer\n"
        "from (select *, coalesce(outcome in ('fetched', 'not-modified') and status < 400, false) as is_ok\n"
        "    from crawled)\n"
        "group by site order by visited desc, site\nlimit 50",
        (_SITE, Column("visited", "visited"), Column("pages", "answered"), Column("redirects", "redirects"),
         Column("gone", "4xx"), Column("broken", "5xx"), Column("no_answer", "no whole answer")),
        "statuses",
    ),
    Asked(
        "errors", "troubles", "What went wrong",
        "Why URLs could not be had at the last visit, all sites together.",
        "What is gone (404, 410) is a stale link; what is slow or resets deserves more patience, or none.",
        "select coalesce(reason, 'http-' || status) as reason, count(*) as urls, count(distinct site) as sites\n"
        "from crawled where outcome = 'failed' or status >= 400 or reason is not null\n"
        "group by all order by urls desc, reason\nlimit 20",
        (Column("reason", "reason", "text"), Column("urls", "URLs"), Column("sites", "sites"),
         Column("meaning", "meaning", "text")),
        "errors",
    ),
    Asked(
        "slow_sites", "troubles", "The slowest sites",
        "How long the sites take to answer that take longest: half of the answers, and all but the slowest twentieth.",
        "A slow site deserves a longer rest between requests (`--delay`).",
        "select site, count(*) as visited, median(seconds) as middle, quantile_cont(seconds, .95) as slow\n"
        "from crawled where seconds is not null group by site having count(*) >= 5\n"
        "order by middle desc, site\nlimit 20",
        (_SITE, Column("visited", "visited"), Column("middle", "half by", "seconds"),
         Column("slow", "95 % by", "seconds")),
        "slow",
    ),
    Asked(
        "slowest", "troubles", "The slowest", "The URLs that took longest to answer.",
        "If they are of one kind, and you do not need them, leave them out with `--exclude`.",
        QUESTIONS["slowest"].sql,
        (_URL, Column("seconds", "took", "seconds"), Column("bytes", "size", "bytes"),
         Column("status", "status")),
    ),
    Asked(
        "largest", "troubles", "The largest", "The URLs that cost most bytes, over all visits.",
        "What is large and no page can be left out with `--exclude`.",
        QUESTIONS["largest"].sql,
        (_URL, Column("bytes", "bytes", "bytes"), Column("visits", "visits"), Column("content_type", "type", "text")),
    ),
    Asked(
        "cluster_sizes", "copies", "How many say the same",
        "How many pages stand alone, and how many share their text with one, a few or many others.",
        "Many pages in large clusters are visits for nothing: leave out what makes the copies with `--exclude`.",
        "select case when n = 1 then 1 when n = 2 then 2 when n <= 5 then 5 when n <= 10 then 10\n"
        "    when n <= 100 then 100 else 101 end as up_to, count(*) as clusters, sum(n)::bigint as pages\n"
        "from (select count(*) as n from urls where is_page group by cluster) group by up_to order by up_to",
        (Column("up_to", "pages in a cluster, up to"), Column("clusters", "clusters"), Column("pages", "pages")),
        "clusters",
    ),
    Asked(
        "duplicates", "copies", "The largest clusters", "The pages that most others repeat; each is the one to keep.",
        "A cluster with many URLs of one path is a parameter that says nothing: leave it out with `--exclude`.",
        QUESTIONS["duplicates"].sql,
        (_URL, Column("pages", "pages"), Column("sites", "on sites"), Column("listed", "listed in sitemaps")),
    ),
)  # fmt: skip
"""In the order of the page."""
