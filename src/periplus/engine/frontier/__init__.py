"""The frontier: which URLs wait, which sites may be visited now, and which URL is next.

A site becomes *active* when a URL of it waits, and is *parked* when none does. In between it *rests* until politeness
allows a visit, is then *ready*, is *busy* while it is asked, and rests again; a site whose robots.txt lies elsewhere is
*held* until the answer is there. (Mercator's back-end queues and BUbiNG's workbench are the models; two levels of
heaps, addresses and the sites at each, make every step logarithmic in the number of sites.)

URLs are not here but in queues on disk (`Queues`); memory holds a bounded number of sites, and those beyond wait in
their queues. So memory grows neither with URLs nor with sites.

In reading order: `frontier` has the three verbs, discover, take and report; `desk` is what all of it works on.
`admission` filters, looks up and queues what is discovered. `site` is the state machine of one site and owns the
records of sites, `schedule` holds all active sites, `addresses` those that they share, with other shards too, `domains`
their budgets and `discounts`, `heap` is the priority queue behind both. `selection` picks the next URL of a site,
`revisiting` is what schedules further visits, `scores` keeps queues in the order of an ordering that learns, `steering`
has patterns that people gave while the crawl ran. `preflight` asks each site for its address and its robots.txt,
`robots` says what that allows, `politeness` how long a site rests and what a failure means, and remembers failures, for
people. `reach` notices that no server can be reached. `leases` are the tasks that are out, `reports` decides what
follows from an outcome, `frontier_state` is what a commit holds besides rows, `adoption` learns from archived answers
of a crawl whose state is lost. All of it is pure: time is an argument, chance is a `Random` that was given.
docs/politeness.md describes it for site owners, docs/internals.md for those who change it.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import FrontierSettings, PolitenessSettings, RetrySettings
    from .addresses import AddressClaims, AddressShares, ClaimsReport, key_of
    from .admission import LANES
    from .desk import FrontierDesk, FrontierRules
    from .discounts import Discounts
    from .domains import Domains, PassState
    from .frontier import Frontier
    from .frontier_state import FrontierState, ScoreState
    from .heap import IndexedHeap
    from .leases import Lease, Leases
    from .politeness import (
        OUR_OWN,
        Setback,
        delay_after,
        is_temporary,
        is_tried_again,
        reason_of,
        retry_for,
        seconds_for,
    )
    from .reach import CutOff
    from .revisiting import Revisiting
    from .robots import RobotsGate, robots_url
    from .schedule import Schedule
    from .selection import embedded_name, file_name
    from .site import TRANSITIONS, ActiveSite, Move, RequestKind, SiteRecords, SiteStage, transition_table
    from .steering import Preview
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "LANES",
    "OUR_OWN",
    "TRANSITIONS",
    "ActiveSite",
    "AddressClaims",
    "AddressShares",
    "ClaimsReport",
    "CutOff",
    "Discounts",
    "Domains",
    "Frontier",
    "FrontierDesk",
    "FrontierRules",
    "FrontierSettings",
    "FrontierState",
    "IndexedHeap",
    "Lease",
    "Leases",
    "Move",
    "PassState",
    "PolitenessSettings",
    "Preview",
    "RequestKind",
    "RetrySettings",
    "Revisiting",
    "RobotsGate",
    "Schedule",
    "ScoreState",
    "Setback",
    "SiteRecords",
    "SiteStage",
    "delay_after",
    "embedded_name",
    "file_name",
    "is_temporary",
    "is_tried_again",
    "key_of",
    "reason_of",
    "retry_for",
    "robots_url",
    "seconds_for",
    "transition_table",
]
