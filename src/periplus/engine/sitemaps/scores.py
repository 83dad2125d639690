"""SitemapScore: how much a page is wanted that a sitemap lists (Schonfeld & Shivakumar 2009, section 6).

* `priority`: what its site says, else 0.5; all pages alike where the site's priorities tell nothing apart.
* `pagerank`: what links say. A page to which none leads scores nothing, so that new pages wait for their first link.
* `priority_rank`: both. A sitemap is a page that the site's root leads to, and that leads to all it lists, by priority
  (`graph.priority_rank`); an orphan so has a rank of its own.

A score is a multiple of the mean of what it is compared with, as those of the orderings by importance are: a site
cannot raise all its pages by giving each of them 1.0. Ranks are computed now and then over all links (`entry_ranks`)
and looked up by URL; what has been listed since has none yet.

The protocol's `priority` compares pages of one site with each other
(https://www.sitemaps.org/protocol.html#prioritydef) and stands at 61 % of listed URLs (Schonfeld & Shivakumar 2009);
most of these were written by a program that gives all pages the same. A value that all pages share is not informative,
whether it is 1.0 or 0.5. So values are counted to the hundredth, and trusted where their entropy is not close to zero:
0.1 bits is one page in eighty that differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import ArrayLike

from periplus.model import Url

from .settings import ScoreSettings

if TYPE_CHECKING:
    from periplus.graph import Ranks, SitemapVertex

DEFAULT_PRIORITY = 0.5
"""The protocol's default for a page without a priority."""
_PARTS = 100


class Priorities(Struct, array_like=True):
    """How many pages of a site have which priority, in hundredths: at most 101 numbers, whatever the site lists."""

    counts: dict[int, int] = field(default_factory=dict)

    def observe(self, priorities: Sequence[float | None]) -> None:
        """Count the priorities of some entries, before they are scored."""
        values = np.array(priorities, np.float64)  # None becomes NaN
        is_given = (values >= 0.0) & (values <= 1.0)
        parts = np.rint(np.where(is_given, values, DEFAULT_PRIORITY) * _PARTS).astype(np.intp)
        for part, count in enumerate(np.bincount(parts).tolist()):
            if count:
                self.counts[part] = self.counts.get(part, 0) + count

    @property
    def total(self) -> int:
        """The number of entries counted."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """The mean priority; the protocol's default, if there is none above zero."""
        total = sum(part * count for part, count in self.counts.items())
        return total / self.total / _PARTS if total else DEFAULT_PRIORITY

    @property
    def entropy(self) -> float:
        """In bits: 0 where all are equal, 1 where two values are as frequent as each other."""
        total = self.total
        return -sum(count / total * math.log2(count / total) for count in self.counts.values() if count)


def given(priority: float | None) -> float:
    """The effective priority of an entry: the default if it has none or an invalid one."""
    return DEFAULT_PRIORITY if priority is None or not 0.0 <= priority <= 1.0 else priority


_DAMPING = 0.85
UNRANKED = 1.0 - _DAMPING
"""The rank that PageRank's jump alone gives to every page, in multiples of the mean: the least possible."""

RankOf = Callable[[Url], float | None]
"""The rank of a URL in multiples of the mean, or None where it has none yet."""


class SitemapScore(Protocol):
    """How much listed pages are wanted. Larger is sooner; the mean is about 1."""

    def scores(self, urls: Sequence[Url], priorities: Sequence[float | None], of_site: Priorities) -> list[float]:
        """The score of each entry of a slice, of a site whose priorities, with these, are `of_site`."""


class ByPriority:
    """By priority, where priorities differ."""

    def __init__(self, settings: ScoreSettings, rank_of: RankOf) -> None:  # noqa: ARG002 - one way to make them all
        self._settings = settings

    def scores(self, urls: Sequence[Url], priorities: Sequence[float | None], of_site: Priorities) -> list[float]:
        """Priorities in multiples of the site's mean; 1 for all where they do not differ."""
        if not self._settings.is_informative(of_site):
            return [1.0] * len(urls)
        mean = of_site.mean
        known = {priority: given(priority) / mean for priority in set(priorities)}  # they repeat
        return [known[priority] for priority in priorities]


class ByPageRank:
    """By PageRank."""

    def __init__(self, settings: ScoreSettings, rank_of: RankOf) -> None:  # noqa: ARG002
        self._rank_of = rank_of

    def scores(self, urls: Sequence[Url], priorities: Sequence[float | None], of_site: Priorities) -> list[float]:  # noqa: ARG002
        """PageRank; 0 where no link is known."""
        return [self._rank_of(url) or 0.0 for url in urls]


class ByPriorityRank:
    """By links and priorities together."""

    def __init__(self, settings: ScoreSettings, rank_of: RankOf) -> None:
        self._rank_of = rank_of
        self._by_priority = ByPriority(settings, rank_of)

    def scores(self, urls: Sequence[Url], priorities: Sequence[float | None], of_site: Priorities) -> list[float]:
        """PriorityRank; until a page has one, the lowest value, by priority."""
        ranks = map(self._rank_of, urls)
        least = self._by_priority.scores(urls, priorities, of_site)
        return [UNRANKED * score if rank is None else rank for rank, score in zip(ranks, least, strict=True)]


_SCORES: dict[str, type[ByPriority] | type[ByPageRank] | type[ByPriorityRank]] = {
    "pagerank": ByPageRank,
    "priority": ByPriority,
    "priority_rank": ByPriorityRank,
}


def sitemap_score(settings: ScoreSettings, rank_of: RankOf = lambda _url: None) -> SitemapScore:
    """The score that the settings name."""
    return _SCORES[settings.score](settings, rank_of)


def entry_ranks(
    name: str,
    sources: ArrayLike,
    targets: ArrayLike,
    n: int,
    files: Sequence[SitemapVertex] = (),
    *,
    is_informative: bool = True,
    tolerance: float = 1e-10,
) -> Ranks:
    """What `RankOf` answers from: `pagerank` or `priority_rank` of `n` pages, in multiples of their mean.

    `pagerank` is zero where no link leads, as the paper has it. `is_informative` says whether priorities count.
    """
    from periplus.graph import pagerank, priority_rank  # their libraries take a second to load

    if name == "pagerank":
        ranks = pagerank(sources, targets, n, _DAMPING, tolerance=tolerance) * n
        ranks[np.bincount(np.asarray(targets, np.int64), minlength=n) == 0] = 0.0
        return ranks
    if not is_informative:
        files = [replace(file, priorities=None) for file in files]
    ranks = priority_rank(sources, targets, n, files, _DAMPING, tolerance=tolerance)
    total = ranks.sum()
    return ranks * (n / total) if total else ranks
