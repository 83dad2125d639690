"""Crawls that are killed: lives of a crawl in processes of their own, and what must hold of the collection afterwards.

A life begins in a fork of a server that has everything imported, so that thirty of them take seconds. It can be told
to kill itself in front of its n-th operation on the disk: every state that a crash can leave behind is one of these.
What was lost is counted on the other side, in the log of the lab's server.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import pairwise
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow.dataset
from msgspec import Struct
from warcio.archiveiterator import ArchiveIterator

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.stats import CrawlStats
from periplus.model import Site
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.store.warc.copying import as_gzip
from periplus.store.warc.records import warc_files
from periplus.urls import domain_of
from periplus_lab import World
from periplus_lab.log import RequestLog, Visit
from periplus_lab.server import RunningLab
from periplus_lab.sites import Profile

DISK = frozenset(
    {"write", "fsync", "fdatasync", "commit", "open", "unlink", "link", "rename", "replace", "truncate", "ftruncate"}
)
PATIENCE = 600.0
CLUSTER_SETTINGS = """
[politeness]
delay = {delay}
slow_factor = 0.0
[retries]
backoff = 0.05
[archive]
max_file_size = 60_000
[tables]
rows_per_group = 20
rows_per_file = 60
[engine]
checkpoint_interval = 0.2
[sitemaps]
follow = true
[dust]
enabled = false
[absence]
enabled = false
[cluster]
lease = {lease}
"""
"""Of a crawl on a cluster: in a hurry, with small files and frequent commits, and of every URL: which of two names of a
page is fetched first depends on the order of the answers."""

domain_of(Site("a.test"))  # reads the Public Suffix List, and the next line all settings: once, before any life
Config().with_options({"politeness.delay": 0.0})
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.system.crawled"])


class Asked(Struct, frozen=True):
    """A crawl: its seeds, its settings over the defaults, and by how many processes."""

    seeds: tuple[str, ...]
    options: dict[str, object]
    workers: int = 1


def asked(lab: RunningLab, workers: int = 1, **options: object) -> Asked:
    """A crawl of every URL in a lab, in a hurry, with small files and frequent commits.

    Rules for duplicate URLs are not learnt: which name of a page is fetched depends on the order of the answers. On a
    busy machine the lab may be silent for longer than a crawl usually waits, which would be a failed request.
    """
    settings: dict[str, object] = {
        "wire.connect_timeout": PATIENCE,
        "wire.timeout": PATIENCE,
        "wire.low_speed_time": int(PATIENCE),
        "politeness.delay": 0.01,
        "politeness.slow_factor": 0.0,
        "retries.backoff": 0.05,
        "wire.proxy": lab.base,
        "sitemaps.follow": True,
        "archive.max_file_size": 60_000,
        "tables.rows_per_group": 20,
        "tables.rows_per_file": 60,
        "engine.checkpoint_interval": 0.2,
        "dust.enabled": False,
        "absence.enabled": False,
    }
    settings |= {name.replace("__", "."): value for name, value in options.items()}
    return Asked(tuple(f"http://{host}/" for host in lab.world.hosts[:4]), settings, workers)


def life(folder: Path, what: Asked, strike: int | None = None) -> None:
    """A crawl, begun or continued, to its end; or until its `strike`-th operation on the disk."""
    logging.disable()
    crawl = open_crawl(Config().with_options(what.options), folder, seeds_from(what.seeds), what.workers)
    signal.signal(signal.SIGTERM, lambda *_: crawl.stop())
    if strike is not None:
        sys.setprofile(_Executioner(strike))
    crawl.run()
    settle(folder)


class _Executioner:
    """Counts the calls of our code that change the disk, and strikes in front of one."""

    def __init__(self, strike: int) -> None:
        self._left = strike

    def __call__(self, frame: FrameType, event: str, what: Any) -> None:
        if event != "c_call" or what.__name__ not in DISK or not _is_ours(frame):
            return
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether our stores are at work, directly or by the standard library."""
    depth = 0
    while frame is not None and depth < 4:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(("periplus.store", "periplus.engine.log", "periplus.collection")):
            return True
        frame, depth = frame.f_back, depth + 1
    return False


