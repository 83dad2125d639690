"""The pages of a collection from which useful links are chosen.

A page counts if it was read, is not marked noindex, and is its own canonical URL. Priority and lastmod come from the
site's sitemaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from .sampling import Listed

if TYPE_CHECKING:
    from periplus.insight.views import Views

_WWW: Final = "www."
_SITES: Final = "select site, count(distinct url) as pages from pages group by site"
_PAGES: Final = """
with seen as (
    select url, arg_max(coalesce(title, ''), read_at) as title, arg_max(coalesce(noindex, false), read_at) as noindex,
           arg_max(coalesce(canonical, url), read_at) as canonical
    from pages where list_contains($sites, site) group by url
), told as (
    select url, max(priority) as priority, max(epoch(lastmod)) as lastmod
    from discoveries where source = 'sitemap' and refused is null and list_contains($sites, site) group by url
)
select seen.url, priority, lastmod, title from seen left join told using (url)
where not noindex and canonical = seen.url order by seen.url
"""


def sites_of(views: Views) -> list[tuple[str, int]]:
    """Every site with how many pages of it were read."""
    return [(str(row["site"]), int(row["pages"])) for row in views.rows(_SITES)]


def grouped(sites: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    """Sites that are one but for `www`, by the name without it; those with the most pages first, everywhere."""
    groups: dict[str, list[str]] = {}
    for site, _ in sorted(sites, key=lambda each: (-each[1], each[0])):
        groups.setdefault(site.removeprefix(_WWW), []).append(site)
    return groups


def pages_of(views: Views, sites: Sequence[str]) -> Iterator[Listed]:
    """Every page of some sites that may be a useful link, in alphabetical order."""
    for batch in views.ask(_PAGES, {"sites": list(sites)}):
        for url, priority, lastmod, title in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Listed(url, priority, lastmod, title)
