"""A crawl of a web with a link farm: what is learnt of it while crawling keeps the farm small."""

from __future__ import annotations

from pathlib import Path

from tests.lab.crawling import as_domains, crawl, rows, standing

from periplus.assembly.collection import planned
from periplus.assembly.jobs import run_jobs
from periplus.lab.web.spam_web import Farm, HostileWorld

PLAIN = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "wire.max_transfers": 4,
    "sitemaps.follow": False,
    "budgets.patience": 0.2,
    "crawl.workers": 1,
}


def farm_pages(folder: Path, world: HostileWorld, seeds: list[str], steps: list[int]) -> list[int]:
    """Crawl in steps, with the jobs after each but the last: how many pages were the farm's then."""
    found = []
    with standing(world) as lab:
        for step in steps:
            options = as_domains(lab) | PLAIN | {"crawl.limit": step}
            made = planned(folder, seeds=seeds, options=options)
            made.save()
            crawl(folder, seeds, options)
            pages = rows(folder, "select site, count(*) as n from pages group by site")
            found.append(sum(row["n"] for row in pages if world.is_spam(row["site"])))
            if step != steps[-1]:
                assert run_jobs(made) == 0
    return found


def test_a_farm_gets_little_once_it_was_judged(tmp_path: Path) -> None:
    """Before the first judgement more than half of the pages are the farm's, afterwards fewer than a fifth."""
    world = HostileWorld(7, 60, pages=1500, parts=(Farm,))
    seeds = [f"http://{site.host}/" for site in world.sites()[10:60:10]]
    before, after = farm_pages(tmp_path / "c", world, seeds, [250, 400])
    assert before > 250 / 2
    assert after - before < 150 / 5
