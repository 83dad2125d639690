"""`python -m bench.politeness N`: crawl the lab with N requests for pages, and look for violations in the server's log.

The lab's sites have robots files of a dozen kinds, some with a Crawl-delay; several share an address. Some requests
are answered with 503 and a Retry-After, and robots.txt may be kept for ten minutes, so that long runs have
to ask again. Everything is judged from the log of the server, after the crawl, without what the crawler knows. The exit
code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from periplus.assembly import open_crawl, seeds_from, settle
from periplus.config import Config
from periplus.lab.web import Answer, Request, World
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.log import RequestLog, Visit
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server

WORKERS = 2
DELAY, IP_DELAY, SLOW_FACTOR = 0.25, 0.02, 2.0
CRAWL_DELAY = 2.0
"""Seconds that the lab's sites with the robots file `delay` ask for."""
BUSY_EVERY, RETRY_AFTER = 500, 3.0
ROBOTS_AGE = 600.0
"""Seconds for which robots.txt may be kept: the crawler keeps it no shorter."""
IN_FLIGHT = 60.0
"""Seconds after that in which pages may still come that were begun before."""
CLOCKS = 0.0005
"""Seconds by which two readings of the machine's clocks may differ."""
IN_A_ROW = 5
"""Requests to an address whose distance is judged together: a late one makes the next seem early."""
PAGES_PER_SITE = 400


class BusyWorld(World):
    """The lab's web, in which servers are sometimes busy, and robots.txt expires soon."""

    requests = 0

    def answer(self, request: Request) -> Answer:
        """The answer of the world, or 503."""
        if request.target == "/robots.txt":
            found = super().answer(request)
            return replace(found, headers=(*found.headers, ("Cache-Control", f"max-age={ROBOTS_AGE:.0f}")))
        self.requests += 1
        if self.requests % BUSY_EVERY:
            return super().answer(request)
        return Answer(503, (("Content-Type", "text/html"), ("Retry-After", f"{RETRY_AFTER:.0f}")), b"<p>Later.</p>")


class Seen(NamedTuple):
    """What is needed of a visit."""

    started_at: float
    ended_at: float
    status: int
    target: str


Hosts = dict[str, list[Seen]]
Found = Iterator[str]


def main() -> None:
    """Crawl, judge, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=int, nargs="?", default=20_000, help="requests for pages, about")
    parser.add_argument(
        "--sites", type=int, default=0, help="sites of the web; by default one for 400 pages, at least 100"
    )
    asked = parser.parse_args()
    sites = asked.sites or max(100, asked.pages // PAGES_PER_SITE)
    world = BusyWorld(7, sites, pages=2 * asked.pages)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        began = time.monotonic()
        crawl(world, Path(folder) / "c", path, asked.pages)
        seconds = time.monotonic() - began
        hosts = read_log(path)
    total = sum(map(len, hosts.values()))
    print(f"{total:,} requests to {len(hosts):,} hosts in {seconds:,.0f} s ({total / seconds:,.0f}/s)")
    broken = 0
    for rule, violations in RULES.items():
        found = list(violations(world, hosts))
        broken += len(found)
        print(f"{rule}: {len(found):,} violations" + "".join(f"\n  {one}" for one in found[:3]))
    sys.exit(1 if broken else 0)


def crawl(world: World, folder: Path, path: Path, limit: int) -> None:
    """Crawl every site of the world; the server's log is written to `path`."""
    folder.mkdir()
    log = RequestLog(1, path)
    with RunningLab(Server(world, SteppedClock(world.epoch), log)) as lab:
        options: dict[str, object] = {
            "dns.hosts": dict(lab.resolver),
            "scope.kind": "host",
            "politeness.delay": DELAY,
            "politeness.ip_delay": IP_DELAY,
            "politeness.slow_factor": SLOW_FACTOR,
            "crawl.limit": limit,
        }
        config = Config().with_options(options)
        config.check()
        seeds = seeds_from([lab.url(site.host) for site in world.sites()])
        open_crawl(
            config,
            folder,
            seeds,
            WORKERS,
        ).run()
        settle(folder)
    log.close()


