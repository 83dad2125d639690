"""In which order listed pages are fetched: by what their site says, by what links say, or by both."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import crawl, make_files_due
from tests.lab.scripted_web import ScriptedWeb, page

HOME, FILE = "http://a.test/", "http://a.test/sitemap.xml"
PAGES = 40


def listed(start: int, stop: int) -> str:
    """A sitemap in which later pages matter more to their site."""
    entries = "".join(
        f"<url><loc>http://a.test/{number}</loc><priority>{0.1 + 0.8 * (number % PAGES) / PAGES:.2f}</priority></url>"
        for number in range(start, stop)
    )
    return f'<?xml version="1.0"?><urlset>{entries}</urlset>'


@pytest.mark.parametrize("score", ["priority", "pagerank", "priority_rank"])
def test_listed_pages_come_in_the_order_of_their_score(tmp_path: Path, score: str) -> None:
    """First 40 pages are listed, and lead to some of the next 40 and not to others; then those are listed, too.

    Links lead to the even ones, to the first ones more often. By priority the last come first; by PageRank those that
    many links lead to; by PriorityRank these, and then the others by their priority. Links themselves are not followed.
    """
    said: dict[str, str | bytes] = {HOME: page("home"), "http://a.test/robots.txt": f"Sitemap: {FILE}\n"}
    said |= {f"http://a.test/{number}": page(f"page {number}", *_links(number)) for number in range(2 * PAGES)}
    said[FILE] = listed(0, PAGES)
    with ScriptedWeb(said) as web:
        settings = web.settings | {"scores.score": score, "reading.follow_links": False}
        crawl(tmp_path, [HOME], settings)
        said[FILE] = listed(0, 2 * PAGES)
        web.asked.clear()
        make_files_due(tmp_path)
        crawl(tmp_path, [HOME], settings)
    asked = [int(url.rpartition("/")[2]) - PAGES for url in web.asked if url.rpartition("/")[2].isdecimal()]
    assert sorted(asked) == list(range(PAGES))
    if score == "priority":
        assert _disorder(asked, [-number for number in range(PAGES)]) < 0.2
    else:
        linked, others = asked[: PAGES // 2], asked[PAGES // 2 :]
        assert {number % 2 for number in linked} == {0}
        assert _disorder(linked, list(range(PAGES))) < 0.02
        if score == "priority_rank":
            assert _disorder(others, [-number for number in range(PAGES)]) < 0.2


def _links(number: int) -> list[str]:
    """Page 39 leads to one of the next forty, page 38 to that and the next, and so on: only even ones."""
    return [f"http://a.test/{PAGES + target}" for target in range(0, PAGES - number, 2)] if number < PAGES else []


def _disorder(found: list[int], wanted: list[int]) -> float:
    """The share of pairs that are in the wrong order; half of them by chance.

    Levels are coarse, and what is on one comes as it is listed.
    """
    pairs = [(a, b) for position, a in enumerate(found) for b in found[position + 1 :]]
    return sum(wanted[a] > wanted[b] for a, b in pairs) / len(pairs)
