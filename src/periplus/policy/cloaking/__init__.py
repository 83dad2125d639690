"""Cloaking: pages that show crawlers something else than browsers, and hosts that redirect their readers elsewhere.

`comparison` judges three copies of a page; `probing` decides which pages are worth a second request; `redirections`
finds hosts whose pages send browsers to another domain. Nothing here fetches: that is `crawl.cloaking`.

A site that decides by the address of its visitor, not by the name of the program, cannot be found out from one address.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .comparison import CloakingFound, Copy, Kind, compare, copy_of
    from .probing import (
        SiteProbes,
        Step,
        begin_comparison,
        end_comparison,
        is_due,
        most_requests,
        next_step,
        wants_comparison,
    )
    from .redirections import SiteRedirections, count_page, leads_away
    from .settings import BROWSER_PROBE, CRAWLER_PROBE, CloakingSettings, RedirectionSettings
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "BROWSER_PROBE",
    "CRAWLER_PROBE",
    "CloakingFound",
    "CloakingSettings",
    "Copy",
    "Kind",
    "RedirectionSettings",
    "SiteProbes",
    "SiteRedirections",
    "Step",
    "begin_comparison",
    "compare",
    "copy_of",
    "count_page",
    "end_comparison",
    "is_due",
    "leads_away",
    "most_requests",
    "next_step",
    "wants_comparison",
]
