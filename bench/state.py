"""The state of a crawl, fed with discoveries and no network: what a URL costs, and whether that stays so.

A made web of sites with sizes by Zipf's law is crawled as far as the state can tell: a site's next page is taken from
its queue, its record is written, and its links come in as discoveries, most of them known. The long form, `python -m
bench.state --urls 20000000`, prints a line for each million of discovered URLs; `--sizes 1 10 100` measures stretches
at these millions and fills the state in between with the same rows, in several passes, so that pages of the tables are
split and left partly empty as they are when URLs arrive at random. `measure` is the short form, in memory and on disk,
that `python -m bench` runs.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xxhash import xxh3_64_digest

from bench.harness import Group
from periplus.model import Digests, Discovery, FirstSeen, Lane, Queued, Site, Source, Url, UrlRecord, Validators
from periplus.store import DiskState, MemoryState, State
from periplus.store.state.records import NUMBER_LENGTH, YOUNG
from periplus.store.state.rows import LANE_CODES, SOURCE_CODES, encode
from periplus.store.state.sites import ID_LENGTH
from periplus.urls import site_of

PASSES = 4
"""Passes over all sites, each with every fourth URL: the tables are then about as full as after random insertion."""

CHUNK = 100_000
"""URLs written between two commits: this changes fewer pages than a commit of the measured stretches."""

DEPTHS = 6
VISITED_EVERY = 9
"""One URL in nine was visited: a page has about nine new URLs."""

FOUND_AT = 1.7e9
_LINK = SOURCE_CODES[Source.LINK]
_LANE = LANE_CODES[Lane.DISCOVERY]
_PLACES = [_LANE + bytes((depth,)) for depth in range(DEPTHS + 1)]
_VISITED_FIELDS = (
    [(_LINK, FOUND_AT)], None, ('"5f3c-1a2b3c4d5e6f7"', "Tue, 15 Nov 2022 12:45:26 GMT"),
    (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93),
    1, 0, FOUND_AT, FOUND_AT + 86400.0, 0, 0, 200, "", FOUND_AT, b"", b"", b"", b"",
)  # fmt: skip
"""The fields after `depth` in the row of a URL that was visited once."""


def share(rank: int, sites: int) -> float:
    """The share of the site of a rank, from 0, in all URLs."""
    return math.log((rank + 2) / (rank + 1)) / math.log(sites) if rank + 1 < sites else 0.0


class Filling:
    """Writes rows of known URLs into a state. `path_of` returns the path of the URL of a site that has this number."""

    def __init__(self, state: DiskState, sites: Sequence[Site], path_of: Callable[[int], str]) -> None:
        self._state = state
        self._sites = sites
        self._path_of = path_of
        self._urls = state.environment.table("urls")
        self._ends: dict[bytes, int] = {}
        self._queues = state.environment.table("queues")

    def fill(self, known: Sequence[int], wanted: Sequence[int]) -> None:
        """Make the URLs of each site known that have a number from `known` to below `wanted`."""
        ranks = [rank for rank, (have, want) in enumerate(zip(known, wanted, strict=True)) if have < want]
        random.Random(1).shuffle(ranks)
        order = sorted(ranks, key=lambda rank: self._state.names.number(self._sites[rank]))
        for start in range(PASSES):
            ranges = [(rank, range(known[rank] + start, wanted[rank], PASSES)) for rank in order]
            for chunk in _chunks(ranges):
                self._write(chunk)

    def _write(self, chunk: Sequence[tuple[int, range]]) -> None:
        urls: list[tuple[bytes, bytes]] = []
        places: list[tuple[bytes, bytes]] = []
        queued: list[tuple[bytes, bytes]] = []
        queues = self._state.queues
        for rank, numbers in chunk:
            site = self._sites[rank]
            prefix, head = f"https://{site}", self._state.names.number(site)
            before, end = len(queued), self._end_of(head)
            for number in numbers:
                short = self._path_of(number)
                depth = 1 + number % DEPTHS
                place = head + end.to_bytes(NUMBER_LENGTH, "big")
                end += 1
                places.append((head + xxh3_64_digest((prefix + short).encode()), place))
                if number % VISITED_EVERY == 0:
                    urls.append((place, encode((short, depth, *_VISITED_FIELDS))))
                    continue
                urls.append((place, encode((short, depth, _LINK, FOUND_AT))))
                queued.append((head + _PLACES[depth] + queues._next(), short.encode()))
            queues._change(head + _LANE, len(queued) - before)
            self._ends[head] = end
        urls.sort()
        self._urls.put_many(urls)
        records = self._state.records
        if records._linked is not None:  # it is None for readers only
            records._linked.put(urls)
        records._places.add(places)
        self._queues.put_many(sorted(queued))
        self._state.commit()

    def _end_of(self, head: bytes) -> int:
        """How many URLs of a site have been moved out of the tree of new ones."""
        end = self._ends.get(head)
        if end is None:
            last = self._urls.last(head)
            end = 0 if last is None else int.from_bytes(last[ID_LENGTH:], "big") + 1
        return end


def _chunks(ranges: Sequence[tuple[int, range]]) -> Iterator[list[tuple[int, range]]]:
    """The URLs of these sites in lists of about `CHUNK`; a large site is in several of them."""
    chunk: list[tuple[int, range]] = []
    room = CHUNK
    for rank, numbers in ranges:
        for start in range(0, len(numbers), CHUNK):
            piece = numbers[start : start + CHUNK]
            chunk.append((rank, piece))
            room -= len(piece)
            if room <= 0:
                yield chunk
                chunk, room = [], CHUNK
    if chunk:
        yield chunk


MILLION = 1_000_000
SITES = 200_000
CONTROL_SITES, CONTROL_PAGES = 100, 10
"""The small web whose first pages are made again and again."""
NAVIGATION = 20
"""URLs of a site that each of its pages links to."""

WORDS = (
    "about", "archive", "article", "author", "blog", "book", "category", "chapter", "city", "contact",
    "culture", "data", "detail", "event", "forum", "gallery", "guide", "health", "history", "index", "issue",
    "library", "listing", "manual", "market", "member", "music", "nature", "news", "notes", "page", "photo",
    "policy", "post", "press", "product", "profile", "project", "reference", "release", "report", "research",
    "review", "science", "search", "section", "series", "service", "software", "sport", "story", "study",
    "summary", "support", "thread", "topic", "travel", "tutorial", "update", "video", "weather", "world", "year",
)  # fmt: skip


class Sink(Protocol):
    """Who is fed. A scheduler has the same two verbs."""

    def discover(self, discoveries: Sequence[Discovery], now: float) -> None:
        """The links of a page."""

    def visit(self, site: Site, now: float) -> None:
        """Take the site's next page, and report it."""


