"""A small web with HTML, sitemaps, feeds and failures, and an engine on it in virtual time that can be photographed.

`VirtualWire` stands for the network: requests end when their time has come on a clock that moves only while the engine
waits. Everything else is what ships: engine, machine, log, state on disk, WARC and tables.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.properties.simulated_web import World
from xxhash import xxh3_64_hexdigest
from zstandard import ZstdDecompressor

from periplus.collection.config.settings import Config
from periplus.collection.shards import ShardMaker, open_machine
from periplus.engine.clock import RateLimiter, TokenBucket
from periplus.engine.engine import Engine, ShardFiles
from periplus.engine.frontier import ActiveSite
from periplus.engine.inputs import Answered, Effect, Fetch, Flushed, Input
from periplus.engine.log import InputLog
from periplus.engine.machine import Machine
from periplus.engine.machine_settings import ShardMeta
from periplus.engine.pipeline import PagePipeline
from periplus.engine.revisit.evidence import DAY
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.router import OutgoingMessages
from periplus.model import Discovery, Fetched, FetchOutcome, FetchTask, Lane, NotModified, Purpose, Source, Url
from periplus.parts.forms.part import Forms
from periplus.store import Archive, DiskState
from periplus.store.layout import Layout
from periplus.store.state.rows import decode
from periplus.store.state.sites import ID_LENGTH
from periplus.store.tables import SCHEMAS, Tables, read
from periplus.urls import site_of

START = 1_700_000_000.0

OF_PARTS = ("ComparisonState", "FocusState", "RevisitState", "SitemapState")
"""Values of parts that a commit holds."""


class RichWorld(World):
    """Pages have texts and links, some change, some are copies; sites list pages in sitemaps and feeds."""

    def __init__(self, seed: int, sites: int, pages: int, *, listed: int = 6) -> None:
        super().__init__(seed, sites, pages)
        chance = Random(seed)
        self.listed = {
            site: [Url(f"https://{site}/listed/{number}") for number in range(chance.choice((0, 2, listed)))]
            for site in self.sites
        }
        for urls in self.listed.values():
            for url in urls:
                self.kinds[url], self.links[url] = "ok", chance.sample(self.urls, min(len(self.urls), 2))
        self.texts = {url: chance.choice(("one", "two", str(url))) for url in self.kinds}

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        if task.purpose is Purpose.SITEMAP and task.ip is not None:
            self.asked[task.url, False] += 1
            return self._file(task, now)
        outcome = super().answer(task, now)
        if task.purpose is Purpose.ROBOTS and isinstance(outcome, Fetched) and outcome.body.startswith(b"User-agent"):
            site = site_of(task.url)
            return replace(outcome, body=outcome.body + f"Sitemap: https://{site}/index.xml\n".encode())
        if task.purpose is Purpose.PAGE and isinstance(outcome, Fetched) and outcome.status == 200:
            body = self._html(task.url, now)
            if task.validators is not None and task.validators.etag == f'"{hash_of(body)}"':
                return NotModified(task, (), now, outcome.duration, task.ip)
            headers = (("Content-Type", "text/html"), ("ETag", f'"{hash_of(body)}"'))
            return replace(outcome, body=body, headers=headers)
        return outcome

    def _html(self, url: Url, now: float) -> bytes:
        links = "".join(f'<a href="{link}">to {link}</a> ' for link in self.links[url])
        feed = f'<link rel="alternate" type="application/rss+xml" href="https://{site_of(url)}/feed.xml">'
        version = int(now - START) // 5000 if str(url).endswith(("0", "3")) else 0
        words = f"{self.texts[url]} version {version}. " + " ".join(f"word{n * version}" for n in range(40))
        return f"<html><head><title>{url}</title>{feed}</head><body><p>{words}</p>{links}</body></html>".encode()

    def _file(self, task: FetchTask, now: float) -> FetchOutcome:
        site = site_of(task.url)
        if task.url.endswith("/index.xml"):
            children = "".join(
                f"<sitemap><loc>https://{site}/{name}.xml</loc></sitemap>" for name in ("a", "b", "gone")
            )
            return self._fetched(task, now, 200, f"<sitemapindex>{children}</sitemapindex>".encode())
        half = self.listed.get(site, [])[:: 2 if task.url.endswith("/a.xml") else 1]
        if task.url.endswith(("/a.xml", "/b.xml")):
            entries = "".join(
                f"<url><loc>{url}</loc><priority>0.{n % 9}</priority></url>" for n, url in enumerate(half)
            )
            return self._fetched(task, now, 200, f"<urlset>{entries}</urlset>".encode())
        if task.url.endswith("/feed.xml"):
            items = "".join(f"<item><link>{url}</link></item>" for url in half[:2])
            return self._fetched(task, now, 200, f"<rss><channel>{items}</channel></rss>".encode())
        return self._fetched(task, now, 404, b"")


def hash_of(body: bytes) -> str:
    """A validator."""
    return xxh3_64_hexdigest(body)


class Identifiers:
    """Identifiers of WARC records that count up: two runs are compared to the byte."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self) -> tuple[str, str, str]:
        self.number += 1
        stem = f"00000000-0000-4000-8000-{self.number:011d}"
        return f"{stem}0", f"{stem}1", f"{stem}2"


