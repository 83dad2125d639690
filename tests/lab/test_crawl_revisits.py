"""What is fetched again: a conditional request, 304 as an outcome of its own, and records that refer to what is kept.

Who decides that a URL is due again is not there yet; here its place in the queue is given by hand, through the port.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.crawling import by_proxy, crawl, make_due, rows, standing
from warcio.archiveiterator import ArchiveIterator

from periplus_lab import World
from periplus_lab.server import SteppedClock
from periplus_lab.sites import Validation

OPTIONS: dict[str, object] = {"scope.kind": "host", "politeness.delay": 0.0, "politeness.slow_factor": 0.0}
LATER = 30 * 86_400.0


def records_of(folder: Path, url: str) -> list[tuple[str, str, str]]:
    """Kind, profile and what it refers to of every capture of a URL, in order."""
    found = []
    for path in sorted((folder / "warc").glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                headers = record.rec_headers
                if record.rec_type in ("response", "revisit") and headers["WARC-Target-URI"] == url:
                    profile = (headers["WARC-Profile"] or "").rpartition("/")[2]
                    found.append((headers["WARC-Date"], record.rec_type, profile, headers["WARC-Refers-To-Date"]))
    found.sort()
    dates = [date for date, *_ in found]
    return [(kind, profile, str(dates.index(date)) if date else "") for _, kind, profile, date in found]


@pytest.mark.proof
def test_a_page_is_asked_for_again_with_its_validators(tmp_path: Path) -> None:
    """Unchanged: 304, a revisit of the version kept, no body. Changed: all of it. Gone: the status of that."""
    world = World(28, 2, pages=60)
    site = world.sites()[0]
    assert site.validation is Validation.HONEST
    with standing(world) as lab:
        crawl(tmp_path, [site.url], by_proxy(lab) | OPTIONS)
        read = [row["url"] for row in rows(tmp_path, "select url from pages order by url")]
        pages = [url for url in read if world.modified_at(url, world.epoch)]  # apologies have no validators
        assert len(pages) > 20
        for later in (0.0, LATER):
            assert isinstance(lab.clock, SteppedClock)
            lab.clock.advance(later)
            before = lab.log.total
            make_due(tmp_path, pages)
            crawl(tmp_path, [site.url], by_proxy(lab) | OPTIONS)
            again = {visit.url: visit.status for visit in lab.log.visits()[before:]}
            again = {url: status for url, status in again.items() if url in pages}
            assert set(again) == set(pages)
            if not later:
                assert set(again.values()) == {304}
        then = world.epoch + LATER
        same = [url for url, status in again.items() if status == 304]
        assert same
        assert not [url for url in same if world.changed_between(url, world.epoch, then)]
        gone = {url for url in pages if not world.exists(url, then)}
        new = [url for url, status in again.items() if status == 200 and url not in gone]
        assert new
        assert gone
    outcomes = rows(
        tmp_path,
        "select url, list(outcome order by started_at) as outcomes, sum(bytes) as bytes, count(warc_file) as kept,"
        " list(lane order by started_at) as lanes from fetches where purpose = 'page' group by url",
    )
    by_url = {row["url"]: row for row in outcomes}
    for url in same:
        assert by_url[url]["outcomes"] == ["fetched", "not-modified", "not-modified"]
        assert by_url[url]["lanes"] == ["discovery", "refresh", "refresh"]
        assert by_url[url]["kept"] == 3
    assert records_of(tmp_path, same[0]) == [
        ("response", "", ""),
        ("revisit", "server-not-modified", "0"),
        ("revisit", "server-not-modified", "0"),
    ]
    assert by_url[new[0]]["outcomes"] == ["fetched", "not-modified", "fetched"]
    assert [kind for kind, *_ in records_of(tmp_path, new[0])] == ["response", "revisit", "response"]


def test_the_same_bytes_without_validators_are_kept_once(tmp_path: Path) -> None:
    """A site that gives no validators is asked in full, and what it gives again is a revisit of the first."""
    world = World(28, 15, pages=200)
    [site, *_] = [each for each in world.sites() if each.validation is Validation.MISSING and not each.churn_every]
    with standing(world) as lab:
        crawl(tmp_path, [site.url], by_proxy(lab) | OPTIONS)
        make_due(tmp_path, [site.url])
        crawl(tmp_path, [site.url], by_proxy(lab) | OPTIONS)
    assert records_of(tmp_path, site.url) == [("response", "", ""), ("revisit", "identical-payload-digest", "0")]
    told = rows(tmp_path, f"select status, is_revisit from fetches where url = '{site.url}' order by started_at")
    assert [(row["status"], row["is_revisit"]) for row in told] == [(200, False), (200, True)]
