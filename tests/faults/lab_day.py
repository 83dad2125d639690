"""Watches changing sites of the lab for a virtual day or for weeks, without faults or with them, judged from outside.

    python -m tests.faults.lab_day                     # 24 hours
    python -m tests.faults.lab_day --faults 7          # the same with faults, from a seed
    python -m tests.faults.lab_day --days 28 --kind news --faults 7

Everything is what ships but for the network, the clock and the disk (`simulation`). The servers judge every request:
delays of hosts and addresses, Crawl-delay, Retry-After, robots.txt and the budget. At every hour the freshness that the
watch states is compared with the truth, and each day what the watch holds in memory and on disk is measured. In the
end every answer that the crawler had before its process died has its row, once. The exit code is 1 if a rule was
broken.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from random import Random
from threading import Thread
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from msgspec import Raw, Struct
from tests.faults.changing_web import ChangingWorld, Rules, WatchedServers
from tests.faults.disk import Fault
from tests.faults.simulation import Plan, Process
from tests.faults.soak import MEMORY, say
from tests.faults.watching import WatchSimulation
from tests.faults.web import Broken, Key, Mishaps, TrueTime, key_of
from tests.properties.replayed_world import ObservedMachine

from periplus.collection.config.settings import Config
from periplus.engine.frontier import PolitenessSettings
from periplus.engine.revisit.evidence import DAY
from periplus.model import (
    ChangeLevel,
    Fetched,
    FetchOutcome,
    FetchTask,
    Freshness,
    Located,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Url,
)
from periplus.store.layout import Layout
from periplus.store.warc.records import sha1_base32
from periplus.urls import canonical, site_of
from periplus_lab import Request, World
from periplus_lab.sites import Profile


class Kind(Struct, frozen=True):
    """Which sites of the lab are watched."""

    seed: int
    sites: int
    pages: int
    visits_a_day: float
    profiles: tuple[Profile, ...] = ()


KINDS: Final = {
    "mixed": Kind(7, 12, 360, 2_000.0),
    "manual": Kind(8, 2, 300, 500.0, (Profile.BUILD,)),
    "news": Kind(4, 2, 300, 1_000.0, (Profile.NEWS,)),
    "shop": Kind(8, 3, 300, 500.0, (Profile.NONE, Profile.SHOP)),
}
"""`mixed`: all kinds, one with 500 URLs of three pages. `manual`: built every night, with the time of the build as the
date of every page. `news`: what is new is in sitemaps and a feed. `shop`: without dates or without validators, and a
site on which pages that are gone leave an apology."""
CRAWL_DELAY: Final = 2.0
"""Seconds that the lab's sites with the robots file `delay` ask for."""
BUSY_EVERY, RETRY_AFTER = 50, 45
"""Of this many requests for pages one is answered 503, with this many seconds of Retry-After."""
JUMPS: Final = (0.0, 0.0, 0.0, 3.0, -3.0, 600.0, -600.0)
"""Seconds by which the clock of a process is wrong."""
_ROUNDING: Final = 1e-9
_LONG: Final = 7 * 24.0
"""Hours of a long watch: its lives last `_LONGER` times as long, and it commits every ten minutes."""
_LONGER: Final = 12


class LabWeb:
    """The sites of the lab in true time, as the simulated network sees them."""

    def __init__(self, true: TrueTime, kind: Kind) -> None:
        self.lab = World(kind.seed, kind.sites, pages=kind.pages, epoch=true.at, profiles=kind.profiles)
        self.true = true
        hosts = [site.host for site in self.lab.sites()]
        self.sites = [Site(host) for host in hosts]
        self.urls = [Url(f"http://{host}/") for host in hosts]
        self.kinds: dict[Url, str] = {}
        self.robots = {Site(site.host): site.robots for site in self.lab.sites()}
        self.served: dict[Key, str] = {}
        self.served_at: dict[Key, float] = {}
        self._pages = 0

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        """What a request comes to."""
        host, _, target = task.url.partition("://")[2].partition("/")
        if task.ip is None:
            return Located(task, self.lab.address(host), now + 3600.0)
        outcome = self._outcome(task, host, f"/{target}", now)
        if (key := key_of(outcome)) is not None:
            self.served_at[key] = self.true.at
            self.served[key] = f"sha1:{sha1_base32(outcome.body)}" if isinstance(outcome, Fetched) else ""
        return outcome

    def _outcome(self, task: FetchTask, host: str, target: str, now: float) -> FetchOutcome:
        took = Random(f"{task.url} {self.true.at}").choice((0.02, 0.1, 0.8))
        self._pages += task.purpose is Purpose.PAGE
        if task.purpose is Purpose.PAGE and self._pages % BUSY_EVERY == 0:
            return Fetched(task, 503, (("Retry-After", str(RETRY_AFTER)),), b"", now, took, task.ip)
        headers = [("user-agent", "periplus")]
        if task.validators is not None and task.validators.etag:
            headers.append(("if-none-match", task.validators.etag))
        said = self.lab.answer(Request("GET", host, target, tuple(headers), self.true.at))
        body = said.body if isinstance(said.body, bytes) else b"".join(said.body)
        location = next((value for name, value in said.headers if name.lower() == "location"), None)
        place = canonical(location, task.url) if location is not None and 300 <= said.status < 400 else None
        if said.status == 304:
            return NotModified(task, said.headers, now, took, task.ip)
        if place is not None:
            return Redirected(task, said.status, place, said.headers, now, took, task.ip, body)
        return Fetched(task, said.status, said.headers, body, now, took, task.ip)


