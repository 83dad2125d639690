"""Sources that are not as they should be: names that are not UTF-8, links out of the folder, clocks set wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.published.small_site import BASE, DAY, Site

from periplus_sites.publish import Resource


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, 5)


def test_a_name_that_is_not_utf8_is_a_problem_of_one_file(site: Site) -> None:
    try:
        (site.root / os.fsdecode(b"bad-\xff.html")).write_text(site.html(1))
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    done = site.scan()
    assert done.scan.problems == {"not-utf8-name": 1}
    assert done.scan.new == 5


def test_links_out_of_the_folder_are_not_published(site: Site) -> None:
    secret = site.root.parent / "secret.html"
    secret.write_text(site.html(1))
    (site.root / "leak.html").symlink_to(secret)
    (site.root / "loop").symlink_to(site.root)
    done = site.scan()
    assert done.scan.new == 5
    assert [(problem.reason, problem.detail) for problem in done.scan.examples] == [("outside-root", "leak.html")]
    assert "leak" not in (site.out / "sitemap.xml").read_text()


def test_a_clock_that_was_set_back_moves_no_date_backwards(site: Site) -> None:
    site.scan()
    site.next_day()
    site.edit(2)
    site.scan()
    with site.publisher() as publisher:
        before = publisher.ledger.row(f"{BASE}page2.html")
    site.now -= 10 * DAY
    site.scan()
    with site.publisher() as publisher:
        after = publisher.ledger.row(f"{BASE}page2.html")
        assert before is not None
        assert after is not None
        assert after.lastmod == before.lastmod
        assert publisher.status().published == 5


class ReportedMeanwhile:
    """A source in the middle of which an application reports a new page and one of those that follow."""

    is_complete = True

    def __init__(self, site: Site) -> None:
        self._site = site

    def resources(self) -> Iterator[Resource]:
        yield Resource(f"{BASE}page1.html", source_date=1_700_000_000.0)
        self._site.now += 5
        with self._site.publisher() as other:
            other.changed("/only-reported.html")
            other.changed("/page2.html")
        yield Resource(f"{BASE}page2.html", source_date=1_700_000_000.0)


def test_pages_reported_while_a_scan_runs_stay(site: Site) -> None:
    with site.publisher() as publisher:
        done = publisher.scan([ReportedMeanwhile(site)])
        assert done.scan.gone == 0
        assert publisher.status().published == 3
        row = publisher.ledger.row(f"{BASE}page2.html")
        assert row is not None
        assert row.lastmod == site.now
