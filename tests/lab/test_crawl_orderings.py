"""Every ordering crawls all of a web, alone or among several; those that learn count each link once, and go by it.

In-degree is the witness: whatever the order, in the end a URL is worth as many as lead to it, and that can be read off
the tables of links, fetches and seeds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from tests.lab.crawling import by_proxy, crawl, rows, standing
from tests.lab.scripted_web import ScriptedWeb, page

from periplus.model import Url
from periplus.policy.ordering import orderings
from periplus.store import DiskState, known_ranks
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.server import RunningLab

HURRIED: dict[str, object] = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "retries.backoff": 0.02}
SETTINGS: dict[str, dict[str, object]] = {
    "batch": {"ordering.every": 40},
    "partial": {"ordering.every": 40},
    "rankmass": {"ordering.every": 40, "ordering.damping": 0.7},
    "rankmass_windowed": {"ordering.every": 10, "ordering.share": 0.3},
    "opic_adaptive": {"ordering.window": 50},
}
IDLE = re.compile(r"[?&]utm_source=[^&]*$")
"""What filters cut off: the rest is the name by which a page is known."""


QUICK = {("indegree", 2), ("opic", 1)}
ALL = [
    pytest.param(name, workers, marks=[] if (name, workers) in QUICK else [pytest.mark.slow])
    for name in sorted(set(orderings()) - {"breadth_first", "optimal"})
    for workers in (1, 2)
]


@pytest.fixture(scope="module")
def world() -> World:
    return World(7, 8, pages=70)


@pytest.fixture(scope="module")
def seeds(world: World) -> list[str]:
    return [site.url for site in world.sites()[:3]]


Run = Callable[..., Path]


@pytest.fixture(scope="module")
def run(world: World, seeds: list[str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Crawl by an ordering in `workers` processes and return the collection."""
    made: dict[tuple[str, int], Path] = {}

    def begin(name: str, workers: int = 1) -> Path:
        if (name, workers) not in made:
            folder = tmp_path_factory.mktemp(name)
            with standing(world) as lab:
                crawl(folder, seeds, options(lab, name), workers)
            made[name, workers] = folder
        return made[name, workers]

    return begin


def options(lab: RunningLab, name: str) -> dict[str, object]:
    return by_proxy(lab) | HURRIED | {"crawl.ordering": name} | SETTINGS.get(name, {})


def pages(folder: Path) -> Counter[str]:
    return Counter(row["url"] for row in rows(folder, "select url from pages"))


def in_degrees(folder: Path, seeds: list[str]) -> dict[str, float]:
    """How many lead to each URL that was accepted, by the tables alone."""
    ways = rows(folder, "select distinct page, target from links where rel not like '%nofollow%'")
    ways += rows(folder, "select url as page, canonical as target from pages where canonical is not null")
    ways += rows(folder, "select url as page, target from fetches where outcome = 'redirected' and purpose = 'page'")
    count = Counter(IDLE.sub("", target) for _, target in {(row["page"], row["target"]) for row in ways})
    count.update(seeds)
    return {url: float(count[url]) for url in accepted(folder)}


def accepted(folder: Path) -> set[str]:
    return {row["url"] for row in rows(folder, "select url from discoveries where is_new and refused is null")}


def worths(folder: Path, urls: set[str]) -> dict[str, float]:
    """What the states of all shards say."""
    found = {}
    layout = Layout(folder)
    for number in range(layout.shards):
        state = DiskState.read_only(layout.shard(number), shard=number)
        wanted = [Url(url) for url in sorted(urls)]
        for url, each in zip(wanted, state.standings.get(wanted), strict=True):
            if each is not None:
                found[str(url)] = each.worth
        state.close()
    return found


@pytest.mark.proof
@pytest.mark.parametrize(("name", "workers"), ALL)
def test_every_ordering_crawls_all_of_it(run: Run, name: str, workers: int) -> None:
    """The same pages as breadth-first, each once, and every refusal told as often."""
    assert pages(run(name, workers)) == pages(run("breadth_first"))
    assert max(pages(run(name, workers)).values()) == 1
    assert accepted(run(name, workers)) == accepted(run("breadth_first"))


@pytest.mark.proof
@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_every_link_counts_once(run: Run, seeds: list[str], workers: int) -> None:
    """Also those met again and again, those that another process found, redirects and seeds."""
    folder = run("indegree", workers)
    expected = in_degrees(folder, seeds)
    assert max(expected.values()) > 20
    assert worths(folder, set(expected)) == expected


