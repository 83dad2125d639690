"""Sitemaps end to end, from a server to durable state, against ultimate-sitemap-parser; and memory on tenfold.

nginx serves robots.txt, an index, and full gzipped files. Periplus is its crawler as it is put together for a crawl, in
one process: what files list is compared, scored and kept in the state on disk, every entry is a row of
`sitemap_entries` in Parquet, and the run ends with everything committed. Its politeness is off; while files and pages
of the site take turns it asks for some pages, which are not there. The peer keeps what it reads in temporary files.

    python -m bench.ingest HOST FOLDER      # our side of it, by itself

Both run pinned to one core, one after the other. The clock and the CPU seconds of both start with the first answer of
the server: what a process does before is its start, and imports. Machines are shared: the ratio by CPU seconds is the
one to trust, that by the clock stands beside it with the share of a core that each was given.

Memory is flat if its anonymous part is. The state is a file that is mapped, and what of it is resident is the kernel's
cache: it grows with the state while no other program needs the memory.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench.crawl import nginx, process
from bench.crawl.contest import cores
from bench.crawl.contestants import CONTESTANTS, Job, Work
from bench.crawl.log import count
from bench.crawl.sites import PORT
from bench.harness import Group, Target
from bench.peers import HOME
from bench.sitemaps import END, FREQUENCIES, HEAD
from periplus.collection.config.settings import Config
from periplus.collection.shards import ShardMaker
from periplus.engine.fetch import WireSettings
from periplus.engine.frontier import PolitenessSettings
from periplus.model import Lane, Site, Url
from periplus.parts.sitemaps.file import unpack_slice
from periplus.store import DiskState
from periplus.store.layout import Layout

QUICK, SMALL, LARGE = "127.0.1.209", "127.0.1.210", "127.0.1.211"
FILES = {QUICK: 2, SMALL: 20, LARGE: 200}
"""Hosts, and how many files the index of each names."""
URLS = 50_000
FLAT_WITHIN = 0.15
"""Tenfold files may take so much more anonymous memory."""
TARGET = 8
_FORM = "1"
_SECONDS = 900


def main() -> None:
    """Read all files of a host into a collection; nothing is said, the collection tells."""
    host, folder = sys.argv[1], Path(sys.argv[2])
    root = Url(f"http://{host}:{PORT}/")
    config = Config(
        politeness=PolitenessSettings(delay=0.0, slow_factor=0.0, ip_delay=0.0, max_parallel=16),
        wire=WireSettings(allow_private=(f"{host}:{PORT}",)),
    ).with_options({"sitemaps.follow": True, "sitemaps.submitted": [f"{root}sitemap.xml"]})
    shard = ShardMaker(config, folder, (root,))(0, 1)
    state = shard._engine._state  # a crawl ends when its pages end, and this when its files do
    while state.queues.length(Site(f"{host}:{PORT}"), Lane.FILES):
        shard.step(0.5)
    shard.stop(0.0)
    shard.close()


# what is served


def prepare(hosts: list[str]) -> Path:
    """The files of these hosts, made once."""
    web = HOME / "ingest" / "web"
    for host in hosts:
        stamp, wanted = web / host / "stamp", f"{_FORM} {FILES[host]} {URLS} {PORT}"
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"making {FILES[host]} sitemaps (once) ...", file=sys.stderr, flush=True)
            shutil.rmtree(web / host, ignore_errors=True)
            (web / host).mkdir(parents=True)
            _publish(web / host, f"http://{host}:{PORT}/", FILES[host])
            stamp.write_text(wanted)
    return web


def _publish(folder: Path, root: str, files: int) -> None:
    chance = random.Random(7)
    for number in range(files):
        body = b"".join([HEAD, *_records(root, number * URLS, chance), END])
        (folder / f"sitemap-{number}.xml.gz").write_bytes(gzip.compress(body, 6, mtime=0))
    children = "".join(f"<sitemap><loc>{root}sitemap-{n}.xml.gz</loc></sitemap>\n" for n in range(files))
    index = HEAD.decode().replace("urlset", "sitemapindex") + children + "</sitemapindex>\n"
    (folder / "sitemap.xml").write_text(index)
    (folder / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {root}sitemap.xml\n")


def _records(root: str, first: int, chance: random.Random) -> Iterator[bytes]:
    """All fields, as in the bench of reading alone; every tenth URL has a query of two parameters."""
    for number in range(first, first + URLS):
        query = "?colour=red&amp;size=4" if number % 10 == 0 else ""
        moment = datetime.fromtimestamp(chance.randrange(1_500_000_000, 1_700_000_000), UTC)
        yield (
            f"<url>\n  <loc>{root}shop/section-{number % 97}/product-{number}.html{query}</loc>\n"
            f"  <lastmod>{moment.isoformat()}</lastmod>\n  <changefreq>{chance.choice(FREQUENCIES)}</changefreq>\n"
            f"  <priority>{chance.randrange(11) / 10}</priority>\n</url>\n"
        ).encode()


# what is measured


class Measured:
    """One run: URLs, seconds and CPU seconds from the first answer, and the most memory of its process."""

    def __init__(self, name: str, host: str, argv: list[str], folder: Path) -> None:
        client, server = cores() or (None, None)
        with nginx.serving(prepare([host]), [host], folder / "nginx", server) as log:
            run = process.run(argv, seconds=_SECONDS, folder=folder, core=client)
        if run.status != 0:
            raise RuntimeError(f"{name} failed: {(folder / 'stderr').read_text()[-2000:]}")
        with log.open(encoding="utf-8", errors="replace") as lines:
            seen = count(lines, until=run.ended_at)
        self.name = name
        self.urls = FILES[host] * URLS
        first_at = seen.first_at or run.started_at
        self.seconds = run.ended_at - first_at
        self.cpu_seconds = run.cpu_since(first_at)
        self.cpu_before = run.cpu_seconds - self.cpu_seconds
        self.megabytes = run.peak_bytes / 2**20
        self.anonymous = run.peak_anonymous / 2**20
        self.usual = run.usual_anonymous(first_at) / 2**20

    @property
    def rate(self) -> float:
        """URLs a second."""
        return self.urls / self.seconds

    @property
    def cpu_rate(self) -> float:
        """URLs a second of CPU."""
        return self.urls / self.cpu_seconds

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s, {self.cpu_seconds:.1f} CPU s ({self.cpu_seconds / self.seconds:.0%} of a core; "
            f"{self.cpu_before:.1f} more before the first answer), "
            f"peak {self.anonymous:.0f} MB anonymous (usually {self.usual:.0f}), {self.megabytes:.0f} MB resident"
        )


def ours(host: str) -> Measured:
    """Our run; what it left on disk is checked when the clock has stopped."""
    name, folder = f"periplus, {FILES[host]} files", _fresh(host)
    argv = [sys.executable, "-m", "bench.ingest", host, str(folder / "collection")]
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
    measured = Measured(name, host, argv, folder)
    _check(Layout(folder / "collection"), FILES[host] * URLS)
    shutil.rmtree(folder)
    return measured


def _check(layout: Layout, urls: int) -> None:
    """Every URL is in the state, listed or queued, and has its row."""
    import duckdb

    table = str(layout.tables / "sitemap_entries" / "*.parquet")
    asked = f"SELECT count(*), count(DISTINCT url) FROM '{table}' WHERE kind = 'page'"
    database = duckdb.connect()
    database.execute("SET enable_progress_bar = false")
    rows = database.execute(asked).fetchall()
    state = DiskState(layout.shard(0))
    kept = len(state.records) - urls // URLS - 1  # the files and their index
    for site in list(state.listings.sites()):
        while packed := state.listings.take(site):
            kept += len(unpack_slice(packed).urls)
    state.close()
    if rows != [(urls, urls)] or kept != urls:
        raise AssertionError(f"{urls} URLs are listed, {kept} are in the state, and there are {rows} rows")


def theirs(host: str) -> Measured:
    """The peer's run; what it says that it found is checked."""
    (peer,) = (contestant for contestant in CONTESTANTS if contestant.job is Job.SITEMAPS)
    peer.install.ensure()
    folder = _fresh(host)
    work = Work(f"http://{host}:{PORT}/", folder, _SECONDS, folder / "pages")
    measured = Measured(peer.name, host, peer.argv(work), folder)
    found = json.loads((folder / "stdout").read_text())["urls"]
    if found != measured.urls:
        raise AssertionError(f"{measured.urls} URLs are listed, and {peer.name} found {found}")
    shutil.rmtree(folder)
    return measured


