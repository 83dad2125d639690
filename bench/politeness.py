"""`python -m bench.politeness N`: crawl N pages of a web on loopback, and look for violations in the server's log.

The sites are those of the lab, with robots files of a dozen kinds, some with a Crawl-delay; several share an address.
Their pages are small, and each has as many as the others, so that all are busy to the end, and delays rather than the
processor bound the rate. Some requests are answered late, some with 503 and a Retry-After, and robots.txt may be kept
for ten minutes, so that long runs have to ask again. Everything is judged from the log of the server
(`bench.politeness_rules`), without what the crawler knows. Ctrl-C, or `--for SECONDS`, ends the crawl early: what came
until then is judged. The exit code is 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from math import ceil
from pathlib import Path
from random import Random
from types import FrameType

from periplus.apps.lab import Answer, Request, World, exclusion
from periplus.apps.lab.log import RequestLog, Visit
from periplus.apps.lab.server import ConnectionLimits, RunningLab, Server, SteppedClock
from periplus.apps.lab.sites import Site
from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.fetch import opened_by
from periplus.engine.sharding import ShardedCrawl

from .politeness_rules import ROBOTS, ROBOTS_AGE, Judge, Terms

WORKERS = 2
PAGES_PER_SITE = 40
"""Pages of a site in short runs: enough for its delay to bind."""
MIN_SITES, MAX_SITES = 100, 2500
RATE = 500.0
"""Requests a second that all sites allow together: about what two workers and the server can do on two cores."""
SLOW_FACTOR = 5.0
CRAWL_DELAY = 2.0
"""What sites with the robots file `delay` ask for, as a multiple of the delay of others."""
IP_DELAY = 0.4
"""Between two requests to an address, as a multiple of the delay: addresses of three sites are bound by it."""
LATENCY = 0.01
"""Seconds that a server takes for an answer."""
SLOW_EVERY, SLOW_ANSWER = 100, 0.4
"""Every hundredth takes this multiple of the delay, so that the site has to rest twice as long."""
BUSY_EVERY, RETRY_AFTER = 500, 2.0
"""Every five hundredth is a 503 with a Retry-After of this multiple of the delay."""
LINKS = 8
"""Links of a page to the pages after it. Where several are forbidden, the next ones are still reached."""
LISTED = 20
"""Pages in a site's sitemap."""
WORDS = 40
"""Words of a page: enough that no two pages are near-duplicates."""
REPORT_EVERY = 10.0
"""Seconds between two lines of progress."""

