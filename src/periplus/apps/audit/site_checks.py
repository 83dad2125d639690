"""The checks of a site that are one query each: `site_checks.sql` has the queries, `findings.toml` the texts.

A query returns `url`, `note`, `via`, `kind` and `weight` (see `SiteTable.found`) from the tables of `site_table`,
`page_facts` and `audited_checks`, the answers to requests for embedded files. `audited_judged` has the pages that can
have a fault: those that exist, with `is_index` for those that search engines may show.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from periplus.model.statements import Statements

from .audited_page import PAGE_NUMBER
from .finding_kinds import KINDS
from .results import SiteFindingKind

SQL: Final = Statements(__file__)
_LIMITS: Final = {
    "heavy_html": 1_000_000,  # bytes of HTML: a long book
    "heavy_page": 4_000_000,  # bytes of a page with its files: the median page of the web has two to three million
    "heavy_image": 500_000,  # bytes: ten times the median
    "many_requests": 100,  # files of a page: the median page of the web has about 70
    "long_url": 250,  # characters; some programs cut longer ones off
    "min_pages": 20,
    "few": 0.1,  # share of the pages up to which something is an exception; beyond that the site is built like that
    "page_number": PAGE_NUMBER,
}
"""What queries have in braces. The texts of the findings name some of these numbers."""


class SiteCheck(NamedTuple):
    """A kind of fault, the query that finds it, and the query for how many could have it."""

    kind: SiteFindingKind
    sql: str
    of: str
    needs_whole: bool = False
    """Whether all links have to be known."""
    needs_pages: bool = True
    """Whether the stored pages have to be read."""


def _check(
    name: str,
    of: str = "indexed",
    *,
    within: str = "",
    note: str = "",
    needs_whole: bool = False,
    needs_pages: bool = True,
) -> SiteCheck:
    """The check with the query of that name, which may be part of another (`within`)."""
    sql = SQL[name].format_map(_LIMITS)
    if within:
        sql = SQL[within].format(check=sql, note=note, **_LIMITS)
    return SiteCheck(KINDS[name], sql, SQL[of], needs_whole, needs_pages)


SITE_CHECKS: Final = (
    _check("h1-duplicate"),
    _check("canonical-missing", within="exceptions"),
    _check("url-style", within="exceptions", needs_pages=False),
    _check("title-of-another"),
    _check("canonical-noindex", "with-other-canonical", needs_pages=False),
    _check(
        "hreflang-errors",
        "with-alternates",
        within="alternates",
        note="' returns ' || coalesce(target.status::varchar, target.reason)",
    ),
    _check(
        "hreflang-redirects",
        "with-alternates",
        within="alternates",
        note="' redirects to ' || coalesce(target.leads_to, '?')",
    ),
    _check("hreflang-noindex", "with-alternates", within="alternates", note="' is noindex'"),
    _check("broken-fragments", "with-fragments"),
    _check("links-to-forbidden", "linked", needs_pages=False),
    _check("nofollow-internal", within="links", note="target", needs_pages=False),
    _check("tracking-parameters", within="links", note="target", needs_pages=False),
    _check("vague-links", within="links", note="anchor || ': ' || target", needs_pages=False),
    _check("one-inlink", "good", needs_whole=True, needs_pages=False),
    _check("long-urls", needs_pages=False),
    _check("charged-without-consent", "known", needs_pages=False),
    _check("heavy-images", "measured-images"),
    _check("heavy-pages", "read"),
    _check("many-requests", "read"),
)
