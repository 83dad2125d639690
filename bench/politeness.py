"""`python -m bench.politeness N`: crawl N pages of a web on loopback, and look for violations in the server's log.

The sites are those of the lab, with robots files of a dozen kinds, some with a Crawl-delay; several share an address.
Their pages are small, and each has as many as the others, so that all are busy to the end, and delays rather than the
processor bound the rate. Some requests are answered late, some with 503 and a Retry-After, and robots.txt may be kept
for ten minutes, so that long runs have to ask again. Everything is judged from the log of the server
(`bench.politeness_rules`), without what the crawler knows; only after a kill its archive is read, for the answers that
are kept. Ctrl-C, or `--for SECONDS`, ends the crawl early: what came until then is judged. The exit code is 1 if a rule
was broken.

`--kill SECONDS` kills processes of the crawl with SIGKILL at random moments, and continues it: all processes, the one
that runs the crawl, or one worker. With `--in FOLDER` the collection and the server's log are kept there, and the same
command goes on with both in another run, after whatever ended the last one.

A killed process has kept an answer if the archive and the log of inputs have it. Both are written for at most
`ANSWERS_PER_INPUT` answers at a time, first the archive. So of a shard's last answers as many may be without their
input: these are not counted yet. All others have to be there after every recovery.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache
from http.client import HTTPConnection
from math import ceil
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from threading import Lock
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.engine import ANSWERS_PER_INPUT
from periplus.engine.fetch import opened_by
from periplus.model import Url
from periplus.store.warc import WarcRecord, read_records
from periplus.store.warc.records import files_of
from periplus_lab import Answer, Request, World, exclusion
from periplus_lab.log import RequestLog, Visit
from periplus_lab.server import ConnectionLimits, RunningLab, Server, SteppedClock
from periplus_lab.sites import DOMAIN, Site

from .politeness_rules import ARCHIVE, ROBOTS, ROBOTS_AGE, Answered, Judge, Seen, Terms

_HEAD_BYTES = 4096
"""Bytes of an answer that are looked at: enough for its status line."""


class LostRecordsError(Exception):
    """The archive has less than it had, beyond what a recovery may cut off."""


class KeptAnswers:
    """Reads what was added to the archive of each shard. `places`: how far, by shard: a file and its size."""

    def __init__(self, folder: Path, shards: int, places: dict[int, tuple[str, int]] | None = None) -> None:
        self._folder, self._shards = folder, shards
        self.places = {} if places is None else dict(places)

    def new(self) -> Iterator[Answered]:
        """The answers that were kept since this was last called. Raises `LostRecordsError`."""
        for shard in range(self._shards) if self._folder.is_dir() else ():
            yield from self._new(shard)

    def _new(self, shard: int) -> Iterator[Answered]:
        name, size = self.places.get(shard, ("", 0))
        files = [path for _, path in files_of(self._folder, shard)]
        names = [path.name for path in files]
        if name and (name not in names or not _is_boundary(files[names.index(name)], size)):
            del self.places[shard]
            raise LostRecordsError(f"{name} had {size:,} bytes that cannot be cut off, and other records are there now")
        unsure: deque[tuple[Path, WarcRecord]] = deque()
        for path in files[names.index(name) if name else 0 :]:
            for record in read_records(path, offset=size if path.name == name else 0, max_block=_HEAD_BYTES):
                if isinstance(record, WarcRecord) and record.type in ("response", "revisit"):
                    unsure.append((path, record))
                    if len(unsure) > ANSWERS_PER_INPUT:
                        sure_path, sure = unsure.popleft()
                        self.places[shard] = sure_path.name, sure.offset + sure.length
                        yield _answered(sure)


def _is_boundary(path: Path, size: int) -> bool:
    """Whether a file has records up to this size, as it had once: where it was cut off earlier, others lie across."""
    following = next(read_records(path, offset=size, max_block=_HEAD_BYTES), None)
    is_record = following is None or isinstance(following, WarcRecord) or following.reason == "torn"
    return is_record and path.stat().st_size >= size


def _answered(record: WarcRecord) -> Answered:
    parts = urlsplit(record.url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return Answered(parts.hostname or "", target, record.message().status or 0)


KINDS: Final = ("all", "all", "coordinator", "worker")
"""Which processes a kill ends; all of them half of the time."""
ORPHANS: Final = 120.0
"""Seconds for workers to end by themselves after the process that ran the crawl was killed."""
STARTING: Final = 30.0
"""Seconds that a crawl needs to start on a busy machine: the mean time to a kill counts from then on."""
SENT_EVERY: Final = 1.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Plan(Struct, frozen=True):
    """What is crawled."""

    folder: str
    options: dict[str, Any]
    seeds: tuple[str, ...]
    workers: int


def crawl(plan: Plan, connection: Connection) -> None:
    """Crawl or continue in this process, and send the pages fetched so far; ends early when the connection does."""
    os.setsid()
    folder = Path(plan.folder)
    seeds = [Url(seed) for seed in plan.seeds]
    config = Config().with_options(plan.options)
    config.check()
    running = open_crawl(config, folder, seeds, plan.workers)

    def stop(_number: int, _frame: FrameType | None) -> None:
        running.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    last = 0.0
    for statuses in running.progress():
        if time.monotonic() < last + SENT_EVERY:
            continue
        last = time.monotonic()
        try:
            connection.send(sum(status.frontier.done for status in statuses))
        except OSError:
            running.stop()
    settle(folder)


class Measured(Struct, frozen=True):
    """A process of the crawl: its parent, its CPU seconds and the bytes of its memory that no file backs."""

    pid: int
    parent: int
    began: int
    cpu: float
    memory: int


class Lives:
    """The crawl's processes, over several starts. `kills` counts them by kind."""

    def __init__(self, plan: Plan, kill_every: float, seed: int) -> None:
        """`kill_every`: mean seconds between a start and a kill; 0: never."""
        self._plan, self._every, self._chance = plan, kill_every, Random(seed)
        self._context = multiprocessing.get_context("spawn")
        self._cpu: dict[tuple[int, int], float] = {}
        self._is_stopping = False
        self.kills = dict.fromkeys(KINDS, 0)
        self.pages = 0
        self.memory, self.most_memory = 0, 0
        self._start()

    def _start(self) -> None:
        self._connection, there = self._context.Pipe()
        self._process = self._context.Process(target=crawl, args=(self._plan, there))
        self._process.start()
        there.close()
        self._draw()

    def _draw(self) -> None:
        wait = self._chance.uniform(0.0, 2.0 * (STARTING + self._every)) if self._every else float("inf")
        self._kill_at = time.monotonic() + wait

    def kill_if_due(self, look: Callable[[], object]) -> bool:
        """Kill processes of the crawl when it is time, and `look` while none of the others runs; whether this was done.

        Workers whose crawl was killed end by themselves, before anybody looks.
        """
        if time.monotonic() < self._kill_at or self._is_stopping or not self.is_running:
            return False
        kind = self._chance.choice(KINDS)
        group = self.measure()
        leader = self._process.pid or 0
        own = {one.pid for one in group}
        workers = [one.pid for one in group if one.parent in own and one.parent != leader]
        if kind == "worker" and not workers:
            return False
        chosen = own if kind == "all" else {leader} if kind == "coordinator" else {self._chance.choice(workers)}
        others = own - chosen
        if kind == "worker":
            _send(signal.SIGSTOP, others)
        _send(signal.SIGKILL, chosen)
        self._await_end(chosen if kind == "worker" else own)
        look()
        _send(signal.SIGCONT, others)
        self.kills[kind] += 1
        if kind == "worker":
            self._draw()
        return True

    def _await_end(self, pids: set[int]) -> None:
        """Wait until processes have ended; those that take too long are killed."""
        until = time.monotonic() + ORPHANS
        while left := pids & {one.pid for one in self.measure()}:
            if time.monotonic() > until:
                _send(signal.SIGKILL, left)
            time.sleep(0.05)

    def revive(self) -> None:
        """Start the crawl again where the process that ran it was killed."""
        if self._process.exitcode == -signal.SIGKILL and not self._is_stopping:
            self._connection.close()
            self._start()

    def stop(self) -> None:
        """Make the crawl end, with everything kept."""
        self._is_stopping = True
        if self.is_running:
            self._process.terminate()

    @property
    def is_running(self) -> bool:
        """Whether the process that runs the crawl is alive."""
        return self._process.is_alive()

    @property
    def exit_code(self) -> int:
        """How the crawl ended."""
        self._process.join()
        return self._process.exitcode or 0

    def wait(self, seconds: float) -> None:
        """Wait for the crawl's reports."""
        until = time.monotonic() + seconds
        with suppress(EOFError, OSError):
            while self._connection.poll(max(until - time.monotonic(), 0.0)):
                self.pages = self._connection.recv()
        time.sleep(max(until - time.monotonic(), 0.0))

    def measure(self) -> list[Measured]:
        """The processes of the crawl now; their CPU time and memory are added to what was measured before."""
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdecimal():
                with suppress(OSError, ValueError, IndexError):
                    one = _measured(Path(entry), self._process.pid or 0)
                    found += [one] if one is not None else []
        self._cpu.update({(one.pid, one.began): one.cpu for one in found})
        self.memory = sum(one.memory for one in found)
        self.most_memory = max(self.most_memory, self.memory)
        return found

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes so far, as measured."""
        return sum(self._cpu.values())


def _send(number: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _measured(process: Path, session: int) -> Measured | None:
    # The name in brackets may contain spaces; what follows the last bracket is numbers.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    if int(fields[3]) != session:
        return None
    memory = (process / "smaps_rollup").read_text().splitlines()
    anonymous = next(int(line.split()[1]) for line in memory if line.startswith("Anonymous:"))
    cpu = (int(fields[11]) + int(fields[12])) / _TICKS
    return Measured(int(process.name), int(fields[1]), int(fields[19]), cpu, 1024 * anonymous)


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
WAIT = 0.2
"""Seconds between two looks at the crawl."""
STALL = 1.0
"""Seconds between two looks after which this process was not run on a busy machine."""

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
        self.begun = 0
        """Requests that were read."""

    def answer(self, request: Request) -> Answer:
        """A page, robots.txt, a sitemap, or 503."""
        self.begun += 1
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


class Stall(Struct, frozen=True, tag=True):
    """A time in which this process, and so the server, was not run."""

    since: float
    until: float


class Kill(Struct, frozen=True, tag=True):
    """A kill: when, the answers that were lost, and how far the archive was read."""

    at: float
    lost: list[Answered]
    places: dict[int, tuple[str, int]]


class JudgedLog(RequestLog):
    """A server's log that is judged while it is written to a file, from which a later run reads it again.

    A line has a visit, a kill, or a time in which this process was not run.
    """

    def __init__(self, judge: Judge, path: Path, archive: Path) -> None:
        super().__init__(1)
        self._judge = judge
        self._lock = Lock()
        self._answered: set[Answered] = set()
        """Since the last kill, and not in the archive as far as that was read."""
        places: dict[int, tuple[str, int]] = {}
        self.ended = 0.0
        """When the last visit ended."""
        for entry in _entries(path) if path.exists() else ():
            places = entry.places if isinstance(entry, Kill) else places
            self._judged(entry)
        self._kept = KeptAnswers(archive, WORKERS, places)
        self._rows = path.open("ab", buffering=0)

    def note(self, visit: Visit) -> None:
        """Log and judge a visit of one of the world's hosts."""
        if visit.host.endswith(DOMAIN):
            super().note(visit)
            self._log(Seen(visit.real_started_at, visit.real_ended_at, visit.host, visit.target, visit.status))

    def killed(self, at: float) -> None:
        """Log a kill, after which nothing runs that could keep answers."""
        self.read_archive()
        self._log(Kill(at, sorted(self._answered), self._kept.places))

    def read_archive(self) -> None:
        """Read which answers were kept since this was last called; done now and then, little is left for a kill."""
        try:
            kept = list(self._kept.new())
        except LostRecordsError as error:
            self._judge.violate(ARCHIVE, str(error))
        else:
            with self._lock:
                self._answered.difference_update(kept)

    def stalled(self, since: float, until: float) -> None:
        """Log that this process was not run."""
        self._log(Stall(since, until))

    def _log(self, entry: Seen | Kill | Stall) -> None:
        with self._lock:
            self._rows.write(msgspec.json.encode(entry) + b"\n")
            self._judged(entry)

    def _judged(self, entry: Seen | Kill | Stall) -> None:
        match entry:
            case Kill(at, lost):
                self._judge.killed(at, lost)
                self._answered.clear()
            case Stall(since, until):
                self._judge.stalled(since, until)
            case Seen():
                self._judge.note(entry)
                self._answered.add(entry.answered)
                self.ended = max(self.ended, entry.ended_at)

    def close(self) -> None:
        """End the file."""
        super().close()
        self._rows.close()


