"""What counts as a change, and which dates are claimed, on a small site in a folder."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.published.small_site import BASE, DAY, Site

from periplus.formats import sitemap
from periplus.model import Problem, UsageError
from periplus.store.folders import FolderLock, FolderLocked
from periplus_sites.publish import RowInventory, TooManyGone, read_rows


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, 100)


def lastmods(site: Site) -> dict[str, float | None]:
    entries = [
        entry for entry in sitemap.read((site.out / "sitemap.xml").read_bytes()) if isinstance(entry, sitemap.Entry)
    ]
    return {entry.url: entry.lastmod.at if entry.lastmod else None for entry in entries}


def test_first_dates_are_those_of_the_files(site: Site) -> None:
    done = site.scan()
    assert done.scan.new == 100
    assert lastmods(site)[f"{BASE}page3.html"] == 1_700_003_000.0


def test_dates_of_a_build_are_not_claimed(tmp_path: Path) -> None:
    site = Site(tmp_path, 100)
    site.build()
    done = site.scan()
    assert done.scan.build_dates == 100
    assert set(lastmods(site).values()) == {None}


def test_a_date_in_the_future_is_not_claimed(site: Site) -> None:
    site.write(7, at=site.now + DAY)
    site.scan()
    assert lastmods(site)[f"{BASE}page7.html"] is None


def test_edited_pages_get_the_date_of_the_edit(site: Site) -> None:
    site.scan()
    site.next_day()
    site.edit(1, 2, 3)
    edited_at = site.now
    site.now += 3_600
    done = site.scan()
    assert (done.scan.changed, done.scan.unread) == (3, 97)
    dates = lastmods(site)
    assert [dates[f"{BASE}page{number}.html"] for number in (1, 2, 3)] == [edited_at] * 3
    assert dates[f"{BASE}page4.html"] == 1_700_004_000.0


def test_a_date_before_the_last_scan_is_moved_up_to_it(site: Site) -> None:
    site.scan()
    scanned_at = site.now
    site.next_day()
    site.versions[5] += 1
    site.write(5, at=1_600_000_000.0)  # unpacked with an old time
    site.scan()
    assert lastmods(site)[f"{BASE}page5.html"] == scanned_at


def test_a_build_that_changes_nothing_moves_no_date(site: Site) -> None:
    site.scan()
    before = lastmods(site)
    site.next_day()
    site.build()
    done = site.scan()
    assert (done.scan.changed, done.scan.unread) == (0, 0)
    assert lastmods(site) == before


def test_a_new_template_moves_only_dates_of_edited_pages(site: Site) -> None:
    site.scan()
    site.next_day()
    site.template = "fancy"
    site.versions[8] += 1
    site.versions[9] += 1
    site.build()
    done = site.scan()
    assert (done.scan.changed, done.scan.template_pages) == (2, 98)
    assert {url for url, at in lastmods(site).items() if at == site.now} == {f"{BASE}page8.html", f"{BASE}page9.html"}


def test_a_part_that_differs_in_every_build_moves_no_date(site: Site) -> None:
    site.ticker = "the first quotation of them all"
    site.build()
    site.scan()
    for day in range(4):
        site.next_day()
        site.ticker = f"another saying {'abcd'[day]} by somebody else entirely"
        site.edit(day)
        site.build()
        assert site.scan().scan.changed == 1


def test_an_overhaul_of_most_texts_is_a_change(site: Site) -> None:
    site.scan()
    site.next_day()
    site.edit(*range(95))
    assert site.scan().scan.changed == 95


def test_small_edits_add_up(tmp_path: Path) -> None:
    site = Site(tmp_path, 5)
    words = [f"term{number}" for number in range(1_000)]

    def write() -> None:
        site.path(1).write_text(f"<html><title>Long</title><body><p>{' '.join(words)}</p></body></html>")

    write()
    site.scan()
    changes = []
    for step in range(30):
        site.next_day()
        words[30 * step] = f"edited {'abcdefghijklmnopqrstuvwxyzABCD'[step]}"
        write()
        changes.append(site.scan().scan.changed)
    assert changes[0] == 0
    assert 1 <= sum(changes) <= 10


def test_a_removed_page_leaves_the_sitemap_and_returns_with_a_new_date(site: Site) -> None:
    site.scan()
    site.next_day()
    html = site.path(4).read_text()
    site.path(4).unlink()
    assert site.scan().scan.gone == 1
    assert f"{BASE}page4.html" not in lastmods(site)
    site.next_day()
    site.path(4).write_text(html)
    site.scan()
    returned = lastmods(site)[f"{BASE}page4.html"]
    assert returned is not None
    assert returned > 1_750_000_000.0


def test_a_half_written_folder_is_not_believed(site: Site) -> None:
    site.scan()
    before = (site.out / "sitemap.xml").read_bytes()
    for number in range(60):
        site.path(number).unlink()
    with pytest.raises(TooManyGone, match="60 of 100"):
        site.scan()
    assert (site.out / "sitemap.xml").read_bytes() == before
    assert site.scan(allows_removals=True).scan.gone == 60


def test_an_empty_page_keeps_its_last_state(site: Site) -> None:
    site.scan()
    before = lastmods(site)
    site.next_day()
    site.path(3).write_bytes(b"")
    done = site.scan()
    assert done.scan.problems == {"empty": 1}
    assert lastmods(site) == before


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ('<meta name="robots" content="noindex">', "noindex"),
        ('<link rel="canonical" href="https://www.example.org/page1.html">', "canonical"),
    ],
)
def test_pages_that_do_not_want_to_be_listed_are_hidden(site: Site, head: str, reason: str) -> None:
    site.path(2).write_text(site.html(2).replace("<head>", f"<head>{head}"))
    done = site.scan()
    assert done.scan.hidden == {reason: 1}
    assert f"{BASE}page2.html" not in lastmods(site)


def test_what_robots_txt_forbids_is_hidden(site: Site) -> None:
    site.out.mkdir()
    (site.out / "robots.txt").write_text("User-agent: *\nDisallow: /page1\n")
    done = site.scan()
    assert done.scan.hidden == {"robots": 11}


def test_the_digest_decides_where_a_database_moves_its_dates(site: Site) -> None:
    def scan(at: float, digest: str) -> int:
        rows = [{"url": f"/item/{number}", "updated_at": at, "digest": f"{digest}{number}"} for number in range(30)]
        with site.publisher() as publisher:
            return publisher.scan([RowInventory(rows, BASE)]).scan.changed

    scan(1_740_000_000, "a")
    site.next_day()
    assert scan(site.now - 10, "a") == 0
    assert scan(site.now, "b") == 30


def test_two_scans_at_once(site: Site) -> None:
    site.scan()
    lock = FolderLock(site.out / ".periplus-publish", "scanning")
    try:
        with pytest.raises(FolderLocked):
            site.scan()
    finally:
        lock.close()


@pytest.mark.parametrize("head", ["url,title\n/a,", '{"url": "/a", "title": "', ""])
def test_a_line_of_rows_that_is_too_long_is_refused(head: str) -> None:
    """As a mistake of the user, in CSV and in JSON, also as the first line."""
    rows = io.StringIO(head + "x" * 30_000_000)
    with pytest.raises(UsageError, match="is longer than 1,048,576 characters"):
        list(read_rows(rows))


def test_rows_that_no_parser_takes_are_refused_or_reported() -> None:
    """A field beyond the limit of the csv module, and JSON that is nested too deeply."""
    with pytest.raises(UsageError, match="rows cannot be read"):
        list(read_rows(io.StringIO("url,title\n/a," + "x" * 200_000)))
    [problem] = read_rows(io.StringIO('{"url":' * 100_000))
    assert isinstance(problem, Problem)
