"""What does a crawl of the site cost? Requests and bytes, and how many of them brought nothing."""

from __future__ import annotations

from typing import Final

from .gathering import Found, Gathered, finding
from .values import Cost, Finding

_NEEDLESS_MOST: Final = 0.2
_FEW: Final = 20
_AGAIN_LEAST, _FULL_MOST = 10, 0.5
"""A crawl itself asks for a page in full now and then, to see whether validators can be trusted."""

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
"""Visits that found a page unchanged; not those in a row, by which a crawl learns what differs at every visit."""
_FULL: Final = """
select url, bytes || ' bytes' as note, '' as via, '' as kind, bytes as weight from audited_again where is_full
"""


def costs(gathered: Gathered, *, pause: float) -> tuple[list[Finding], Cost]:
    """What was spent, and on what in vain. `pause`: seconds from which on two visits are not in a row."""
    gathered.views.database.execute(_AGAIN, {"sites": gathered.sites, "pause": pause})
    row = gathered.row(_REQUESTS)
    requests, size, visits, redirects, errors = (
        int(str(row.get(name) or 0)) for name in ("requests", "bytes", "visits", "redirects", "errors")
    )
    copies = gathered.count("is_page and not is_apology and not is_first")
    apologies = gathered.count("is_apology")
    again, unchanged = gathered.number("select count(*) from audited_again"), gathered.found(_FULL)
    wasted = {
        "redirects": redirects,
        "errors": errors,
        "duplicates": copies,
        "apologies": apologies,
        "unchanged": unchanged.count,
    }
    cost = Cost(
        requests=requests,
        bytes=size,
        visits=visits,
        pages=gathered.count("is_good and is_first"),
        needless=sum(wasted.values()),
        wasted={name: number for name, number in wasted.items() if number},
    )
    found: list[Finding] = []
    if visits >= _FEW and cost.share >= _NEEDLESS_MOST:
        found += finding("needless-requests", Found(cost.needless, parts=cost.wasted), visits)
    if unchanged.count >= _AGAIN_LEAST and unchanged.count > _FULL_MOST * again:
        found += finding("no-validators", unchanged, again)
    return found, cost