IDENTIFIERS = Identifiers()


class VirtualClock:
    """A clock that moves when it is told to."""

    speed = 1.0

    def __init__(self, at: float = START) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


class VirtualWire:
    """Answers of a world, each when its time has come. `slots` requests may be under way."""

    def __init__(self, world: World, clock: VirtualClock, slots: int = 3) -> None:
        self.world = world
        self.clock = clock
        self._slots = slots
        self.pending: list[tuple[float, int, FetchOutcome]] = []
        self._serial = 0

    @property
    def free_slots(self) -> int:
        return self._slots - len(self.pending)

    @property
    def under_way(self) -> int:
        return len(self.pending)

    def start(self, task: FetchTask) -> None:
        outcome = self.world.answer(task, self.clock.at)
        self._serial += 1
        self.pending.append((self.clock.at + getattr(outcome, "duration", 0.01), self._serial, outcome))

    def finished(self, timeout: float) -> list[FetchOutcome]:
        until = self.clock.at + timeout
        self.clock.at = min([until, *(max(at, self.clock.at) for at, _, _ in self.pending)]) if self.pending else until
        ended = sorted(entry for entry in self.pending if entry[0] <= self.clock.at)
        self.pending = [entry for entry in self.pending if entry[0] > self.clock.at]
        return [outcome for _, _, outcome in ended]

    def request_bytes(self, task: FetchTask) -> bytes:
        return f"GET {task.url} HTTP/1.1\r\n\r\n".encode()

    def cancel_all(self) -> None:
        self.pending.clear()

    def wake(self) -> None: ...

    def close(self) -> None: ...


class ObservedMachine(Machine):
    """Calls back after each input."""

    after: Callable[[Input, list[FetchTask]], None] | None = None

    def apply(self, given: Input) -> list[Effect]:
        effects = super().apply(given)
        if self.after is not None:
            self.after(given, [effect.task for effect in effects if isinstance(effect, Fetch)])
        return effects


