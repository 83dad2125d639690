"""What a link farm gets of a crawl of the lab's hostile web, and what honest sites get.

    python -m bench.farm                      first 5,000 pages, budgets by trust, spam judged while crawling
    python -m bench.farm --web 31             another web
    python -m bench.farm --domain none        without budgets
    python -m bench.farm --sample 0           half of the seeds have comments that lead to the farm
    python -m bench.farm --pages 6000         a web whose honest sites are nearly read after 4,000 pages

200 honest sites with 20,000 pages in all, 20 of them seeds; a farm of 400 domains, linked from comments on 10 sites; 4
requests at a time, no delay. Jobs run when they would in the background, but the crawl waits for them, so that figures
do not depend on the machine. The last columns show whether there was a choice: honest sites with known pages that were
not requested yet, and how many such pages they have.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import duckdb
from msgspec import Struct

from periplus.apps.lab.server import RunningLab, Server, SteppedClock
from periplus.apps.lab.sites import DOMAIN
from periplus.apps.lab.spam_web import Farm, HostileWorld
from periplus.collection.collection import planned
from periplus.collection.jobs import run_jobs
from periplus.collection.opening import open_crawl, settle

SITES, PAGES, SEEDS = 200, 20_000, 20
STEPS = (500, 1000, 2000, 4000, 5000)
"""Pages after which jobs run; the last is the end."""


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
    asked = parser.parse_args()
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
