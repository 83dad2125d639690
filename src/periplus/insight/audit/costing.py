"""What does a crawl of the site cost? Requests and bytes, and how many of them brought nothing."""

from __future__ import annotations

from typing import Final

from .gathering import Found, Gathered, finding
from .values import Cost, Finding

_NEEDLESS_MOST: Final = 0.2
_FEW: Final = 20

_REQUESTS: Final = """
select count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes,
    count(*) filter (where outcome = 'redirected') as redirects,
    count(*) filter (where outcome = 'failed' or status >= 400) as errors
from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site)
"""
_UNCHANGED: Final = """
select fetches.url as url, '' as note, '' as via, '' as kind, bytes as weight
from changes join fetches on fetches.url = changes.url and fetches.outcome = 'fetched'
    and abs(epoch(fetches.ended_at) - epoch(changes.seen_at)) < 1
where level = 'same' and purpose = 'page' and list_contains($sites, changes.site)
"""


def costs(gathered: Gathered) -> tuple[list[Finding], Cost]:
    """What was spent, and on what in vain."""
    row = gathered.row(_REQUESTS)
    requests, size, redirects, errors = (
        int(str(row.get(name) or 0)) for name in ("requests", "bytes", "redirects", "errors")
    )
    copies = gathered.count("is_page and not is_apology and not is_first")
    apologies = gathered.count("is_apology")
    unchanged = gathered.found(_UNCHANGED)
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
        pages=gathered.count("is_good and is_first"),
        needless=sum(wasted.values()),
        wasted={name: number for name, number in wasted.items() if number},
    )
    found: list[Finding] = []
    if requests >= _FEW and cost.share >= _NEEDLESS_MOST:
        found += finding("needless-requests", Found(cost.needless, parts=cost.wasted), requests)
    again = gathered.number("select count(*) from changes where level = 'same' and list_contains($sites, site)")
    return found + finding("no-validators", unchanged, again), cost
