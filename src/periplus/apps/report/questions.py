"""The questions of a report in the order of the page, with the sentences beside their answers.

The SQL is that of `insight.views.QUESTIONS` where there is one, with a limit: the page of a million sites is no larger
than that of a hundred. `docs/report.md` names the figure of the paper that each part reproduces. Collections of fewer
than five sites have questions of their own (`few_sites`).
"""

# ruff: noqa: S608 - SQL is put together from our own words here

from __future__ import annotations

from typing import Final

from periplus.insight.views import QUESTIONS
from periplus.view.values import Column, counts

from .few_sites import BY_SITE, FEW, FEW_SITES
from .values import Question

MOST_SITES: Final = 200
"""Sites in a figure at most, the largest first: more points cover each other."""
_ROWS: Final = 20
"""Rows of a short table."""

WAITS: Final = "waits"
"""The reason of URLs that are queued and not refused."""

CHAPTERS: Final = {
    "problems": ("Problems", "What the audit of the site found, most severe first."),
    "responses": ("Responses", "How the URLs answered, and how fast they were requested."),
    "sources": (
        "Where URLs come from",
        "URLs that sites list themselves (Sitemaps: sitemaps, feeds, pings), and URLs found by following links.",
    ),
    "budget": (
        "What each source contributed",
        "Fetches are the budget of a crawl; a source deserves as many as it has new pages.",
    ),
    "sitemaps": ("Sitemaps and feeds", "The files in which sites list their pages, and which fields they fill in."),
    "forms": ("Forms", "Search forms, behind which there may be pages that no link leads to."),
    "permissions": ("What pages may be used for", "What sites permit, by all that they state, and who decided."),
    "ranks": (
        "Which pages matter",
        "PageRank: the share of visitors who would be on a page if all followed links at random.",
    ),
    "freshness": (
        "Freshness and change",
        "How likely the stored copies are still current, and how often pages change.",
    ),
    "troubles": ("Errors, slow and large", "Fetches that failed, took long or were large."),
    "copies": (
        "Duplicate pages",
        "Pages with nearly the same text form a cluster; one of them is enough.",
    ),
}
"""Name: title and subject, in the order of the page; useful links come last."""

_SITE = Column("site", "site")
_URL = Column("url", "URL", "url")


_FORM_RECORDS: Final = """\
select any_value(site) as site, form, requests + records as requests, records,
    round(records + records / greatest(any_value(page_size), 1))::bigint as fewest
from form_probes
where form in (select form from forms where records > 0 order by records desc, form limit 3) and requests is not null
group by form, requests, records order by site, form, requests
limit 300"""


_NONE: Final = "select 1 where false"
"""In place of a question whose part is not there: its answer is empty, and not shown."""


def _sql(name: str) -> str:
    return QUESTIONS[name].sql if name in QUESTIONS else _NONE


def _bounded(name: str, most: int = MOST_SITES) -> str:
    """A shared question, limited to its first rows."""
    return f"{_sql(name)}\nlimit {most}"


GLANCE: Final = (
    Question(
        "glance", "glance", "The collection", "", "", _sql("glance"),
        (
            counts("seen", "URLs discovered"), counts("crawled", "fetched"), counts("unique", "unique pages"),
            counts("indexed", "of these indexable"), Column("coverage", "of the fetched are listed", "share"),
            Column("unique_coverage", "of the unique pages are listed", "share"),
            Column("index_coverage", "of the indexable are listed", "share"),
            Column("pagerank_coverage", "of PageRank is listed", "share"),
        ),
    ),
    Question(
        "topic", "glance", "The topic", "", "",
        "select count(*) filter (where relevance >= 0.5) as relevant,\n"
        "    count(*) filter (where relevance >= 0.5) / count(relevance) as harvest\n"
        "from pages having count(relevance) > 0",
        (counts("relevant", "pages on the topic"), Column("harvest", "of the pages are on the topic", "share")),
    ),
    Question(
        "requests", "glance", "The requests", "", "",
        "select count(*) as requests, sum(bytes)::bigint as bytes, count(distinct site) as sites,\n"
        "    epoch(min(started_at)) as began, epoch(max(ended_at)) as ended\nfrom fetches where outcome <> 'excluded'",
        (
            counts("requests", "requests"), Column("bytes", "downloaded", "bytes"), counts("sites", "sites"),
            Column("began", "from", "moment"), Column("ended", "to", "moment"),
        ),
    ),
)  # fmt: skip
"""One row each: the tiles at the top of the page."""

