"""A watch in virtual time through an outage of one site, and what it measures.

The web is crawled and watched for two days; then the site is down, and in the end it answers again. Engine, machine,
state on disk, tables and archive are what ships (`tests.faults`), and its servers judge every request: delays,
Retry-After, the budget, and a robots.txt that forbids everything. The first days are the same for all outages and are
run once in a process.

Ten minutes into the outage, half way, at its end and when the run is over, the watch is asked what a reader of the
collection would get: the current versions of an export, the pages of an index, and which pages have vanished.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, cast

from msgspec import Struct
from tests.faults.changing_web import ChangingWorld, Rules, WatchedServers
from tests.faults.disk import Fault
from tests.faults.simulation import Plan, Process
from tests.faults.watching import WatchSimulation
from tests.faults.web import Broken, Mishaps
from tests.outages.failing_web import FEW_PAGES, HEALTHY, PAGES, FailingWeb, Outage

from periplus.apps.changes.since import changes_since
from periplus.apps.changes.visits import ChangeKind
from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.engine.frontier import PolitenessSettings
from periplus.engine.revisit.evidence import DAY
from periplus.insight.views import Views
from periplus.model import FetchOutcome, FetchTask, Purpose, Url
from periplus.store.export.captures import latest_captures
from periplus.store.layout import Layout
from periplus.store.tables import Spooled
from periplus.urls import site_of

HOUR: Final = 3600.0
VISITS_PER_PAGE: Final = 4.0
"""Visits a day for each page of the web: the budget of the watch."""
LONGEST: Final = DAY
"""Seconds between two visits of a page, at most; the least is so long that the budget is enough, and none is late."""
DAYS_BEFORE: Final = 2.0
"""Days of the watch before an outage."""
DAYS_AFTER: Final = 5.0
"""Days after an outage within which every page must have been visited."""
DAYS: Final = {"1h": 1 / 24, "2d": 2.0, "10d": 10.0}
"""How long outages last, in days."""
MOST_VAIN: Final = 0.03
"""The share of the watch's visits that may go to a site that is down, after its first hour."""
LEAST_OTHERS: Final = 0.8
"""The share of their former visits that other sites still get, at least: they share what one does not need."""
_FIRST_LOOK: Final = 600.0
_COMMITS: Final = 6 * HOUR
"""Seconds between two commits: a simulated day is cheap, and a real commit is not."""
_WAIT: Final = 1200.0
"""Seconds that the engine waits at most."""


class View(Struct, frozen=True):
    """What readers of a collection get of the failing site: versions by URL, pages of an index, pages that vanished."""

    versions: dict[str, str]
    indexed: frozenset[str]
    vanished: frozenset[str]


class Look(Struct, frozen=True):
    """A view at a time of the outage, compared with the one before: what is wrong in it."""

    hours: float
    missing: frozenset[str]
    strange: frozenset[str]
    unindexed: frozenset[str]
    vanished: frozenset[str]

    @property
    def is_equal(self) -> bool:
        """Whether readers get what they got before the outage."""
        return not (self.missing or self.strange or self.unindexed or self.vanished)

    def __str__(self) -> str:
        counts = {name: len(getattr(self, name)) for name in ("missing", "strange", "unindexed", "vanished")}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "equal"


class Measured(Struct, frozen=True):
    """What an outage did.

    `lost`: pages that were not visited within five days after it, or have no next visit. Visits are those of its time,
    without its first hour; `vain` were answered by the outage. `requests` are all requests to the site and lookups of
    its name during the outage. `hours_until_fresh`: until every page was visited again, if all were. `others`: visits a
    day to the other sites during the outage, as a share of those before.
    """

    outage: Outage
    lost: frozenset[Url]
    vain: int
    visits: int
    requests: int
    hours_until_fresh: float | None
    others: float
    looks: tuple[Look, ...]

    @property
    def vain_share(self) -> float:
        """The share of the watch's visits that the outage answered."""
        return self.vain / max(self.visits, 1)

    @property
    def is_equal(self) -> bool:
        """Whether readers got all the time what they got before."""
        return all(look.is_equal for look in self.looks)


def faults_of(measured: Measured) -> list[str]:
    """Which goals were missed, as sentences."""
    faults = [f"{len(measured.lost)} pages are lost, such as {min(measured.lost)}"] if measured.lost else []
    if measured.vain_share > MOST_VAIN:
        faults.append(f"{measured.vain} of {measured.visits} visits went to the site while it was down")
    if measured.outage.days >= 1.0 and measured.others < LEAST_OTHERS:
        faults.append(f"other sites got {measured.others:.0%} of their visits")
    return faults + [f"after {look.hours:.1f} hours {look}" for look in measured.looks if not look.is_equal]


