"""A link farm among honest domains: the share of all budgets that it gets under each score of domains.

The honest web has domains whose popularity follows Zipf's law. The farm's domains link to each other, and comments on
honest sites link to some of them. Farms that adapt (`FARMS`) buy links, rent addresses, register more domains, or place
a link on a seed's site. Templates and texts do not matter here: links are all that a score sees.

Budgets are those of a crawl (`parts.reputation.policy.budgets_of`): linear in the score, from `BASE` to `LARGEST`
pages. `networks`, `star` and `trust` are the crawler's own; the other scores are for comparison. `supporters` counts
the domains within two links (Cui et al. 2018), `mean` is the geometric mean of networks and trust, `judged` the trust
without the links of domains that were judged to be spam, as a crawl computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from periplus.graph import pagerank, trust, unique_edges
from periplus.parts.reputation.policy import budgets_of, networks, star

from .findings import averaged

HONEST: Final = 2_000
"""Honest domains."""
LINKS: Final = 8.0
"""Mean number of domains that an honest domain links to (geometric): the median domain is then linked from two."""
ZIPF: Final = 1.0
"""Exponent of the popularity of honest domains: a link goes to the r-th with a probability of 1 / r^ZIPF."""
SEEDS: Final = 20
"""Domains of seeds, sampled from the honest ones whatever their popularity."""
FARM_LINKS: Final = 40
"""Links from the farm to each of its domains."""
COMMENTS: Final = 100
"""Links from comments on random honest domains to random domains of the farm."""
MISSED_OF: Final = 20
"""One domain of the farm in this many is not recognised as spam: on the lab fewer are missed."""
BASE: Final = 10
"""Pages of a domain with the score 0, as by default in a crawl."""
LARGEST: Final = 10_000
"""Pages of the domain with the highest score, as by default in a crawl."""

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]


class Farm(Struct, frozen=True):
    """What a farm does. `bought` and `from_seeds` are links from random honest domains and from a seed's domain."""

    name: str
    domains: int = 400
    addresses: int = 5
    bought: int = 0
    from_seeds: int = 0


FARMS: Final = (
    Farm("plain"),
    Farm("addresses", addresses=400),
    Farm("domains", domains=800),
    Farm("bought", bought=400),
    Farm("seed", from_seeds=1),
    Farm("all", domains=800, addresses=800, bought=800, from_seeds=1),
)
"""The farm of all comparisons; farms that change one thing: an address for each domain, twice the domains, a bought
link for each domain, one link from a seed's domain; and one that does all of it."""


class DomainWeb(Struct, frozen=True):
    """Domains and the links between them, each once: the first `honest` domains are honest, the others the farm's."""

    honest: int
    n: int
    sources: Numbers
    targets: Numbers
    seeds: Numbers
    network: Numbers


class ReputationRow(Struct, frozen=True):
    """A score against a farm. `share` is the farm's part of all budgets, `low` and `high` the 95 % interval.

    `values` has it for each repetition. `of_scores` is the farm's part of the sum of all scores: without the pages that
    every domain gets. `honest_budget` and `farm_budget` are medians.
    """

    experiment: str
    score: str
    farm: str
    seed: int
    repetitions: int
    share: float
    low: float
    high: float
    of_scores: float
    honest_budget: float
    farm_budget: float
    values: list[float]


class Shares(Struct, frozen=True):
    """The result on one web."""

    share: float
    of_scores: float
    honest_budget: float
    farm_budget: float


