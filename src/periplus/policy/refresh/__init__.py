"""When to come back to a page, so that each fetch buys as much freshness as it can.

A crawler learns that a page changed when it visits the page, or from signals that may be wrong: a `lastmod` that moved,
a feed, a ping. This package estimates how often each page changes and how far each site's signals can be trusted, and
computes from that what a visit is worth now, and when it will be worth its price.

*Estimation.* `evidence` is what is kept of a page (64 bytes), `signals` what is kept of a site; `estimation` makes
rates and trust of all of them at once, `ledger` those of one site, and `fresh_share` estimates how many copies are
fresh.

*Worth.* `objectives` are what may be wanted, and the policies to compare with, by name; `crawl_value` are their tables:
what a visit is worth now, and at what age it is worth a price; `allocation` shares out budgets the way the literature
and Nutch do.

Other benefits of visits are in `gains` (new pages, cheap answers), and the importance of pages in `weights`.

*Decisions.* `page_value` computes, from the record of one page, what a visit is worth and when it will be worth its
price; new pages and hubs have values in the same unit, and pages that are gone retire (`weights`). Where a crawl has
several shards, `market` moves the budget between them until they have one price.

Rates are changes a day; times are POSIX seconds and come as arguments. Everything is pure: the crawl and
the simulator call the same lines.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import RefreshSettings
    from .allocation import AdaptiveSettings, adapted
    from .crawl_value import CrawlValue
    from .estimation import Estimates, SiteBeliefs, estimate_pages, parts
    from .evidence import DAY, PAGE, PageEvidence, SignalKind, observation, unpack_page
    from .fresh_share import FreshShare
    from .gains import MOST_LINKS, NO_SITE_GAINS, PageGains, SiteGains, unpack_page_gains
    from .ledger import Ledger, fit_site, pages_of
    from .market import Bid, Market, shared_out
    from .objectives import objective
    from .page_value import (
        Appraisal,
        Appraiser,
        Hub,
        Price,
        certainty,
        learnt,
        price_for,
        rate_of,
    )
    from .signals import NO_EVIDENCE, NO_PROOF, ArchiveProof, KindEvidence, SiteEvidence
    from .weights import (
        WORTHLESS,
        PageWeights,
        RefreshRetirementSettings,
        Yield,
        after_setback,
        check_importance,
        hub_ripe_age,
        hub_worth,
        new_page_worth,
        why_worthless,
        worth_its_cost,
    )
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DAY",
    "MOST_LINKS",
    "NO_EVIDENCE",
    "NO_PROOF",
    "NO_SITE_GAINS",
    "PAGE",
    "WORTHLESS",
    "AdaptiveSettings",
    "Appraisal",
    "Appraiser",
    "ArchiveProof",
    "Bid",
    "CrawlValue",
    "Estimates",
    "FreshShare",
    "Hub",
    "KindEvidence",
    "Ledger",
    "Market",
    "PageEvidence",
    "PageGains",
    "PageWeights",
    "Price",
    "RefreshRetirementSettings",
    "RefreshSettings",
    "SignalKind",
    "SiteBeliefs",
    "SiteEvidence",
    "SiteGains",
    "Yield",
    "adapted",
    "after_setback",
    "certainty",
    "check_importance",
    "estimate_pages",
    "fit_site",
    "hub_ripe_age",
    "hub_worth",
    "learnt",
    "new_page_worth",
    "objective",
    "observation",
    "pages_of",
    "parts",
    "price_for",
    "rate_of",
    "shared_out",
    "unpack_page",
    "unpack_page_gains",
    "why_worthless",
    "worth_its_cost",
]
