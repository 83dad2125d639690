"""The scheduler of revisits on a site whose archives are exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.revisit.archive_refresh import BEGAN, SITE, Watched, bandwidth_of_round_robin, published, refreshed

from periplus.engine.revisit.signals import ArchiveProof

EXACT = ArchiveProof(right=300.0, quiet=300.0)
DAY, HOUR = 86_400.0, 3_600.0


def visited(watch: Watched, began: float, visits: int, stale: set[int]) -> list[int]:
    """The pages that are visited in a day with so many chances."""
    pause = (DAY - HOUR) / visits
    chances = [watch.visit(began + number * pause, stale) for number in range(visits)]
    return [page for page in chances if page is not None]


def test_pages_of_an_exact_site_are_visited_if_archives_report_a_change() -> None:
    watch = Watched(40, 40.0)
    watch.prove(EXACT)
    assert visited(watch, BEGAN + DAY, 40, set()) == []
    told = list(range(5, 15))
    watch.hear([(page, BEGAN + 2 * DAY - HOUR) for page in told], BEGAN + 2 * DAY)
    seen = visited(watch, BEGAN + 2 * DAY, 40, set(told))
    assert set(told) <= set(seen)
    assert len(seen) <= len(told) + 3
    assert watch.is_exact
    proof = watch.sites.get(SITE).value(ArchiveProof)
    assert proof is not None
    assert proof.right > EXACT.right


def test_without_proof_pages_are_visited_by_their_rates() -> None:
    watch = Watched(40, 40.0)
    watch.prove(ArchiveProof(right=100.0, quiet=100.0, missed=20.0))
    assert not watch.is_exact
    assert len(visited(watch, BEGAN + 5 * DAY, 40, set())) > 10


@pytest.mark.slow
def test_bandwidth_of_the_paper(tmp_path: Path) -> None:
    site = published(tmp_path, 1000)
    told = refreshed(site, 0.22)
    assert told.exact_from is not None
    assert told.freshness >= 0.97
    assert told.needless <= 0.04
    plain = bandwidth_of_round_robin(site, 0.8)
    assert refreshed(site, 0.4 * plain).freshness >= 0.8