def read_log(path: Path) -> Hosts:
    """The visits of each host, in the order in which they began."""
    hosts: Hosts = defaultdict(list)
    decoder = msgspec.json.Decoder(Visit)
    with path.open("rb") as lines:
        for line in lines:
            visit = decoder.decode(line)
            hosts[visit.host].append(Seen(visit.real_started_at, visit.real_ended_at, visit.status, visit.target))
    for visits in hosts.values():
        visits.sort()
    return hosts


# The rules: each yields a line for every violation.


def robots_first(_world: World, hosts: Hosts) -> Found:
    """The first request to a host is for its robots.txt."""
    for host, visits in hosts.items():
        if visits[0].target != "/robots.txt":
            yield f"{host}: {visits[0].target} came first"


def robots_again(_world: World, hosts: Hosts) -> Found:
    """No page is requested long after robots.txt has expired."""
    for host, visits in hosts.items():
        read_at = 0.0
        for visit in visits:
            if visit.target == "/robots.txt":
                read_at = visit.ended_at
            elif visit.started_at > read_at + ROBOTS_AGE + IN_FLIGHT:
                yield f"{host}{visit.target}: robots.txt was {visit.started_at - read_at:.0f} s old"


def nothing_forbidden(world: World, hosts: Hosts) -> Found:
    """What robots.txt forbids is not requested."""
    for host, visits in hosts.items():
        for visit in visits:
            if not world.allowed("periplus", f"http://{host}{visit.target}"):
                yield f"{host}{visit.target} is forbidden"


def one_at_a_time(_world: World, hosts: Hosts) -> Found:
    """A host answers one request at a time."""
    for host, visits in hosts.items():
        for earlier, later in pairwise(visits):
            if later.started_at < earlier.ended_at - CLOCKS:
                yield f"{host}{later.target} began before {earlier.target} had ended"


def rests(world: World, hosts: Hosts) -> Found:
    """Between two requests a host rests: as long as our delay, its own, and a multiple of its last answer's time."""
    slow = {site.host for site in world.sites() if site.robots == "delay"}
    for host, visits in hosts.items():
        delay = CRAWL_DELAY if host in slow else DELAY
        for earlier, later in pairwise(visits):
            rest = later.started_at - earlier.ended_at
            least = max(delay, SLOW_FACTOR * (earlier.ended_at - earlier.started_at))
            if rest < least - CLOCKS:
                yield f"{host}{later.target} came after {rest:.3f} s instead of {least:.3f}"


def retry_after(_world: World, hosts: Hosts) -> Found:
    """After a 503 with Retry-After a host is left alone for as long."""
    for host, visits in hosts.items():
        for earlier, later in pairwise(visits):
            rest = later.started_at - earlier.ended_at
            if earlier.status == 503 and rest < RETRY_AFTER - CLOCKS:
                yield f"{host}{later.target} came {rest:.3f} s after a 503"


def addresses(world: World, hosts: Hosts) -> Found:
    """Requests to an address keep their distance, whichever of its hosts they are for.

    Shards share the rate of an address, and two of them may ask at once.
    """
    machines: dict[str, list[float]] = defaultdict(list)
    for host, visits in hosts.items():
        machines[world.address(host)].extend(visit.started_at for visit in visits)
    row = IN_A_ROW * WORKERS
    least = (row - (2 * WORKERS - 1)) * IP_DELAY
    for machine, times in machines.items():
        times.sort()
        for earlier, later in zip(times, times[row:], strict=False):
            if later - earlier < least:
                yield f"{machine}: {row + 1} requests in {later - earlier:.3f} s instead of {least:.3f}"


RULES: dict[str, Callable[[World, Hosts], Found]] = {
    "robots.txt comes first": robots_first,
    "robots.txt is read again when it expires": robots_again,
    "nothing forbidden is requested": nothing_forbidden,
    "one request at a time a host": one_at_a_time,
    "delays of hosts, Crawl-delay included": rests,
    "Retry-After": retry_after,
    "delays of addresses": addresses,
}


if __name__ == "__main__":
    main()