def _fresh(host: str) -> Path:
    folder = HOME / "ingest" / f"run-{host}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def measure(quick: bool) -> list[Group]:
    """The peer and we on one index; in full mode we alone on one ten times as long."""
    if nginx.found() is None:
        print("no nginx here: ingestion is not measured", file=sys.stderr)
        return []
    host = QUICK if quick else SMALL
    runs = [theirs(host), ours(host)] + ([] if quick else [ours(LARGE)])
    facts = {run.name: str(run) for run in runs}
    if not quick:
        growth = runs[2].anonymous / runs[1].anonymous - 1
        usual = runs[2].usual / runs[1].usual - 1
        resident = runs[2].megabytes / runs[1].megabytes - 1
        verdict = "flat" if growth <= FLAT_WITHIN else "NOT FLAT"
        facts["memory for tenfold files"] = (
            f"{growth:+.0%} anonymous at the peak ({verdict}), {usual:+.0%} usually; {resident:+.0%} resident"
        )
    targets = (Target(runs[1].name, runs[0].name, TARGET),)
    by_cpu, by_clock = {run.name: run.cpu_rate for run in runs}, {run.name: run.rate for run in runs}
    return [
        Group("sitemaps into durable state", "URLs a CPU second", by_cpu, targets, facts=facts),
        Group("sitemaps into durable state, by the clock", "URLs", by_clock, targets),
    ]


if __name__ == "__main__":
    main()