class Direct:
    """Feeds a state as a scheduler would, with nothing decided: every new URL is queued by its depth."""

    def __init__(self, state: State) -> None:
        self.state = state

    def discover(self, discoveries: Sequence[Discovery], now: float) -> None:  # noqa: ARG002 - the verb has it
        """Records for all, places in the queues for those that are new."""
        records = [UrlRecord(d.url, (FirstSeen(d.source, d.found_at),), d.depth) for d in discoveries]
        known = self.state.records.add_new(records)
        self.state.queues.push(
            [
                Queued(record.url, site_of(record.url), Lane.DISCOVERY, min(record.depth, 255))
                for record, before in zip(records, known, strict=True)
                if before is None
            ]
        )

    def visit(self, site: Site, now: float) -> None:
        """The head of the site's queue goes, and its record gains a visit."""
        queues = self.state.queues
        for ticket in queues.heads(site, Lane.DISCOVERY, 1):
            (record,) = self.state.records.get([ticket.entry.url])
            queues.remove([ticket])
            if record is not None:
                self.state.records.put([_visited(record, now)])


def _visited(record: UrlRecord, now: float) -> UrlRecord:
    return UrlRecord(
        record.url,
        record.first_seen,
        record.depth,
        validators=Validators('"5f3c-1a2b3c4d5e6f7"', "Tue, 15 Nov 2022 12:45:26 GMT"),
        digests=Digests(0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93),
        visits=1,
        fetched_at=now,
        kept_at=now,
        due_at=now + 86400.0,
        status=200,
    )