BY_CHAPTER: Final = (
    Question(
        "new_urls", "sources", "New URLs over time",
        "How many URLs each source was the first to list, and when.",
        "Peaks of the blue line are sitemaps that were read or rebuilt; fetching them more often than that is a waste.",
        "", (Column("since", "from", "moment"), counts("sitemaps", "by sitemaps"), counts("discovery", "by links")),
        "times", 200,
    ),
    Question(
        "first_seen", "sources", "Which source was first",
        "Of the URLs that both sources have: which had it first. With a ping a site announces a changed file itself.",
        "Where links are first, the sitemap is fetched too rarely or updated too late.",
        _sql("first_seen"),
        (
            Column("is_pinged", "pinged"), counts("sitemaps_first", "sitemaps first"),
            counts("discovery_first", "links first"), counts("together", "together"),
            Column("mean_seconds_earlier", "sitemaps earlier by", "seconds"),
        ),
        "first",
    ),
    Question(
        "coverage_by_size", "sources", "How much of a site its sitemap covers",
        "Each point is a site: further right are larger sites, further up those that list more of their unique pages.",
        "Low points to the right are large sites with incomplete sitemaps: follow links there.",
        "select site, seen, \"unique\", unique_coverage from site_measures where \"unique\" > 0"
        f" order by seen desc, site\nlimit {MOST_SITES}",
        (_SITE, counts("seen", "URLs discovered"), counts("unique", "unique pages"),
         Column("unique_coverage", "of these listed", "share")),
        "size", MOST_SITES,
    ),
    Question(
        "unique_against_coverage", "sources", "Do sitemaps hold fewer copies?",
        "Each point is a site: the listed share of its fetched URLs against that of its unique pages.",
        "Sitemaps of sites below the line list copies: their owners should list one URL of each page.",
        _bounded("unique_against_coverage"),
        (_SITE, counts("crawled", "fetched"), Column("coverage", "of the fetched listed", "share"),
         Column("unique_coverage", "of the unique listed", "share")),
        "copies_line", MOST_SITES,
    ),
    Question(
        "index_against_unique", "sources", "Do sitemaps list the better pages?",
        "Each point is a site: the listed share of its unique pages against that of its indexable pages.",
        "Above the line, listed pages are worth more than the rest: fetch them first.",
        _bounded("index_against_unique_coverage"),
        (_SITE, Column("unique_coverage", "of the unique listed", "share"),
         Column("index_coverage", "of the indexable listed", "share"), Column("utility", "ratio", "number")),
        "index_line", MOST_SITES,
    ),
    Question(
        "pagerank_against_unique", "sources", "Do sitemaps list the most linked pages?",
        "Each point is a site: the listed share of its unique pages against the listed share of its PageRank.",
        "Sites far below the line leave out important pages: follow links there first.",
        _bounded("pagerank_against_unique_coverage"),
        (_SITE, Column("unique_coverage", "of the unique listed", "share"),
         Column("pagerank_coverage", "of PageRank listed", "share")),
        "rank_line", MOST_SITES,
    ),
    Question(
        "refused", "sources", "Why URLs were not fetched",
        "Why discovered URLs were refused, when they were found or before the fetch; the rest is still queued.",
        "If pages you want are refused, change the rule in periplus.toml; `periplus info DIR URL` names it.",
        f"select coalesce(refused, '{WAITS}') as reason, count(*) as urls, count(distinct site) as sites\n"
        "from urls where not is_crawled group by all order by urls desc, reason\nlimit 20",
        (Column("reason", "reason"), counts("urls", "URLs"), counts("sites", "sites"),
         Column("meaning", "meaning")),
    ),
    Question(
        "sources", "budget", "New pages per fetch",
        "Of the fetched URLs of each source: how many had a page that is not a copy of another.",
        "The crawl moves its budget to the source with more new pages per fetch by itself, site by site.",
        _sql("sources") + "\norder by source desc",
        (
            Column("source", "source"), counts("seen", "URLs discovered"), counts("crawled", "fetched"),
            counts("unique", "unique pages"), counts("indexed", "indexable"),
            Column("signal_to_noise", "unique per discovered URL", "share"),
            Column("efficiency", "unique per fetched URL", "share"),
        ),
        "efficiency",
    ),
    Question(
        "visits", "budget", "Fetches by source",
        "How many fetches of each site were of URLs from sitemaps, from links, and of pages known before.",
        "A bar of one colour means that the site has one source, or one that is much better.",
        "select site, count(*) filter (where lane = 'sitemaps') as sitemaps,\n"
        "    count(*) filter (where lane = 'discovery') as discovery,\n"
        "    count(*) filter (where lane = 'refresh') as again, count(*) as visits\n"
        "from fetches where purpose = 'page' and outcome <> 'excluded'\n"
        "group by site order by visits desc, site\nlimit 50",
        (_SITE, counts("visits", "fetches"), counts("sitemaps", "from sitemaps"), counts("discovery", "from links"),
         counts("again", "again")),
        "visits",
    ),
    Question(
        "formats", "sitemaps", "Formats",
        "The formats of sitemaps and feeds, and how many entries each has.",
        "Files with problems are read as far as possible; `periplus read FILE` shows each problem.",
        _bounded("sitemap_formats", _ROWS),
        (Column("format", "format"), counts("files", "files"), counts("entries", "entries"),
         Column("bytes", "size", "bytes"), counts("with_problems", "with problems")),
        "formats",
    ),
    Question(
        "fields", "sitemaps", "Fields of sitemaps",
        "How many listed pages have a lastmod, a changefreq, a priority.",
        "Without lastmod a page has to be fetched to see whether it changed.",
        _bounded("sitemap_fields", 50),
        (_SITE, counts("entries", "entries"), Column("lastmod", "with lastmod", "share"),
         Column("changefreq", "with changefreq", "share"), Column("priority", "with priority", "share")),
        "fields",
    ),
    Question(
        "missed", "sitemaps", "What sitemaps omit",
        "The fetched URLs that no sitemap lists, by what they are.",
        "Only pages really missing are a gap; errors, redirects, copies and lists of links need not be listed.",
        _sql("missed") + ', "class"', (Column("class", "class"), counts("urls", "URLs")),
        "classes",
    ),
    Question(
        "form_records", "forms", "Records against requests",
        "How many records the queries of a form led to, against pages of results and records fetched for them.",
        "A curve far from the fewest possible requests: give the form fewer requests (`forms.max_requests`).",
        _FORM_RECORDS if "forms" in QUESTIONS else _NONE,
        (_SITE, counts("requests", "requests"), counts("records", "records"), counts("fewest", "fewest possible")),
        "form_records", 300,
    ),
    Question(
        "forms", "forms", "What forms brought",
        "The search forms with what their queries led to, and how many records there are by estimate.",
        "`periplus crawl -o DIR --forms` submits search forms; `periplus forms DIR` shows what comes next.",
        _sql("forms"),
        (_SITE, Column("status", "status"), counts("queries", "queries"), counts("records", "records"),
         counts("estimate", "of about")),
    ),
    Question(
        "permitted", "permissions", "Permitted uses",
        "How many pages may be used for what, by whose statement, and how many statements are in conflict.",
        "`periplus export DIR --for training` leaves out what may not be used; `--explain URL` shows the proof.",
        _sql("permitted"),
        (Column("use", "use"), Column("answer", "answer"), Column("decided_by", "decided by"),
         counts("pages", "pages"), counts("conflicts", "in conflict"), counts("unexplained", "unexplained")),
    ),
    Question(
        "depth", "ranks", "PageRank by distance",
        "Share of all PageRank by the number of clicks from a seed.",
        "If deep pages have much of it, breadth-first reaches them late: try `periplus crawl --order opic`.",
        _sql("pagerank_by_depth") + "\nlimit 50",
        (counts("clicks", "clicks"), counts("urls", "URLs"), Column("pagerank", "PageRank", "share"),
         Column("mean", "mean", "number"), Column("median", "median", "number")),
        "depth",
    ),
    Question(
        "cumulative", "ranks", "PageRank over the crawl",
        "The share of all PageRank after each number of fetches; in random order it would be a straight line.",
        "The faster it rises, the better the order; `periplus simulate ordering --collection` compares others.",
        _sql("cumulative_pagerank"), (counts("pages", "fetches"), Column("share", "PageRank", "share")),
        "cumulative", 200,
    ),
    Question(
        "best_sites", "ranks", "Sites with the highest PageRank",
        "PageRank over links between sites, and the sum of the PageRank of each site's pages.",
        "A site whose pages have much and that few others link to inflates its own rank: look at its links.",
        _sql("best_sites"),
        (_SITE, Column("pagerank", "PageRank of the site", "share"), Column("held", "of its pages", "share"),
         counts("urls", "URLs discovered"), counts("pages", "pages")),
        "sites",
    ),
    Question(
        "best_pages", "ranks", "Pages with the highest PageRank",
        "The pages with the most links from pages that are themselves linked to.",
        "If these are not the pages you want, the seeds or the scope are not what you meant.",
        _sql("best_pages"),
        (_URL, Column("pagerank", "PageRank", "share"), counts("inlinks", "links to it"), counts("clicks", "clicks")),
    ),
    Question(
        "hubs", "ranks", "Pages that link to new URLs",
        "Pages on which the most URLs were first found, and how many of these appeared after the first fetch.",
        "Fetch pages with many new URLs a day often: one fetch finds all that is new.",
        _sql("hubs"),
        (Column("page", "page", "url"), counts("introduced", "new URLs"), counts("readings", "fetches"),
         counts("spawned", "after the first fetch"), Column("spawned_a_day", "new a day", "number")),
    ),
    Question(
        "change_rates", "freshness", "How often pages change",
        "Of fetches of pages fetched before: how many found a change, and the changes a day this means.",
        "Sites that never change can be fetched rarely; `periplus watch` learns this page by page.",
        _bounded("change_rates", 50),
        (_SITE, counts("comparisons", "fetched again"), counts("changed", "had changed"),
         Column("share", "share", "share"),
         Column("days_between", "days between", "number"), Column("changes_a_day", "changes a day", "number")),
        "changes",
    ),
    Question(
        "lastmod_trust", "freshness", "Can lastmod be believed?",
        "Of pages whose lastmod was updated between two fetches: how many had changed. Below: fetches in vain.",
        "A low share is a site that writes dates of files or builds; `periplus publish` writes those of real changes.",
        _bounded("lastmod_trust", 50),
        (_SITE, counts("moved", "updates of lastmod"), counts("justified", "had changed"),
         Column("precision", "right", "share"), Column("recall", "of all changes", "share"),
         counts("revisits", "fetched again"), counts("needless", "in vain"),
         Column("needless_share", "share in vain", "share")),
        "lastmod_trust",
    ),
    Question(
        "statuses", "troubles", "Responses by site",
        "How the last fetch of each URL ended: a page, a redirect, an error, or no complete response.",
        "Many errors on one site: its links or its sitemap are stale, or it blocks crawlers.",
        "select site, count(*) as visited, count(*) filter (where is_ok) as pages,\n"
        "    count(*) filter (where outcome = 'redirected') as redirects,\n"
        "    count(*) filter (where not is_ok and outcome <> 'redirected' and status between 400 and 499) as gone,\n"
        "    count(*) filter (where not is_ok and outcome <> 'redirected' and status >= 500) as broken,\n"
        "    visited - pages - redirects - gone - broken as no_answer\n"
        "from (select *, coalesce(outcome in ('fetched', 'not-modified') and status < 400, false) as is_ok\n"
        "    from crawled)\n"
        "group by site order by visited desc, site\nlimit 50",
        (_SITE, counts("visited", "fetched"), counts("pages", "pages"), counts("redirects", "redirects"),
         counts("gone", "4xx"), counts("broken", "5xx"), counts("no_answer", "no response")),
        "statuses",
    ),
    Question(
        "errors", "troubles", "Errors by reason",
        "Why the last fetch of URLs failed, over all sites.",
        "404 and 410 are stale links; timeouts and resets may go away with a longer delay.",
        "select coalesce(reason, 'http-' || status) as reason, count(*) as urls, count(distinct site) as sites\n"
        "from crawled where outcome = 'failed' or status >= 400 or reason is not null\n"
        "group by all order by urls desc, reason\nlimit 20",
        (Column("reason", "reason"), counts("urls", "URLs"), counts("sites", "sites"),
         Column("meaning", "meaning")),
        "errors",
    ),
    Question(
        "outages", "troubles", "Sites that were down",
        "Most of their pages failed, were gone or showed one page in the same hours; no time of return: down now.",
        "Their pages keep their good versions, and are visited when the site is back.",
        "select site, epoch(since) as since, epoch(until) as until, reason from (\n" + _sql("outages") + ")",
        (_SITE, Column("since", "since", "moment"), Column("until", "back", "moment"), Column("reason", "reason"),
         Column("tried", "last tried", "moment"), Column("next", "next try", "moment")),
    ),
    Question(
        "wasted", "troubles", "Who wasted our budget, and why",
        "Sites, domains and URLs that judges found wanting (spam, mirrors, soft 404s, ...), and the requests they had.",
        "They get less from now on; name those judged wrongly in `[spam] trusted`.",
        _bounded("wasted", 50),
        (Column("subject", "site, domain or URL"), Column("verdict", "verdict"),
         counts("requests", "requests"), Column("why", "why")),
    ),
    Question(
        "scripts", "troubles", "Templates that need scripts",
        "Kinds of URLs whose pages cannot be read without their scripts, as far as pages of them were fetched.",
        "Crawl with `--render when-needed`, so that a browser opens them.",
        _bounded("scripts", 50),
        (Column("subject", "template"), Column("score", "sure", "share"), Column("why", "why")),
    ),
    Question(
        "slow_sites", "troubles", "Slowest sites",
        "The median and the 95th percentile of the response times of the slowest sites.",
        "Give a slow site a longer delay between requests (`--delay`).",
        "select site, count(*) as visited, median(seconds) as middle, quantile_cont(seconds, .95) as slow\n"
        "from crawled where seconds is not null group by site having count(*) >= 5\n"
        "order by middle desc, site\nlimit 20",
        (_SITE, counts("visited", "fetched"), Column("middle", "median", "seconds"),
         Column("slow", "95th percentile", "seconds")),
        "slow",
    ),
    Question(
        "slowest", "troubles", "Slowest URLs", "The URLs that took longest to respond.",
        "If they are of one kind that you do not need, leave them out with `--exclude`.",
        _sql("slowest"),
        (_URL, Column("seconds", "time", "seconds"), Column("bytes", "size", "bytes"),
         counts("status", "status")),
    ),
    Question(
        "largest", "troubles", "Largest URLs", "The URLs with the most bytes downloaded, over all fetches.",
        "Large files that are not pages can be left out with `--exclude`.",
        _sql("largest"),
        (_URL, Column("bytes", "bytes", "bytes"), counts("visits", "fetches"), Column("content_type", "type")),
    ),
    Question(
        "cluster_sizes", "copies", "Cluster sizes",
        "How many pages have a text of their own, and how many share it with one, a few or many others.",
        "Many pages in large clusters are wasted fetches: leave out the parameter that makes copies (`--exclude`).",
        "select case when n = 1 then 1 when n = 2 then 2 when n <= 5 then 5 when n <= 10 then 10\n"
        "    when n <= 100 then 100 else 101 end as up_to, count(*) as clusters, sum(n)::bigint as pages\n"
        "from (select count(*) as n from urls where is_page group by cluster) group by up_to order by up_to",
        (counts("up_to", "pages in a cluster, up to"), counts("clusters", "clusters"), counts("pages", "pages")),
        "clusters",
    ),
    Question(
        "duplicates", "copies", "Largest clusters", "The pages with the most copies; each is the one to keep.",
        "Many URLs of one path in a cluster: a parameter that changes nothing. Leave it out with `--exclude`.",
        _sql("duplicates"),
        (_URL, counts("pages", "pages"), counts("sites", "on sites"), counts("listed", "listed in sitemaps")),
    ),
)  # fmt: skip
"""In the order of the page."""


def questions_for(sites: int) -> tuple[Question, ...]:
    """The questions for a collection of that many sites: those that compare sites only where there are enough."""
    of_parts = tuple(each for each in BY_CHAPTER if not each.sql.startswith(_NONE))
    if sites >= FEW_SITES:
        return (*GLANCE, *of_parts)
    return (*GLANCE, *FEW, *(each for each in of_parts if each.name not in BY_SITE))
