"""Balance of Discovery and Sitemaps: one site with two queues, under the balance that ships (`policy.balance`).

The sitemap of a site lists some of its pages and its links reach some, and both have waste among them: URLs that are
gone, redirect, or repeat a page. The share of waste changes from the head of a queue to its tail (`SimulatedSource`).
Every way of dividing the budget fetches the same queues, a page at a time: the `SiteBalance` of a crawl chooses the
queue, learns the result of each fetch `LAG` fetches later, and moves its quotas. A page in both queues is fetched once.

`best split` knows the queues and takes the best number of pages from each: no way of dividing can have more. The
algorithm is Figure 8 of Schonfeld & Shivakumar (2009); `strict` is the figure as printed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from msgspec import Struct

from periplus.model import Lane
from periplus.policy.balance import SiteBalance
from periplus.policy.settings import BalanceSettings

from .findings import averaged

LAG: Final = 4
"""Fetches until the result of one is known: about what a site has under way and being read."""
BEST: Final = "best split"
_WASTE: Final = -1

Choose = Callable[[int, int], Lane]
"""From which queue the next page is taken, given how many wait in (discovery, sitemaps)."""


class SimulatedSource(Struct, frozen=True):
    """A source of URLs: the share of the site's pages it has, and its share of waste at the head and at the tail."""

    coverage: float
    waste_first: float
    waste_last: float


class SiteKind(Struct, frozen=True):
    """A kind of site, by the quality of its two sources."""

    name: str
    sitemaps: SimulatedSource
    discovery: SimulatedSource


KINDS: Final = (
    SiteKind("both good", SimulatedSource(0.9, 0.02, 0.05), SimulatedSource(0.9, 0.05, 0.2)),
    SiteKind("forgotten sitemap", SimulatedSource(0.3, 0.5, 0.8), SimulatedSource(0.95, 0.05, 0.2)),
    SiteKind("cluttered links", SimulatedSource(0.9, 0.02, 0.05), SimulatedSource(0.6, 0.4, 0.9)),
    SiteKind("both decline", SimulatedSource(0.6, 0.0, 0.8), SimulatedSource(0.7, 0.1, 0.7)),
    SiteKind("sitemap turns bad", SimulatedSource(0.4, 0.0, 1.0), SimulatedSource(0.9, 0.2, 0.4)),
)
"""Sites on which one source, either, or both are good."""

WAYS: Final[Mapping[str, BalanceSettings | Lane]] = {
    "links alone": Lane.DISCOVERY,
    "sitemaps alone": Lane.SITEMAPS,
    "half and half": BalanceSettings(is_fixed=True),
    "strict": BalanceSettings(is_strict=True),
    "balance": BalanceSettings(),
}
"""Ways of dividing the budget: one queue alone while it lasts, or a balance with these settings."""


class BalanceRow(Struct, frozen=True):
    """One way on one kind of site. `unique` is the mean number of unique pages after `budget` fetches.

    `values` has it for each repetition, `low` and `high` are the 95 % interval of the mean, `of_best` the share of what
    the best split has, and `sitemaps` the share of the fetches that came from the sitemap's queue.
    """

    experiment: str
    kind: str
    way: str
    pages: int
    budget: int
    seed: int
    repetitions: int
    unique: float
    low: float
    high: float
    of_best: float
    sitemaps: float
    values: list[int]


class Fetches(Struct, frozen=True):
    """The result of a budget: unique pages, and fetches from the sitemap's queue."""

    unique: int
    sitemaps: int


class SourceQueues(Struct, frozen=True):
    """The two queues of a site: a page's number, or `_WASTE`, for each entry, the best first."""

    discovery: tuple[int, ...]
    sitemaps: tuple[int, ...]

    def of(self, lane: Lane) -> tuple[int, ...]:
        """The queue of a lane."""
        return self.sitemaps if lane is Lane.SITEMAPS else self.discovery


