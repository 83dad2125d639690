"""Decides how much of a crawl each registrable domain gets, and when.

Domains and hosts cost a spammer nothing, so a crawl must not treat every host alike. Domains are scored by the links
between them; scores become budgets of pages and bounds for hosts; pages beyond a budget are not refused but come in a
later pass over the web. `KnownReputation` is the table that a job hands to the crawl. Everything is pure: the graph
comes from `parts.reputation.job`, and `engine.frontier.domains` counts.

The domain graph has an edge from a to b if any page of a links to any page of b without `nofollow`, `ugc` or
`sponsored`; each edge counts once, however many pages have the link. Scores:

* `star`: the number of other domains that link to a domain (STAR, in IRLbot: Lee et al. 2008).
* `networks`: the same, but domains whose addresses share a network count once: many domains are cheap, many networks
  are not.
* `trust` (the default): PageRank that starts at the domains of the seeds and returns there (TrustRank: Gyongyi,
  Garcia-Molina & Pedersen 2004). A farm can make any number of links among its own domains, but not links from
  the seeds.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import CollectionDamaged

DAMPING: Final = 0.85
"""Probability of following a link: the usual value of PageRank."""
TOLERANCE: Final = 1e-9
"""Sum of all errors of the trust of all domains."""

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


def unique_edges(sources: Numbers, targets: Numbers, n: int) -> tuple[Numbers, Numbers]:
    """Each pair of different domains once, in the order of sources and targets, which are below `n`."""
    keys = np.unique(sources[sources != targets] * n + targets[sources != targets])
    return keys // max(n, 1), keys % max(n, 1)


def trust(sources: Numbers, targets: Numbers, n: int, seeds: Numbers) -> Scores:
    """Personalised PageRank of `n` domains from the seeds' domains; edges are unique. Uniform without seeds."""
    jump = np.zeros(n)
    jump[seeds] = 1.0
    if not n:
        return jump
    from periplus.graph import pagerank  # its libraries take a second to load, and a crawl does not need them

    return pagerank(sources, targets, n, DAMPING, jump=jump if len(seeds) else None, tolerance=TOLERANCE)


def star(targets: Numbers, n: int) -> Scores:
    """The number of domains that link to each of `n` domains; edges are unique."""
    return np.bincount(targets, minlength=n).astype(np.float64)