class FailingServers(WatchedServers):
    """Judges requests as those of any watch, and by a robots.txt that forbids everything."""

    def __init__(self, web: FailingWeb, politeness: PolitenessSettings, rules: Rules) -> None:
        super().__init__(cast("ChangingWorld", web), politeness, rules)
        self._web, self._is_forbidden = web, False

    def asked(self, task: FetchTask, took: float, now: float, shard: int = 0) -> None:
        super().asked(task, took, now, shard)
        if self._is_forbidden and task.purpose is Purpose.PAGE and site_of(task.url) == self._web.failing:
            raise Broken(f"{task.url} is forbidden")

    def learnt(self, outcome: FetchOutcome) -> None:
        super().learnt(outcome)
        task = outcome.task
        if task.ip is not None and task.purpose is Purpose.ROBOTS and site_of(task.url) == self._web.failing:
            self._is_forbidden = self._web.is_down and self._web.outage.kind == "robots-disallow"


class OutageWatch(WatchSimulation):
    """A crawl of the web, and then a watch: at first without an outage (`begin`), then with one (`go_through`)."""

    jumps = (0.0,)

    def __init__(self, folder: Path, *, is_dated: bool, visits_per_page: float = VISITS_PER_PAGE) -> None:
        shortest = DAY / visits_per_page
        options = {
            "scope.kind": "host",
            "crawl.workers": 1,
            "refresh.shortest": shortest,
            "refresh.longest": LONGEST,
            "engine.checkpoint_interval": _COMMITS,
        }
        config = Config().with_options(options)
        super().__init__(Plan(0, 0, 0, config, Mishaps(), 4, 0.0, False), folder)
        web = FailingWeb(self.true, is_dated=is_dated)
        self.world, self.web, self.seeds = cast("ChangingWorld", web), web, tuple(web.urls)
        self.longest = LONGEST
        self._budget = visits_per_page * (PAGES + HEALTHY * FEW_PAGES)
        rules = Rules(self._budget, shortest, config.politeness.lease)
        self.servers = FailingServers(web, config.politeness, rules)
        self.events: list[tuple[float, Callable[[Process], None]]] = []
        self.ends_at = 0.0
        self.is_over: Callable[[], bool] = lambda: False
        self.at_end: Callable[[Process], None] = lambda _process: None

    @property
    def folder(self) -> Path:
        """The collection."""
        return self._folder / "life"

    def begin(self) -> None:
        """Crawl the web, and watch it until the outage."""
        self._live(self.folder, Fault())
        self.visits_a_day = self._budget
        self.watch_until(self.true.at + DAYS_BEFORE * DAY)
        del self.disk

    def watch_until(self, end: float, *, is_killed: bool = False) -> None:
        """Watch in one process until a time, or in two of which an event kills the first."""
        self.ends_at = end
        if is_killed:
            self._live(self.folder, Fault())
        self._live(self.folder, Fault(), is_last=True)

    def continued_in(self, folder: Path) -> OutageWatch:
        """The same watch once more, in another folder."""
        other = copy.deepcopy(self)
        other._folder = folder
        shutil.copytree(self.folder, other.folder, ignore=shutil.ignore_patterns("lock.mdb"))
        return other

    def _watch(self, process: Process, until: float, steps: int | None) -> None:
        while self.true.at < until and not self.is_over():
            process.engine.step(_WAIT)
            while self.events and self.events[0][0] <= self.true.at:
                self.events[0][1](process)
                self.events.pop(0)
        self.at_end(process)

    def _until(self, is_last: bool) -> float:
        return self.ends_at

    def save(self) -> None:
        """Write the settings beside the tables, as commands that read the collection need them."""
        CollectionSetup(self.folder, self.plan.config, self.seeds, is_new=True).save()

    def kill(self, process: Process) -> None:
        """An event: the process is killed at one of its next operations on the disk."""
        self.disk.fault.kind, self.disk.fault.at = "kill", self.disk.operations + self.chance.randint(1, 20)

    def view(self, process: Process, since: float) -> View:
        """What readers get of the failing site now, of changes since a time."""
        process.engine.checkpoint()
        layout = Layout(process.folder)
        spooled = [Spooled(process.number, layout.spool(process.number), process.engine.committed_rows)]
        failing = f"https://{self.web.failing}/"
        captures = latest_captures(layout.tables, spooled)
        vanished = changes_since(
            process.folder, since, sites=[self.web.failing], kinds=[ChangeKind.VANISHED], spooled=spooled
        )
        with (
            tempfile.TemporaryDirectory() as computed,
            Views(process.folder, spooled=spooled, computed=Path(computed)) as views,
        ):
            indexed = views.rows(f"select url from indexed where site = '{self.web.failing}'")
        return View(
            {each.url: each.stored.digest for each in captures if each.url.startswith(failing)},
            frozenset(row["url"] for row in indexed),
            frozenset(change.url for change in vanished),
        )

    def lost_pages(self, process: Process, since: float) -> frozenset[Url]:
        """Pages of the failing site that were not visited since a time, or have no next visit."""
        queues = process.state.queues
        lines = [(site, lane) for site, lane, _ in queues.waiting()]
        queued = {ticket.entry.url for line in lines for ticket in queues.heads(*line, queues.length(*line))}
        queued.update(entry.url for entry in queues.postponed())
        pages = self.web.pages[self.web.failing]
        next_at = {record.url: record.due_at for record in process.state.records.of_site(self.web.failing)}
        return frozenset(
            url
            for url in pages
            if self.web.visited_at.get(url, 0.0) < since or (next_at.get(url) is None and url not in queued)
        )


