"""Do the links work? Orphans, links that lead nowhere or elsewhere, pages under several names, slow pages."""

from __future__ import annotations

from typing import Final

from .gathering import Gathered, finding
from .values import Finding

_LINKED: Final = """
create or replace temp table audited_links as
select target as url, min(page) as page, count(distinct page) as pages from links
where list_contains($sites, site) and list_contains($sites, target_site) and page <> target group by target
"""
_WAYS: Final = """
create or replace temp table audited_ways as
select distinct target as url from links where list_contains($sites, target_site) and page <> target
union select leads_to from audited join audited_links using (url) where leads_to is not null
"""
"""Where links lead, also those of other sites, and those that lead on."""
_FOLLOWED: Final = "select count(*) from audited join audited_links using (url) where is_crawled"
_BROKEN: Final = """
select url, coalesce(status::varchar, reason) || ', linked from ' || case when pages = 1 then 'one page' else
    pages || ' pages' end as note, page as via, coalesce(status::varchar, reason) as kind, pages as weight
from audited join audited_links using (url) where is_error
"""
_REDIRECTED: Final = """
select url, 'leads to ' || leads_to as note, page as via, '' as kind, pages as weight
from audited join audited_links using (url) where is_redirect and not is_error
"""
_ORPHANS: Final = """
is_listed and is_good and is_first and first_source <> 'seed' and cluster not in (
    select audited.cluster from audited join audited_ways using (url))
"""
"""No link leads to it, nor to another name of the same page."""
_COPIES: Final = "is_page and not is_apology and not is_first and coalesce(canonical = url, true) and not noindex"


def linkage(gathered: Gathered, *, is_whole: bool, slow: float) -> tuple[list[Finding], tuple[int, int]]:
    """What is wrong with the links; and how many URLs of the site they lead to, and how many of these were visited.

    Orphans are judged only where all links were followed (`is_whole`).
    """
    for sql in (_LINKED, _WAYS):
        gathered.views.database.execute(sql, {"sites": gathered.sites})
    linked, followed = gathered.number("select count(*) from audited_links"), gathered.number(_FOLLOWED)
    pages = gathered.count("is_page")
    listed = gathered.count("is_listed and is_good")
    kind = "case when is_parameter_of_same then 'by a parameter' else 'by another path' end"
    copies = gathered.of_urls(_COPIES, note="'as ' || same_as", kind=kind)
    tardy = gathered.of_urls(f"is_page and seconds > {slow:f}", note="printf('%.1f s', seconds)")
    orphans = gathered.of_urls(_ORPHANS) if is_whole else None
    found = [
        *(finding("orphans", orphans, listed) if orphans is not None else ()),
        *finding("broken-links", gathered.found(_BROKEN), followed),
        *finding("soft-errors", gathered.of_urls("is_apology", note="title")),
        *finding("redirected-links", gathered.found(_REDIRECTED), followed),
        *finding("duplicate-pages", copies, pages),
        *finding("slow-pages", tardy, pages, limit=f"{slow:g}"),
    ]
    return found, (linked, followed)
