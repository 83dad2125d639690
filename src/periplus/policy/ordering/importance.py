"""Orderings of the frontier: those that learn from every link, those that rank all known pages, and simple baselines.

The best page of a site goes first, and the site with the best page. A ranking needs all links that were seen, and time:
more frequent rankings give a better order and cost more. `Scored` is a program's own ordering, the function given as
`score=`.

`level_of` maps a score to one of 256 levels, because a queue on disk is ordered by a byte, and within a level first
come, first served. Larger scores never get larger levels. Shares of importance (PageRank, cash, mass) are positive and
spread over many powers of ten: they get two levels for each octave. Costs (depth) are whole numbers below zero: they
get a level each. Zero lies between.

    2^32 and more     0
    [2^31, 2^31.5)    1
    1                 63
    2^-32             127     and less, down to zero
    0                 128
    -1                129     -0.5 as well: the next whole number
    -127 and less     255
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from periplus.model import ConfigError, Discovery, InvariantError, KnownLinks, Source, Stage, Url, UsageError

from ..found import Score, failed_call, found_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OCTAVES = 32
ZERO_LEVEL = 128
LAST_LEVEL = 255
_HALF_OCTAVE = math.sqrt(0.5)


def level_of(score: float) -> int:
    """The level of a score, 0 (first) to 255 (last)."""
    if score < 0.0:
        return LAST_LEVEL if score <= ZERO_LEVEL - LAST_LEVEL else ZERO_LEVEL + math.ceil(-score)
    if score == 0.0:
        return ZERO_LEVEL
    if not score > 0.0:
        raise InvariantError("an ordering returned a score that is not a number")
    if score >= 2.0**OCTAVES:
        return 0
    fraction, octave = math.frexp(score)  # exact, where a logarithm would round
    return min(2 * (OCTAVES - octave) + (fraction < _HALF_OCTAVE), ZERO_LEVEL - 1)


def _rising(level: int) -> float:
    if level > ZERO_LEVEL:
        return 0.0
    octave = OCTAVES - level // 2
    return math.ldexp(_HALF_OCTAVE if level % 2 else 1.0, octave) if level < ZERO_LEVEL else math.ulp(0.0)


RISES = [math.inf, *map(_rising, range(1, LAST_LEVEL + 1))]
"""For each level the least score of a better one; below zero, where that is not known, 0."""


def lowered(level: int, share: float) -> int:
    """The level of a page that is worth this share of what its level says: two levels further for each half."""
    return min(level - round(2 * math.log2(share)), LAST_LEVEL) if share > 0.0 else LAST_LEVEL


def levels_of(scores: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The level of each, as `level_of`, for millions at once. Scores below zero do not occur here."""
    import numpy as np

    fraction, octave = np.frexp(np.minimum(scores, 2.0**OCTAVES))
    levels = 2 * (OCTAVES - octave) + (fraction < _HALF_OCTAVE)
    levels = np.clip(levels, 0, ZERO_LEVEL - 1)
    return np.where(scores > 0.0, levels, ZERO_LEVEL).astype(np.uint8)


class ByWorth:
    """The priority of a URL is its score, however long it has waited."""

    def score_of(self, worth: float, age: int) -> float:  # noqa: ARG002
        """The score itself."""
        return worth

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue, then the longest waiting time."""
        return float(level), ready_at


_EVEN_LEVELS = 127
_LEVELS_AN_OCTAVE = 8
_LAST_OCTAVE = -16
"""How the levels are shared among scores from 0 to 1: half of them evenly, the others by octaves from 2^-16 on."""


class Scored(ByWorth):
    """URLs by the score of a function, from 1 (first) to 0 (last); equal scores in the order of discovery.

    Scores outside that range count as 0 or 1. Differences count from 1/127 on, and from a tenth of the smaller score:
    of functions such as 1 / length all scores are small.
    """

    def __init__(self, score: Score) -> None:
        self._score = score

    def score(self, discovery: Discovery) -> float:
        """Ask the function. Raises `UsageError` if it raises or returns something other than a number."""
        try:
            value = float(self._score(discovery.url, found_of(discovery)))
        except Exception as error:
            raise failed_call("score", discovery.url, error) from error
        if math.isnan(value):
            raise UsageError(f"score= returned NaN for {discovery.url}", hint="return a number from 0 to 1")
        value = min(max(value, 0.0), 1.0)
        octaves = max(math.log2(value) - _LAST_OCTAVE, 0.0) if value else 0.0
        return _score_at(LAST_LEVEL - round(_EVEN_LEVELS * value + _LEVELS_AN_OCTAVE * octaves))


def _score_at(level: int) -> float:
    """A score of a level."""
    if level >= ZERO_LEVEL:
        return float(ZERO_LEVEL - level)
    return math.ldexp(0.5 if level % 2 else 0.75, OCTAVES - level // 2)


class ByGain(ByWorth):
    """The score of a URL comes from the pages that link to it."""

    def score(self, discovery: Discovery) -> float:
        """The sum of its gains; a seed starts with one unit."""
        return discovery.gain + (discovery.source is Source.SEED)


class ByRank(ByGain):
    """The score is computed again, over all known pages, after every `every` pages."""

    is_batch = False

    def __init__(self, every: int = 10_000, damping: float = 0.85) -> None:
        if every < 1 or not 0.0 < damping < 1.0:
            raise ConfigError(
                f"ranks cannot be computed every {every} pages with damping {damping}",
                hint="`every` must be at least 1, and `damping` between 0 and 1",
            )
        self.every = every
        self._damping = damping


class InDegree(ByGain):
    """The worth of a URL is the number of fetched pages that link to it; a seed counts as linked once.

    Back-link count of Cho, Garcia-Molina & Page (1998). Good in their crawl of Stanford, poor in that of Baeza-Yates,
    Castillo, Marin & Rodriguez (2005): a site that links each of its pages from every other gets them all fetched
    first.
    """

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Every link counts equally."""
        return 1.0

    def rest(self, worth: float) -> float:
        """The page keeps its worth."""
        return worth


