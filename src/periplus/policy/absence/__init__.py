"""Pages that are not there although their status says so: soft 404s, and parked domains.

`site_absence` is what was learnt of how a site answers for absent pages, and which pages are error pages by that;
`not_found_words` has the words that raise a suspicion; `parked` judges domains that are for sale. Nothing here fetches:
`crawl.absence` asks for the URLs that cannot exist, `insight.parked` reads the tables.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .not_found_words import LANGUAGES, says_not_found
    from .parked import HomePage, parked_domains
    from .settings import AbsenceSettings, ParkedSettings
    from .site_absence import (
        ErrorTemplate,
        ReadPage,
        SiteAbsence,
        accept_group,
        begin_probe,
        impossible_url,
        is_error_target,
        is_home,
        is_short_apology,
        learn_honest,
        learn_nothing,
        learn_target,
        learn_template,
        may_probe,
        soft_404,
        suspect_page,
        suspect_redirect,
        word_count,
    )
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "LANGUAGES",
    "AbsenceSettings",
    "ErrorTemplate",
    "HomePage",
    "ParkedSettings",
    "ReadPage",
    "SiteAbsence",
    "accept_group",
    "begin_probe",
    "impossible_url",
    "is_error_target",
    "is_home",
    "is_short_apology",
    "learn_honest",
    "learn_nothing",
    "learn_target",
    "learn_template",
    "may_probe",
    "parked_domains",
    "says_not_found",
    "soft_404",
    "suspect_page",
    "suspect_redirect",
    "word_count",
]