def networks(sources: Numbers, targets: Numbers, n: int, network: Numbers) -> Scores:
    """The number of networks from which each of `n` domains is linked. `network` numbers that of each domain."""
    if not len(sources):
        return np.zeros(n)
    keys = np.unique(targets * (int(network.max()) + 1) + network[sources])
    return np.bincount(keys // (int(network.max()) + 1), minlength=n).astype(np.float64)


def of_listed(scores: Scores, listing: Numbers, listed: Numbers) -> Scores:
    """Scores in which domains without one get a share of those whose sitemaps list them.

    The sitemaps of domain `listing[i]` list pages of domain `listed[i]`. A domain divides its score among those that it
    lists, so that naming many gives each of them little.
    """
    if not len(listing):
        return scores
    listing, listed = unique_edges(listing, listed, len(scores))
    share = scores / np.maximum(np.bincount(listing, minlength=len(scores)), 1)
    gained = np.zeros_like(scores)
    np.maximum.at(gained, listed, share[listing])
    return np.where(scores > 0, scores, gained)


FEWEST_ACTIVE_HOSTS: Final = 16
"""Hosts of a domain that may be active at a time, whatever its budget."""
ACTIVE_PER_ROOT: Final = 4.0
"""Active hosts for each square root of a budget: 400 for the largest budget, 10,000."""
_HASHES: Final = 2.0**64


def budgets_of(scores: NDArray[np.float64], base: int, largest: int) -> NDArray[np.int64]:
    """A budget for each score: `base` for 0, `largest` for the highest, linear between, in whole pages."""
    highest = float(scores.max(initial=0.0))
    if highest <= 0:
        return np.full(len(scores), base, np.int64)
    return np.floor(base + (largest - base) * (scores / highest)).astype(np.int64)


def base_at(hops: int, base: int) -> int:
    """The pages of a domain without a score, by the number of links between domains from a seed's domain to it.

    Each link after the first halves them: trust fades with distance, and domains that introduce each other get little
    until their links are scored.
    """
    return max(base >> max(hops - 1, 0), 1)


def max_active_hosts(budget: float, largest: int) -> int:
    """How many hosts of a domain may be active at a time; an infinite budget counts as the largest."""
    return max(FEWEST_ACTIVE_HOSTS, math.floor(ACTIVE_PER_ROOT * math.sqrt(min(budget, largest))))


def host_is_admitted(host: str, admitted: int, free: int) -> bool:
    """Whether a new host is admitted to a domain that has `admitted` hosts; the first `free` always are.

    Wildcard DNS makes hosts for nothing, so the n-th host is admitted with probability free / n. Of n hosts then free *
    (1 + ln(n / free)) are admitted. So n follows from the number of admitted hosts, and hosts that were refused, and
    are found again and again, need not be counted. The hash of the name decides: a host that was refused once is
    refused permanently.
    """
    if admitted < free:
        return True
    return xxh3_64_intdigest(host.encode()) < _HASHES * math.exp(-(admitted - free) / free)


MAX_PASS: Final = 62
"""The last pass. With the growth 2 a domain has 2^62 times its budget before."""
FIRST_OCTAVE: Final = -20
"""Shares of a budget below 2^-20 are treated as equal: the largest budget has fewer pages than that."""


def pass_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The pass of the k-th page of a domain, from 1. An infinite budget is never used up.

    A domain with the budget B has B pages in pass 0, twice as many in pass 1, four times as many in pass 2, and so on
    (BEAST, in IRLbot: Lee et al. 2008). So a domain of any size is complete at some time, and a domain without trusted
    links takes few pages of each pass.
    """
    allowed, total, number = budget, budget, 0
    while k > total and number < MAX_PASS:
        allowed *= growth
        total += allowed
        number += 1
    return number


def octave_of(k: int, budget: float, growth: float = 2.0) -> int:
    """The order of the k-th page of a domain among all domains: its pass, or below 0 the octave of its budget's share.

    Half of a budget is in octave 0 like the rest of pass 0; the half below in octave -1, and so on. So within pass 0
    the domain that has used less of its budget comes first, and pages are shared in proportion to budgets.
    """
    if k * 2 > budget:
        return pass_of(k, budget, growth)
    if budget == math.inf:
        return FIRST_OCTAVE
    return max(-math.floor(math.log2(budget / k)), FIRST_OCTAVE)


MAX_CREDIT: Final = 16.0
"""Requests to spam that may be saved up: a crawl that has seen none for days must not spend all of them at once."""


class SpamCredit:
    """Counts requests; `share` of them, from 0 to 1, may go to spam. `credit` is what was saved up when it began.

    A budget orders domains only where they compete. While all other sites wait for their politeness delay, every
    request would go to a farm, whose hosts have no end. So each request to another site earns a part of one to spam. No
    URL is refused.
    """

    __slots__ = ("_earned", "credit")

    def __init__(self, share: float, credit: float = 0.0) -> None:
        self._earned = share / (1.0 - share) if share < 1.0 else math.inf
        self.credit = credit

    def count(self, *, is_spam: bool) -> None:
        """Count a request that begins."""
        self.credit = self.credit - 1.0 if is_spam else min(self.credit + self._earned, MAX_CREDIT)

    @property
    def is_enough(self) -> bool:
        """Whether a request to spam may begin."""
        return self.credit >= 1.0 or self._earned == math.inf


_MAGIC: Final = b"periplus reputation 1\n"


def domain_hash(domain: str) -> int:
    """The key of a domain."""
    return xxh3_64_intdigest(domain.encode())


class KnownReputation:
    """Budgets and scores of domains by `domain_hash`, for every shard of a crawl; an empty one has none.

    A sorted table of 16 bytes a domain, looked up by bisection. A file of another version is refused.
    """

    def __init__(self, hashes: NDArray[np.uint64], budgets: NDArray[np.uint32], scores: NDArray[np.float32]) -> None:
        order = np.argsort(hashes)
        self._hashes, self._budgets, self._scores = hashes[order], budgets[order], scores[order]

    @classmethod
    def empty(cls) -> KnownReputation:
        """A table without any domain."""
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.float32))

    @classmethod
    def read(cls, content: bytes) -> KnownReputation:
        """Decode the bytes of a file made by `written`."""
        body = content.removeprefix(_MAGIC)
        count, rest = divmod(len(body), 16)
        if rest or len(body) == len(content):
            raise CollectionDamaged("the learnt reputation is not a table of domains")
        return cls(
            np.frombuffer(body, np.uint64, count),
            np.frombuffer(body, np.uint32, count, 8 * count),
            np.frombuffer(body, np.float32, count, 12 * count),
        )

    def written(self) -> bytes:
        """Encode the table as the bytes of a file."""
        return _MAGIC + self._hashes.tobytes() + self._budgets.tobytes() + self._scores.tobytes()

    def __len__(self) -> int:
        return len(self._hashes)

    def budget(self, domain: str) -> int | None:
        """The budget of a domain; `None` if it is not known."""
        at = self._at(domain)
        return None if at is None else int(self._budgets[at])

    def score(self, domain: str) -> float | None:
        """The score of a domain; `None` if it is not known."""
        at = self._at(domain)
        return None if at is None else float(self._scores[at])

    def _at(self, domain: str) -> int | None:
        key = np.uint64(domain_hash(domain))
        at = int(np.searchsorted(self._hashes, key))
        return at if at < len(self._hashes) and self._hashes[at] == key else None
