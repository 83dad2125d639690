"""The rules of `bench.politeness`, judged from the visits that a server logs, one at a time.

The judge keeps the last visit of each host, the last start times of each address, the visits of the last half minute,
and a number for each page that was fetched: 70 bytes. It uses nothing of what the crawler knows.

A crawl may be killed and continued. An answer that it had not kept is lost: then a host rests its delay, and neither a
Retry-After nor a longer rest for a slow answer can be asked for; the page may be fetched once more. Which answers were
lost is read from the archive at the kill (`bench.politeness`), not guessed from times: answers wait in the
sockets of a process for as long as it is not run. All other rules hold as if nothing had happened. The same is true of
requests that the server itself served late because its process was not run: the crawler may have given them up before
they were read.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

ROBOTS = "/robots.txt"
ROBOTS_AGE = 600.0
"""Seconds for which robots.txt may be kept: the crawler keeps it no shorter."""
IN_FLIGHT = 60.0
"""Seconds after that in which pages may still be requested that were scheduled before."""
CLOCKS = 0.0005
"""Seconds by which two readings of the machine's clocks may differ."""
IN_A_ROW = 5
"""Requests of a worker to an address whose distance is judged together: a late one makes the next seem early."""
CATCH_UP = 10.0
"""Seconds after a stall of the server's process in which it still reads requests that were sent before."""
LONGEST_ANSWER = 30.0
"""Seconds that visits are held to judge them in order of their start: they are logged when they end."""
EXAMPLES = 3
"""Violations of a rule that are printed."""
TIGHT = 1.1
"""A rest below this multiple of the least is tight: the rule decided when the request was made."""


class Terms(Struct, frozen=True):
    """What a crawl has to obey, in seconds. `crawl_delay` is for `slow_hosts`; `allows` takes a host and a target."""

    delay: float
    ip_delay: float
    slow_factor: float
    crawl_delay: float
    retry_after: float
    workers: int
    slow_hosts: frozenset[str]
    address: Callable[[str], str]
    allows: Callable[[str, str], bool]

    def rest_after(self, visit: Seen) -> float:
        """Minimum seconds from the end of a visit to the start of the next one of its host."""
        is_slow = visit.host in self.slow_hosts and (visit.is_known or visit.target != ROBOTS)
        delay = max(self.delay, self.crawl_delay if is_slow else 0.0)
        if not visit.is_known:
            return delay
        return max(delay, self.slow_factor * (visit.ended_at - visit.started_at))


class Answered(NamedTuple):
    """An answer, as the log of the server and the archive of the crawl have it."""

    host: str
    target: str
    status: int


class Seen(NamedTuple):
    """What is needed of a visit, in order of start."""

    started_at: float
    ended_at: float
    host: str
    target: str
    status: int = 200
    is_known: bool = True
    """Whether the crawler knows the answer, as far as the server can tell."""

    @property
    def answered(self) -> Answered:
        """Its answer."""
        return Answered(self.host, self.target, self.status)


class Host:
    """What is remembered of a host: its last visit, when its robots.txt was last read, and hashes of fetched pages."""

    __slots__ = ("fetched", "last", "robots_at")

    def __init__(self) -> None:
        self.last: Seen | None = None
        self.robots_at = 0.0
        self.fetched: set[int] = set()