class Collection:
    """A collection in a folder, with an engine on a virtual wire."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        world: World,
        seeds: tuple[Url, ...],
        *,
        visits_a_day: float = 0.0,
        slots: int = 3,
    ) -> None:
        self.folder, self.config, self.world, self.seeds = folder, config, world, seeds
        self.visits_a_day = visits_a_day
        self.clock = VirtualClock()
        self.slots = slots
        self.wire = VirtualWire(world, self.clock, slots)
        self._open()

    def _open(self) -> None:
        layout = Layout(self.folder)
        asked = ShardMaker(self.config, self.folder, self.seeds, self.visits_a_day)
        state = DiskState(layout.shard(0), shard=0, duplicates=self.config.duplicates, map_size=1 << 28)
        meta = state.meta(ShardMeta) or ShardMeta()
        log = InputLog(layout.log(0), layout.warc, b"header")
        tables = Tables(layout.tables, layout.spool(0), self.config.tables, shard=0, mark=meta.tables)
        archive = Archive(
            layout.warc,
            self.config.archive,
            shard=0,
            software="test",
            fields={},
            end=log.repair(meta.commits, meta.archive),
            payloads=state.payloads,
        )
        machine = open_machine(asked, layout, 0, 1, state)
        machine.__class__ = ObservedMachine
        assert isinstance(machine, ObservedMachine)
        limiter: RateLimiter | TokenBucket = RateLimiter(0.0, self.clock.at)
        if self.visits_a_day:
            limiter = TokenBucket(machine.revisits.visits_per_day / DAY, self.clock.at)
        self.state, self.machine, self.tables = state, machine, tables
        self.engine = Engine(
            self.config.engine,
            machine=machine,
            wire=self.wire,
            files=ShardFiles(archive, tables, state, log),
            clock=self.clock,
            limiter=limiter,
            outbound=OutgoingMessages(0, 1, state.exchange),
            claims=None,
        )

    def begin(self) -> None:
        """A first process."""
        self.engine.recover()
        self.engine.discover([Discovery(seed, Source.SEED, START) for seed in self.seeds])

    def photograph(self, to: Path) -> Photograph:
        """The folder as a crash would leave it now."""
        shutil.copytree(self.folder, to, ignore=shutil.ignore_patterns("lock.mdb"))
        return Photograph(to, self.clock.at, IDENTIFIERS.number)

    def reopened(self, photograph: Photograph) -> Collection:
        """A new process on what a crash left: the log is applied."""
        other = copy.copy(self)
        other.folder, other.clock = photograph.folder, VirtualClock(photograph.at)
        other.wire = VirtualWire(other.world, other.clock, self.slots)
        IDENTIFIERS.number = photograph.identifiers
        other._open()
        other.engine.replay()
        return other

    def rows(self) -> dict[str, Any]:
        """Every row of the state as a commit would write it now, and what is committed besides rows."""
        meta = self.machine.flush()
        for part in (self.state.queues, self.state.listings, self.state.standings, self.state.sketches):
            part.flush()
        tables: dict[str, Any] = {
            name: dict(self.state.environment.table(name).walk())
            for name in TABLES
            if name not in ("marks", "recent-links")
        }
        records = (*tables["records"].items(), *tables.pop("urls").items())
        tables["records"] = {(key[:ID_LENGTH], decode(row)[0]): row for key, row in records}
        tables.pop("linked")  # follows from the records, and from when they were moved
        tables["counters"].pop(b"fingerprints", None)  # when rows were moved, and to which files
        tables["counters"].pop(b"standings", None)  # how many chunks of links were written: one a commit
        tables["counters"].pop(b"replica", None)  # which process holds it
        chunks = list(self.state.recent_links)
        for generation, numbers in (
            ("old", (meta.links.old, meta.links.young)),
            ("young", (meta.links.young, 1 << 60)),
        ):
            tables[f"links {generation}"] = {
                url
                for chunk in chunks
                if numbers[0] <= chunk.number < numbers[1]
                for url in ZstdDecompressor().decompress(chunk.packed).decode().split("\n")
            }
        known = self.state.standings.known()
        tables["links between URLs"] = list(zip(known.sources.tolist(), known.targets.tolist(), strict=True))
        tables["memory"] = self._memory()
        tables["meta"] = msgspec.to_builtins(replace(meta, links=type(meta.links)()))
        sample = self.state.marked("meta SampleRows")
        tables["sample"] = sample
        for kind in OF_PARTS:
            tables[kind] = self.state.marked(f"meta {kind}")
        return tables

    def _memory(self) -> dict[str, Any]:
        """What the machine holds in memory and decides by, looked up where it is held and not where it is written."""
        schedule, sitemaps = self.machine.frontier.schedule, self.machine.sitemaps
        slots = [slot for slot in ActiveSite.__slots__ if slot not in ("address", "balance", "record", "waiting")]
        memory: dict[str, Any] = {
            str(active.site): [dict(active.waiting), *(getattr(active, slot) for slot in slots)] for active in schedule
        }
        for address in schedule.addresses:
            memory[f"address {address.key}"] = (address.next_at, address.share, address.is_idle, address.ready)
        unread = [(file.outcome.task.url, file.steps) for files in sitemaps._unread.values() for file in files]
        memory["sitemaps"] = (sorted(sitemaps._listed), sorted(sitemaps._hungry), unread)
        memory["held files"] = sorted(sitemaps.discovery.held)
        memory["random"] = self.machine._random.getstate()
        pipeline = self.machine._pipeline
        assert isinstance(pipeline, PagePipeline)
        seen = pipeline._reader._seen
        memory["links"] = (seen.young, seen.old)
        frontier = self.machine.frontier
        memory["frontier"] = (
            frontier.page_budget, frontier.pages_done, frontier._selector.revisits_waiting, frontier.scores.pooled,
            schedule.is_crowded, schedule.rests_until, schedule.turn,
        )  # fmt: skip
        memory["stats"] = msgspec.to_builtins(self.machine.stats)
        forms = self.machine.part(Forms)
        assert forms is not None
        memory["forms"] = (forms._due, forms._asked, +forms._begun, {key: forms._open[key].row for key in forms._open})
        revisits = self.machine.revisits
        assert isinstance(revisits, Revisits)
        memory["price"] = (revisits.price, revisits.quota.counts)
        return copy.deepcopy(memory)

    def feed(self, given: Input) -> None:
        """Give the engine an input of another run, as if it came now."""
        self.clock.at = given.at
        if isinstance(given, Flushed):
            self.engine.checkpoint()
            return
        if isinstance(given, Answered):
            answers = self.engine._archived([answer.outcome for answer in given.answers])
            given = replace(given, answers=answers)
        self.engine._apply([given])

    def run_until_revisits(self) -> None:
        """Crawl until a page is visited again."""
        lanes: set[Lane] = set()
        self.machine.after = lambda _given, granted: lanes.update(task.lane for task in granted)
        while Lane.REFRESH not in lanes:
            assert self.clock.at < START + 10 * DAY
            self.engine.step()
        self.machine.after = None

    def run(self, until: float) -> None:
        """Crawl until nothing is left, or the clock has reached this time."""
        while not self.engine.is_idle and self.clock.at < until:
            self.engine.step()

    def finish(self) -> dict[str, Any]:
        """End in order; the rows of the tables, of the state, and the archive's captures."""
        self.engine.checkpoint(is_last=True)
        rows = self.rows()
        self.engine.close()
        tables = Layout(self.folder).tables
        rows["tables"] = {name: sorted(map(repr, read(tables, name).to_pylist())) for name in SCHEMAS}
        return rows


class Photograph(msgspec.Struct):
    """What a crash leaves."""

    folder: Path
    at: float
    identifiers: int


TABLES = (
    "records", "urls", "linked", "queues", "lengths", "listings", "postponed", "calendar", "standings", "ranks",
    "forest", "forest-sites", "forest-due", "forest-memories", "sites", "robots", "payloads", "sketch-pages",
    "sketches", "sketch-bands", "site-ids", "site-names", "counters", "outbox", "numbers", "visits", "addresses",
    "domains", "forms", "trees", "outages",
)  # fmt: skip
