"""What a link farm gets of a crawl of the lab's hostile web, and what honest sites get.

    python -m bench.farm                      first 5,000 pages, budgets by trust, spam judged while crawling
    python -m bench.farm --domain none        without budgets
    python -m bench.farm --sample 0           half of the seeds have comments that lead to the farm

200 honest sites with 6,000 pages in all, 20 of them seeds; a farm of 400 domains, linked from comments on 10 sites; 4
requests at a time, no delay. Jobs run when they would in the background, but the crawl waits for them, so that figures
do not depend on the machine.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import duckdb
from msgspec import Struct

from periplus.assembly import open_crawl, settle
from periplus.assembly.collection import planned
from periplus.assembly.jobs import run_jobs
from periplus.lab.web.clock import SteppedClock
from periplus.lab.web.running import RunningLab
from periplus.lab.web.server import Server
from periplus.lab.web.sites import DOMAIN
from periplus.lab.web.spam_web import Farm, HostileWorld

SITES, PAGES, SEEDS = 200, 6000, 20
STEPS = (500, 1000, 2000, 4000, 5000)
"""Pages after which jobs run; the last is the end."""


class Step(Struct, frozen=True):
    """Pages of the farm and of honest sites after this many pages."""

    pages: int
    farm: int
    honest: int


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
            made = planned(folder, seeds=list(seeds), options=base | options | {"crawl.limit": step})
            made.save()
            open_crawl(made.config, folder, made.seeds, 1).run()
            settle(folder)
            found.append(_counted(folder, world))
            if step != steps[-1]:
                run_jobs(made)
    return found


def _counted(folder: Path, world: HostileWorld) -> Step:
    question = f"select site, count(*) from '{folder}/tables/pages/*.parquet' group by site"
    with duckdb.connect() as database:
        pages = database.execute(question).fetchall()
    farm = sum(count for site, count in pages if world.is_spam(site))
    total = sum(count for _, count in pages)
    return Step(total, farm, total - farm)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", default="trust", help="the setting [budgets] domain")
    parser.add_argument("--without-spam", action="store_true", help="do not judge spam while crawling")
    parser.add_argument("--without-farm", action="store_true", help="the same web without the farm")
    parser.add_argument("--sample", type=int, default=11, help="the sample of seeds")
    asked = parser.parse_args()
    world = HostileWorld(7, SITES, pages=PAGES, parts=() if asked.without_farm else (Farm,))
    options: dict[str, object] = {"budgets.domain": asked.domain, "spam.while_crawling": not asked.without_spam}
    with tempfile.TemporaryDirectory() as folder:
        for step in measured(Path(folder) / "c", world, seeds_of(world, asked.sample), STEPS, options):
            share = f"{step.farm:5,} of the farm ({step.farm / step.pages:.1%})"
            print(f"{step.pages:6,} pages: {share}, {step.honest:5,} honest")


if __name__ == "__main__":
    main()
