"""The measures of "Sitemaps: above and beyond the crawl of duty" from a crawl of the lab, checked against its truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import rows

from periplus_lab.simulate.findings import AGREES, NOT_COMPARABLE
from periplus_lab.simulate.results import Reproduction
from periplus_lab.simulate.schonfeld import findings_of, reproduce_schonfeld


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    """A crawl of six sites with 150 pages in all, none of which asks for a delay."""
    folder = tmp_path_factory.mktemp("sitemaps")
    return folder / "1", reproduce_schonfeld(folder, 150, seeds=(1,))


@pytest.mark.proof
def test_every_figure_has_a_verdict_beside_the_papers_value(crawled: tuple[Path, Reproduction]) -> None:
    """The paper's values are those of its text; where it gives none, nothing is compared."""
    found = {each.what: each for each in crawled[1].findings}
    assert found["Section 5.2: URLs first seen by Sitemaps"].paper == 0.78
    assert found["Section 4.1, amazon.com: efficiency of Sitemaps"].paper == 0.86
    for each in found.values():
        assert each.verdict == AGREES or each.verdict == NOT_COMPARABLE or each.verdict.startswith("differs")
    assert sum(each.verdict != NOT_COMPARABLE for each in found.values()) > 12


@pytest.mark.proof
def test_the_measures_are_those_of_the_tables(crawled: tuple[Path, Reproduction]) -> None:
    """Asked of the Parquet files themselves: lastmod, and which source was first."""
    folder, done = crawled
    numbers = done.rows[0]
    told = """(select url, min(found_at) filter (where source in ('sitemap', 'feed', 'ping', 'archive')) s,
        min(found_at) filter (where source not in ('sitemap', 'feed', 'ping', 'archive')) d
        from discoveries where refused is null group by url)"""
    first = rows(folder, f"select count(*) filter (where s < d) a, count(*) filter (where d < s) b from {told}")[0]
    assert numbers["sitemaps_first"] == pytest.approx(first["a"] / (first["a"] + first["b"]), abs=0.02)
    assert 0 < numbers["first_with_ping"] <= 1
    assert 0 < numbers["first_without_ping"] <= 1
    assert 0 < numbers["lastmod"] <= 1
    omitted = ("errors", "redirects and undetected copies", "of doubtful use", "missing content")
    assert sum(numbers[name] for name in omitted) == pytest.approx(1)


@pytest.mark.proof
def test_a_measure_that_a_crawl_does_not_have_is_not_compared(crawled: tuple[Path, Reproduction]) -> None:
    """Without pings there is nothing to say about pings."""
    numbers = {key: value for key, value in crawled[1].rows[0].items() if key != "seed"} | {
        "ping_difference": float("nan")
    }
    found = {each.what: each for each in findings_of([numbers])}
    assert found["Figure 7: first seen by Sitemaps, with a ping less without"].verdict == NOT_COMPARABLE
