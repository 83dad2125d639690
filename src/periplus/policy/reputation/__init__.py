"""How much of a crawl each registrable domain gets, and when.

Registering domains and making hosts costs a spammer nothing, so a crawl that treats every host alike is theirs.
`trust` scores domains by the links between them; `budgets` turns scores into pages, and bounds the hosts of a domain;
`passes` says in which pass over the web the k-th page of a domain is fetched (BEAST, in IRLbot: Lee et al. 2008): what
is beyond a budget is not refused, it comes later. `spam_share` counts requests to domains that were judged to be spam.
`known` is the table of scores that a job hands to the crawl.

All of it is pure: the graph comes from `insight.reputation`, and `crawl.frontier.domains` counts.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .budgets import base_at, budgets_of, host_is_admitted, max_active_hosts
    from .known import KnownReputation, domain_hash
    from .passes import octave_of, pass_of
    from .settings import SCORES, DomainBudgets, check_score
    from .spam_share import MAX_CREDIT, SpamCredit
    from .trust import networks, of_listed, star, unique_edges
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "MAX_CREDIT",
    "SCORES",
    "DomainBudgets",
    "KnownReputation",
    "SpamCredit",
    "base_at",
    "budgets_of",
    "check_score",
    "domain_hash",
    "host_is_admitted",
    "max_active_hosts",
    "networks",
    "octave_of",
    "of_listed",
    "pass_of",
    "star",
    "unique_edges",
]