class Judge:
    """Counts the violations of each rule in a stream of visits."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._waiting: list[Seen] = []
        self._lost: defaultdict[Answered, list[float]] = defaultdict(list)
        self._stalls: deque[tuple[float, float]] = deque(maxlen=100)
        self._hosts: defaultdict[str, Host] = defaultdict(Host)
        row = IN_A_ROW * terms.workers
        self._starts: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=row))
        self.requests = 0
        self.statuses: Counter[int] = Counter()
        self.robots = 0
        """Requests for robots.txt."""
        self.violations: Counter[str] = Counter()
        self.examples: defaultdict[str, list[str]] = defaultdict(list)
        self.kills = self.stalls = self.unknown = 0
        """Kills, stalls of the server, and answers that the crawler may not have got because of either."""
        self.tight = 0
        """Rests that were hardly longer than asked."""

    @property
    def hosts(self) -> int:
        """Hosts visited."""
        return len(self._hosts)

    @property
    def shared_addresses(self) -> int:
        """Addresses at which two or more hosts were visited."""
        hosts = Counter(self._terms.address(host) for host in self._hosts)
        return sum(1 for number in hosts.values() if number > 1)

    def killed(self, at: float, lost: Iterable[Answered]) -> None:
        """Processes of the crawl were killed, and these answers lost: each may be asked for once more."""
        for each in lost:
            self._lost[each].append(at)
            self.unknown += 1
        self.kills += 1

    def stalled(self, since: float, until: float) -> None:
        """The server's process was not run for some time."""
        self._stalls.append((since, until))
        self.stalls += 1

    def note(self, seen: Seen) -> None:
        """Take a visit that has just ended; judge those that no later one can precede."""
        heapq.heappush(self._waiting, seen)
        while self._waiting[0].started_at < seen.ended_at - LONGEST_ANSWER:
            self.judge(heapq.heappop(self._waiting))

    def end(self) -> None:
        """Judge what is left."""
        while self._waiting:
            self.judge(heapq.heappop(self._waiting))

    def judge(self, visit: Seen) -> None:
        """Check a visit against every rule. Visits are given in order of start."""
        if any(visit.started_at - CATCH_UP <= until and since <= visit.ended_at for since, until in self._stalls):
            visit = visit._replace(is_known=False)
            self.unknown += 1
        host = self._hosts[visit.host]
        self._forget_lost(visit, host)
        for rule, broken in RULES.items():
            if message := broken(self._terms, visit, host):
                self.violate(rule, message)
        if message := self._too_close(visit):
            self.violate(ADDRESSES, message)
        self._remember(visit, host)

    def _forget_lost(self, visit: Seen, host: Host) -> None:
        """Forget what the crawler did not know any more when it made this request."""
        last = host.last
        if last is not None and any(
            last.started_at < at <= visit.started_at for at in self._lost.get(last.answered, ())
        ):
            host.last = last._replace(is_known=False)
        before = self._lost.get(Answered(visit.host, visit.target, 200))
        if before and before[0] <= visit.started_at:
            del before[0]
            host.fetched.discard(hash(visit.target))

    def violate(self, rule: str, message: str) -> None:
        """Count a violation."""
        self.violations[rule] += 1
        if len(self.examples[rule]) < EXAMPLES:
            self.examples[rule].append(message)

    def _too_close(self, visit: Seen) -> str:
        """Requests to an address keep their distance, whichever of its hosts they are for.

        Shards share the rate of an address, and two of them may ask at once.
        """
        address = self._terms.address(visit.host)
        starts = self._starts[address]
        row = IN_A_ROW * self._terms.workers
        least = (row - (2 * self._terms.workers - 1)) * self._terms.ip_delay
        found = visit.started_at - starts[0] if len(starts) == row else least
        starts.append(visit.started_at)
        return f"{address}: {row + 1} requests in {found:.3f} s instead of {least:.3f}" if found < least else ""

    def _remember(self, visit: Seen, host: Host) -> None:
        if host.last is not None:
            rest = visit.started_at - host.last.ended_at
            self.tight += rest < TIGHT * self._terms.rest_after(host.last)
        if visit.target == ROBOTS:
            host.robots_at = visit.ended_at
            self.robots += 1
        elif visit.status == 200 and visit.is_known:
            host.fetched.add(hash(visit.target))
        host.last = visit
        self.requests += 1
        self.statuses[visit.status] += 1

    def lines(self) -> Iterator[str]:
        """What was found, rule by rule."""
        for rule in (*RULES, ADDRESSES, ARCHIVE):
            yield f"{rule}: {self.violations[rule]:,} violations"
            for example in self.examples[rule]:
                yield f"  {example}"


# The rules of hosts: each returns a line for a violation, and nothing otherwise.


def robots_first(_terms: Terms, visit: Seen, host: Host) -> str:
    """The first request to a host is for its robots.txt."""
    return f"{visit.host}: {visit.target} came first" if host.last is None and visit.target != ROBOTS else ""


def robots_again(_terms: Terms, visit: Seen, host: Host) -> str:
    """No page is requested long after robots.txt has expired."""
    age = visit.started_at - host.robots_at
    if visit.target == ROBOTS or age <= ROBOTS_AGE + IN_FLIGHT:
        return ""
    return f"{visit.host}{visit.target}: robots.txt was {age:.0f} s old"


def nothing_forbidden(terms: Terms, visit: Seen, _host: Host) -> str:
    """What robots.txt forbids is not requested."""
    return "" if terms.allows(visit.host, visit.target) else f"{visit.host}{visit.target} is forbidden"


def one_at_a_time(_terms: Terms, visit: Seen, host: Host) -> str:
    """A host answers one request at a time."""
    if host.last is None or visit.started_at >= host.last.ended_at - CLOCKS:
        return ""
    return f"{visit.host}{visit.target} began before {host.last.target} had ended"


def rests(terms: Terms, visit: Seen, host: Host) -> str:
    """Between two requests a host rests: as long as our delay, its own, and a multiple of its last answer's time."""
    if host.last is None:
        return ""
    rest, least = visit.started_at - host.last.ended_at, terms.rest_after(host.last)
    return (
        "" if rest >= least - CLOCKS else f"{visit.host}{visit.target} came after {rest:.3f} s instead of {least:.3f}"
    )


def retry_after(terms: Terms, visit: Seen, host: Host) -> str:
    """After a 503 with Retry-After a host is not asked for as long."""
    if host.last is None or host.last.status != 503 or not host.last.is_known:
        return ""
    rest = visit.started_at - host.last.ended_at
    return "" if rest >= terms.retry_after - CLOCKS else f"{visit.host}{visit.target} came {rest:.3f} s after a 503"


def fetched_once(_terms: Terms, visit: Seen, host: Host) -> str:
    """A page that was fetched is not fetched again."""
    is_again = visit.target != ROBOTS and hash(visit.target) in host.fetched
    return f"{visit.host}{visit.target} was fetched before" if is_again else ""


RULES: Mapping[str, Callable[[Terms, Seen, Host], str]] = {
    "robots.txt comes first": robots_first,
    "robots.txt is read again when it expires": robots_again,
    "nothing forbidden is requested": nothing_forbidden,
    "one request at a time a host": one_at_a_time,
    "delays of hosts, Crawl-delay included": rests,
    "Retry-After": retry_after,
    "no page is fetched twice": fetched_once,
}
ADDRESSES = "delays of addresses"
"""The eighth rule, which looks at several hosts."""
ARCHIVE = "what was kept stays"
"""The ninth, which looks at the archive after kills."""
