"""Whether a crawl fetches pages in the order that its ordering says: the crawl, its simulation, and a short reference.

    python -m bench.orders [PAGES]          at most PAGES pages a graph, by default 20,000

Three generated graphs: one site of 200 pages, twenty sites of 2,000 pages, and forty sites of 20,000 pages in two
shards. The crawl is the one that people run, with its state and archive on disk, pages in HTML, and commits; only the
network is made up, and time moves when the crawl waits. It is compared with the simulator, and for the orderings that
are simple enough with `reference`, which has its queues in a list. Both begin with robots.txt, have one connection, and
wait a delay of 0 or 1 s between two requests to a site. Each shard is compared by itself, without the links between the
two: when those arrive depends on how fast the processes are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.shards import ShardMaker, opened_engine
from periplus.engine.router import owner_of
from periplus.model import Clock, Discovery, Fetched, FetchOutcome, FetchTask, Located, Purpose, Source, Url
from periplus.parts.dust.renames import Renames
from periplus.parts.dust.settings import DustTables
from periplus.policy.filters import Scope, standard_chain
from periplus.policy.ordering import RandomOrder, level_of, orderings
from periplus.store import KnownRanks
from periplus.store.layout import Layout
from periplus_lab.simulate.crawl import RealRules, SimulatedCrawl
from periplus_lab.simulate.generated import WebSettings, generate
from periplus_lab.simulate.network import NetworkSettings
from periplus_lab.simulate.web import OK, Web

TOOK: Final = 0.25
"""Seconds that a request takes: a power of two, so that sums are exact."""
EVERY: Final = 100
"""Pages between two rankings, for orderings that rank: several even in a small graph."""
_MEMORY: Final = Path("/dev/shm")
GRAPHS: Final = {
    "1 site, 200 pages": (200, 1, 1),
    "20 sites, 2,000": (2_000, 20, 1),
    "40 sites, 20,000": (20_000, 40, 2),
}
"""Pages, sites and shards of each graph."""
DELAYS: Final = (0.0, 1.0)
OPTIONS: Final = {
    "sitemaps.follow": False,
    "dust.enabled": False,
    "absence.enabled": False,
    "budgets.domain": "none",
    "politeness.slow_factor": 0.0,
    "politeness.ip_delay": 0.0,
    "wire.max_transfers": 1,
    "crawl.random_seed": 5,
    "engine.checkpoint_interval": 100.0,
}
"""What the simulator has not, and does not decide an order, is off: duplicates, budgets of domains, other delays."""


class Agreement(Struct, frozen=True):
    """At how many positions two orders agree until they first differ, of how many."""

    first: int
    pages: int

    def __str__(self) -> str:
        return "same" if self.first == self.pages else f"{self.first:,} of {self.pages:,}"


def agreement(one: Sequence[Url], other: Sequence[Url]) -> Agreement:
    """How long two orders are the same."""
    same = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    longest = max(len(one), len(other))
    return Agreement(min(len(one), len(other)) if same is None else same, longest)


def graph(pages: int, sites: int, shards: int, seed: int = 1) -> Web:
    """A web in which every page answers, in the same time, and no link leads to another shard."""
    web = generate(WebSettings(pages=pages, sites=sites, seed=seed, unlinked=0.0))
    owner = np.array([owner_of(site, shards) for site in web.sites])[web.site]
    sources, targets = web.edges
    is_kept = owner[sources] == owner[targets]
    counts = np.bincount(sources[is_kept], minlength=len(web))
    return replace(
        web,
        starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        targets=web.targets[is_kept],
        status=np.full(len(web), OK, np.int16),
        latency=np.full(len(web.sites), TOOK),
        bandwidth=np.full(len(web.sites), 1e300),
        took=np.full(len(web), TOOK),
        urls=web.names(),
    )


def config_of(name: str, delay: float, earlier: Path | None) -> Config:
    """The settings of a crawl."""
    ranks = {"ordering.every": EVERY} if name in ("batch", "partial", "rankmass", "rankmass_windowed") else {}
    by = {"ordering.by": str(earlier)} if name == "optimal" else {}
    return Config().with_options({**OPTIONS, **ranks, **by, "crawl.ordering": name, "politeness.delay": delay})


# the crawl


class VirtualClock:
    """The time of a crawl, which moves when the crawl waits."""

    speed = 1.0

    def __init__(self, *_: object) -> None:
        self.at = 0.0

    def now(self) -> float:
        """When it is."""
        return self.at


class GraphWire:
    """Answers with the pages of a graph. `asked` are the pages in the order of requests."""

    def __init__(self, web: Web, numbers: dict[Url, int], clock: Any, connections: int = 1) -> None:
        self._web = web
        self._numbers = numbers
        self._clock = clock
        self._connections = connections
        self._under_way: list[tuple[float, FetchTask]] = []
        self._located: list[FetchOutcome] = []
        self.asked: list[Url] = []

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now."""
        return self._connections - self.under_way

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""
        return len(self._under_way) + len(self._located)

    def start(self, task: FetchTask) -> None:
        """Begin. An address is known at once."""
        if task.ip is None:
            number = self._web.sites.index(task.site)
            self._located.append(Located(task, f"10.0.{number // 256}.{number % 256}", math.inf))
            return
        if task.purpose is Purpose.PAGE:
            self.asked.append(task.url)
        self._under_way.append((self._clock.at, task))

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Go to the moment when something ends, or to the end of the wait."""
        located, self._located = self._located, []
        if located:
            return located
        ends_at = min((begun_at + TOOK for begun_at, _ in self._under_way), default=math.inf)
        if ends_at > self._clock.at + timeout:
            self._clock.at += timeout
            return []
        self._clock.at = ends_at
        ended = [each for each in self._under_way if each[0] + TOOK == ends_at]
        self._under_way = [each for each in self._under_way if each not in ended]
        return [self._answer(task, begun_at) for begun_at, task in ended]

    def _answer(self, task: FetchTask, begun_at: float) -> Fetched:
        page = self._numbers.get(task.url)
        if page is None:
            return Fetched(task, 404, (), b"", begun_at, TOOK, task.ip)
        headers = (("Content-Type", "text/html"),)
        return Fetched(task, 200, headers, html_of(self._web, page), begun_at, TOOK, task.ip)

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request."""
        return f"GET {task.url} HTTP/1.1\r\n\r\n".encode()

    def cancel_all(self) -> None:
        """Forget what is under way: the crawl is over."""
        self._under_way, self._located = [], []

    def wake(self) -> None:
        """Do nothing: nobody waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def html_of(web: Web, page: int) -> bytes:
    """A page with its links, and a text that no other has."""
    words = blake2b(str(page).encode(), digest_size=60).hexdigest()
    text = " ".join(words[at : at + 6] for at in range(0, len(words), 6))
    urls = web.urls or []
    links = "".join(f'<a href="{urls[target]}">{target}</a> ' for target in _targets(web, page))
    return f"<title>{words[:12]}</title><main><p>{text}</p></main>{links}".encode()


def _targets(web: Web, page: int) -> list[int]:
    found: list[int] = web.targets[web.starts[page] : web.starts[page + 1]].tolist()
    return found


def crawled(web: Web, config: Config, folder: Path, shards: int) -> list[list[Url]]:
    """The order in which each shard of a crawl asks for pages."""
    seeds = seeds_of(web)
    numbers = {url: page for page, url in enumerate(web.names())}
    wires: list[GraphWire] = []

    def make_wire(clock: Clock) -> GraphWire:
        wires.append(GraphWire(web, numbers, clock))
        return wires[-1]

    folder.mkdir(parents=True)
    with patch("periplus.collection.shards.SystemClock", VirtualClock):
        open_crawl(config, folder, seeds, shards)  # makes the folder and checks the settings
        maker = ShardMaker(config, folder, tuple(seeds), wire=make_wire)
        for number in range(shards):
            engine = opened_engine(maker, Layout(folder), number, shards)
            engine.discover([Discovery(url, Source.SEED, 0.0) for url in _owned(seeds, web, number, shards)])
            while not engine.is_idle:
                engine.step()
            engine.stop(0.0)
            engine.close()
    return [wire.asked for wire in wires]


def seeds_of(web: Web) -> list[Url]:
    """The seeds of a web."""
    return [web.url(page) for page in web.seeds.tolist()]


def _owned(urls: Sequence[Url], web: Web, number: int, shards: int) -> list[Url]:
    names = dict(zip(web.names(), web.site.tolist(), strict=True))
    return [url for url in urls if owner_of(web.sites[names[url]], shards) == number]


# the simulator


def simulated(web: Web, config: Config, folder: Path, number: int, shards: int) -> list[Url]:
    """The order of the simulator, which knows nothing of HTML, disks and commits, for the sites of one shard."""
    seeds = seeds_of(web)
    own = set(_owned(seeds, web, number, shards))
    part = replace(web, seeds=np.array([page for page in web.seeds.tolist() if web.url(page) in own], np.int64))
    by = config.ordering.by
    oracle = KnownRanks.load(Layout(folder).ranks(Path(by).resolve())) if by else None
    chain = standard_chain(
        Scope(seeds, config.scope), config.filters, learning=[partial(Renames, settings=config.some(DustTables).dust)]
    )
    trace = SimulatedCrawl(
        part,
        config.ordered(oracle),
        NetworkSettings(connections=1),
        seed=config.crawl.random_seed,
        rules=RealRules(config.politeness, config.retries, chain, {}),
    ).run()
    return [web.url(page) for page in trace.page.tolist()]


# the reference


class Rule(Struct, frozen=True):
    """What a reference needs of an ordering: the score of a new page, what its links gain, and which site is next."""

    score: Callable[[Url, int, float], float]
    share: Callable[[float, int], float] | None = None
    spends: bool = False
    by_length: bool = False
    by_wait: bool = False


RULES: Final = {
    "breadth_first": Rule(lambda _url, depth, _gain: -float(depth)),
    "largest_site": Rule(lambda *_: 0.0, by_length=True),
    "random": Rule(lambda url, _depth, _gain: RandomOrder(5).score(Discovery(url, Source.LINK, 0.0)), by_wait=True),
    "indegree": Rule(lambda _url, _depth, gain: gain, lambda _worth, _links: 1.0),
    "opic": Rule(lambda _url, _depth, gain: gain, lambda worth, links: worth / links, spends=True),
}


def reference(web: Web, rule: Rule, delay: float, seeds: Sequence[Url]) -> list[Url]:  # noqa: C901 - one loop
    """The order by the book: of the sites that may be asked the one with the best page, and of its pages the best.

    Pages of a level go in the order in which they came to it.
    """
    numbers = {url: page for page, url in enumerate(web.names())}
    site_of = web.site.tolist()
    worth: dict[int, float] = {}
    depth: dict[int, int] = {}
    waiting: dict[int, dict[int, tuple[int, int]]] = {}
    ready: dict[int, float] = {}
    order: list[Url] = []
    came = iter(range(sys.maxsize))
    robots: set[int] = set()

    def put(page: int) -> None:
        level = level_of(rule.score(web.url(page), depth[page], worth[page]))
        if waiting.setdefault(site_of[page], {}).get(page, (-1, 0))[0] != level:
            waiting[site_of[page]][page] = (level, next(came))

    def key(site: int) -> tuple[float, ...]:
        first = len(waiting[site]) if rule.by_length else min(waiting[site].values())[0]
        return (0.0 if rule.by_wait else -first if rule.by_length else first), ready.setdefault(site, 0.0)

    def links_of(page: int) -> Iterator[tuple[int, float]]:
        targets = _targets(web, page)
        gain = rule.share(worth[page], len(targets)) if rule.share and targets else 0.0
        worth[page] = 0.0 if rule.spends and targets else worth[page]
        return ((target, gain) for target in targets)

    now = 0.0
    for url in seeds:
        worth[numbers[url]], depth[numbers[url]] = 1.0, 0
        put(numbers[url])
    while waiting:
        may = [site for site in waiting if ready.setdefault(site, 0.0) <= now]
        if not may:
            now = min(ready[site] for site in waiting)
            continue
        site = min(may, key=key)
        now += TOOK
        ready[site] = now + delay
        if site not in robots:
            robots.add(site)
            continue
        page = min(waiting[site], key=waiting[site].__getitem__)
        del waiting[site][page]
        if not waiting[site]:
            del waiting[site]
        order.append(web.url(page))
        again = []
        for target, gain in links_of(page):
            if target in worth:
                again.append((target, gain))
            else:
                worth[target], depth[target] = gain, depth[page] + 1
                put(target)
        for target, gain in again:
            worth[target] += gain
            if rule.share and target in waiting.get(site_of[target], ()):
                put(target)
    return order


# all of it


class OrderRow(Struct, frozen=True):
    """A crawl compared: with the simulator, and with the reference if there is one."""

    graph: str
    ordering: str
    delay: float
    simulator: Agreement
    reference: Agreement | None


def compared(
    name: str, pages: int, sites: int, shards: int, names: Sequence[str], delays: Sequence[float], folder: Path
) -> Iterator[OrderRow]:
    """Every ordering on one graph, at each delay."""
    web = graph(pages, sites, shards)
    earlier = folder / "breadth_first-0.0"
    for delay in delays:
        for ordering in names:
            config = config_of(ordering, delay, earlier)
            place = folder / f"{ordering}-{delay}"
            real = crawled(web, config, place, shards)
            virtual = [simulated(web, config, place, number, shards) for number in range(shards)]
            rule = RULES.get(ordering)
            book = [
                [] if rule is None else reference(web, rule, delay, _owned(seeds_of(web), web, number, shards))
                for number in range(shards)
            ]
            yield OrderRow(
                name,
                ordering,
                delay,
                _worst(real, virtual),
                None if rule is None else _worst(real, book),
            )


def _worst(some: Sequence[Sequence[Url]], others: Sequence[Sequence[Url]]) -> Agreement:
    """The agreement of the shard that agrees least."""
    found = [agreement(one, other) for one, other in zip(some, others, strict=True)]
    return min(found, key=lambda each: (each.first == each.pages, each.first))


def all_orderings() -> list[str]:
    """Every ordering without a topic; breadth-first comes first, because `optimal` goes by its result."""
    return ["breadth_first", *(name for name in orderings() if name != "breadth_first")]


def main() -> None:
    """Print a table in Markdown."""
    most = float(sys.argv[1]) if len(sys.argv) > 1 else math.inf
    rows: dict[tuple[str, str, float], OrderRow] = {}
    graphs = {name: sizes for name, sizes in GRAPHS.items() if sizes[0] <= most}
    for name, (pages, sites, shards) in graphs.items():
        with TemporaryDirectory(prefix="periplus-orders-", dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
            for row in compared(name, pages, sites, shards, all_orderings(), DELAYS, Path(folder)):
                rows[row.graph, row.ordering, row.delay] = row
                print(f"{row}", file=sys.stderr, flush=True)
    columns = [(name, delay) for name in graphs for delay in DELAYS]
    print("| ordering | " + " | ".join(f"{name}, {delay:g} s" for name, delay in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for ordering in sorted(all_orderings()):
        cells = []
        for name, delay in columns:
            row = rows[name, ordering, delay]
            cells.append(f"{row.simulator}" + (f", {row.reference}" if row.reference is not None else ""))
        print(f"| `{ordering}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