class LabServers(WatchedServers):
    """Judges by what the lab knows of its own sites."""

    def __init__(self, web: LabWeb, politeness: PolitenessSettings, rules: Rules) -> None:
        super().__init__(cast("ChangingWorld", web), politeness, rules)
        self._web, self.crawl_delay = web, CRAWL_DELAY

    def _check_robots(self, url: Url, now: float) -> None:
        if not self._web.lab.allowed("periplus", url):
            raise Broken(f"{url} is forbidden")
        self._check_age(url, now)

    def learnt(self, outcome: FetchOutcome) -> None:
        super().learnt(outcome)
        if self._web.robots.get(site_of(outcome.task.url)) != "delay":  # others ask only other crawlers for one
            self._slow.discard(site_of(outcome.task.url))


class Hour(Struct, frozen=True):
    """What was stated at an hour, and what was true."""

    hour: float
    stated: Freshness
    true: float

    @property
    def is_held(self) -> bool:
        """Whether the stated interval contains the truth."""
        return self.stated.low - _ROUNDING <= self.true <= self.stated.high + _ROUNDING


class Day(Struct, frozen=True):
    """What a watch holds after a day: bytes of the objects in memory and of the state on disk, and records of URLs.

    The state is without the rows that wait to become a Parquet file. `memory` is what the process has that no file
    backs, the simulation included.
    """

    day: float
    life: int
    objects: int
    memory: int
    state: int
    records: int


