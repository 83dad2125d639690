"""Watches changing sites of the lab for a virtual day, without faults or with them, and judges it from outside.

    python -m tests.faults.lab_day                     # 24 hours
    python -m tests.faults.lab_day --faults 7          # the same with faults, from a seed
    python -m tests.faults.lab_day --hours 168

Everything is what ships but for the network, the clock and the disk (`simulation`). The servers judge every request:
delays of hosts and addresses, Crawl-delay, Retry-After, robots.txt and the budget. At every hour the freshness that the
watch states is compared with the truth. The exit code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from msgspec import Struct
from tests.faults.changing_web import ChangingWorld, Rules, WatchedServers
from tests.faults.disk import Fault
from tests.faults.simulation import Plan, Process
from tests.faults.soak import MEMORY, say
from tests.faults.watching import WatchSimulation
from tests.faults.web import Broken, Key, Mishaps, TrueTime, key_of

from periplus.apps.lab import Request, World
from periplus.collection.config.settings import Config
from periplus.engine.frontier import PolitenessSettings
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
from periplus.store.warc.records import sha1_base32
from periplus.urls import canonical, site_of

SITES, PAGES = 12, 360
VISITS_A_DAY: Final = 2_000.0
CRAWL_DELAY: Final = 2.0
"""Seconds that the lab's sites with the robots file `delay` ask for."""
BUSY_EVERY, RETRY_AFTER = 50, 45
"""Of this many requests for pages one is answered 503, with this many seconds of Retry-After."""
JUMPS: Final = (0.0, 0.0, 0.0, 3.0, -3.0, 600.0, -600.0)
"""Seconds by which the clock of a process is wrong."""
_ROUNDING: Final = 1e-9


class LabWeb:
    """The sites of the lab in true time, as the simulated network sees them."""

    def __init__(self, true: TrueTime) -> None:
        self.lab, self.true = World(7, SITES, pages=PAGES, epoch=true.at), true
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


class LabDay(WatchSimulation):
    """A crawl of the lab, and then a watch of some hours, in one life or in many."""

    jumps = JUMPS

    def __init__(self, folder: Path, hours: float, seed: int | None) -> None:
        config = Config().with_options({"scope.kind": "host", "engine.checkpoint_interval": 60.0})
        plan = Plan(seed or 0, 0, int(seed is not None), config, Mishaps(), 4, 0.0, False)
        super().__init__(plan, folder)
        web = LabWeb(self.true)
        self.world, self.seeds = cast("ChangingWorld", web), tuple(web.urls)
        rules = Rules(VISITS_A_DAY, config.value("refresh.shortest"), config.politeness.lease)
        self.servers = LabServers(web, config.politeness, rules)
        self.web, self.longest, self.found, self.lives = web, config.value("refresh.longest"), list[Hour](), 0
        self._hours, self._ends_at, self._next_at = hours, 0.0, 0.0

    def run(self) -> dict[Url, str]:
        folder = self._live(self._folder / "life", Fault())
        self.visits_a_day = VISITS_A_DAY
        self.began_at = self.true.at
        self._ends_at, self._next_at = self.true.at + 3600 * self._hours, self.true.at + 3600
        while self.plan.lives and self.true.at < self._ends_at:
            folder = self._live(folder, self._fault())
        self._live(folder, Fault(), is_last=True)
        return self.ends

    def _fault(self) -> Fault:
        fault = super()._fault()
        fault.at = self.chance.randint(50, 300) if fault.kind == "step" else self.chance.randint(100, 4_000)
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
            self._next_at += 3600

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


def main() -> int:
    """Run what the arguments say, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--faults", type=int, metavar="SEED", help="with faults, chosen by this seed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="periplus-day-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        day = LabDay(Path(folder), asked.hours, asked.faults)
        try:
            day.run()
        except Broken as broken:
            say("\n".join([*day.story, f"broken: {broken}"]))
            return 1
    for hour in day.found:
        stated = hour.stated
        line = f"hour {hour.hour:5.0f}: {stated.fresh:6.1%} stated ({stated.low:.1%} to {stated.high:.1%})"
        say(f"{line}, {hour.true:6.1%} true{'' if hour.is_held else ', outside'}")
    held = sum(hour.is_held for hour in day.found)
    say(f"{day.servers.requests:,} requests in {day.hours:,.1f} hours and {day.lives} lives, none impolite")
    say(f"the truth was within the stated interval at {held} of {len(day.found)} hours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