class Opic(ByGain):
    """The worth of a URL is its cash: on-line page importance computation (Abiteboul, Preda & Cobena 2003).

    Every seed begins with the same cash. A page that is fetched gives what it has to the pages it links to, in equal
    parts; the page with most cash is fetched next. What a page collects in the long run is its PageRank without a jump;
    before that the cash is a good guess (Baeza-Yates et al. 2005 found it among the best that need no recomputation).
    A step costs as much as the page has links.

    Cash that comes to a page which was fetched already stays there; a page without links keeps its own. The paper's
    virtual page, which would distribute that to all pages equally, changes no order.
    """

    def share(self, worth: float, links: int) -> float:
        """An equal part of all it has."""
        return worth / links

    def rest(self, worth: float) -> float:  # noqa: ARG002
        """Nothing: the page gives all its cash away."""
        return 0.0


class AdaptiveOpic(Opic):
    """The priority of a URL is what it collects in `window` fetches, as the paper measures a changing graph.

    A URL that has collected for longer than the window counts by its income over one window, so that a page found late
    is not behind one that has waited long and gained little. Time is counted in pages fetched.
    """

    def __init__(self, window: int = 10_000) -> None:
        if window < 1:
            raise ConfigError(f"opic_adaptive: window must be at least 1, got {window}")
        self._window = window

    def score_of(self, worth: float, age: int) -> float:
        """All it has, if it is young; its income over a window, if not."""
        return worth if age <= self._window else worth * self._window / age


_TOLERANCE = 1e-4
"""Of the sum of all errors: an order needs no ten digits."""


class PartialPageRank(ByRank):
    """The worth of a URL is its PageRank when last computed, in multiples of the mean, and what it gained since.

    *Partial* of Castillo et al. (2004): new URLs wait with the others at once, each with the sum of what the pages that
    link to it would pass on, and all are ranked again after every `every` pages.
    """

    def share(self, worth: float, links: int) -> float:
        """An equal part of its rank."""
        return worth / links

    def rest(self, worth: float) -> float:
        """A rank is not spent."""
        return worth

    def batch_size(self, waiting: int) -> int:
        """All of them, up to the size of a batch."""
        return min(waiting, self.every)

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """PageRank over the known links, in multiples of its mean, starting from the last result."""
        import numpy as np

        from periplus.graph import pagerank  # its libraries take a second to load, and most crawls never rank

        count = len(known.worth)
        start = np.maximum(known.worth, 1e-3)
        ranks = pagerank(
            known.sources, known.targets, count, self._damping, start=start / start.sum(), tolerance=_TOLERANCE
        )
        return ranks * count


