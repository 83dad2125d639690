"""What the model of many shards takes as given (docs/cluster.md), measured on this machine with the code that crawls.

    python -m bench.scaling                 # what messages weigh, and what they cost
    python -m bench.scaling --check FOLDER  # crawl a web of the lab with 2 and 4 shards, beside what the model says

All times are CPU seconds of one core, the best of several rounds. The crawls of `--check` count what passes between
shards where it leaves them; FOLDER must be new, and is kept.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl, settle
from periplus.collection.seeds import seeds_from
from periplus.engine.overview import FrontierStats
from periplus.engine.router import ShardPlacement, owner_of
from periplus.engine.shard import MakeShard, Shard, ShardOutput, ShardStatus
from periplus.engine.sharding import ShardedCrawl
from periplus.engine.sharding.builds import Build
from periplus.engine.sharding.messages import StatusReport
from periplus.engine.stats import CrawlStats
from periplus.model import Batch, Discovery, Hints, Site, Source, Url
from periplus.store import DiskState
from periplus.urls import site_of
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.simulate.web import site_name
from periplus_ray.leases import LeasedCoordinator, Remembered

ROUNDS = 5
SHARDS = (2, 4)
PAGES = 6_000


def main() -> None:
    """Measure, and print a JSON line for each value."""
    asked = argparse.ArgumentParser(prog="python -m bench.scaling")
    asked.add_argument("--check", type=Path, metavar="FOLDER", help="crawl the lab with 2 and 4 shards")
    asked.add_argument("--sites", type=int, default=60, help="of the lab (--check)")
    arguments = asked.parse_args()
    found = check(arguments.check, arguments.sites) if arguments.check else costs()
    for line in found:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def costs() -> Iterator[dict[str, object]]:
    """What messages weigh and cost."""
    yield {"what": "bytes of a discovery in a batch", "value": _discovery_bytes()}
    yield {"what": "bytes of an empty batch", "value": len(pickle.dumps(ShardOutput((Batch(1, 2, 3, b""),)), 5))}
    yield {"what": "bytes of a report", "value": len(pickle.dumps(StatusReport(_status(7, 580_000), 3), 5))}
    for limit in (None, 10**12):
        for shards in (10, 100, 300, 1000):
            what = f"seconds of a report at the coordinator, {shards} shards, {'a' if limit else 'no'} limit of pages"
            yield {"what": what, "value": _report_seconds(shards, limit)}
    for shards in (2, 10, 100, 1000):
        sites = [site_name(number) for number in range(200)]
        seconds = best(lambda sites=sites, shards=shards: _owners(sites, shards)) / len(sites)  # type: ignore[misc]
        yield {"what": f"seconds to place a site, {shards} shards", "value": seconds}
    yield {"what": "seconds to place a known site", "value": _known_site_seconds()}
    yield from _exchange_seconds()


def best(work: Callable[[], object]) -> float:
    """CPU seconds of the best of several rounds."""
    found = []
    for _ in range(ROUNDS):
        began_at = time.process_time()
        work()
        found.append(time.process_time() - began_at)
    return min(found)


def discovery(number: int, site: int = 1) -> Discovery:
    """A link as pages have them: a path of 30 characters, an anchor of three words, and where it was found."""
    url = Url(f"https://www.{site_name(site)}/articles/2026/{number:06d}-title.html")
    referrer = Url(f"https://{site_name(2)}/topics/{number % 97}/index.html")
    return Discovery(url, Source.LINK, 1.8e9 + number, 4, referrer, Hints(anchor="three words here"))


def _discovery_bytes() -> float:
    encode = msgspec.msgpack.Encoder().encode
    return (len(encode(tuple(discovery(n) for n in range(1000)))) - len(encode(()))) / 1000


def _status(shard: int, done: int) -> ShardStatus:
    census = FrontierStats(
        1_234_567, 654_321, 20_000, 12, 19_000, 64, 900, done, Site("www.example.org"), 1.8e9, 25_000.0
    )
    reasons = {f"http-{status}": 1000 + status for status in (403, 404, 410, 500, 503)} | {"timeout": 17, "dns": 3}
    tally = CrawlStats(700_000, 560_000, 550_000, 4, 5, 60_000, 20_000, 17_000_000_000, reasons, {"robots": 40_000})
    tally.refused.update({"scope": 3_000_000, "extension": 40_000, "trap-calendar": 2000, "too-long": 9})
    tally.sources.update({"seed": 3, "link": 900_000, "sitemap": 500_000, "redirect": 20_000})
    return ShardStatus(shard, census, tally, is_idle=False, is_quiet=False)


class _Reports:
    """Shards as the coordinator hears them: each has fetched a hundred pages more than when it last spoke."""

    def __init__(self, shards: int, limit: int | None) -> None:
        remembered = Remembered.of("run", shards)
        self.kept = 0
        self._coordinator = LeasedCoordinator(remembered, self._keep, shards, now=0.0, lease=15.0, limit=limit)
        for shard in range(shards):
            self._coordinator.begin(shard, Build.own(), 0.0)
        self._shards = shards
        self._done = 0

    def _keep(self, _remembered: Remembered) -> bool:
        self.kept += 1
        return True

    def told(self) -> list[bytes]:
        """A report of each."""
        self._done += 100
        return [pickle.dumps(StatusReport(_status(shard, self._done), 3), 5) for shard in range(self._shards)]

    def hear(self, times: int) -> None:
        """A number of reports of every shard, and what follows from each."""
        for _ in range(times):
            for shard, told in enumerate(self.told()):
                assert self._coordinator.report(shard, 1, pickle.loads(told), 0.0)


def _report_seconds(shards: int, limit: int | None) -> float:
    reports = _Reports(shards, limit)
    reports.hear(1)
    rounds = max(1, 200 // shards)
    making = best(lambda: [reports.told() for _ in range(rounds)])
    return (best(lambda: reports.hear(rounds)) - making) / rounds / shards


def _owners(sites: Sequence[Site], shards: int) -> None:
    for site in sites:
        owner_of(site, shards)


def _known_site_seconds() -> float:
    placement = ShardPlacement(1000)
    urls = [discovery(number, number % 50).url for number in range(5000)]
    return best(lambda: [placement.owner(site_of(url)) for url in urls]) / len(urls)


def _exchange_seconds() -> Iterator[dict[str, object]]:
    """What a batch costs its sender, from the state to the wire and until it is acknowledged, and its receiver."""
    for size in (1, 10, 1000):
        found = [_exchanged(size, 2000 if size < 1000 else 50) for _ in range(ROUNDS)]
        sender, receiver = (min(each[side] for each in found) for side in (0, 1))
        yield {"what": f"seconds of a batch of {size} at its sender", "value": sender}
        yield {"what": f"seconds of a batch of {size} at its receiver, without the scheduler", "value": receiver}


def _exchanged(size: int, batches: int) -> tuple[float, float]:
    found = [discovery(number) for number in range(size)]
    with tempfile.TemporaryDirectory(prefix="periplus-scaling-") as folder:
        here, there = DiskState(Path(folder) / "a", shard=0), DiskState(Path(folder) / "b", shard=1)
        began_at = time.process_time()
        for _ in range(batches):
            here.exchange.send(1, found)
        here.commit()
        leaving = [pickle.dumps(ShardOutput((batch,)), 5) for batch in here.exchange.unsent(1, batches)]
        sent_at = time.process_time()
        for each in leaving:
            (batch,) = pickle.loads(each).batches
            assert there.exchange.is_new(batch)
            assert len(batch.messages) == size
        there.commit()
        taken_at = time.process_time()
        for number in range(1, batches + 1):
            here.exchange.acknowledged(1, number)
        here.commit()
        ended_at = time.process_time()
        here.close()
        there.close()
    return (sent_at - began_at + ended_at - taken_at) / batches, (taken_at - sent_at) / batches


class Watched(msgspec.Struct, frozen=True):
    """Makes shards that note what leaves them, in a file each."""

    make: MakeShard
    folder: Path

    def __call__(self, number: int, count: int) -> Shard:
        """A shard that writes down every batch: when, to whom, of how many discoveries and bytes."""
        shard = self.make(number, count)
        collect, notes = shard.collect, (self.folder / f"{count}-{number}.jsonl").open("a", buffering=1)

        def noted() -> ShardOutput:
            output = collect()
            for batch in output.batches:
                weight = len(batch.packed)
                note = (time.time(), number, batch.receiver, len(batch.messages), weight)
                notes.write(json.dumps(note) + "\n")
            return output

        shard.collect = noted  # type: ignore[method-assign]
        return shard


def check(folder: Path, sites: int) -> Iterator[dict[str, object]]:
    """Crawls of the lab, each with what was counted and what the model expects of the same links."""
    folder.mkdir(parents=True)
    world = World(7, sites, pages=PAGES)
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        seeds = [site.url for site in world.sites()]
        for shards in SHARDS:
            yield _checked(folder / f"shards-{shards}", lab, seeds, shards)


def _checked(folder: Path, lab: RunningLab, seeds: list[str], shards: int) -> dict[str, object]:
    folder.mkdir()
    options: dict[str, object] = {
        "wire.proxy": lab.base,
        "politeness.delay": 0.0,
        "politeness.slow_factor": 0.0,
        "retries.backoff": 0.02,
        "politeness.max_parallel": 8,
        "sitemaps.follow": False,
    }
    opened = open_crawl(Config().with_options(options), folder, seeds_from(seeds), shards)
    crawl = ShardedCrawl(Watched(opened._make, folder), shards, seeds=opened._seeds)
    began_at = time.time()
    statuses = crawl.run()
    settle(folder)
    notes = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    pages = [status.frontier.done for status in statuses]
    sent = sum(note[3] for note in notes)
    return {
        "shards": shards,
        "seconds": round(time.time() - began_at, 1),
        "pages": pages,
        "imbalance": max(pages) / (sum(pages) / shards),
        "batches": len(notes),
        "discoveries sent": sent,
        "a page": sent / sum(pages),
        "a batch": sent / max(len(notes), 1),
        "bytes of a discovery": sum(note[4] for note in notes) / max(sent, 1),
        "state bytes a known URL": _state_bytes(folder) / sum(status.frontier.known for status in statuses),
        "expected": expected(folder, shards),
    }


def _state_bytes(folder: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in (folder / "state").rglob("*") if file.is_file())


def expected(folder: Path, shards: int) -> dict[str, float]:
    """What the model says of these pages, links, redirects and canonical URLs: a shard tells of a URL once.

    That the sender's memory holds all of them is right for so few.
    """
    import duckdb

    tables = folder / "tables"
    with duckdb.connect() as database:
        pairs = database.execute(
            f"""select page, target from '{tables}/links/*.parquet' where coalesce(rel, '') not like '%nofollow%'
            union select url, target from '{tables}/fetches/*.parquet' where target is not null and purpose = 'page'
            union select url, canonical from '{tables}/pages/*.parquet' where canonical is not null"""
        ).fetchall()
        fetched = database.execute(f"select url from '{tables}/pages/*.parquet'").fetchall()
    there = [owner_of(site_of(target), shards) for _, target in pairs]
    here = [owner_of(site_of(url), shards) for url, _ in pairs]
    told = {(a, target) for a, b, (_, target) in zip(here, there, pairs, strict=True) if a != b}
    load = np.bincount([owner_of(site_of(url), shards) for (url,) in fetched], minlength=shards)
    return {"discoveries sent": len(told), "imbalance": float(load.max() / load.mean())}


if __name__ == "__main__":
    main()