def run_balance(
    *,
    kinds: Sequence[SiteKind] = KINDS,
    pages: int = 2000,
    budget: int = 1000,
    seeds: Sequence[int] = (0,),
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[BalanceRow]:
    """Every way on every kind of site; repetitions differ in the positions of the waste."""
    rows, total = [], len(kinds) * len(seeds)
    for place, kind in enumerate(kinds):
        found: dict[str, list[Fetches]] = {way: [] for way in (*WAYS, BEST)}
        for number, seed in enumerate(seeds):
            queues = queues_of(kind, pages, seed)
            for way, settings in WAYS.items():
                found[way].append(fetch(queues, settings, budget))
            found[BEST].append(best_split(queues, budget))
            progress(place * len(seeds) + number + 1, total)
        best = sum(each.unique for each in found[BEST])
        known = {"experiment": "balance", "kind": kind.name, "pages": pages, "budget": budget, "seed": seeds[0]}
        rows += [_row(way, results, best, **known) for way, results in found.items()]
    return rows


def _row(way: str, results: list[Fetches], best: int, **known: Any) -> BalanceRow:
    of_best = sum(each.unique for each in results) / max(best, 1)
    sitemaps = sum(each.sitemaps for each in results) / (known["budget"] * len(results))
    return averaged(BalanceRow, results, "unique", way=way, of_best=of_best, sitemaps=sitemaps, **known)


def queues_of(kind: SiteKind, pages: int, seed: int) -> SourceQueues:
    """The queues of a site with that many pages."""
    chance = Random(f"{kind.name} {seed}")  # noqa: S311 - a simulation
    return SourceQueues(_queue(kind.discovery, pages, chance), _queue(kind.sitemaps, pages, chance))


def _queue(source: SimulatedSource, pages: int, chance: Random) -> tuple[int, ...]:
    """The pages of a source in random order, with waste between them."""
    own = chance.sample(range(pages), round(source.coverage * pages))
    queue: list[int] = []
    for place, page in enumerate(own):
        waste = source.waste_first + (source.waste_last - source.waste_first) * place / len(own)
        while waste >= 1.0 or chance.random() < waste:
            queue.append(_WASTE)
            if len(queue) >= 3 * pages:
                return tuple(queue)
        queue.append(page)
    return tuple(queue)


def fetch(queues: SourceQueues, settings: BalanceSettings | Lane, budget: int) -> Fetches:
    """Spend a budget on two queues, by a balance or from one queue while it lasts."""
    if isinstance(settings, Lane):
        lane = settings
        return _Run(queues, None, lambda _discovery, _sitemaps: lane).spend(budget)
    balance = SiteBalance(settings)
    return _Run(queues, balance, balance.choose).spend(budget)


class _Run:
    """One crawl of two queues. `_places` are the next entries, `_known` the pages fetched so far."""

    def __init__(self, queues: SourceQueues, balance: SiteBalance | None, choose: Choose) -> None:
        self._queues, self._balance, self._choose = queues, balance, choose
        self._places = {Lane.DISCOVERY: 0, Lane.SITEMAPS: 0}
        self._known: set[int] = set()
        self._both = set(queues.discovery) & set(queues.sitemaps) - {_WASTE}
        self._results: deque[tuple[int, bool]] = deque()

    def spend(self, budget: int) -> Fetches:
        """Fetch until the budget is spent or the chosen queue is empty."""
        sitemaps = 0
        for number in range(budget):
            self._pass_known(Lane.DISCOVERY)
            self._pass_known(Lane.SITEMAPS)
            left = {lane: len(self._queues.of(lane)) - place for lane, place in self._places.items()}
            lane = self._choose(left[Lane.DISCOVERY], left[Lane.SITEMAPS])
            if not left[lane]:
                break
            self._take(lane, number)
            sitemaps += lane is Lane.SITEMAPS
        return Fetches(len(self._known), sitemaps)

    def _take(self, lane: Lane, number: int) -> None:
        place = self._places[lane]
        page = self._queues.of(lane)[place]
        self._places[lane] += 1
        key = page if page != _WASTE else self._key(number)
        if self._balance is not None:
            self._balance.took(lane, place, key, is_shared=page in self._both)
            self._results.append((key, page != _WASTE))
            if len(self._results) > LAG:
                self._balance.learnt(*self._results.popleft())
        if page != _WASTE:
            self._known.add(page)

    def _key(self, number: int) -> int:
        """The number of a fetch that is not a page of the site."""
        return (1 << 30) + number

    def _pass_known(self, lane: Lane) -> None:
        """Pass over pages that the other queue's turn has fetched."""
        queue = self._queues.of(lane)
        while self._places[lane] < len(queue) and queue[self._places[lane]] in self._known:
            if self._balance is not None:
                self._balance.came_to(lane, self._places[lane], queue[self._places[lane]])
            self._places[lane] += 1


def best_split(queues: SourceQueues, budget: int) -> Fetches:
    """The most unique pages that any number of entries from the head of each queue has, within the budget."""
    best = Fetches(0, 0)
    for sitemaps in range(0, min(budget, len(queues.sitemaps)) + 1, max(1, budget // 200)):
        known = set(queues.sitemaps[:sitemaps]) - {_WASTE}
        fetched, unique = sitemaps, len(known)
        for page in queues.discovery:
            if fetched >= budget:
                break
            if page == _WASTE or page not in known:
                fetched += 1
                unique += page != _WASTE
        if unique > best.unique:
            best = Fetches(unique, sitemaps)
    return best
