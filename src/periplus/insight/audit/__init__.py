"""An audit of a site for its owner: what crawlers make of its sitemap, dates, links, pages and robots.txt.

`audit` runs SQL over `insight.views` for one site and returns findings, each with a stable name, a severity, a count,
examples, why it matters and what to do (`finding_kinds`; docs/audit.md lists them). In reading order: `results` has the
types, `site_table` and `sitemap_entries` make the tables; the checks are `sitemap_contents` (is the sitemap complete
and clean?), `lastmod`, `sitemap_hints` (priority and changefreq), `internal_links`, `embedded_files` (images, styles,
scripts, external links, hreflang), `page_texts` (titles, descriptions, canonical URLs), `robots_txt` and `crawl_cost`;
`site_audit` puts them together, and `verdicts` rates each area. `url_checks` holds answers that were requested for the
audit, `comparison` what changed since the last one. `html_page` and `ci_formats` write HTML, CSV, JUnit and SARIF.

Nothing here sends a request. What was not fetched is not judged, and is listed in `unjudged`.
"""

from .ci_formats import to_csv, to_junit, to_sarif
from .comparison import Change, Comparison, compare, load_last, save_last
from .finding_kinds import KINDS, Kind
from .html_page import page
from .results import QUESTIONS, Area, Audit, Cost, Dates, Example, Finding, Mark, Severity
from .site_audit import AuditSettings, Judged, audit, judge
from .url_checks import Checks, SitemapLook, UrlCheck, load_checks, save_checks

__all__ = [
    "KINDS",
    "QUESTIONS",
    "Area",
    "Audit",
    "AuditSettings",
    "Change",
    "Checks",
    "Comparison",
    "Cost",
    "Dates",
    "Example",
    "Finding",
    "Judged",
    "Kind",
    "Mark",
    "Severity",
    "SitemapLook",
    "UrlCheck",
    "audit",
    "compare",
    "judge",
    "load_checks",
    "load_last",
    "page",
    "save_checks",
    "save_last",
    "to_csv",
    "to_junit",
    "to_sarif",
]
