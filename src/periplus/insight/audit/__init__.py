"""An audit of a site for its owner: what crawlers make of its sitemap, its dates, its links and its robots.txt.

`audit` asks a collection, in SQL over `insight.views`, about one site, and gives findings: each with a stable name and
a severity, how many, some examples, why it matters and what to do (`catalogue`; docs/audit.md lists them). Areas have
a file each: `listing` (is the sitemap complete and clean?), `dating` (is lastmod honest?), `hinting` (priority and
changefreq), `linking`, `permitting` (robots.txt) and `costing`. `gathering` has the table that they ask. `page` makes
one HTML file of it. Nothing here fetches; what was not looked at is not found fault with, and is said to be unjudged.
"""

from .auditing import AuditSettings, audit
from .catalogue import KINDS, Kind
from .page import page
from .values import QUESTIONS, Area, Audit, Cost, Dates, Example, Finding, Mark, Severity

__all__ = [
    "KINDS",
    "QUESTIONS",
    "Area",
    "Audit",
    "AuditSettings",
    "Cost",
    "Dates",
    "Example",
    "Finding",
    "Kind",
    "Mark",
    "Severity",
    "audit",
    "page",
]
