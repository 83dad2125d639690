"""A crawl of a web with a link farm: what is learnt of it while crawling keeps the farm small."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import as_domains, crawl, rows, standing

from periplus.collection.collection import planned
from periplus.collection.jobs import run_jobs
from periplus_lab.spam_web import Farm, HostileWorld

PLAIN = {
    "politeness.delay": 0.0,
    "politeness.slow_factor": 0.0,
    "wire.max_transfers": 4,
    "sitemaps.follow": False,
    "budgets.patience": 0.2,
    "crawl.workers": 1,
}


def honest_and_farm(folder: Path, world: HostileWorld, seeds: list[str], steps: list[int]) -> list[tuple[int, int]]:
    """Crawl in steps, with the jobs after each but the last: different honest texts and pages of the farm then."""
    found = []
    with standing(world) as lab:
        for step in steps:
            options = as_domains(lab) | PLAIN | {"crawl.limit": step}
            made = planned(folder, typed=seeds, options=options)
            made.save()
            crawl(folder, seeds, options)
            pages = rows(folder, "select site, main_digest from pages")
            spam = sum(world.is_spam(row["site"]) for row in pages)
            found.append((len({row["main_digest"] for row in pages if not world.is_spam(row["site"])}), spam))
            if step != steps[-1]:
                assert run_jobs(made) == 0
    return found


@pytest.mark.slow
def test_a_farm_gets_little_once_it_was_judged(tmp_path: Path) -> None:
    """Before the first judgement about half of the pages are the farm's, afterwards fewer than a tenth."""
    world = HostileWorld(7, 60, pages=1500, parts=(Farm,))
    seeds = [f"http://{site.host}/" for site in world.sites()[10:60:10]]
    (_, before), (_, after) = honest_and_farm(tmp_path / "c", world, seeds, [250, 400])
    assert before > 0.4 * 250
    assert after - before < 150 / 10


@pytest.mark.slow
def test_a_farm_gets_a_tenth_at_most_and_honest_sites_lose_little(tmp_path: Path) -> None:
    """Of the first 5,000 pages; honest sites have 95 % of the texts that they have without the farm."""
    seeds = [f"http://{site.host}/" for site in HostileWorld(139, 200, pages=20_000, parts=()).sites()[::10]]
    counts = []
    for name, parts in (("farm", (Farm,)), ("none", ())):
        world = HostileWorld(139, 200, pages=20_000, parts=parts)
        counts.append(honest_and_farm(tmp_path / name, world, seeds, [500, 1000, 2000, 4000, 5000])[-1])
    (honest, farm), (alone, _) = counts
    assert farm <= 0.10 * 5000
    assert honest >= 0.95 * alone
