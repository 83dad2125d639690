"""Who may be visited now: the sites that have something waiting, and when each may be asked again.

A site is *admitted* to the workbench when a URL of it waits, and leaves when none does. There it *rests* until
politeness allows a visit: its own delay has passed, and its address has been left alone long enough, too. Then it is
*ready*, in the order in which sites are wanted. Taken from there it is *visited*, by one request at a time, and
rests again. A site whose robots.txt led elsewhere is *held* until the answer is there, but runs the errands of others.
(Mercator's back-end queues and BUbiNG's workbench of visit states are the models; two levels of heaps, addresses and
the sites on each, make every step logarithmic in the number of sites.)

URLs are not here but in queues on disk (`Queues`); the workbench holds a bounded number of sites, and those beyond wait
in their queues until a place is free. So memory grows neither with URLs nor with sites.

`admission` is the door through which URLs come, `rounds` lets sites take turns, `offers` is what each has next,
`permission` asks each for its address and its robots.txt, `robots` says what that allows, `politeness` how long a
site rests, `retries` what a failure means, `second_chances` when what failed is forgotten, `esteem` what a URL is
worth while it waits, `sources` what a site's two sources have earned, `refresher` who is visited again, `valuing`
what a visit is worth, `spending` what may be spent on visits, `forecasting` what one will then have to be worth,
`takings` what visits bring, `panel` how fresh all of them are, `foretold` who is next and why, `shares` how those and
new ones get along, `claims` which addresses a shard sends requests to, and its share of each, `comparer` how much a
page has changed, `history` what a visit adds to a URL's record, `leases` who has what, `agenda` is the heap behind
most of it. All of it is pure: time is an argument, chance is a `Random` that was given.
docs/politeness.md tells the same to site owners.
"""

from .admission import LANES, Admission, lane_of
from .claims import AddressClaims, AddressShares, ClaimsReport
from .comparer import Compared, Comparer
from .esteem import Esteem
from .files import Files
from .foretold import Foretelling, NextVisit
from .history import after_failure, after_visit
from .leases import Lease, Leases
from .offers import Offers
from .panel import Freshness, Gauge, waiting_again
from .permission import Permission
from .politeness import PolitenessSettings, rest_after
from .refresher import Refresher
from .retries import OUR_OWN, Retry, RetrySettings, is_of_the_moment, is_tried_again, reason_of, retry_for
from .robots import RobotsGate, robots_url
from .rounds import EXCLUDED_AT_ONCE, SOON, Rounds, file_name, purpose_of
from .second_chances import SecondChances
from .sources import Sources, is_settled, place_of
from .spending import Watching, WatchSettings
from .valuing import Valuer
from .workbench import ActiveSite, FrontierSettings, Place, Workbench

__all__ = [
    "EXCLUDED_AT_ONCE",
    "LANES",
    "OUR_OWN",
    "SOON",
    "ActiveSite",
    "AddressClaims",
    "AddressShares",
    "Admission",
    "ClaimsReport",
    "Compared",
    "Comparer",
    "Esteem",
    "Files",
    "Foretelling",
    "Freshness",
    "FrontierSettings",
    "Gauge",
    "Lease",
    "Leases",
    "NextVisit",
    "Offers",
    "Permission",
    "Place",
    "PolitenessSettings",
    "Refresher",
    "Retry",
    "RetrySettings",
    "RobotsGate",
    "Rounds",
    "SecondChances",
    "Sources",
    "Valuer",
    "WatchSettings",
    "Watching",
    "Workbench",
    "after_failure",
    "after_visit",
    "file_name",
    "is_of_the_moment",
    "is_settled",
    "is_tried_again",
    "lane_of",
    "place_of",
    "purpose_of",
    "reason_of",
    "rest_after",
    "retry_for",
    "robots_url",
    "waiting_again",
]