class OutageRun:
    """An outage of a watch that has begun."""

    def __init__(self, watch: OutageWatch, kind: str, days: float) -> None:
        self.watch, self.web = watch, watch.web
        since = watch.true.at + Random(f"{kind} {days}").uniform(1.0, 6.0) * HOUR
        self.outage = self.web.outage = Outage(kind, since, since + days * DAY)
        self.at_end_of_outage: Callable[[Process], None] = lambda _process: None
        self._before: View
        self._looks: list[Look] = []
        self._lost: frozenset[Url] = frozenset()
        self._fresh_at: float | None = None

    def measure(self, *, is_killed: bool = False) -> Measured:
        """Watch through the outage, and then until every page was visited, at most five days."""
        watch, since, until = self.watch, self.outage.since, self.outage.until
        looks = [(at, self._look) for at in (since + _FIRST_LOOK, (since + until) / 2, until)]
        kill = [(since + 0.4 * (until - since), watch.kill)] if is_killed else []
        events = [(since, self._look_before), *looks, *kill, (until, self.at_end_of_outage)]
        watch.events = sorted(events, key=lambda event: event[0])
        watch.is_over, watch.at_end = self._is_over, self._end
        watch.watch_until(until + DAYS_AFTER * DAY, is_killed=is_killed)
        if is_killed and not any("crashed" in line for line in watch.story):
            raise Broken("the process was not killed")
        vain, visits = self._visits(since + HOUR, until)
        return Measured(
            self.outage, self._lost, vain, visits, self.web.requests_while_down,
            self._hours_until_fresh(), self._others(), tuple(self._looks),
        )  # fmt: skip

    def _look_before(self, process: Process) -> None:
        self._before = self.watch.view(process, self.outage.since)

    def _look(self, process: Process) -> None:
        view, genuine = self.watch.view(process, self.outage.since), self.web.genuine
        strange = {url for url, digest in view.versions.items() if digest not in genuine.get(Url(url), ())}
        look = Look(
            (self.web.true.at - self.outage.since) / HOUR,
            frozenset(self._before.versions.keys() - view.versions.keys()),
            frozenset(strange | (view.indexed - self._before.indexed)),
            self._before.indexed - view.indexed,
            view.vanished,
        )
        self._looks.append(look)

    def _visits(self, since: float, until: float) -> tuple[int, int]:
        """Visits between two times: those that the outage answered, and all."""
        requests = [each for each in self.web.page_requests if since <= each.at < until]
        return sum(each.is_vain for each in requests), len(requests)

    def _others(self) -> float:
        """Visits a day to other sites during the outage, as a share of those of the day before."""
        since, until = self.outage.since, self.outage.until
        times = [each.at for each in self.web.page_requests if site_of(each.url) != self.web.failing]
        before = sum(since - DAY <= at < since for at in times)
        return sum(since <= at < until for at in times) / ((until - since) / DAY) / before

    def _first_visits(self) -> dict[Url, float]:
        """When each page of the site was first visited after the outage."""
        first: dict[Url, float] = {}
        for each in self.web.page_requests:
            if each.at >= self.outage.until and site_of(each.url) == self.web.failing:
                first.setdefault(each.url, each.at)
        return first

    def _hours_until_fresh(self) -> float | None:
        pages, first = self.web.pages[self.web.failing], self._first_visits()
        if not all(url in first for url in pages):
            return None
        return (max(first[url] for url in pages) - self.outage.until) / HOUR

    def _is_over(self) -> bool:
        """Whether every page has been visited since the outage, and an hour has passed."""
        now, until = self.web.true.at, self.outage.until
        visited_at = [self.web.visited_at.get(url, 0.0) for url in self.web.pages[self.web.failing]]
        if self._fresh_at is None and min(visited_at) >= until:
            self._fresh_at = now
        return self._fresh_at is not None and now >= self._fresh_at + HOUR

    def _end(self, process: Process) -> None:
        self._look(process)
        self._lost = self.watch.lost_pages(process, self.outage.until)


class Laboratory:
    """Runs outages, each from the same first days; those with dates and those without are watched once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun: dict[bool, OutageWatch] = {}
        self._runs = 0

    def outage(self, kind: str, days: float, *, is_dated: bool) -> OutageRun:
        """One outage, to be measured."""
        if is_dated not in self._begun:
            watch = OutageWatch(self._folder / f"begun-{is_dated}", is_dated=is_dated)
            watch.begin()
            self._begun[is_dated] = watch
        self._runs += 1
        return OutageRun(self._begun[is_dated].continued_in(self._folder / f"run-{self._runs}"), kind, days)
