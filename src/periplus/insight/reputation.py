"""The job that computes the reputation of domains: from the links of a collection to the budgets of a crawl.

    learn_reputation(folder, layout.spooled, seeds=seeds)

reads what is new of the tables (`domain_graph`), scores all domains (`policy.reputation`), and returns a table of
budgets, of which the caller writes the bytes as the learnt file "reputation". It also writes verdicts of the judge
"reputation", for people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import Judged, Url
from periplus.policy.reputation import KnownReputation, budgets_of, domain_hash, networks, of_listed, star, trust
from periplus.policy.spam import SpamScores
from periplus.store.tables import Spooled
from periplus.urls import site_of

from . import verdicts
from .domain_graph import DomainGraph, networks_of

SPAM_ABOVE: Final = 0.5
"""Probability of spam above which the links of a domain do not count."""
MAX_VERDICTS: Final = 10_000
"""Domains with a verdict: the most reputable ones, as many as a person may look at."""


class ReputationSettings(Struct, frozen=True):
    """How domains are scored: see `BudgetSettings`. `shards`: how many there are; `owner`: which has a site."""

    score: str = "trust"
    base: int = 10
    largest: int = 10_000
    suffixes: tuple[str, ...] = ()
    shards: int = 1
    owner: Callable[[str], int] | None = None


class Reputation(Struct, frozen=True):
    """The domains of a collection with their scores, budgets, and the number of domains that link to each."""

    names: list[str]
    scores: NDArray[np.float64]
    budgets: NDArray[np.int64]
    supporters: NDArray[np.float64]
    shards: NDArray[np.int64]

    def known(self) -> KnownReputation:
        """As shards look it up: each has its part of a budget."""
        hashes = np.fromiter(map(domain_hash, self.names), np.uint64, len(self.names))
        budgets = np.maximum(self.budgets // self.shards, 1).astype(np.uint32)
        return KnownReputation(hashes, budgets, self.scores.astype(np.float32))


def learn_reputation(
    folder: Path,
    spooled: Sequence[Spooled] = (),
    *,
    seeds: Sequence[Url],
    settings: ReputationSettings | None = None,
    spam: SpamScores | None = None,
    now: float = 0.0,
) -> Reputation:
    """Score the domains of the collection in `folder`, and write verdicts there, judged at `now`.

    Links of domains that are more likely spam than not do not count: trust that has leaked into a farm ends there.
    """
    settings = settings or ReputationSettings()
    graph = DomainGraph(settings.suffixes, settings.shards, settings.owner)
    graph.read(folder, spooled)
    own = np.unique(np.array([graph.number(site_of(seed)) for seed in seeds], np.int64))
    sources, targets = _honest_links(graph, spam)
    n = len(graph)
    supporters = star(targets, n)
    if settings.score == "star":
        scores = supporters
    elif settings.score == "networks":
        scores = networks(sources, targets, n, networks_of(folder, graph.names, spooled))
    else:
        scores = trust(sources, targets, n, own[own >= 0])
    scores = of_listed(scores, *graph.listings)
    budgets = budgets_of(scores, settings.base, settings.largest)
    found = Reputation(graph.names, scores, budgets, supporters, graph.shards)
    verdicts.write(folder, "reputation", _verdicts(found, settings.score, now))
    return found


def _honest_links(graph: DomainGraph, spam: SpamScores | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The links between domains, without those of spam."""
    sources, targets = graph.links
    if spam is None or spam.is_empty:
        return sources, targets
    is_honest = np.fromiter((spam.of_domain(name) <= SPAM_ABOVE for name in graph.names), bool, len(graph))
    return sources[is_honest[sources]], targets[is_honest[sources]]


def _verdicts(found: Reputation, score: str, now: float) -> list[Judged]:
    """What is to be said of the most reputable domains."""
    best = np.argsort(-found.scores, kind="stable")[:MAX_VERDICTS]
    highest = max(float(found.scores.max(initial=0.0)), 1e-300)
    return [
        Judged(
            "domain",
            found.names[number],
            "reputation",
            "trusted" if found.scores[number] > 0 else "unknown",
            float(found.scores[number]) / highest,
            (
                f"{int(found.supporters[number])} other domains link to it",
                f"its {score} allows {int(found.budgets[number])} pages in the first pass",
            ),
            now,
        )
        for number in best.tolist()
    ]
