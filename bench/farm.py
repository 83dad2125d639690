"""What a link farm gets of a crawl of the lab's hostile web, and what honest sites get.

    python -m bench.farm                      first 5,000 pages, budgets by trust, spam judged while crawling
    python -m bench.farm --web 31             another web
    python -m bench.farm --domain none        without budgets
    python -m bench.farm --sample 0           half of the seeds have comments that lead to the farm
    python -m bench.farm --pages 6000         a web whose honest sites are nearly read after 4,000 pages
    python -m bench.farm --live               as a user crawls: first 1,500 requests, jobs in the background, three webs
    python -m bench.farm --live --delay 1     the same with a delay of a second
    python -m bench.farm --live --rate 10     the same at 10 pages a second
    python -m bench.farm --live --mixed       the same with farms of other shapes (`mixed_farm`)
    python -m bench.farm --live --without-farm --seeds 1      how fast an honest web is found from one seed

200 honest sites with 20,000 pages in all, 20 of them seeds; a farm of 400 domains, linked from comments on 10 sites; 4
requests at a time, no delay. Jobs run when they would in the background, but the crawl waits for them, so that figures
do not depend on the machine. The last columns show whether there was a choice: honest sites with known pages that were
not requested yet, and how many such pages they have. With `--live` nothing waits for the jobs; 16 requests at a time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import duckdb
from msgspec import Struct

from bench.mixed_farm import MixedFarm
from periplus.collection.collection import planned
from periplus.collection.jobs import run_jobs
from periplus.collection.opening import open_crawl, settle
from periplus.insight.views import Views
from periplus.store.layout import Layout
from periplus_lab.server import RunningLab, Server, SteppedClock
from periplus_lab.sites import DOMAIN
from periplus_lab.spam_web import Farm, HostileWorld

SITES, PAGES, SEEDS = 200, 20_000, 20
STEPS = (500, 1000, 2000, 4000, 5000)
"""Pages after which jobs run; the last is the end."""


LIVE_WEBS = (7, 31, 104)
"""The webs of `--live`."""
LIVE_PAGES = 6000
"""Pages of their honest sites."""


class Step(Struct, frozen=True):
    """Pages of the farm and of honest sites after this many pages; honest sites and pages that are left.

    `unique` are different main texts of honest sites.
    """

    pages: int
    farm: int
    honest: int
    unique: int
    sites_left: int
    pages_left: int


def seeds_of(world: HostileWorld, sample: int) -> list[str]:
    """A random sample of the sites; the sample 0 has every site with comments that lead to the farm."""
    hosts = [site.host for site in world.sites()]
    chosen = Random(sample).sample(hosts, SEEDS) if sample else hosts[:: len(hosts) // SEEDS]
    return [f"http://{host}/" for host in chosen]


def measured(
    folder: Path, world: HostileWorld, seeds: Sequence[str], steps: Sequence[int], options: dict[str, object]
) -> list[Step]:
    """Crawl in steps, with the jobs after each but the last."""
    found = []
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        base: dict[str, object] = {
            "wire.proxy": lab.base,
            "wire.max_transfers": 4,
            "scope.kind": "any",
            "scope.suffixes": (DOMAIN,),
            "sitemaps.follow": False,
            "politeness.delay": 0.0,
            "politeness.slow_factor": 0.0,
            "crawl.workers": 1,
        }
        for step in steps:
            made = planned(folder, typed=list(seeds), options=base | options | {"crawl.limit": step})
            made.save()
            open_crawl(made.config, folder, made.seeds, 1).run()
            settle(folder)
            found.append(_counted(folder, world))
            if step != steps[-1]:
                run_jobs(made)
    return found


class Share(Struct, frozen=True):
    """What a farm got of a crawl that ran as users run it.

    `verdict` is how many requests were made before the first verdict was used, `words` how many domains of the farm had
    which verdict at the end, `clubs` how many small honest domains had a page. `accused` and `refused` are honest
    domains that are called spam, and honest hosts that were refused. `seconds`: from the first request to the last.
    """

    requests: int
    farm: int
    shapes: dict[str, int]
    verdict: int
    words: dict[str, int]
    clubs: int
    accused: int
    refused: int
    seconds: float


def live(folder: Path, world: HostileWorld, seeds: Sequence[str], limit: int, more: Sequence[str]) -> Share:
    """Crawl in a process of its own, with its jobs in the background."""
    with RunningLab(Server(world, SteppedClock(world.epoch))) as lab:
        command = [sys.executable, "-m", "periplus", "crawl", *seeds, "-o", str(folder), "--limit", str(limit)]
        command += ["--scope", "any", "--no-sitemaps", "--set", f"wire.proxy={lab.base}", "--set", "crawl.workers=1"]
        command += ["--set", f'scope.suffixes=["{DOMAIN}"]', "--set", "wire.max_transfers=16", *more]
        judged_at = _ended(command, Layout(folder).learnt / "reputation-1")
    with Views(folder) as views:
        fetches = views.rows(
            """select site, epoch(started_at) as at from fetches where purpose = 'page' and outcome <> 'excluded'
            and status is not null order by started_at"""
        )
        said = views.rows("select subject, verdict from verdicts where kind = 'domain' and judge = 'spam'")
        refused = views.rows("select distinct site from discoveries where refused = 'domain-hosts'")
    farm = [row["site"] for row in fetches if world.is_spam(row["site"])]
    accused = [row for row in said if not world.is_spam(row["subject"]) and row["verdict"] == "spam"]
    return Share(
        len(fetches),
        len(farm),
        dict(Counter(site.split(".")[-3].rpartition("-")[2] for site in farm)),
        sum(row["at"] < judged_at for row in fetches),
        dict(Counter(row["verdict"] for row in said if world.is_spam(row["subject"]))),
        len({row["site"] for row in fetches if "-club." in row["site"]}),
        len(accused),
        sum(not world.is_spam(row["site"]) for row in refused),
        fetches[-1]["at"] - fetches[0]["at"],
    )


def _ended(command: Sequence[str], verdict: Path) -> float:
    """Run a crawl to its end; when a file appeared that its jobs write."""
    crawl = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = float("inf")
    while crawl.poll() is None:
        time.sleep(0.05)
        if found == float("inf") and verdict.exists():
            found = time.time()
    if crawl.returncode:
        raise subprocess.CalledProcessError(crawl.returncode, command)
    return found


def _counted(folder: Path, world: HostileWorld) -> Step:
    tables = folder / "tables"
    read = f"select site, count(*), list(distinct main_digest) from '{tables}/pages/*.parquet' group by site"
    left = f"""select site, count(distinct url) from '{tables}/discoveries/*.parquet' where refused is null
        and url not in (select url from '{tables}/fetches/*.parquet') group by site"""
    with duckdb.connect() as database:
        pages, waiting = (database.execute(question).fetchall() for question in (read, left))
    farm = sum(count for site, count, _ in pages if world.is_spam(site))
    total = sum(count for _, count, _ in pages)
    unique = {digest for site, _, digests in pages if not world.is_spam(site) for digest in digests}
    honest = [count for site, count in waiting if not world.is_spam(site)]
    return Step(total, farm, total - farm, len(unique), len(honest), sum(honest))


def run_live(asked: argparse.Namespace) -> None:
    """Crawl every web, and print what its farm got."""
    more = ["--set", f"politeness.delay={asked.delay}", "--set", "politeness.slow_factor=0.0"]
    more += ["--set", f"crawl.rate={asked.rate}", "--set", f"budgets.domain={asked.domain}"]
    farm = () if asked.without_farm else (MixedFarm if asked.mixed else Farm,)
    for web in LIVE_WEBS[: asked.webs]:
        world = HostileWorld(web, SITES, pages=LIVE_PAGES, parts=farm)
        with tempfile.TemporaryDirectory() as folder:
            found = live(Path(folder) / "c", world, seeds_of(world, asked.sample)[: asked.seeds], asked.limit, more)
        share = f"{found.farm} of {found.requests:,} requests ({found.farm / found.requests:.1%})"
        print(
            f"web {web}: {share}, first verdict after {found.verdict}; domains {found.words}; by shape {found.shapes}"
        )
        speed = found.requests / found.seconds
        print(f"  {found.seconds:.1f} s from the first page to the last, {speed:.1f} pages a second")
        print(
            f"  small honest domains with pages: {found.clubs}; accused {found.accused}, refused {found.refused}",
            flush=True,
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", default="trust", help="the setting [budgets] domain")
    parser.add_argument("--without-spam", action="store_true", help="do not judge spam while crawling")
    parser.add_argument("--without-farm", action="store_true", help="the same web without the farm")
    parser.add_argument("--web", type=int, default=7, help="the seed of the web (%(default)s)")
    parser.add_argument("--pages", type=int, default=PAGES, help="pages of its honest sites (%(default)s)")
    parser.add_argument("--sample", type=int, default=11, help="the sample of seeds (%(default)s)")
    parser.add_argument("--spam-share", type=float, default=0.05, help="[budgets] spam_share (%(default)s); 1: all")
    parser.add_argument("--live", action="store_true", help="crawl as users do, with jobs in the background")
    parser.add_argument("--mixed", action="store_true", help="with --live: farms of other shapes")
    parser.add_argument("--webs", type=int, default=len(LIVE_WEBS), help="with --live: how many (%(default)s)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="with --live: seeds (%(default)s)")
    parser.add_argument("--limit", type=int, default=1500, help="with --live: pages (%(default)s)")
    parser.add_argument("--delay", type=float, default=0.0, help="with --live: seconds between two visits of a site")
    parser.add_argument("--rate", type=float, default=0.0, help="with --live: pages a second")
    asked = parser.parse_args()
    if asked.live:
        run_live(asked)
        return
    world = HostileWorld(asked.web, SITES, pages=asked.pages, parts=() if asked.without_farm else (Farm,))
    options: dict[str, object] = {
        "budgets.domain": asked.domain,
        "budgets.spam_share": asked.spam_share,
        "spam.while_crawling": not asked.without_spam,
    }
    with tempfile.TemporaryDirectory() as folder:
        for step in measured(Path(folder) / "c", world, seeds_of(world, asked.sample), STEPS, options):
            share = f"{step.farm:5,} of the farm ({step.farm / step.pages:.1%})"
            left = f"{step.pages_left:6,} left at {step.sites_left} sites"
            honest = f"{step.honest:5,} honest ({step.unique:,} different)"
            print(f"{step.pages:6,} pages: {share}, {honest}, {left}")


if __name__ == "__main__":
    main()