class LabDay(WatchSimulation):
    """A crawl of the lab, and then a watch of some hours, in one life or in many."""

    jumps = JUMPS

    def __init__(self, folder: Path, hours: float, seed: int | None, kind: str = "mixed") -> None:
        self.kind = KINDS[kind]
        is_long = hours > _LONG
        interval = 600.0 if is_long else 60.0
        config = Config().with_options({"scope.kind": "host", "engine.checkpoint_interval": interval})
        plan = Plan(seed or 0, 0, int(seed is not None), config, Mishaps(), 4, 0.0, False)
        super().__init__(plan, folder)
        web = LabWeb(self.true, self.kind)
        self.world, self.seeds = cast("ChangingWorld", web), tuple(web.urls)
        rules = Rules(self.kind.visits_a_day, config.value("refresh.shortest"), config.politeness.lease)
        self.servers = LabServers(web, config.politeness, rules)
        self.web, self.longest, self.found, self.lives = web, config.value("refresh.longest"), list[Hour](), 0
        self._hours, self._ends_at, self._next_at = hours, 0.0, 0.0
        self._longer = _LONGER if is_long else 1
        self.follow: Callable[[LabDay], None] = lambda _day: None
        self.days: list[Day] = []
        self.rows = self.lost = 0

    def run(self) -> dict[Url, str]:
        folder = self._live(self._folder / "life", Fault())
        self.visits_a_day = self.kind.visits_a_day
        self.began_at = self.true.at
        self._ends_at, self._next_at = self.true.at + 3600 * self._hours, self.true.at + 3600
        while self.plan.lives and self.true.at < self._ends_at:
            folder = self._live(folder, self._fault())
        self._live(folder, Fault(), is_last=True)
        return self.ends

    def _fault(self) -> Fault:
        fault = super()._fault()
        at = self.chance.randint(50, 300) if fault.kind == "step" else self.chance.randint(100, 4_000)
        fault.at = at * self._longer
        fault.lies_from = None if fault.lies_from is None else self.chance.randint(fault.at // 2, fault.at)
        return fault

    def _until(self, is_last: bool) -> float:
        self.lives += 1
        return self._ends_at

    def _stepped(self, process: Process) -> None:
        while self.true.at >= self._next_at:
            stated = process.engine.freshness()
            if stated is not None and stated.checked:
                self.found.append(Hour((self._next_at - self.began_at) / 3600, stated, self._truth(process)))
            if round((self._next_at - self.began_at) / 3600) % 24 == 0:
                self.days.append(self._measured(process))
                self.follow(self)
            self._next_at += 3600

    def _measured(self, process: Process) -> Day:
        state = Layout(process.folder).shard(process.number)
        size = sum(path.stat().st_blocks * 512 for path in state.iterdir() if path.is_file())
        day = (self._next_at - self.began_at) / DAY
        return Day(day, self.lives, held(process.engine), unbacked_memory(), size, len(self._records(process)))

    def check_end(self, process: Process) -> None:
        super().check_end(process)
        rows = process.answers()
        self.rows, self.lost = len(rows), len(set(self.servers.delivered) - set(rows))

    def _truth(self, process: Process) -> float:
        """The share of copies whose pages have not changed since."""
        fresh: list[bool] = []
        for record in self._records(process):
            if record.status not in (200, 304) or record.fetched_at is None or "#" in record.url:
                continue
            seen_at = self.web.served_at.get((record.url, round(record.fetched_at * 1e6)))
            if seen_at is not None and record.evidence:
                fresh.append(self.web.lab.change_level(record.url, seen_at, self.true.at) < ChangeLevel.MAJOR)
        return sum(fresh) / max(len(fresh), 1)

    def _check_visits(self, process: Process) -> None:
        """Every stored version is the one that was served."""
        for row in process.rows_of("fetches"):
            if row["purpose"] == "page" and row["status"] == 200 and row["ip"] is not None:
                self._check_version(row)

    def _check_version(self, row: dict[str, Any]) -> None:
        key = Url(row["url"]), round(row["started_at"].timestamp() * 1e6)
        if row["digest"] != self.web.served[key]:
            raise Broken(f"{key} is stored as {row['digest']}, and was served as {self.web.served[key]}")


def held(root: object) -> int:
    """The bytes of all objects that one holds: without code, and without what belongs to the simulation."""
    seen, size, waiting = {id(root)}, 0, [root]
    while waiting:
        each = waiting.pop()
        size += (
            len(memoryview(each)) if isinstance(each, Raw) else sys.getsizeof(each)
        )  # a raw one does not know its own
        fields = [getattr(each, name) for name in each.__struct_fields__] if isinstance(each, Struct) else []
        for other in (*gc.get_referents(each), *fields):
            if id(other) not in seen and not _is_apart(other):
                seen.add(id(other))
                waiting.append(other)
    return size


def _is_apart(thing: object) -> bool:
    if isinstance(thing, type | ModuleType | FunctionType | Future | Thread | Random):
        return True
    return type(thing).__module__.startswith("tests.") and not isinstance(thing, ObservedMachine)


def unbacked_memory() -> int:
    """Bytes of this process's memory that no file backs."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024


def main() -> int:
    """Run what the arguments say, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--days", type=float, help="instead of hours")
    parser.add_argument("--kind", choices=KINDS, default="mixed", help="which sites")
    parser.add_argument("--faults", type=int, metavar="SEED", help="with faults, chosen by this seed")
    asked = parser.parse_args()
    hours = asked.hours if asked.days is None else 24 * asked.days
    with tempfile.TemporaryDirectory(prefix="periplus-day-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        day = LabDay(Path(folder), hours, asked.faults, asked.kind)
        day.follow = lambda watch: say("\n".join(progress(watch)))
        try:
            day.run()
        except Broken as broken:
            say("\n".join([*day.story, f"broken: {broken}"]))
            return 1
    say("\n".join(summary(day)))
    return 0


def progress(watch: LabDay) -> Iterator[str]:
    """What was found on the last day, for people."""
    day = watch.days[-1]
    for hour in watch.found:
        if hour.hour > 24 * (day.day - 1):
            stated = hour.stated
            line = f"hour {hour.hour:5.0f}: {stated.fresh:6.1%} stated ({stated.low:.1%} to {stated.high:.1%})"
            yield f"{line}, {hour.true:6.1%} true{'' if hour.is_held else ', outside'}"
    sizes = [f"{size / 1e6:.1f} MB" for size in (day.objects, day.memory, day.state)]
    yield (
        f"day {day.day:.0f}, life {day.life}: {sizes[0]} of objects, {sizes[1]} of memory, {sizes[2]} of state,"
        f" {day.records:,} records, {watch.servers.requests:,} requests, {time.process_time():,.0f} s of CPU"
    )


def summary(watch: LabDay) -> Iterator[str]:
    """What was found, for people."""
    yield f"{watch.servers.requests:,} requests in {watch.hours:,.1f} hours and {watch.lives} lives, none impolite"
    yield f"{watch.rows:,} answers have their row, once; {watch.lost:,} were lost with a process before a commit"
    for name, hours in (("first day", [hour for hour in watch.found if hour.hour <= 24]), ("all", watch.found)):
        within = sum(hour.is_held for hour in hours)
        widths = sorted(hour.stated.high - hour.stated.low for hour in hours)
        middle = widths[len(widths) // 2] if widths else math.nan
        yield f"{name}: the truth was within the stated interval at {within} of {len(hours)} hours, {middle:.1%} wide"


if __name__ == "__main__":
    sys.exit(main())