_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_TEXT = (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", f"max-age={ROBOTS_AGE:.0f}"))
_XML = (("Content-Type", "application/xml"),)
_NOT_FOUND = Answer(404, _HTML, b"<!doctype html><title>Not found</title>\n")


class BusyWorld(World):
    """Sites of the lab with small pages, whose servers are sometimes slow or busy."""

    def __init__(self, sites: int, pages: int, delay: float) -> None:
        # By Zipf's law the last of 2,500 sites gets 3e-6 of the pages; it takes 240 for a dozen sections.
        super().__init__(7, sites, pages=10_000_000_000)
        self._pages = pages
        self._delay = delay
        self._by_host = {site.host: site for site in self.sites()}
        words = Random(7)
        self._words = ["".join(words.choices("abcdefghilmnoprstuv", k=words.randint(3, 9))) for _ in range(20_000)]
        self._requests = 0

    def answer(self, request: Request) -> Answer:
        """A page, robots.txt, a sitemap, or 503."""
        site = self._by_host.get(request.host)
        if site is None:
            return _NOT_FOUND
        if request.target == ROBOTS:
            return self._robots(site, request.header("host") or site.host)
        self._requests += 1
        if self._requests % BUSY_EVERY == 0:
            return Answer(503, (*_HTML, ("Retry-After", f"{self.retry_after:.0f}")), b"<p>Later.</p>")
        if request.target == "/sitemap.xml":
            return Answer(200, _XML, _sitemap(site, request.header("host") or site.host))
        return self._page(site, request.target)

    def latency(self, request: Request) -> float:
        """Seconds until an answer begins."""
        return LATENCY if request.target == ROBOTS or self._requests % SLOW_EVERY else SLOW_ANSWER * self._delay

    @property
    def retry_after(self) -> float:
        """Seconds, as a 503 names them."""
        return ceil(RETRY_AFTER * self._delay)

    @property
    def crawl_delay(self) -> float:
        """Seconds, as robots.txt of some sites names them."""
        return CRAWL_DELAY * self._delay

    def allows(self, host: str, target: str) -> bool:
        """Whether the host's robots.txt lets us request a target."""
        return exclusion.allows(self._by_host[host], "periplus", target)

    def _robots(self, site: Site, authority: str) -> Answer:
        text = exclusion.text(site, f"http://{authority}/sitemap.xml")
        if text is None:
            return Answer(404, _TEXT, b"There is none.\n")
        return Answer(200, _TEXT, text.replace(b"Crawl-delay: 2.0\n", b"Crawl-delay: %.3f\n" % self.crawl_delay))

    def _page(self, site: Site, target: str) -> Answer:
        number = _number(target)
        if number is None or number >= self._pages:
            return _NOT_FOUND
        words = Random(site.number << 20 | number).choices(self._words, k=WORDS)
        links = [f'<a href="{_target(site, each)}">{each}</a>' for each in range(number + 1, number + 1 + LINKS)]
        links.append(f'<a href="/print/{number}.html">print</a>')
        title = " ".join(words[:4])
        text = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{' '.join(words)}</p><p>{' '.join(links)}</p>"
        return Answer(200, _HTML, text.encode())


def _target(site: Site, number: int) -> str:
    return f"/{site.sections[number % len(site.sections)]}/{number}.html"


def _number(target: str) -> int | None:
    """The number of the page that a target shows; the home page is the first."""
    name = target.rpartition("/")[2].removesuffix(".html")
    return 0 if target == "/" else int(name) if name.isdecimal() else None


def _sitemap(site: Site, authority: str) -> bytes:
    places = "".join(f"<url><loc>http://{authority}{_target(site, number)}</loc></url>" for number in range(LISTED))
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'.encode()


class JudgedLog(RequestLog):
    """A server's log that is judged while it is written."""

    def __init__(self, judge: Judge, path: Path | None) -> None:
        super().__init__(1, path)
        self._judge = judge

    def note(self, visit: Visit) -> None:
        """Log and judge a visit."""
        super().note(visit)
        self._judge.note(visit)


def main() -> None:
    """Crawl, judge, and print what was found."""
    asked = _arguments()
    sites = asked.sites or min(max(MIN_SITES, asked.pages // PAGES_PER_SITE), MAX_SITES)
    delay = asked.delay or sites / RATE
    world = BusyWorld(sites, 2 * ceil(asked.pages / sites) + LISTED, delay)
    terms = _terms(world, delay)
    judge = Judge(terms)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        used = _crawl(world, terms, judge, Path(folder) / "c", asked)
        seconds = time.monotonic() - began
    judge.end()
    for line in _summary(judge, seconds, used):
        print(line)
    sys.stdout.flush()
    sys.exit(1 if judge.violations.total() else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=int, nargs="?", default=20_000, help="pages to crawl")
    parser.add_argument("--sites", type=int, default=0, help="sites of the web; by default 100 to 2,500")
    parser.add_argument(
        "--delay", type=float, default=0.0, help="seconds; by default so that sites allow 500 pages a second"
    )
    parser.add_argument("--for", type=float, default=0.0, dest="seconds", help="end after this many seconds")
    parser.add_argument("--log", type=Path, help="also write the server's log to a file")
    return parser.parse_args()


def _terms(world: BusyWorld, delay: float) -> Terms:
    return Terms(
        delay=delay,
        ip_delay=IP_DELAY * delay,
        slow_factor=SLOW_FACTOR,
        crawl_delay=world.crawl_delay,
        retry_after=world.retry_after,
        workers=WORKERS,
        slow_hosts=frozenset(site.host for site in world.sites() if site.robots == "delay"),
        address=lru_cache(maxsize=None)(world.address),
        allows=world.allows,
    )


def _crawl(world: BusyWorld, terms: Terms, judge: Judge, folder: Path, asked: argparse.Namespace) -> float:
    """Crawl every site of the world; its server's log is judged meanwhile. Returns the CPU seconds a request."""
    folder.mkdir()
    log = JudgedLog(judge, asked.log)
    limits = ConnectionLimits(most_connections=4 * MAX_SITES)
    server = Server(world, SteppedClock(world.epoch), log, limits=limits, latency=world.latency)
    with RunningLab(server) as lab:
        options: dict[str, object] = {
            "dns.hosts": dict(lab.resolver),
            "scope.kind": "host",
            "budgets.domain": "none",  # all sites are of one registrable domain
            "politeness.delay": terms.delay,
            "politeness.ip_delay": terms.ip_delay,
            "politeness.slow_factor": terms.slow_factor,
            "crawl.limit": asked.pages,
            "crawl.for": asked.seconds,
        }
        seeds = seeds_from([lab.url(site.host) for site in world.sites()])
        options["wire.allow_private"] = opened_by(seeds, lab.resolver, ())
        config = Config().with_options(options)
        config.check()
        used = _run(open_crawl(config, folder, seeds, WORKERS), judge)
        settle(folder)
    log.close()
    return used / max(log.total, 1)


def _run(crawl: ShardedCrawl, judge: Judge) -> float:
    """Crawl to the end or to Ctrl-C, with a line of progress every ten seconds; returns the CPU seconds of all."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        crawl.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    began = last = time.monotonic()
    before, used = 0, 0.0
    for statuses in crawl.progress():
        now = time.monotonic()
        if now < last + REPORT_EVERY:
            continue
        used = _cpu_of_group()
        requests, pages = judge.requests, sum(status.frontier.done for status in statuses)
        print(
            f"{now - began:6,.0f} s: {pages:,} pages; judged: {requests:,} requests to {judge.hosts:,} hosts"
            f" ({(requests - before) / (now - last):,.0f}/s), {judge.violations.total():,} violations",
            file=sys.stderr,
            flush=True,
        )
        last, before = now, requests
    if crawl.is_interrupted:
        print("ended early, by a signal", file=sys.stderr)
    return max(used, _cpu_of_group())


def _cpu_of_group() -> float:
    """CPU seconds of the processes of our group: this one, and those of the crawl."""
    group, ticks = os.getpgrp(), 0
    for entry in os.scandir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            # The name in brackets may contain spaces; what follows the last bracket is numbers.
            fields = (Path(entry) / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdecimal() and int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _summary(judge: Judge, seconds: float, used: float) -> Iterator[str]:
    total = judge.requests
    own = time.process_time() / max(total, 1)
    yield f"{total:,} requests to {judge.hosts:,} hosts in {seconds:,.0f} s ({total / seconds:,.0f}/s)"
    statuses = ", ".join(f"{status}: {number:,}" for status, number in sorted(judge.statuses.items()))
    yield f"robots.txt: {judge.robots:,} times; answers by status: {statuses}"
    tight = judge.tight / max(total - judge.hosts, 1)
    yield f"{judge.shared_addresses:,} addresses of several hosts; {tight:.0%} of rests were within 10% of the least"
    yield f"CPU a request: {1000 * (used - own):.2f} ms of the crawler, {1000 * own:.2f} ms of the server and its judge"
    yield from judge.lines()


if __name__ == "__main__":
    main()
