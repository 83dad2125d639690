"""Facts of a survey from a small collection by hand: chains of redirects, readings again, guesses, lost bodies."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.apps.survey import FileFact, RobotsFact, agent_name, facts_of_collection, robots_fact
from periplus.model import (
    ChangeFreq,
    Excluded,
    Failed,
    Fetched,
    FetchEnded,
    FetchOutcome,
    FetchTask,
    Granularity,
    Lane,
    Lastmod,
    NotModified,
    Problem,
    Purpose,
    Redirected,
    SitemapEntriesRead,
    SitemapEntry,
    SitemapRead,
    Url,
    UsageError,
)
from periplus.store import Archive, MemoryPayloads, Tables, WarcSettings
from periplus.store.tables import Spooled
from periplus.urls import site_of

NOW = 1_800_000_000.0
ROBOTS = b"User-agent: *\nDisallow: /x\nSitemap: http://a.test/s.xml\n"
URLSET = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'
INDEX = b'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></sitemapindex>'
PAGE = b"<!doctype html><title>Welcome</title>"


class Crawled:
    """A collection, one event at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._at = NOW
        self._archive = Archive(
            folder / "warc", WarcSettings(), shard=0, software="Periplus", fields={}, end=None,
            payloads=MemoryPayloads(),
        )  # fmt: skip
        self._tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)

    def task(self, url: str, purpose: Purpose) -> FetchTask:
        self._at += 1
        return FetchTask(Url(url), site_of(Url(url)), purpose, Lane.SITEMAPS, self._at + 60)

    def robots(self, url: str, body: bytes, status: int = 200) -> None:
        self.told(Fetched(self.task(url, Purpose.ROBOTS), status, (), body, self._at, 0.1))

    def sitemap(self, url: str, body: bytes, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.told(Fetched(self.task(url, Purpose.SITEMAP), status, headers, body, self._at, 0.1))

    def redirect(self, url: str, target: str, purpose: Purpose) -> None:
        self.told(Redirected(self.task(url, purpose), 301, Url(target), (), self._at, 0.1))

    def failed(self, url: str, purpose: Purpose, reason: str = "timeout") -> None:
        self.told(Failed(self.task(url, purpose), reason, self._at, 0.1))

    def told(self, outcome: FetchOutcome) -> None:
        is_kept = isinstance(outcome, Fetched | Redirected | NotModified)
        stored = self._archive.write(outcome, b"GET / HTTP/1.1\r\n\r\n")[0] if is_kept else None  # type: ignore[arg-type]
        self._tables.record([FetchEnded(outcome, self._at, stored)])

    def read(self, url: str, *entries: SitemapEntry, problems: tuple[str, ...] = ()) -> None:
        pages = sum(not entry.is_sitemap for entry in entries)
        found = tuple(map(Problem, problems))
        self._tables.record([SitemapEntriesRead(Url(url), self._at, entries)])
        self._tables.record([SitemapRead(Url(url), self._at, pages, len(entries) - pages, None, found)])

    def facts(self, *domains: str) -> list[RobotsFact | FileFact]:
        self._archive.sync()
        self._tables.settle()
        self._tables.close()
        self._archive.close()
        return list(facts_of_collection(self.folder, domains))

    def facts_unsettled(self, *domains: str) -> list[RobotsFact | FileFact]:
        self._archive.sync()
        spooled = Spooled(0, self.folder / "spool", self._tables.checkpoint())
        self._tables.close()
        self._archive.close()
        return list(facts_of_collection(self.folder, domains, spooled=[spooled]))


def child(url: str) -> SitemapEntry:
    return SitemapEntry(url, is_sitemap=True)


def robots_of(facts: list[RobotsFact | FileFact]) -> list[RobotsFact]:
    return [fact for fact in facts if isinstance(fact, RobotsFact)]


def files_of(facts: list[RobotsFact | FileFact]) -> list[FileFact]:
    return [fact for fact in facts if isinstance(fact, FileFact)]


@pytest.fixture
def crawled(tmp_path: Path) -> Crawled:
    return Crawled(tmp_path / "collection")


@each_case(
    ("written", "name"),
    [
        ("*", "*"), ("Googlebot", "googlebot"), ("  GoogleBot/2.1  ", "googlebot"),
        ("Mozilla/4.0 (compatible; MSIE 5.0)", "mozilla"), ("Microsoft URL  Control", "microsoft url control"),
        ("Microsoft URL Control - 6.00.8169", "microsoft url control"), ("Teleport Pro 1.29", "teleport pro"),
        ("larbin_2.6.2", "larbin"), ("bot v2", "bot"), ("bot2", "bot2"), ("7", "7"), ("", ""), ("/", ""),
    ],
)  # fmt: skip
def test_an_agent_has_one_name(written: str, name: str) -> None:
    """Letter case, white space and versions make no other agent."""
    assert agent_name(written) == name


def test_a_hostile_agent_is_cut() -> None:
    """A name has a bound, and what is not a name costs little."""
    assert len(agent_name("x" * 100_000)) <= 80
    assert agent_name(("- " * 50_000) + "1") == agent_name("- " * 40)


def test_a_robots_txt_is_counted_line_by_line() -> None:
    """Fields as spelt, agents by name, rules by section, sitemaps resolved, problems by reason."""
    body = (
        b"# hello\r\nDisallow: /early\r\nUser-agent: A/1.0\r\nUser-agent: b\r\nDisallow: /x\r\nDissallow: /y\r\n"
        b"User-agent: *\r\nDisallow:\r\nSitemap: </s.xml>\r\nsitemap: http://a.test/s.xml\r\n"
    )
    fact = robots_fact("a.test", body, "http://a.test/robots.txt")
    assert (fact.lines, fact.size, fact.sections) == (10, len(body), 2)
    assert fact.agents == ("a", "b", "*")
    assert dict(fact.fields) == {"disallow": 3, "dissallow": 1, "user-agent": 3, "sitemap": 2}
    assert fact.disallows == (2, 0)
    assert fact.sitemaps == ("http://a.test/s.xml",)
    assert dict(fact.problems) == {"outside-group": 1}


def test_redirects_and_www_are_followed(crawled: Crawled) -> None:
    """The file counts wherever it lies: behind redirects, and under `www.` where a page stands at the bare name."""
    crawled.redirect("http://a.test/robots.txt", "https://a.test/robots.txt", Purpose.ROBOTS)
    crawled.robots("https://a.test/robots.txt", ROBOTS)
    crawled.robots("http://b.test/robots.txt", PAGE)
    crawled.robots("http://www.b.test/robots.txt", b"User-agent: *\nDisallow:\n")
    crawled.redirect("http://c.test/robots.txt", "http://www.c.test/", Purpose.ROBOTS)
    crawled.robots("http://www.c.test/", PAGE)
    crawled.robots("http://www.c.test/robots.txt", b"User-agent: *\nDisallow:\n")
    crawled.robots("http://d.test/robots.txt", PAGE)
    crawled.robots("http://www.d.test/robots.txt", PAGE)
    facts = robots_of(crawled.facts("a.test", "b.test", "c.test", "d.test", "e.test"))
    assert [fact.outcome for fact in facts] == ["file", "file-at-www", "file-at-www", "html-instead", "not-asked"]
    assert [fact.is_html for fact in facts] == [False, True, True, True, False]
    assert [fact.rank for fact in facts] == [1, 2, 3, 4, 5]


def test_redirects_that_go_round_end(crawled: Crawled) -> None:
    """A loop is an outcome, not a hang."""
    crawled.redirect("http://a.test/robots.txt", "http://a.test/b", Purpose.ROBOTS)
    crawled.redirect("http://a.test/b", "http://a.test/robots.txt", Purpose.ROBOTS)
    assert robots_of(crawled.facts("a.test"))[0].outcome == "too-many-redirects"


def test_the_last_good_answer_counts(crawled: Crawled) -> None:
    """A file that was read is not lost to a later failure, and a failure is forgotten once the file came."""
    crawled.failed("http://a.test/robots.txt", Purpose.ROBOTS)
    crawled.robots("http://a.test/robots.txt", b"User-agent: *\nDisallow:\n")
    crawled.failed("http://a.test/robots.txt", Purpose.ROBOTS)
    crawled.failed("http://b.test/robots.txt", Purpose.ROBOTS, "connect-refused")
    crawled.robots("http://b.test/robots.txt", b"", 503)
    facts = robots_of(crawled.facts("a.test", "b.test"))
    assert [(fact.outcome, fact.status) for fact in facts] == [("file", 200), ("http-503", 503)]


def test_the_same_file_of_many_domains_is_read_from_where_it_lies(crawled: Crawled) -> None:
    """A body that is stored once, since others had the same, is that of each."""
    for domain in ("a.test", "b.test", "c.test"):
        crawled.robots(f"http://{domain}/robots.txt", ROBOTS)
    assert [fact.size for fact in robots_of(crawled.facts("a.test", "b.test", "c.test"))] == [len(ROBOTS)] * 3


def test_a_file_that_was_read_again_counts_once_as_it_is_now(crawled: Crawled) -> None:
    """Of several readings the last counts, also when the next visit brought nothing new."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    crawled.sitemap("http://a.test/s.xml", URLSET + b" ")
    crawled.read("http://a.test/s.xml", *(SitemapEntry(f"http://a.test/{n}", priority=0.5) for n in range(7)))
    crawled.sitemap("http://a.test/s.xml", URLSET)
    dated = SitemapEntry("http://a.test/1", Lastmod(NOW, Granularity.DAY), ChangeFreq.DAILY)
    crawled.read("http://a.test/s.xml", dated, SitemapEntry("http://a.test/2"), problems=("bad-lastmod", "bad-lastmod"))
    crawled.told(NotModified(crawled.task("http://a.test/s.xml", Purpose.SITEMAP), (), NOW, 0.1))
    (file,) = files_of(crawled.facts("a.test"))
    assert (file.outcome, file.kind, file.entries, file.size) == ("read", "urlset", 2, len(URLSET))
    assert (file.with_lastmod, file.with_changefreq, file.with_priority) == (1, 1, 0)
    assert file.problems == (("bad-lastmod", 2),)


def test_trees_have_levels_and_loops_end(crawled: Crawled) -> None:
    """A file stands where the shortest way leads; an index that names what is above it adds nothing; twins are one."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    crawled.sitemap("http://a.test/s.xml", INDEX)
    crawled.read("http://a.test/s.xml", child("http://a.test/i.xml"), child("http://a.test/s.xml"))
    crawled.sitemap("http://a.test/i.xml", INDEX + b"\n")
    crawled.read("http://a.test/i.xml", child("http://a.test/s.xml.gz"), child("http://a.test/never.xml"))
    root, inner, never = files_of(crawled.facts("a.test"))
    assert (root.depth, root.kind, root.children, root.parent) == (0, "index", 2, None)
    assert (inner.depth, inner.parent, inner.tree) == (1, root.url, root.url)
    assert (never.depth, never.outcome, never.parent) == (2, "not-fetched", inner.url)


def test_a_shared_sitemap_is_of_the_domain_where_it_lies(crawled: Crawled) -> None:
    """Several domains may name one file: it counts once, for its own domain if that names it, else for the first."""
    crawled.robots("http://b.test/robots.txt", ROBOTS + b"Sitemap: http://files.example/both.xml\n")
    crawled.robots("http://a.test/robots.txt", ROBOTS + b"Sitemap: http://files.example/both.xml\n")
    for url in ("http://a.test/s.xml", "http://files.example/both.xml"):
        crawled.sitemap(url, URLSET)
        crawled.read(url, SitemapEntry("http://a.test/1"))
    facts = files_of(crawled.facts("b.test", "a.test"))
    assert {fact.url: fact.domain for fact in facts} == {
        "http://a.test/s.xml": "a.test",
        "http://files.example/both.xml": "b.test",
    }


def test_a_guess_counts_only_if_it_was_right(crawled: Crawled) -> None:
    """That nothing lies at a usual place says nothing of a domain; what lies there is its own."""
    crawled.robots("http://a.test/robots.txt", b"", 404)
    crawled.sitemap("http://a.test/sitemap.xml", PAGE, 404)
    crawled.sitemap("http://www.a.test/sitemap.txt", b"http://www.a.test/1\nhttp://www.a.test/2\n")
    crawled.read("http://www.a.test/sitemap.txt", SitemapEntry("http://a.test/1"), SitemapEntry("http://a.test/2"))
    (file,) = files_of(crawled.facts("a.test"))
    assert (file.url, file.domain, file.kind, file.entries) == ("http://www.a.test/sitemap.txt", "a.test", "text", 2)


def test_a_moved_file_counts_where_it_is_named(crawled: Crawled) -> None:
    """Behind a redirect it is one file, not two; one that leads to a file that is named anyway is empty."""
    crawled.robots("http://a.test/robots.txt", ROBOTS + b"Sitemap: http://a.test/old.xml\n")
    crawled.redirect("http://a.test/s.xml", "http://a.test/new.xml", Purpose.SITEMAP)
    crawled.redirect("http://a.test/old.xml", "http://a.test/s.xml", Purpose.SITEMAP)
    crawled.sitemap("http://a.test/new.xml", URLSET)
    crawled.read("http://a.test/new.xml", SitemapEntry("http://a.test/1"))
    facts = {fact.url: fact for fact in files_of(crawled.facts("a.test"))}
    assert {url: (fact.outcome, fact.entries) for url, fact in facts.items()} == {
        "http://a.test/s.xml": ("read", 1),
        "http://a.test/old.xml": ("redirected", 0),
    }


def test_what_is_not_a_sitemap_is_told(crawled: Crawled) -> None:
    """Pages, words, failures, prohibitions, files in the middle of being read: each with its word."""
    names = ("html", "words", "gone", "late", "forbidden", "begun")
    lines = b"".join(f"Sitemap: http://a.test/{name}.xml\n".encode() for name in names)
    crawled.robots("http://a.test/robots.txt", lines)
    crawled.sitemap("http://a.test/html.xml", PAGE)
    crawled.read("http://a.test/html.xml", problems=("html",))
    crawled.sitemap("http://a.test/words.xml", b"Nothing here")
    crawled.read("http://a.test/words.xml", problems=("not-a-sitemap",))
    crawled.sitemap("http://a.test/begun.xml", b"<urlset></urlset>")
    crawled.sitemap("http://a.test/gone.xml", PAGE, 410)
    crawled.failed("http://a.test/late.xml", Purpose.SITEMAP)
    crawled.told(Excluded(crawled.task("http://a.test/forbidden.xml", Purpose.SITEMAP), "robots", "/"))
    facts = {fact.url[14:-4]: fact.outcome for fact in files_of(crawled.facts("a.test"))}
    assert facts == {
        "html": "html-instead", "words": "not-a-sitemap", "gone": "http-410", "late": "timeout", "forbidden": "robots",
        "begun": "not-read",
    }  # fmt: skip


@pytest.mark.parametrize("is_coded", [True, False])
def test_a_packed_file_is_told_from_one_that_was_packed_for_the_way(crawled: Crawled, is_coded: bool) -> None:
    """A content coding is the wire's; a file that is gzip itself is a gzipped sitemap."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    headers = (("Content-Encoding", "gzip"),) if is_coded else ()
    crawled.sitemap("http://a.test/s.xml", gzip.compress(URLSET), headers=headers)
    crawled.read("http://a.test/s.xml", SitemapEntry("http://a.test/1"))
    (file,) = files_of(crawled.facts("a.test"))
    assert (file.kind, file.is_gzipped) == ("urlset", not is_coded)


@pytest.mark.parametrize(
    ("body", "is_coded", "is_gzipped"),
    [(gzip.compress(URLSET), True, True), (gzip.compress(URLSET), False, True), (URLSET, False, False)],
    ids=["labelled as a coding", "as it should be", "not packed"],
)
def test_a_name_in_gz_is_believed_if_the_bytes_agree(
    crawled: Crawled, body: bytes, is_coded: bool, is_gzipped: bool
) -> None:
    """Servers that call their `.gz` files a coding have gzipped sitemaps all the same; a plain file has not."""
    crawled.robots("http://a.test/robots.txt", b"Sitemap: http://a.test/s.xml.gz\n")
    crawled.sitemap("http://a.test/s.xml.gz", body, headers=(("Content-Encoding", "gzip"),) if is_coded else ())
    crawled.read("http://a.test/s.xml.gz", SitemapEntry("http://a.test/1"))
    (file,) = files_of(crawled.facts("a.test"))
    assert (file.kind, file.is_gzipped) == ("urlset", is_gzipped)


def test_a_bomb_is_looked_at_no_longer_than_it_takes(crawled: Crawled) -> None:
    """A file that unpacks to far more than it is gets its kind from its beginning."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    crawled.sitemap("http://a.test/s.xml", gzip.compress(URLSET[:-9] + b" " * (24 << 20)))
    crawled.read("http://a.test/s.xml", problems=("ratio-limit",))
    (file,) = files_of(crawled.facts("a.test"))
    assert (file.outcome, file.kind, file.is_gzipped) == ("read", "urlset", True)


def test_a_line_that_is_not_a_domain_is_told(crawled: Crawled) -> None:
    """What cannot be asked for has its row, and domains that are written twice have one."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    facts = robots_of(crawled.facts("A.test", "http://a.test/x", "no domain", "", "a.test"))
    assert [(fact.domain, fact.outcome) for fact in facts] == [("a.test", "file"), ("no domain", "not-asked")]


def test_a_lost_archive_costs_what_was_in_it_alone(crawled: Crawled) -> None:
    """Without bodies the rules of a robots.txt are unknown; what the tables say of sitemaps stands."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    crawled.sitemap("http://a.test/guess.xml", URLSET)
    crawled.read("http://a.test/guess.xml", SitemapEntry("http://a.test/1"))
    crawled.facts("a.test")
    for path in (crawled.folder / "warc").iterdir():
        path.unlink()
    facts = list(facts_of_collection(crawled.folder, ["a.test"]))
    assert [fact.outcome for fact in facts] == ["file", "read"]
    assert files_of(facts)[0].entries == 1


def test_rows_that_are_still_spooled_are_found(crawled: Crawled) -> None:
    """A crawl that was killed, or runs, can be looked at."""
    crawled.robots("http://a.test/robots.txt", ROBOTS)
    crawled.sitemap("http://a.test/s.xml", URLSET)
    crawled.read("http://a.test/s.xml", SitemapEntry("http://a.test/1"))
    assert [fact.outcome for fact in crawled.facts_unsettled("a.test")] == ["file", "read"]


def test_a_folder_that_is_not_a_collection_is_refused(tmp_path: Path) -> None:
    """An error says what to type."""
    with pytest.raises(UsageError, match="no tables"):
        list(facts_of_collection(tmp_path))
