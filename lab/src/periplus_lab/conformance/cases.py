"""What a trial is: a crawl of some sites that shows one case or several, each judged from the servers' logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from signal import Signals

from msgspec import Struct, field

from ..log import Visit
from .sites import PUBLIC, TrialSite, Web, without_port


class CaseOutcome(Enum):
    """What a case ended with."""

    PASSED = "pass"
    FAILED = "fail"
    NOT_APPLICABLE = "not applicable"


class Verdict(Struct, frozen=True):
    """The outcome of one case. A failure has its `reason` and the lines of the servers' log that prove it."""

    group: str
    case: str
    outcome: CaseOutcome
    reason: str = ""
    proof: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`group/case`, as the command line takes it."""
        return f"{self.group}/{self.case}"


class CrawlerRun(Struct, frozen=True, kw_only=True):
    """One start of the crawler.

    `kill_after` is the number of requests after which `signal` is sent to its processes, `kill_when` says so at another
    moment; without either it ends by itself. `is_refresh`: with the adapter's `refresh` command, in a folder that has a
    crawl. `before` changes the sites first; `disturb` is called once, in a thread of its own, after `disturb_after`
    requests. `disk` is the new size of its folder, where the trial bounds it; `is_read_only`: nothing can be written
    there.
    """

    kill_after: int = 0
    kill_when: Callable[[], bool] | None = None
    signal: Signals = Signals.SIGKILL
    is_refresh: bool = False
    before: Callable[[], None] | None = None
    disturb_after: int = 0
    disturb: Callable[[], None] | None = None
    disk: int = 0
    is_read_only: bool = False


class RunEnd(Struct, frozen=True):
    """How one start of the crawler ended.

    `was_stopped`: it was still running when its time was up. `was_killed`: the signal of its run was sent, at the real
    time `signalled_at`, `took` seconds before it ended. `room` is what was left of the bytes that its folder can hold.
    """

    code: int
    seconds: float
    was_stopped: bool = False
    was_killed: bool = False
    output: str = ""
    took: float = 0.0
    signalled_at: float = 0.0
    room: int = 0


class Evidence(Struct, frozen=True, kw_only=True):
    """What a case is judged from: the servers' log in order of arrival, how the crawler ended, the files it wrote.

    `starts` are the real times at which the runs began; `memory` is the most bytes that its processes held at once;
    `lookups` are the names that were looked up; `connections` are the ports of the trial that were connected to.
    """

    visits: list[Visit]
    starts: list[float]
    ends: list[RunEnd]
    folder: Path
    memory: int = 0
    lookups: tuple[str, ...] = ()
    connections: tuple[int, ...] = ()

    def to(self, *urls: str) -> list[Visit]:
        """The visits to some URLs."""
        wanted = {without_port(url) for url in urls}
        return [visit for visit in self.visits if visit.url in wanted]

    def below(self, prefix: str) -> list[Visit]:
        """The visits to URLs that begin with `prefix`."""
        begin = without_port(prefix)
        return [visit for visit in self.visits if visit.url.startswith(begin)]

    def pages(self, site: TrialSite | None = None) -> list[Visit]:
        """The visits to a site, or to all of them, without those to robots.txt and sitemaps."""
        return [
            visit
            for visit in self.visits
            if (site is None or visit.host == site.host) and not _METADATA.match(visit.target)
        ]

    def run(self, number: int) -> list[Visit]:
        """The visits during one run, counted from 0."""
        begin = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else float("inf")
        return [visit for visit in self.visits if begin <= visit.real_started_at < end]


_METADATA = re.compile(r"/robots\.txt|/[^?]*sitemap|/favicon\.ico|/\.well-known/", re.IGNORECASE)


class Failure(Struct, frozen=True):
    """Why a case failed, and the visits that prove it."""

    reason: str
    proof: tuple[Visit, ...] = ()


Judge = Callable[[Evidence], Failure | None]


class Case(Struct, frozen=True, kw_only=True):
    """One thing that a good crawler does. `says` is the rule in one sentence, `source` where it is stated.

    The case fails unless every URL of `wants` was requested, or if one of `forbids` was; `judge` looks at the rest. The
    seed is wanted, or a crawler that requests nothing would pass. Without `wants_seed` a good crawler may leave it
    alone, or not get that far, and `judge` sees by other means that it tried.
    """

    name: str
    says: str
    source: str
    wants: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    wants_seed: bool = True
    judge: Judge | None = None


class Trial(Struct, frozen=True, kw_only=True):
    """One crawl that shows some cases.

    `limit` is the most pages that the crawler is asked for; `seconds` bounds one run (a slow crawler is not a bad one:
    leave it several times what a polite crawl takes). `needs_names`, `needs_tls`: it cannot be shown without the lab's
    own name server, or certificates. `disk` is the size of the crawler's folder in bytes; 0: without bound.
    `environment` is added to the crawler's. `ports` are further ones that take connections, note them and end them, at
    every address. `lacking` is why it cannot be shown on this machine.
    """

    seed: str
    cases: tuple[Case, ...]
    limit: int = 100
    seconds: float = 60.0
    runs: tuple[CrawlerRun, ...] = (CrawlerRun(),)
    needs_names: bool = False
    needs_tls: bool = False
    disk: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    lacking: str = ""


class DeclaredTrial(Struct, frozen=True):
    """A trial as it is registered: it is built for each crawl, because the addresses of its sites differ."""

    group: str
    name: str
    build: Callable[[Web], Trial]

    @property
    def full_name(self) -> str:
        """`group/trial`, as the command line takes it."""
        return f"{self.group}/{self.name}"


REGISTERED: list[DeclaredTrial] = []
"""Every trial, in the order in which their modules were imported."""


def trial(group: str) -> Callable[[Callable[[Web], Trial]], Callable[[Web], Trial]]:
    """Register a function that builds a trial, under its own name."""

    def register(build: Callable[[Web], Trial]) -> Callable[[Web], Trial]:
        REGISTERED.append(DeclaredTrial(group, build.__name__.replace("_", "-"), build))
        return build

    return register


def verdict_of(group: str, case: Case, seed: str, evidence: Evidence) -> Verdict:
    """Judge one case."""
    failure = _failure(case, seed, evidence)
    if failure is None:
        return Verdict(group, case.name, CaseOutcome.PASSED)
    began = evidence.starts[0] if evidence.starts else 0.0
    proof = tuple(_line(visit, began) for visit in failure.proof[:_MOST_LINES])
    return Verdict(group, case.name, CaseOutcome.FAILED, failure.reason, proof)


_MOST_LINES = 12
NO_REQUEST = "made no request"


def _failure(case: Case, seed: str, evidence: Evidence) -> Failure | None:
    visited = {visit.url for visit in evidence.visits}
    if not visited and case.wants_seed:
        last = evidence.ends[-1] if evidence.ends else RunEnd(0, 0.0)
        return Failure(f"{NO_REQUEST}; exit code {last.code}: {last.output[-500:].strip() or 'no output'}")
    wanted = (seed, *case.wants) if case.wants_seed else case.wants
    missing = [url for url in wanted if without_port(url) not in visited]
    if missing:
        return Failure(f"never requested {', '.join(missing[:3])}", tuple(evidence.visits[-3:]))
    if found := evidence.to(*case.forbids):
        return Failure(f"requested {found[0].url}", tuple(found))
    return case.judge(evidence) if case.judge else None


def _line(visit: Visit, began: float) -> str:
    end = "" if visit.is_complete else ", cut off"
    if visit.address and not visit.address.startswith((PUBLIC, "127.")):
        end += f", at {visit.address}"
    return (
        f"{visit.real_started_at - began:8.2f} s  {visit.method} {visit.url} -> {visit.status or '-'},"
        f" {visit.sent:,} bytes{end}"
    )