def _entries(path: Path) -> Iterator[Seen | Kill | Stall]:
    """What earlier runs logged. A last line that is not whole is cut off."""
    whole = 0
    row: Decoder[Seen | Kill | Stall] = Decoder(Seen | Kill | Stall)
    with path.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            yield row.decode(line)
    os.truncate(path, whole)


def drain(lab: RunningLab, world: BusyWorld, log: JudgedLog) -> None:
    """Wait until the server has read and answered all that clients have sent which run no more.

    When it answers a request of ours, it has read every request that was sent before.
    """
    while True:
        for _ in range(2):
            connection = HTTPConnection("127.0.0.1", lab.port)
            connection.request("GET", "/clock")
            connection.getresponse().read()
            connection.close()
        if world.begun == log.total:
            return
        time.sleep(WAIT)


class Web(Struct, frozen=True):
    """What another run has to repeat: the web, and the port that its URLs name."""

    pages: int
    sites: int
    delay: float
    port: int = 0


def main() -> None:
    """Crawl, judge, and print what was found."""
    asked = _arguments()
    with ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        judge, seconds, lives = _crawl(folder, asked)
    judge.end()
    for line in _summary(judge, seconds, lives):
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
    parser.add_argument("--for", type=float, default=float("inf"), dest="seconds", help="end after this many seconds")
    parser.add_argument("--kill", type=float, default=0.0, help="mean seconds between two kills of the crawl; 0: none")
    parser.add_argument("--seed", type=int, default=7, help="chooses when to kill which processes")
    parser.add_argument("--in", type=Path, dest="folder", help="keep the collection and the log, and go on with them")
    return parser.parse_args()


