"""A file while it is read: what it lists goes to the listings of each site it may speak for, once, by score."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.crawl.intake import Intake
from periplus.crawl.sitemaps import FileInProgress, unpack_slice
from periplus.formats.sitemap import Entry, write
from periplus.model import FetchTask, Lane, Purpose, Site, SitemapEntry, Source, Url
from periplus.policy.sitemaps import (
    AuthoritySettings,
    DifferenceSettings,
    FileMemory,
    Origin,
    Priorities,
    ScoreSettings,
    SitemapNode,
    Voice,
    sitemap_score,
    unpack,
)
from periplus.store.listings import MemoryListings

FILE = Url("http://a.test/sitemap.xml")
NOW = 1_700_000_000.0
A, B = Site("a.test"), Site("b.test")


def begun(body: bytes, before: FileMemory | None = None, cross_host: str = "robots") -> FileInProgress:
    """A file of which all has arrived."""
    task = FetchTask(FILE, A, Purpose.SITEMAP, Lane.FILES, NOW + 60)
    said: dict[Site, Priorities] = {}
    file = FileInProgress(
        task,
        SitemapNode(FILE, FILE, Origin.SUBMITTED, NOW),
        Intake(FILE),
        voice=Voice(FILE, (), AuthoritySettings(cross_host=cross_host)),
        before=unpack(b"") if before is None else before,
        difference=DifferenceSettings(),
        score=sitemap_score(ScoreSettings()),
        said=lambda site: said.setdefault(site, Priorities()),
        found_at=NOW,
    )
    file.intake.feed(body)
    file.intake.close()
    return file


def sitemap(urls: Sequence[str], priorities: Sequence[float] = ()) -> bytes:
    """One file that lists these."""
    entries = [Entry(url) for url in urls]
    if priorities:
        entries = [Entry(url, priority=priority) for url, priority in zip(urls, priorities, strict=True)]
    [(_, body)] = write(entries, base="http://a.test/")
    return body


def read(file: FileInProgress, listings: MemoryListings | None) -> list[SitemapEntry]:
    """All of it."""
    rows: list[SitemapEntry] = []
    while not file.intake.is_over:
        rows += file.take(100, listings)
    return rows


def drained(listings: MemoryListings, site: Site) -> list[str]:
    """All that is listed of a site, in the order in which it would be queued."""
    urls: list[str] = []
    while packed := listings.take(site):
        urls += unpack_slice(packed).urls
    return urls


def test_all_is_listed_in_the_order_of_scores_and_then_of_the_file() -> None:
    """The best of a site come first; every entry is a row, as it was written."""
    urls = [f"http://a.test/{number}" for number in range(5000)]
    priorities = [(number % 2) / 2 + 0.5 for number in range(5000)]
    file, listings = begun(sitemap(urls, priorities)), MemoryListings()
    rows = read(file, listings)
    assert [row.url for row in rows] == urls
    assert [row.priority for row in rows] == priorities
    assert drained(listings, A) == urls[1::2] + urls[::2]
    assert file.entries == file.wanted == 5000
    assert file.sites == {A}


def test_only_what_is_new_is_listed() -> None:
    """A second reading compares with the first, whatever the order; what was removed is known at the end."""
    urls = [f"http://a.test/{number}" for number in range(3000)]
    first = begun(sitemap(urls))
    read(first, MemoryListings())
    again = begun(sitemap(["http://a.test/new", *reversed(urls[1:])]), first.end(is_whole=True).memory)
    listings = MemoryListings()
    assert len(read(again, listings)) == 3000
    assert drained(listings, A) == ["http://a.test/new"]
    assert len(again.end(is_whole=True).removed) == 1


def test_each_site_gets_its_own_and_others_are_refused() -> None:
    """A file speaks for its own host; for another one, where the rules let it. What is no URL is counted."""
    urls = ["http://a.test/1", "http://b.test/1", "https://a.test/2", "http://[oops/", "http://b.test/2"]
    strict, listings = begun(sitemap(urls)), MemoryListings()
    assert len(read(strict, listings)) == 5
    assert drained(listings, A) == ["http://a.test/1", "https://a.test/2"]
    assert drained(listings, B) == []
    assert strict.problems["sitemap-foreign-host"] == 2
    assert strict.problems["not-a-url"] == 1
    assert strict.wanted == 2
    free = begun(sitemap(urls), cross_host="any")
    read(free, listings)
    assert drained(listings, B) == ["http://b.test/1", "http://b.test/2"]
    assert free.wanted == 4
    assert free.sites == {A, B}


def test_where_only_rows_are_wanted_nothing_is_listed() -> None:
    """Without listings all is read and counted as ever."""
    file = begun(sitemap(["http://a.test/1", "http://a.test/2"]))
    assert [row.url for row in read(file, None)] == ["http://a.test/1", "http://a.test/2"]
    assert (file.entries, file.wanted, file.sites) == (2, 2, set())
    assert file.source is Source.SITEMAP


def test_entries_that_need_care_stand_among_the_others() -> None:
    """What is told of a file is all of it in its order, whichever of its records are regular; titles, too."""
    entries = [Entry(f"http://a.test/{number}", priority=0.5) for number in range(3000)]
    entries[1500] = Entry("http://a.test/1500", title="one & only")
    [(_, body)] = write(entries, base="http://a.test/")
    file, listings = begun(body.replace(b"</urlset>", b"<url><loc> /odd </loc></url></urlset>")), MemoryListings()
    rows = read(file, listings)
    assert rows == [
        *(SitemapEntry(entry.url, priority=entry.priority, title=entry.title) for entry in entries),
        SitemapEntry("http://a.test/odd"),
    ]
    assert sorted(drained(listings, A)) == sorted(row.url for row in rows)
    assert file.problems["relative-url"] == len(file.told) == 1