class MadeWeb:
    """Pages one after the other, of sites drawn by Zipf's law. `known` counts the URLs that exist so far."""

    def __init__(self, sites: int = SITES, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        self._sites = sites
        self._known = array("L", bytes(array("L").itemsize * sites))
        self.known = 0

    def pages(self, count: int) -> list[tuple[Site, list[Discovery]]]:
        """The next pages: the site that is visited, and the links found there."""
        return [self._page() for _ in range(count)]

    def _page(self) -> tuple[Site, list[Discovery]]:
        """40 to 50 links: navigation, old and new pages of the site, and other sites; about 9 of them new.

        As many on every page, however young its site is, so that URLs at the end cost what they cost at the beginning.
        """
        chance = self._chance
        rank = self._draw()
        now = 1.7e9 + self.known * 1e-4
        referrer = self._url(rank, 0)
        wanted = chance.randrange(40, 51)
        urls = {self._new(rank): None for _ in range(chance.randrange(5, 12))}
        urls.update((self._url(rank, number), None) for number in range(min(NAVIGATION, self._known[rank])))
        urls.update((self._old(rank), None) for _ in range(wanted - 10 - len(urls)))
        if chance.random() < 0.9:
            urls[self._new(self._draw())] = None
        for _ in range(2 * wanted):
            if len(urls) < wanted:
                urls[self._old(self._draw())] = None
        depth = 1 + chance.randrange(6)
        return _site(rank), [Discovery(url, Source.LINK, now, depth, referrer) for url in urls]

    def _draw(self) -> int:
        """A site: the share of the one of rank r is as 1/r."""
        return min(int(self._sites ** self._chance.random()), self._sites) - 1

    def _new(self, rank: int) -> Url:
        number = self._known[rank]
        self._known[rank] += 1
        self.known += 1
        return self._url(rank, number)

    def _old(self, rank: int) -> Url:
        """Half of the links go to what was found lately, and half anywhere; none to an unknown site."""
        known = self._known[rank]
        while not known:
            rank = self._draw()
            known = self._known[rank]
        oldest = max(0, known - 50) if self._chance.random() < 0.5 else 0
        return self._url(rank, self._chance.randrange(oldest, known))

    def _url(self, rank: int, number: int) -> Url:
        return Url(f"https://{_site(rank)}{_path(number)}")

    def fill(self, state: DiskState, urls: int) -> None:
        """Make this number of URLs known at once, each site as large as it would be by then."""
        wanted = [max(have, int(urls * share(rank, self._sites))) for rank, have in enumerate(self._known)]
        Filling(state, [_site(rank) for rank in range(self._sites)], _path).fill(self._known, wanted)
        self._known = array("L", wanted)
        self.known = sum(wanted)


def _path(number: int) -> str:
    first, second, third = WORDS[number % 61], WORDS[number // 61 % 59], WORDS[number * 7 % 53]
    return f"/{first}/{second}-and-{third}/{number:08x}.html"


def _site(rank: int) -> Site:
    return Site(f"www.{WORDS[rank % 61]}-{rank}.example.org")


@dataclass(frozen=True)
class Step:
    """What one stretch of URLs cost. Times are microseconds a discovered URL; `system` is the kernel's part of `cpu`.

    `making` is the CPU time in microseconds of making a page of a small web, not part of the others: these are the same
    pages at every size, so it shows how fast the machine was.
    """

    known: int
    new: int
    links: int
    pages: int
    cpu: float
    system: float
    wall: float
    private: int
    file: int
    written: int
    slowest: float
    making: float


def run(sink: Direct, web: MadeWeb, urls: int, step: int, commit_every: int, folder: Path | None) -> Iterator[Step]:
    """Feed until this number of URLs is known. Making the pages is not counted, committing is."""
    while web.known < urls:
        begin, until = web.known, min(web.known + step, urls)
        links = pages = controls = 0
        cpu = system = wall = slowest = making = 0.0
        written = _written()
        while web.known < until:
            made = web.pages(100)
            made_at = time.process_time()
            controls += len(MadeWeb(CONTROL_SITES).pages(CONTROL_PAGES))
            making += time.process_time() - made_at
            cpu_before, system_before, wall_before = time.process_time(), os.times().system, time.perf_counter()
            slowest = max(slowest, _feed(sink, made, commit_every))
            cpu += time.process_time() - cpu_before
            system += os.times().system - system_before
            wall += time.perf_counter() - wall_before
            pages += len(made)
            links += sum(len(found) for _, found in made)
        new = web.known - begin
        yield Step(
            web.known,
            new,
            links,
            pages,
            cpu / new * 1e6,
            system / new * 1e6,
            wall / new * 1e6,
            private_memory(),
            _size(folder),
            _written() - written,
            slowest,
            making / controls * 1e6,
        )


def _feed(sink: Direct, pages: list[tuple[Site, list[Discovery]]], commit_every: int) -> float:
    """The seconds that the longest commit took."""
    slowest = 0.0
    for site, discoveries in pages:
        now = discoveries[0].found_at
        sink.visit(site, now)
        sink.discover(discoveries, now)
        if isinstance(sink.state, DiskState) and sink.state.uncommitted >= commit_every:
            before = time.perf_counter()
            sink.state.commit()
            slowest = max(slowest, time.perf_counter() - before)
    return slowest


def private_memory() -> int:
    """Bytes that only this process has: not the mapped file. The peak of all, where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon:", "VmSwap:")))


def _size(folder: Path | None) -> int:
    return 0 if folder is None else sum(file.stat().st_blocks * 512 for file in folder.iterdir())


def _written() -> int:
    """Bytes that this process handed to the system to write."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def measure(quick: bool) -> list[Group]:
    """One table: discovered URLs a second, on memory and on disk, with all links of their pages looked up."""
    urls = 60_000 if quick else 600_000
    with tempfile.TemporaryDirectory() as name:
        disk = DiskState(Path(name))
        steps = {
            "memory": list(run(Direct(MemoryState()), MadeWeb(20_000), urls, urls, 0, None)),
            "disk": list(run(Direct(disk), MadeWeb(20_000), urls, urls, COMMIT_EVERY, Path(name))),
        }
        disk.close()
    last = steps["disk"][-1]
    return [
        Group(
            title="State of a crawl",
            unit="new URLs/s",
            rates={name: 1e6 / found[-1].cpu for name, found in steps.items()},
            notes=("CPU time; a new URL comes with the known ones of its page, and is recorded and queued",),
            facts={
                "URLs": f"{last.known:,}",
                "links looked up for each": f"{last.links / last.known:.1f}",
                "a page, on disk": f"{last.cpu * last.known / last.pages:.0f} us",
                "bytes a URL, on disk": f"{last.file / last.known:.0f}",
            },
        )
    ]


COMMIT_EVERY = 20_000
WINDOW = 3 * YOUNG
"""URLs measured at a size: as many as move out of the tree of new ones in three batches, so that a window has
neither more nor fewer of these than its share. Merges of large files are spread over all commits."""


@dataclass(frozen=True)
class Start:
    """How a process found the state of one that was killed: seconds until the first look-ups were answered."""

    seconds: float
    was_committed: bool


def grow(folder: Path, sizes: Sequence[int], sites: int, window: int) -> Iterator[tuple[Start | None, Step]]:
    """The first URLs, and the `window` after them; then a window before each other size, with a filled state before it.

    Each size has a process of its own, which ends itself with SIGKILL while it discovers or commits more.
    """
    for size in sizes:
        result = folder / "step"
        result.unlink(missing_ok=True)
        asked = ["--grow-to", str(size), "--window", str(window), "--sites", str(sites), "--folder", str(folder)]
        ended = subprocess.run([sys.executable, "-m", "bench.state", *asked], check=False)
        if ended.returncode != -signal.SIGKILL:
            raise SystemExit(f"the process for {size:,} URLs ended with {ended.returncode}")
        start, steps = pickle.loads(result.read_bytes())
        for step in steps:
            yield start, step


def _grow_to(folder: Path, size: int, sites: int, window: int) -> None:
    """One size of `grow`."""
    webs = [folder / "web", folder / "web-after"]
    state_folder = folder / "state"
    began = time.perf_counter()
    state = DiskState(state_folder)
    start = None
    web = MadeWeb(sites)
    if webs[0].exists():
        candidates = [pickle.loads(path.read_bytes()) for path in webs if path.exists()]
        known = len(state.records)
        matching = [each for each in candidates if each.known == known]
        if not matching:
            raise SystemExit(f"{known:,} URLs after a kill, not one of {[each.known for each in candidates]}")
        web = matching[0]
        urls = [web._old(web._draw()) for _ in range(10_000)]
        first = state.records.get(urls[:1])
        start = Start(time.perf_counter() - began, web is not candidates[0])
        if None in first or None in state.records.get(urls):
            raise SystemExit("a URL that was committed is unknown after a kill")
    sink = Direct(state)
    stretches = [size]
    if not web.known:
        stretches.append(size + window)
    elif web.known < size - window:
        web.fill(state, size - window)
    steps = [step for until in stretches for step in run(sink, web, until, until, COMMIT_EVERY, state_folder)]
    state.commit()
    webs[0].write_bytes(pickle.dumps(web))
    made = web.pages(500)
    webs[1].write_bytes(pickle.dumps(web))
    (folder / "step").write_bytes(pickle.dumps((start, steps)))
    threading.Timer(random.random(), os.kill, (os.getpid(), signal.SIGKILL)).start()
    _feed(sink, made, 1 << 60)
    state.commit()
    time.sleep(60)


def main() -> int:
    """The long form."""
    ask = argparse.ArgumentParser(prog="python -m bench.state", description=(__doc__ or "").partition("\n")[0])
    ask.add_argument("--urls", type=int, default=MILLION, help="number of URLs to discover")
    ask.add_argument("--step", type=int, default=MILLION, help="URLs between two lines")
    ask.add_argument("--sites", type=int, default=SITES)
    ask.add_argument("--commit-every", type=int, default=COMMIT_EVERY, help="changes between two commits")
    ask.add_argument("--memory", action="store_true", help="in memory instead of on disk")
    ask.add_argument("--folder", type=Path, help="put the state under this folder (removed afterwards)")
    ask.add_argument("--sizes", type=float, nargs="+", help="measure at these millions of URLs, filled in between")
    ask.add_argument("--window", type=int, default=WINDOW, help="URLs measured at each of these sizes")
    ask.add_argument("--grow-to", type=int, help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if asked.grow_to:
        _grow_to(asked.folder, asked.grow_to, asked.sites, asked.window)
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="periplus-bench-state-") as name:
        if asked.sizes:
            sizes = [int(size * MILLION) for size in asked.sizes]
            _print(grow(Path(name), sizes, asked.sites, asked.window))
            return 0
        state: State = MemoryState() if asked.memory else DiskState(Path(name))
        steps = run(Direct(state), MadeWeb(asked.sites), asked.urls, asked.step, asked.commit_every, Path(name))
        _print((None, step) for step in steps)  # the state is not closed: sealing it would read all of it
    return 0


def _print(steps: Iterator[tuple[Start | None, Step]]) -> None:
    """A line for each stretch, as soon as it ends."""
    print(
        "    URLs    pages  links/page  cpu us/URL  system  wall us/URL  private MB  file MB  bytes/URL"
        "  written KB/URL  slowest commit s  making a page us  start after a kill s",
        flush=True,
    )
    for start, step in steps:
        print(
            f"{step.known / 1e6:7.2f}M {step.pages:8,} {step.links / step.pages:11.1f} {step.cpu:11.2f}"
            f" {step.system:7.2f} {step.wall:12.2f} {step.private / 1e6:11.0f} {step.file / 1e6:8.0f}"
            f" {step.file / step.known:10.0f} {step.written / step.new / 1e3:15.1f} {step.slowest:17.2f}"
            f" {step.making:17.1f} {'' if start is None else f'{start.seconds:21.2f}'}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