def run_reputation(
    *,
    farms: Sequence[Farm] = FARMS,
    seeds: Sequence[int] = (0,),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[ReputationRow]:
    """Every score against every farm; each repetition has another web and other seeds."""
    rows, total = [], len(farms) * len(seeds)
    for place, farm in enumerate(farms):
        found: dict[str, list[Shares]] = {score: [] for score in SCORES}
        for number, seed in enumerate(seeds):
            web = domain_web(farm, seed)
            for score, compute in SCORES.items():
                found[score].append(shares_of(web, compute(web)))
            progress(place * len(seeds) + number + 1, total)
        known = {"experiment": "reputation", "farm": farm.name, "seed": seeds[0]}
        rows += [averaged(ReputationRow, each, "share", score=score, **known) for score, each in found.items()]
    return rows


def shares_of(web: DomainWeb, scores: Scores) -> Shares:
    """What the farm gets if budgets follow these scores."""
    budgets = budgets_of(scores, BASE, LARGEST)
    return Shares(
        float(budgets[web.honest :].sum() / budgets.sum()),
        float(scores[web.honest :].sum() / scores.sum()),
        float(np.median(budgets[: web.honest])),
        float(np.median(budgets[web.honest :])),
    )


def domain_web(farm: Farm, seed: int) -> DomainWeb:
    """The honest web of this seed, the same for every farm, with the farm beside it."""
    chance = default_rng([seed, 0])
    links = [_honest_links(chance)]
    seeds = chance.choice(HONEST, SEEDS, replace=False)
    links.append(_from_honest(COMMENTS, farm, chance))
    chance = default_rng([seed, 1])  # what the farm does leaves the honest web as it is
    links += [_farm_links(farm.domains, chance), _bought_links(farm, chance)]
    links.append((seeds[: farm.from_seeds], HONEST + np.arange(farm.from_seeds)))
    n = HONEST + farm.domains
    ends = [np.concatenate([link[side] for link in links]) for side in (0, 1)]
    sources, targets = unique_edges(ends[0], ends[1], n)
    network = np.concatenate([np.arange(HONEST), HONEST + np.arange(farm.domains) % farm.addresses])
    return DomainWeb(HONEST, n, sources, targets, seeds, network)


def _honest_links(chance: Generator) -> tuple[Numbers, Numbers]:
    """Links between honest domains, which are numbered by popularity."""
    sources = np.repeat(np.arange(HONEST), chance.geometric(1 / LINKS, HONEST))
    popularity = np.arange(1, HONEST + 1) ** -ZIPF
    return sources, chance.choice(HONEST, len(sources), p=popularity / popularity.sum())


def _from_honest(count: int, farm: Farm, chance: Generator) -> tuple[Numbers, Numbers]:
    """Links from random honest domains to random domains of the farm."""
    return chance.integers(HONEST, size=count), HONEST + chance.integers(farm.domains, size=count)


def _farm_links(domains: int, chance: Generator) -> tuple[Numbers, Numbers]:
    """To each domain of the farm, links from `FARM_LINKS` others."""
    order = chance.random((domains, domains))
    np.fill_diagonal(order, 2.0)  # no domain links to itself
    sources = np.argpartition(order, FARM_LINKS, axis=1)[:, :FARM_LINKS]
    return HONEST + sources.ravel(), HONEST + np.repeat(np.arange(domains), FARM_LINKS)


def _bought_links(farm: Farm, chance: Generator) -> tuple[Numbers, Numbers]:
    """Links from random honest domains, to one domain of the farm after another."""
    return chance.integers(HONEST, size=farm.bought), HONEST + np.arange(farm.bought) % farm.domains


def supporters(web: DomainWeb) -> Scores:
    """The number of other domains that reach each domain over one or two links."""
    near = np.zeros((web.n, web.n), bool)
    near[web.targets, web.sources] = True
    rows = np.packbits(near, axis=1)
    within = rows.copy()
    for source, target in zip(web.sources.tolist(), web.targets.tolist(), strict=True):
        within[target] |= rows[source]
    reached = np.unpackbits(within, axis=1, count=web.n).astype(bool)
    np.fill_diagonal(reached, val=False)
    return np.asarray(reached.sum(axis=1), np.float64)


def _trust(web: DomainWeb) -> Scores:
    return trust(web.sources, web.targets, web.n, web.seeds)


def _judged(web: DomainWeb) -> Scores:
    """Trust, if the links of spam do not count and the verdicts found most of the farm."""
    is_missed = (np.arange(web.n) - web.honest) % MISSED_OF == 0
    counts = (web.sources < web.honest) | is_missed[web.sources]
    return trust(web.sources[counts], web.targets[counts], web.n, web.seeds)


def _networks(web: DomainWeb) -> Scores:
    return networks(web.sources, web.targets, web.n, web.network)


SCORES: Final[Mapping[str, Callable[[DomainWeb], Scores]]] = {
    "star": lambda web: star(web.targets, web.n),
    "supporters": supporters,
    "pagerank": lambda web: pagerank(web.sources, web.targets, web.n),
    "networks": _networks,
    "mean": lambda web: np.sqrt(_networks(web) * _trust(web)),
    "trust": _trust,
    "judged": _judged,
}
"""The scores that are compared."""
