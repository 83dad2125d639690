"""A sitemap while it is read: entries go to the listings of each site that it may list, once, by score."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from tests.reference.sitemap_writing import write

from periplus.engine.sitemaps.difference import FileMemory, unpack
from periplus.engine.sitemaps.file import SitemapFile, unpack_slice
from periplus.engine.sitemaps.scores import Priorities, sitemap_score
from periplus.engine.sitemaps.settings import DifferenceSettings, ScoreSettings
from periplus.engine.sitemaps.store import UnfinishedFile
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.engine.sitemaps.visits import AuthoritySettings, SitemapAuthority
from periplus.formats.sitemap import Entry
from periplus.model import Fetched, FetchTask, Lane, Purpose, Site, SitemapEntry, Source, Stored, Url
from periplus.store.crawl_state import MemoryListings

FILE = Url("http://a.test/sitemap.xml")
NOW = 1_700_000_000.0
A, B = Site("a.test"), Site("b.test")


def begun(
    body: bytes, before: FileMemory | None = None, cross_host: str = "robots", stored: Stored | None = None
) -> SitemapFile:
    """A file that has arrived."""
    task = FetchTask(FILE, A, Purpose.SITEMAP, Lane.FILES, NOW + 60)
    said: dict[Site, Priorities] = {}
    return SitemapFile(
        UnfinishedFile(
            Fetched(task, 200, (), body, NOW, 0.1), stored, SitemapNode(FILE, FILE, Origin.SUBMITTED, NOW), (), NOW, 0
        ),
        authority=SitemapAuthority(FILE, (), AuthoritySettings(cross_host=cross_host)),
        before=unpack(b"") if before is None else before,
        difference=DifferenceSettings(),
        score=sitemap_score(ScoreSettings()),
        priorities_of=lambda site: said.setdefault(site, Priorities()),
    )


def sitemap(urls: Sequence[str], priorities: Sequence[float] = ()) -> bytes:
    """One file that lists these."""
    entries = [Entry(url) for url in urls]
    if priorities:
        entries = [Entry(url, priority=priority) for url, priority in zip(urls, priorities, strict=True)]
    [(_, body)] = write(entries, base="http://a.test/")
    return body


def read(file: SitemapFile, listings: MemoryListings | None) -> list[SitemapEntry]:
    """All of it."""
    rows: list[SitemapEntry] = []
    while not file.is_over:
        rows += file.take(listings)
    return rows


def drained(listings: MemoryListings, site: Site) -> list[str]:
    """Everything listed of a site, in the order in which it would be queued."""
    urls: list[str] = []
    while packed := listings.take(site):
        urls += unpack_slice(packed).urls
    return urls


def test_entries_are_listed_by_score_and_then_in_file_order() -> None:
    """The best of a site come first; every entry is reported as it was written."""
    urls = [f"http://a.test/{number}" for number in range(5000)]
    priorities = [(number % 2) / 2 + 0.5 for number in range(5000)]
    file, listings = begun(sitemap(urls, priorities)), MemoryListings()
    rows = read(file, listings)
    assert [row.url for row in rows] == urls
    assert [row.priority for row in rows] == priorities
    assert drained(listings, A) == urls[1::2] + urls[::2]
    assert file.entries == file.wanted == 5000
    assert list(file.sites) == [A]


def test_only_new_entries_are_listed() -> None:
    """A second reading is compared with the first, whatever the order; removed entries are known at the end."""
    urls = [f"http://a.test/{number}" for number in range(3000)]
    first = begun(sitemap(urls))
    read(first, MemoryListings())
    again = begun(sitemap(["http://a.test/new", *reversed(urls[1:])]), first.end(is_whole=True).memory)
    listings = MemoryListings()
    assert len(read(again, listings)) == 3000
    assert drained(listings, A) == ["http://a.test/new"]
    assert len(again.end(is_whole=True).removed) == 1


def test_each_site_gets_its_own_and_others_are_refused() -> None:
    """A file may list its own host, and others where the rules allow it. What is not a URL is counted."""
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
    assert list(free.sites) == [A, B]


def test_nothing_is_listed_without_listings() -> None:
    """Everything is read and counted all the same."""
    file = begun(sitemap(["http://a.test/1", "http://a.test/2"]))
    assert [row.url for row in read(file, None)] == ["http://a.test/1", "http://a.test/2"]
    assert (file.entries, file.wanted, file.sites) == (2, 2, {})
    assert file.source is Source.SITEMAP


def test_irregular_entries_keep_their_order() -> None:
    """All entries are reported in the order of the file, whichever of them are regular; with titles."""
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
    assert file.problems["relative-url"] == len(file.reported) == 1


@pytest.mark.parametrize("steps", [0, 3, pytest.param(1, marks=pytest.mark.slow)])
def test_another_process_reads_on(steps: int) -> None:
    """It skips what was read, without listing it again, and comes to the same entries, problems and comparison."""
    urls = [f"http://a.test/{number}" for number in range(20_000)]
    body = sitemap([*urls, "http://b.test/1"])
    first, listings = begun(body), MemoryListings()
    rows: list[SitemapEntry] = []
    for _ in range(steps):
        rows += first.take(listings)
    assert not first.is_over
    unfinished = msgspec.msgpack.decode(msgspec.msgpack.encode(first.unfinished()), type=UnfinishedFile)
    assert (unfinished.steps, unfinished.outcome.body) == (steps, body)
    second = begun(unfinished.outcome.body)
    second.skip(unfinished.steps)
    assert not second.sites
    rows += read(second, listings)
    assert [row.url for row in rows] == [*urls, "http://b.test/1"]
    assert drained(listings, A) == urls
    whole = begun(body)
    read(whole, MemoryListings())
    assert (second.entries, second.wanted, second.problems) == (whole.entries, whole.wanted, whole.problems)
    assert second.end(is_whole=True).memory.pack() == whole.end(is_whole=True).memory.pack()


def test_body_is_left_out_where_the_archive_has_it() -> None:
    """A commit then holds where it is; a record that only refers to an earlier one has no body."""
    body = sitemap(["http://a.test/1"])
    stored = Stored("a.warc.gz", 0, 100, "digest")
    assert begun(body, stored=stored).unfinished().outcome.body == b""
    revisit = Stored("a.warc.gz", 0, 100, "digest", is_revisit=True)
    assert begun(body, stored=revisit).unfinished().outcome.body == body


def test_a_feed_reports_what_is_gone() -> None:
    """Pages that it may list, each as changed at the time of its deletion; they are not listed."""
    body = b"""<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">
      <entry><link href="http://a.test/1"/></entry><at:deleted-entry ref="http://a.test/2" when="2023-11-01T00:00:00Z"/>
      <at:deleted-entry ref="http://b.test/3" when="2023-11-01T00:00:00Z"/></feed>"""
    file, listings = begun(body), MemoryListings()
    read(file, listings)
    assert drained(listings, A) == ["http://a.test/1"]
    [gone] = file.gone()
    assert (gone.url, gone.source) == ("http://a.test/2", Source.FEED)
    assert gone.hints.lastmod is not None
    assert gone.hints.lastmod.at == 1_698_796_800.0
