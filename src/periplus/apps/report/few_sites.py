"""Questions for collections of fewer than five sites, where a plot with one point per site shows nothing.

They take the place of the plots by site: how the URLs answered (status, depth, content type, response time), how many
requests were sent over time, and how much of the collection sitemaps list.
"""

from __future__ import annotations

from typing import Final

from periplus.view.values import Column, counts

from .values import Question

FEW_SITES: Final = 5
"""Sites. A collection with fewer is shown by status, depth, type, time and rate; four points are not a distribution."""

NOT_LINKED: Final = "not linked"
"""The depth of URLs that no chain of links reaches from a seed: sitemaps and feeds alone list them."""

_COVERAGE = """\
select 'fetched URLs' as what, crawled_sitemaps as listed, crawled as total, coverage as share from measures union all
select 'unique pages', unique_sitemaps, "unique", unique_coverage from measures union all
select 'indexable pages', indexed_sitemaps, indexed, index_coverage from measures union all
select 'PageRank', null, null, pagerank_coverage from measures"""

_STATUS = """\
select coalesce(status::varchar, 'no response') as status, count(*) as urls,
    coalesce(case when status is null then min(reason) end, '') as reason
from crawled group by status order by urls desc, status
limit 20"""

_TYPES = """\
select coalesce(nullif(lower(trim(split_part(content_type, ';', 1))), ''), 'not given') as type, count(*) as urls,
    sum(bytes)::bigint as bytes
from crawled group by type order by urls desc, type
limit 20"""

_SECONDS = """\
select case when seconds <= 0.1 then 0.1 when seconds <= 0.2 then 0.2 when seconds <= 0.5 then 0.5
    when seconds <= 1 then 1 when seconds <= 2 then 2 when seconds <= 5 then 5 when seconds <= 10 then 10
    else 1e9 end::double as up_to, count(*) as urls
from crawled where seconds is not null group by up_to order by up_to"""

RATE: Final = """\
select floor(epoch(started_at) / {step}) * {step} as since, count(*) as requests,
    count(*) filter (where is_error) as errors
from attempts{where} group by since order by since
limit 200"""
"""Requests over time; `{step}` is the length of a step in seconds, `{where}` which of them count."""

FEW: Final = (
    Question(
        "status", "responses", "Status codes",
        "The status of the last response of each fetched URL.",
        "4xx are stale links; 5xx and missing responses are the server's. The URLs are in the table of problems.",
        _STATUS, (Column("status", "status"), counts("urls", "URLs"), Column("reason", "reason")),
        "status",
    ),
    Question(
        "page_depth", "responses", "Depth",
        "The number of clicks from a seed to each fetched URL.",
        "Pages more than four clicks deep, or not linked at all, are hard to find: link them from higher up.",
        "select clicks, count(*) as urls from crawled group by clicks order by clicks nulls last\nlimit 50",
        (counts("clicks", "clicks"), counts("urls", "URLs")), "page_depth",
    ),
    Question(
        "content_types", "responses", "Content types",
        "The content type of each fetched URL, and the bytes downloaded.",
        "If a type is of no use to you, leave it out with `--exclude`.",
        _TYPES, (Column("type", "type"), counts("urls", "URLs"), Column("bytes", "downloaded", "bytes")),
        "content_types",
    ),
    Question(
        "response_times", "responses", "Response times",
        "The time from request to the end of the response, for each fetched URL.",
        "A slow server should be crawled with a longer delay (`--delay`); the slowest URLs are listed below.",
        _SECONDS, (Column("up_to", "at most", "seconds"), counts("urls", "URLs")), "response_times",
    ),
    Question(
        "request_rate", "responses", "Requests over time",
        "The number of requests sent, and how many of them the crawl counts as errors.",
        "A rise of errors at a high rate means the server is overloaded: use a longer delay (`--delay`).",
        "", (Column("since", "from", "moment"), counts("requests", "requests"), counts("errors", "errors")),
        "rate", 200,
    ),
    Question(
        "coverage", "sources", "How much sitemaps list",
        "The share of fetched URLs, unique pages, indexable pages and PageRank that sitemaps and feeds list.",
        "If unique pages are listed less than fetched URLs are, the sitemap lists copies.",
        _COVERAGE,
        (Column("what", "of"), counts("listed", "listed"), counts("total", "all"),
         Column("share", "share", "share")),
        "coverage",
    ),
)  # fmt: skip
"""In the order of the page."""

BY_SITE: Final = frozenset({
    "coverage_by_size", "unique_against_coverage", "index_against_unique", "pagerank_against_unique", "best_sites",
    "statuses", "slow_sites",
})  # fmt: skip
"""Questions that compare sites: left out below `FEW_SITES`."""
