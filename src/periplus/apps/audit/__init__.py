"""An audit of a site for its owner: what crawlers make of its sitemap, dates, links, pages and robots.txt.

`audit` runs SQL over `insight.views` for one site and returns findings, each with a stable name, a severity, a count,
examples, why it matters and what to do (`finding_kinds`; docs/audit.md lists them). In reading order: `results` has the
types, `site_table` makes the tables; the checks are `sitemap_contents` (is the sitemap complete and clean?), `lastmod`,
`page_texts` (titles, descriptions, canonical URLs, internal links), `embedded_files` (images, styles, scripts,
external links, hreflang, requested for the audit), `robots_file`, and the declared ones: `site_checks`, a query each,
and `page_checks`, a function over one page each (`audited_page`), which `page_facts` runs in one pass over the stored
pages, with `languages` and `structured_data` for what they ask; `site_audit` adds hints and costs, puts all together
and rates each area, and `budgets` checks what the owner has set. `comparison` is what changed since the last audit, and
the trend over all. `html_page` and `ci_formats` write HTML, CSV, JUnit and SARIF; `page_grid` is a table of pages.

Nothing here sends a request. What was not fetched is not judged, and is listed in `unjudged`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .ci_formats import to_csv, to_junit, to_sarif
    from .comparison import (
        AuditComparison,
        FindingChange,
        TrendPoint,
        compare,
        load_last,
        load_trend,
        save_last,
        save_trend,
        with_audit,
    )
    from .embedded_files import Checks, SitemapLook, UrlCheck, load_checks, save_checks
    from .finding_kinds import KINDS
    from .html_page import page
    from .page_grid import grid_csv, grid_page, grid_text
    from .results import QUESTIONS, Area, Audit, BudgetCheck, Cost, Dates, Mark, SiteFinding, SiteFindingKind
    from .site_audit import AuditSettings, JudgedAudit, audit, judge
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "KINDS",
    "QUESTIONS",
    "Area",
    "Audit",
    "AuditComparison",
    "AuditSettings",
    "BudgetCheck",
    "Checks",
    "Cost",
    "Dates",
    "FindingChange",
    "JudgedAudit",
    "Mark",
    "SiteFinding",
    "SiteFindingKind",
    "SitemapLook",
    "TrendPoint",
    "UrlCheck",
    "audit",
    "compare",
    "grid_csv",
    "grid_page",
    "grid_text",
    "judge",
    "load_checks",
    "load_last",
    "load_trend",
    "page",
    "save_checks",
    "save_last",
    "save_trend",
    "to_csv",
    "to_junit",
    "to_sarif",
    "with_audit",
]