@pytest.mark.slow
def test_refusals_are_told_as_often_as_without_learning(run: Run) -> None:
    """A link that is met again brings something to its target, and no more rows."""
    question = "select count(*) as rows from discoveries"
    assert rows(run("indegree"), question) == rows(run("breadth_first"), question)


@pytest.mark.proof
def test_cash_is_kept(run: Run, seeds: list[str]) -> None:
    """OPIC gives away what it has: never more than there was at the seeds, and most of it is somewhere in the end."""
    folder = run("opic")
    cash = sum(worths(folder, accepted(folder)).values())
    assert 0.5 * len(seeds) < cash <= len(seeds) + 1e-9


@pytest.mark.proof
def test_the_best_of_an_earlier_crawl_come_first(run: Run, world: World, seeds: list[str], tmp_path: Path) -> None:
    """`optimal` goes by the PageRank of a finished collection: its first half is worth more than that one's was."""
    earlier = run("breadth_first")
    with standing(world) as lab:
        asked = options(lab, "optimal") | {"ordering.by": str(earlier), "wire.max_transfers": 1}
        crawl(tmp_path, seeds, asked)
    assert pages(tmp_path) == pages(earlier)
    ranks = known_ranks(earlier / "tables")
    worth = [ranks(row["url"]) for row in rows(tmp_path, "select url from pages order by read_at")]
    before = [ranks(row["url"]) for row in rows(earlier, "select url from pages order by read_at")]
    half = len(worth) // 2
    assert sum(worth[:half]) > sum(before[:half])


HUB = {
    "/": [f"/room/{number}" for number in range(6)],
    **{f"/room/{number}": [f"/own/{number}/{item}" for item in range(4)] + ["/hub"] for number in range(6)},
    **{f"/own/{number}/{item}": ["/"] for number in range(6) for item in range(4)},
    "/hub": ["/"],
}
"""Six rooms lead to four pages each that no other page links to, and to the hub, which they name last."""


class HubSite(BaseHTTPRequestHandler):
    """Serves the site above, and remembers the order in which it was asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        body = "".join(f'<a href="{way}">{way}</a>' for way in HUB.get(self.path, [])).encode()
        if self.path in HUB:
            self.asked.append(self.path)
        self.send_response(200 if self.path in HUB else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not read by this test."""


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("indegree", 3),
        pytest.param("breadth_first", 11, marks=pytest.mark.slow),
        pytest.param("opic", 7, marks=pytest.mark.slow),
        pytest.param("partial", 7, marks=pytest.mark.slow),
    ],
)
def test_the_hub_is_fetched_before_what_was_found_first(name: str, place: int, tmp_path: Path) -> None:
    """In-degree goes there as soon as two rooms lead there; for cash and rank it must be worth as much as a room.

    Breadth-first meets it in its turn: after the start, six rooms, and the four pages that the first room names before.
    """
    HubSite.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), HubSite)
    Thread(target=server.serve_forever, daemon=True).start()
    asked = HURRIED | {"crawl.ordering": name, "wire.max_transfers": 1, "scope.kind": "host"}
    asked |= {"engine.checkpoint_interval": 0.0, "engine.checkpoint_share": 1.0, "engine.checkpoint_outcomes": 1}
    crawl(tmp_path, [f"http://127.0.0.1:{server.server_port}/"], asked)
    server.shutdown()
    server.server_close()
    assert sorted(HubSite.asked) == sorted(HUB)
    assert HubSite.asked.index("/hub") == place


def test_links_count_as_soon_as_they_are_read(tmp_path: Path) -> None:
    """By in-degree a page that every page links to is fetched after a few, however fast the crawl is."""
    said: dict[str, str | bytes] = {f"http://a.test/p{n}": page(f"p {n}", "/hub") for n in range(60)}
    said["http://a.test/"] = page("home", *(f"/p{n}" for n in range(60)))
    said["http://a.test/hub"] = page("hub")
    with ScriptedWeb(said) as web:
        options = {"crawl.ordering": "indegree", "sitemaps.follow": False, "crawl.workers": 1, "politeness.delay": 0.0}
        crawl(tmp_path, ["http://a.test/"], web.settings | options)
    assert web.asked.index("http://a.test/hub") < 12