def begin(folder: Path, what: Asked, strike: int | None = None) -> BaseProcess:
    """Start a life."""
    process = _context.Process(target=life, args=(folder, what, strike))
    process.start()
    return process


def shards_of(folder: Path, process: BaseProcess) -> list[int]:
    """The processes of the shards of a life: those that have files of its states open, but for the life itself."""
    return [pid for pid in _processes() if pid != process.pid and _has_open(pid, str(folder / "state"))]


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _has_open(pid: int, folder: str) -> bool:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()).startswith(folder):
                    return True
    return False


def finish(folder: Path, what: Asked) -> None:
    """A life to its natural end."""
    process = begin(folder, what)
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
    assert process.exitcode == 0


# what must hold


class Crawled(Struct, frozen=True):
    """What a collection holds, in the terms that two crawls of one web must agree on."""

    pages: Counter[tuple[str, int]]
    fetches: Counter[tuple[str, str, int, str]]
    discoveries: Counter[tuple[str, str]]
    links: int
    entries: Counter[tuple[str, str, str]]
    captures: Counter[str]
    revisits: int
    tally: dict[str, object]


def crawled(folder: Path) -> Crawled:
    """Read all of a collection with the tools of others; damage fails."""
    kept = list(captures(folder))
    return Crawled(
        Counter((row["url"], row["raw_digest"]) for row in rows(folder, "pages")),
        Counter((row["url"], row["purpose"], row["attempt"], row["outcome"]) for row in rows(folder, "fetches")),
        Counter({(row["url"], row["source"]) for row in rows(folder, "discoveries") if row["refused"] is None}),
        len(rows(folder, "links")),
        entries_of(folder),
        Counter(url for url, _ in kept),
        sum(kind == "revisit" for _, kind in kept),
        tallied(folder),
    )


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Every row of a table."""
    path = folder / "tables" / table
    if not path.is_dir():
        return []
    found: list[dict[str, Any]] = pyarrow.dataset.dataset(path, format="parquet").to_table().to_pylist()
    return found


def entries_of(folder: Path) -> Counter[tuple[str, str, str]]:
    """What files say, in readings that came to their end: a reading that was broken off has no row on the whole."""
    said = rows(folder, "sitemap_entries")
    whole = {(row["sitemap"], row["read_at"]) for row in said if row["kind"] == "summary"}
    return Counter(
        (row["sitemap"], row["url"], row["kind"]) for row in said if (row["sitemap"], row["read_at"]) in whole
    )


def captures(folder: Path) -> Iterable[tuple[str, str]]:
    """Every answer in the archive, all of which warcio reads from end to end, digests checked."""
    for path in warc_files(folder / "warc"):
        file = BytesIO(b"".join(piece for _, record in as_gzip(path, path.stat().st_size, 1) for piece in record))
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            if record.rec_type in ("response", "revisit"):
                yield record.rec_headers["WARC-Target-URI"], record.rec_type


UNEQUAL = ("sources", "found_again", "durations", "seconds")
"""What is counted and may differ between two crawls of one web: it depends on what came first, and on the clock."""


def tallied(folder: Path) -> dict[str, object]:
    """What was counted, by all shards together. Who was met twice by a source, the later time first, counts twice."""
    total = CrawlStats()
    layout = Layout(folder)
    for number in range(layout.shards):
        state = DiskState.read_only(layout.shard(number), shard=number)
        total += (state.meta(ShardMeta) or ShardMeta()).stats
        state.close()
    return {name: getattr(total, name) for name in total.__struct_fields__ if name not in UNEQUAL}


def unrecorded(visits: Iterable[Visit], folder: Path) -> Counter[str]:
    """Requests for pages and sitemaps of which the collection has no row, by host."""
    asked = Counter((visit.host, visit.target) for visit in visits if visit.target != "/robots.txt")
    recorded = Counter(_place(row["url"]) for row in rows(folder, "fetches") if row["outcome"] != "excluded")
    missing: Counter[str] = Counter()
    for place, count in asked.items():
        assert count >= recorded[place], (place, count, recorded[place])
        missing[place[0]] += count - recorded[place]
    return +missing


def lost(visits: Iterable[Visit], folder: Path, births: Iterable[float]) -> Counter[str]:
    """Requests of which the collection does not know, by host; each must have been under way when a process died.

    One request at a time goes to a host, and the next only when the last was noted: so what may be lost in a life is
    the last request of each host before the next life began (`births`), and nothing else. For its robots.txt a host may
    be asked by another shard, too, whose own was said to be there.
    """
    known = Counter(row["url"] for row in rows(folder, "fetches") if row["outcome"] != "excluded")
    missing: Counter[str] = Counter()
    excusable: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    ends = sorted(births)
    last: dict[tuple[str, int, bool], Visit] = {}
    for visit in sorted(visits, key=lambda visit: visit.real_started_at):
        asked[visit.host, visit.target] += 1
        number = sum(end <= visit.real_started_at for end in ends)
        if number < len(ends):
            last[visit.host, number, visit.target == "/robots.txt"] = visit
    for visit in last.values():
        excusable[visit.host, visit.target] += 1
    paths = Counter({_place(url): count for url, count in known.items()})
    for place, count in asked.items():
        unknown = count - paths[place]
        assert 0 <= unknown <= excusable[place], (place, count, paths[place], excusable[place])
        missing[place[0]] += unknown
    return +missing


def assert_polite(log: RequestLog, delay: float) -> None:
    """No host was asked twice at once, nor sooner than after the delay."""
    for host in log.hosts():
        visits = sorted(log.visits(host), key=lambda visit: visit.real_started_at)
        pages = [visit for visit in visits if visit.target != "/robots.txt"]
        assert log.most_at_once(host) == 1
        for one, other in pairwise(pages):
            assert other.real_started_at - one.real_ended_at >= delay, (one, other)


def _place(url: str) -> tuple[str, str]:
    authority, slash, path = url.partition("://")[2].partition("/")
    return authority.partition(":")[0], slash + path


def wait_for(count: int, lab: RunningLab, process: BaseProcess) -> None:
    """Wait until the server has had `count` requests in all, or the process is over."""
    until = time.monotonic() + PATIENCE
    while lab.log.total < count and process.is_alive() and time.monotonic() < until:
        time.sleep(0.002)


def drained(lab: RunningLab) -> float:
    """Wait until the server has read every request that was sent to it: when that was."""
    for _ in range(3):  # turns of its loop: it accepts a connection, reads from it, answers
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), lab._loop).result(PATIENCE)
    return time.time()


def killed_and_whole(lab: RunningLab, folder: Path, what: Asked, *, kills: int, seed: int) -> list[float]:
    """The same crawl twice, in one piece and killed at some moments: when each of the later lives began."""
    finish(folder / "whole", what)
    requests = lab.log.total
    lab.log.clear()
    chance = random.Random(seed)
    births = []
    for number in range(kills):
        process = begin(folder / "killed", what)
        wait_for(requests * number // kills + chance.randrange(requests // kills), lab, process)
        time.sleep(chance.random() * 0.05)
        process.kill()
        process.join()
        births.append(drained(lab))
    finish(folder / "killed", what)
    return births


def small_world(pages: int = 90) -> World:
    """A web of some sites with redirects, copies and failures, no long delays and no long lists."""
    return World(7, 8, pages=pages, profiles=[profile for profile in Profile if profile is not Profile.DIRTY])


def tiny_world() -> World:
    """Some sixty pages on six sites, of the kinds that have few sitemaps."""
    return World(7, 6, pages=20, profiles=[Profile.NEWS, Profile.BUILD, Profile.PARTIAL, Profile.NONE])


def same(killed: Crawled, whole: Crawled) -> Mapping[str, object]:
    """What differs, as what only the one and only the other has; nothing should."""
    return {
        name: _apart(getattr(killed, name), getattr(whole, name))
        for name in whole.__struct_fields__
        if getattr(killed, name) != getattr(whole, name)
    }


def _apart(one: Any, other: Any) -> tuple[object, object]:
    if isinstance(one, Counter):
        return one - other, other - one
    if isinstance(one, dict):
        names = [name for name in one if one[name] != other[name]]
        return {name: one[name] for name in names}, {name: other[name] for name in names}
    return one, other