def _web(folder: Path, asked: argparse.Namespace) -> Web:
    """The web of the first run in a folder."""
    path = folder / "web.json"
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=Web)
    sites = asked.sites or min(max(MIN_SITES, asked.pages // PAGES_PER_SITE), MAX_SITES)
    return Web(asked.pages, sites, asked.delay or sites / RATE)


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


def _crawl(folder: Path, asked: argparse.Namespace) -> tuple[Judge, float, Lives]:
    """Crawl every site of the world; its server's log is judged meanwhile. Also returns the seconds it took."""
    web = _web(folder, asked)
    world = BusyWorld(web.sites, 2 * ceil(web.pages / web.sites) + LISTED, web.delay)
    terms = _terms(world, web.delay)
    judge = Judge(terms)
    log = JudgedLog(judge, folder / "visits.jsonl", folder / "c" / "warc")
    if log.ended:
        log.killed(log.ended)
    limits = ConnectionLimits(most_connections=4 * MAX_SITES)
    server = Server(world, SteppedClock(world.epoch), log, port=web.port, limits=limits, latency=world.latency)
    with RunningLab(server) as lab:
        (folder / "web.json").write_bytes(msgspec.json.encode(replace(web, port=lab.port)))
        began = time.monotonic()
        lives = Lives(_plan(lab, terms, folder / "c", web.pages), asked.kill, asked.seed)

        def look() -> None:
            drain(lab, world, log)
            log.killed(time.time())

        _follow(lives, judge, log, asked.seconds, look)
        seconds = time.monotonic() - began
    log.close()
    return judge, seconds, lives


def _plan(lab: RunningLab, terms: Terms, folder: Path, pages: int) -> Plan:
    folder.mkdir(exist_ok=True)
    seeds = seeds_from([lab.url(site.host) for site in lab.world.sites()])
    options: dict[str, object] = {
        "dns.hosts": dict(lab.resolver),
        "scope.kind": "host",
        "budgets.domain": "none",  # all sites are of one registrable domain
        "politeness.delay": terms.delay,
        "politeness.ip_delay": terms.ip_delay,
        "politeness.slow_factor": terms.slow_factor,
        "crawl.limit": pages,
        "wire.allow_private": opened_by(seeds, lab.resolver, ()),
    }
    return Plan(str(folder), options, tuple(seeds), WORKERS)


def _follow(lives: Lives, judge: Judge, log: JudgedLog, seconds: float, look: Callable[[], object]) -> None:
    """Kill, continue and report, until the crawl ends, a signal comes or the time is over."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        lives.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    began = last = time.monotonic()
    before = judge.requests
    while lives.is_running or lives.exit_code == -signal.SIGKILL:
        slept = time.time()
        lives.wait(WAIT)
        if time.time() > slept + STALL:
            log.stalled(slept, time.time())
        lives.kill_if_due(look)
        lives.revive()
        now = time.monotonic()
        if now > began + seconds:
            lives.stop()
        if now < last + REPORT_EVERY:
            continue
        lives.measure()
        log.read_archive()
        print(
            f"{now - began:6,.0f} s: {lives.pages:,} pages; judged: {judge.requests:,} requests"
            f" ({(judge.requests - before) / (now - last):,.0f}/s), {sum(lives.kills.values())} kills,"
            f" {lives.memory / 1e6:,.0f} MB, {judge.violations.total():,} violations",
            file=sys.stderr,
            flush=True,
        )
        last, before = now, judge.requests
    if lives.exit_code:
        print(f"the crawl ended with {lives.exit_code}", file=sys.stderr)


def _summary(judge: Judge, seconds: float, lives: Lives) -> Iterator[str]:
    total = judge.requests
    yield f"{total:,} requests to {judge.hosts:,} hosts, {lives.pages:,} pages; this run took {seconds:,.0f} s"
    statuses = ", ".join(f"{status}: {number:,}" for status, number in sorted(judge.statuses.items()))
    yield f"robots.txt: {judge.robots:,} times; answers by status: {statuses}"
    tight = judge.tight / max(total - judge.hosts, 1)
    yield f"{judge.shared_addresses:,} addresses of several hosts; {tight:.0%} of rests were within 10% of the least"
    kills = ", ".join(f"{number} of {kind}" for kind, number in lives.kills.items())
    yield f"kills of this run: {kills}; in all {judge.kills} kills and {judge.stalls} stalls of the server;"
    yield f"with both {judge.unknown:,} answers that the crawler did not keep, or may not have got"
    yield f"CPU of this run: {lives.cpu:,.0f} s of the crawl, {time.process_time():,.0f} s of the server and its judge"
    yield f"memory of the crawl that no file backs: {lives.most_memory / 1e6:,.0f} MB at most"
    yield from judge.lines()


if __name__ == "__main__":
    main()
