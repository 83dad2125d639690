"""The cost of a crawl of the site: requests and bytes, and how many requests returned nothing new."""

from __future__ import annotations

from typing import Final

from .results import Cost, Finding
from .site_table import Found, SiteTable, finding

_MAX_NEEDLESS: Final = 0.2
"""Share of the requests for pages that may return nothing new: sound sites stay below a fifth."""
_MIN_VISITS: Final = 20
"""Requests for pages below which a share proves nothing."""
_MIN_UNCHANGED: Final = 10
"""Unchanged pages sent in full from which on missing validators are a finding."""
_MAX_FULL: Final = 0.5
"""Share of unchanged pages that may be sent in full: a crawl itself omits validators now and then to verify them."""

_REQUESTS: Final = """
select count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes,
    count(*) filter (where purpose = 'page') as visits,
    count(*) filter (where purpose = 'page' and outcome = 'redirected') as redirects,
    count(*) filter (where purpose = 'page' and (outcome = 'failed' or status >= 400)) as errors
from fetches where outcome <> 'excluded' and list_contains($sites, site)
"""
_AGAIN: Final = """
create or replace temp table audited_again as
with visits as (
    select url, outcome, bytes, epoch(ended_at) as ended_at,
        epoch(started_at) - lag(epoch(ended_at)) over (partition by url order by started_at) as pause
    from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site))
select visits.url, visits.outcome = 'fetched' as is_full, bytes
from changes join visits on visits.url = changes.url and abs(visits.ended_at - epoch(changes.seen_at)) < 1
where level = 'same' and pause >= $pause and list_contains($sites, changes.site)
"""
"""Visits that found a page unchanged, without pairs of visits by which a crawl learns what differs every time."""
_FULL: Final = """
select url, bytes || ' bytes' as note, '' as via, '' as kind, bytes as weight from audited_again where is_full
"""


def check_cost(table: SiteTable, *, pause: float) -> tuple[list[Finding], Cost]:
    """Compute the cost, and what of it was wasted. Visits less than `pause` seconds apart count as one."""
    table.views.database.execute(_AGAIN, {"sites": table.sites, "pause": pause})
    row = table.row(_REQUESTS)
    requests, size, visits, redirects, errors = (
        int(str(row.get(name) or 0)) for name in ("requests", "bytes", "visits", "redirects", "errors")
    )
    copies = table.count("is_page and not is_soft_error and not is_first")
    soft_errors = table.count("is_soft_error")
    again, unchanged = table.number("select count(*) from audited_again"), table.found(_FULL)
    wasted = {
        "redirects": redirects,
        "errors": errors,
        "duplicates": copies,
        "soft_errors": soft_errors,
        "unchanged": unchanged.count,
    }
    cost = Cost(
        requests=requests,
        bytes=size,
        visits=visits,
        pages=table.count("is_good and is_first"),
        needless=sum(wasted.values()),
        wasted={name: number for name, number in wasted.items() if number},
    )
    found: list[Finding] = []
    if visits >= _MIN_VISITS and cost.share >= _MAX_NEEDLESS:
        found += finding("needless-requests", Found(cost.needless, parts=cost.wasted), visits)
    if unchanged.count >= _MIN_UNCHANGED and unchanged.count > _MAX_FULL * again:
        found += finding("no-validators", unchanged, again)
    return found, cost
