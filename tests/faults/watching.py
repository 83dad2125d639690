"""A watch that lives several lives on a faulty disk, in virtual time, made from a seed.

A web is crawled without faults, and then watched: its pages change, and each life ends as a crawl's does
(`simulation`). Besides what a crawl promises, after every recovery and at the end:

- every visit is counted once, and every version that a server delivered is the one that is stored;
- every change between two visits is counted, once;
- no revisit is scheduled later than the settings allow, whatever the clock was before, and in the end every page was
  visited as recently as they demand;
- every request was polite, in true time: Retry-After and robots.txt included, and within the budget.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from tests.faults.changing_web import ChangingWorld, Rules, WatchedServers
from tests.faults.disk import Fault
from tests.faults.simulation import Plan, Process, Simulation, plan_of
from tests.faults.web import Broken, Clock, Key

from periplus.engine.revisit.weights import RefreshRetirementSettings
from periplus.model import Discovery, Source, Url, UrlRecord

VISITS_A_DAY: Final = 1_000.0
"""Enough to visit every page of the largest world several times as often as it must be."""
SHORTEST, LONGEST = 900.0, 6 * 3600.0
"""Seconds between two visits of a page, at least and at most."""
HOURS: Final = (1.0, 4.0, 12.0)
"""Hours that a life lasts at most."""
LAST_HOURS: Final = 14.0
"""Hours of the last life, without faults: twice as long as pages may go without a visit."""
_LATE: Final = 3_600.0
"""Seconds by which a visit may be late: it waits for its site, its turn and its retries."""
_STEP: Final = 600.0
"""Seconds that the engine waits at most."""


def watch_plan(seed: int) -> Plan:
    """The plan of a run."""
    plan = plan_of(seed)
    options: dict[str, object] = {
        "refresh.shortest": SHORTEST,
        "refresh.longest": LONGEST,
        "engine.checkpoint_outcomes": 20,
        "engine.checkpoint_interval": (4.0, 120.0, 600.0)[seed % 3],
        "tables.rows_per_group": 50,
        "tables.rows_per_file": 200,
    }
    return replace(plan, config=plan.config.with_options(options), pushes=False)


class WatchSimulation(Simulation):
    """A crawl, then lives of a watch."""

    world: ChangingWorld
    servers: WatchedServers

    def __init__(self, plan: Plan, folder: Path) -> None:
        super().__init__(plan, folder)
        self.world = ChangingWorld(plan.world, self.true)
        self.seeds = tuple(self.world.urls[::2])
        politeness = plan.config.politeness
        self.servers = WatchedServers(self.world, politeness, Rules(VISITS_A_DAY, SHORTEST, politeness.lease))
        self.servers.are_pages_timed = not plan.mishaps.late and not plan.stalls
        self.began_at, self.longest = self.true.at, LONGEST

    def run(self) -> dict[Url, str]:
        folder = self._live(self._folder / "life", Fault())
        self.visits_a_day = VISITS_A_DAY
        for _ in range(self.plan.lives):
            folder = self._live(folder, self._fault())
        self._live(folder, Fault(), is_last=True)
        return self.ends

    @property
    def hours(self) -> float:
        """Virtual hours since the beginning."""
        return (self.true.at - self.began_at) / 3600

    def _fault(self) -> Fault:
        fault = super()._fault()
        fault.at *= self.chance.choice((1, 1, 4))
        return fault

    def _crawl(self, folder: Path, clock: Clock, processes: list[Process], steps: int | None) -> None:
        if not self.visits_a_day:
            super()._crawl(folder, clock, processes, steps)
            return
        process = Process(self, folder, clock)
        processes.append(process)
        process.follow_commits(self.disk)
        engine = process.engine
        self.servers.begun(clock)
        engine.recover()
        self.check_recovered(process)
        is_last = not self.disk.fault.kind
        until = self._until(is_last)
        try:
            engine.discover([Discovery(seed, Source.SEED, clock.now()) for seed in self.seeds])
            self._watch(process, until, steps)
            engine.stop(5.0)
            self.check_end(process)
            if is_last:
                self._check_recent(process)
        finally:
            if self.disk.image is None:
                engine.close()

    def _until(self, is_last: bool) -> float:
        return self.true.at + 3600 * (LAST_HOURS if is_last else self.chance.choice(HOURS))

    def _watch(self, process: Process, until: float, steps: int | None) -> None:
        taken = 0
        while self.true.at < until:
            taken += 1
            if taken == steps:
                self._kill_between_steps(process)
            if self.chance.random() < self.plan.stalls / 4:
                self.true.at += self.chance.choice((2.0, 400.0, 7_200.0))
            process.engine.step(_STEP)
            self._stepped(process)
            if taken % 64 == 0:
                process.machine.check_invariants()

    def _stepped(self, process: Process) -> None: ...

    # what must hold

    def check_recovered(self, process: Process) -> None:
        super().check_recovered(process)
        self._check_visits(process)
        self._check_times(process)

    def check_end(self, process: Process) -> None:
        super().check_end(process)
        self._check_visits(process)
        self._check_times(process)

    def _check_visits(self, process: Process) -> None:
        """Visits, versions and changes are those that the servers delivered."""
        rows: dict[Url, list[dict[str, Any]]] = defaultdict(list)
        for row in process.rows_of("fetches"):
            if row["purpose"] == "page" and row["ip"] is not None:
                rows[Url(row["url"])].append(row)
        for record in self._records(process):
            if self.world.kinds.get(record.url) == "ok":
                _check_history(record, rows[record.url], self.world.served)

    def _check_times(self, process: Process) -> None:
        """No visit is scheduled for a time that only a wrong clock could have meant."""
        if not self.visits_a_day:
            return
        now, pause = process.process_clock.now(), RefreshRetirementSettings().longest_pause
        for record in self._records(process):
            latest = now + (pause if record.failures else self.longest)
            if record.due_at is not None and record.due_at > latest + 1.0:
                raise Broken(f"{record.url} is due in {(record.due_at - now) / 3600:.1f} hours: {record.status}")

    def _check_recent(self, process: Process) -> None:
        """Every page that can be fetched was visited as recently as the settings demand."""
        now = process.process_clock.now()
        for record in self._records(process):
            if self.world.kinds.get(record.url) != "ok" or record.status not in (200, 304) or not record.visits:
                continue
            age = now - (record.fetched_at or 0.0)
            if not -1.0 < age < LONGEST + _LATE:
                raise Broken(f"{record.url} was visited {age / 3600:.1f} hours ago")


def _check_history(record: UrlRecord, rows: list[dict[str, Any]], served: dict[Key, str]) -> None:
    """What the state and the tables have of a page that can always be fetched."""
    answers = {_key_of(row): row for row in rows if row["outcome"] in ("fetched", "not-modified")}
    versions: list[str] = []
    for key, row in answers.items():
        if row["status"] != 200:
            continue
        if row["digest"] != served[key]:
            raise Broken(f"{key} is stored as {row['digest']}, and was served as {served[key]}")
        versions.append(row["digest"])
    is_sure = len(answers) == len({_key_of(row) for row in rows})  # else some requests were lost
    changes = sum(before != after for before, after in pairwise(versions))
    if record.visits > len(answers) or (is_sure and record.visits != len(answers)):
        raise Broken(f"{record.url} counts {record.visits} visits of {len(answers)}")
    if record.changes > changes or (is_sure and record.changes != changes):
        raise Broken(f"{record.url} counts {record.changes} changes of {changes}")


def _key_of(row: dict[str, Any]) -> Key:
    return Url(row["url"]), round(row["started_at"].timestamp() * 1e6)


def run_watch(seed: int, folder: Path) -> WatchSimulation:
    """Run a seed; raises `Broken`, or what the watch raised, where something does not hold."""
    simulation = WatchSimulation(watch_plan(seed), folder)
    try:
        simulation.run()
    except Exception as error:
        error.add_note("\n".join(simulation.story))
        raise
    return simulation