class BatchPageRank(PartialPageRank):
    """The same, but nothing is fetched until it is chosen for a batch: *Batch* of Castillo et al. (2004).

    It ranks all that is known, fetches the best `every` pages, and only then ranks again: a URL that is found meanwhile
    waits for the next batch.
    """

    is_batch = True

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Nothing: scores do not change between two batches."""
        return 0.0


_STEPS = 60
"""Links that mass is followed along, at most: 0.85^60 of it is then left, less than a level."""


class RankMass(ByRank):
    """The worth of a URL is the mass that arrives there over fetched pages; a seed has one unit of its own.

    Cho & Schonfeld (2007). A surfer who begins at the seeds, follows links, and begins again with probability 1 - d,
    spends some time on pages not yet fetched: on each as much as comes to it over pages that were. That is a lower
    bound of its personalised PageRank; the page with most is fetched next. It is OPIC with a surfer who gets tired:
    `damping` of what was given arrives, so that long ways count less.

    A page that is fetched passes its mass on at once. What comes back to pages fetched before goes on when all of it is
    computed again, after every `every` pages.
    """

    def share(self, worth: float, links: int) -> float:
        """An equal part of its mass, damped."""
        return self._damping * worth / links

    def rest(self, worth: float) -> float:  # noqa: ARG002
        """Nothing: the page passes all its mass on."""
        return 0.0

    def batch_size(self, waiting: int) -> int:
        """The batch is the whole frontier."""
        return waiting

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """The mass of each URL that waits: what comes to it from the seeds over pages that are done."""
        import numpy as np
        from scipy.sparse import csr_matrix  # it takes a second to load, and most crawls never rank

        count = len(known.worth)
        is_done = known.stage == Stage.DONE
        links = np.bincount(known.sources, minlength=count)
        passed = np.where(is_done & (links > 0), self._damping / np.maximum(links, 1), 0.0)
        matrix = csr_matrix((passed[known.sources], (known.targets, known.sources)), shape=(count, count))
        seeds = known.is_seed.astype(np.float64)
        mass = seeds
        for _ in range(_STEPS):
            before, mass = mass, seeds + matrix @ mass
            if np.abs(mass - before).max(initial=0.0) < 1e-9:
                break
        return np.where(is_done, 0.0, mass)


class WindowedRankMass(RankMass):
    """The best `share` of the frontier is fetched before all of it is scored again; at least `every` pages.

    The paper's windowed algorithm: fewer steps for nearly the same order.
    """

    is_batch = True

    def __init__(self, share: float = 0.1, every: int = 100, damping: float = 0.85) -> None:
        super().__init__(every, damping)
        if not 0.0 < share <= 1.0:
            raise ConfigError(f"rankmass_windowed: share must be above 0 and at most 1, got {share}")
        self._share = share

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """Nothing: scores do not change between two windows."""
        return 0.0

    def batch_size(self, waiting: int) -> int:
        """The share of it, but not too few."""
        return min(waiting, max(self.every, round(self._share * waiting)))


class BreadthFirst:
    """Shallow pages first: a page by its distance from a seed, a site by its shallowest page, then by waiting time.

    Najork & Wiener ("Breadth-first crawling yields high-quality pages", 2001) found over 328 million pages that pages
    of high PageRank are found early this way: many links lead to them, so one of them is short. In the two-level
    scheduler of Castillo et al. (2004) this is *Depth*.
    """

    def score(self, discovery: Discovery) -> float:
        """One less for every link from a seed."""
        return -float(discovery.depth)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The level of the head of its queue."""
        return float(level), ready_at


class LargestSite:
    """The site with most pages to fetch first; pages of a site in the order of their discovery.

    *Length* of Castillo, Marin, Rodriguez & Baeza-Yates (2004). Politeness makes the largest sites the last to end: a
    crawl that starts them late waits for them alone. Taking the longest queue first avoids that, and in their
    simulations it also beat orderings by periodic PageRank, where large sites were good sites. First come, first served
    within a site is almost breadth-first.
    """

    def score(self, discovery: Discovery) -> float:  # noqa: ARG002
        """The same for all: a level is first come, first served."""
        return 0.0

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """Longest queue first, then the longest waiting time."""
        return -float(waiting), ready_at


class RandomOrder:
    """Pages in an order that `seed` decides, sites by waiting time: the baseline that every other ordering has to beat.

    The score is a hash of the URL, so that a crawl which was killed continues in the same order. Scores are spread
    evenly over the levels of a queue, that is, over the octaves.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed & (1 << 64) - 1

    def score(self, discovery: Discovery) -> float:
        """Between 2^-32 and 2^32, uniform over the octaves."""
        chance = xxh3_64_intdigest(discovery.url.encode(), self._seed) / 2.0**64
        return math.pow(2.0, (2.0 * chance - 1.0) * OCTAVES)

    def site_key(self, waiting: int, level: int, ready_at: float) -> tuple[float, float]:  # noqa: ARG002
        """The longest waiting time first."""
        return 0.0, ready_at


class Optimal(ByWorth):
    """By the PageRank that a page will have in the end, which an oracle returns: *Optimal* of Castillo et al. (2004).

    A first crawl has no oracle. The simulator has, and a second crawl of the same web has what the first one found out.
    All orderings by importance are measured against it, though it is not the best of them to the end: it is too greedy,
    and has few sites left when the good pages are fetched.
    """

    def __init__(self, oracle: Callable[[Url], float]) -> None:
        self._oracle = oracle

    def score(self, discovery: Discovery) -> float:
        """The score that the oracle returns."""
        return self._oracle(discovery.url)
