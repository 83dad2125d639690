"""From answers to pages and their links: `nofollow` is obeyed, and links seen lately are reported once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.content import RawPage, read_pages, version_of
from periplus.engine.link_state import LinkState
from periplus.engine.links import LinkMemory, LinkValuation, PageReader
from periplus.engine.pipeline import redirection
from periplus.engine.settings import ReadingSettings
from periplus.model import (
    Fetched,
    FetchTask,
    FirstSeen,
    Lane,
    LinkChunk,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import DiskState, MemoryState

HOME = Url("https://a.test/")


def task(url: Url = HOME) -> FetchTask:
    return FetchTask(url, Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, depth=2, redirects=1)


def answer(html: str, *headers: tuple[str, str]) -> Fetched:
    return Fetched(task(), 200, (("Content-Type", "text/html; charset=utf-8"), *headers), html.encode(), 5.0, 0.5)


def found(reader: PageReader, html: str, *headers: tuple[str, str]) -> list[str]:
    [page] = reader.read([answer(html, *headers)])
    return [discovery.url.removeprefix("https://a.test/") for discovery in reader.links(page, 2, 9.0)]


LINKS = """<a href=plain>p</a> <a href=no rel="UGC NoFollow">n</a> <a href=dofollow rel="nofollow-not">d</a>"""


def test_nofollow_links_are_not_followed() -> None:
    """By the whole word, not a part of one; unless the settings say otherwise."""
    assert found(PageReader(), LINKS) == ["plain", "dofollow"]
    assert found(PageReader(ReadingSettings(follow_nofollow=True)), LINKS) == ["plain", "no", "dofollow"]


@each_case("learns", [False, True])
@each_case("keeps_links", [False, True])
def test_a_page_is_not_found_by_links_within_it(learns: bool, keeps_links: bool) -> None:
    """A fragment or an empty href is not followed, and no share is passed on; a URL that is written out counts."""
    assert found(PageReader(valuation=LinkValuation(learns, keeps_links)), "<a href=#a>a</a><a href=/>c</a>") == [""]
    html = "<a href=#a>a</a><a href=''>b</a>"
    reader = PageReader(valuation=LinkValuation(learns, keeps_links))
    assert found(reader, f"{html}<a href=x rel=ugc>x</a>") == ["x"]
    [page] = reader.read([answer(f"{html}<a href=y>y</a>")])
    shares: list[int] = []
    reader.links(page, 2, 9.0, lambda links: shares.append(links) or 1.0)  # type: ignore[func-returns-value]
    assert shares == ([1] if learns else [])
    assert HOME not in {discovery.url for discovery in reader.gains(9.0)}


def test_nofollow_page_has_no_links() -> None:
    """In its head, or in a header."""
    assert found(PageReader(), '<meta name=robots content="nofollow">' + LINKS) == []
    assert found(PageReader(), LINKS, ("X-Robots-Tag", "nofollow")) == []
    assert len(found(PageReader(ReadingSettings(follow_nofollow=True)), LINKS, ("X-Robots-Tag", "none"))) == 3


def test_links_can_be_ignored_altogether() -> None:
    """Where only sitemaps are wanted: no link, and no other name of the page."""
    reader = PageReader(ReadingSettings(follow_links=False, follow_nofollow=True), LinkValuation(learns=True))
    assert found(reader, "<link rel=canonical href=c>" + LINKS) == []
    [page] = reader.read([answer(LINKS)])
    assert reader.links(page, 2, 9.0, lambda _links: pytest.fail("no share is asked for")) == []


def test_relations_of_a_page_are_links() -> None:
    """Its canonical name, its neighbours, other versions of it, and where it redirects a browser."""
    head = """<link rel=canonical href=c><link rel=next href=n><link rel=prev href=p><link rel=amphtml href=m>
    <link rel=alternate hreflang=de href=d><meta http-equiv=refresh content="0; url=r">"""
    assert found(PageReader(), head) == ["c", "n", "p", "m", "r", "d"]


def test_discovery_of_a_link() -> None:
    """One deeper than its page, at the time of reading, with the text of the link."""
    reader = PageReader()
    [page] = reader.read([answer("<a href=x>the text</a>")])
    [discovery] = reader.links(page, 2, 9.0)
    assert (discovery.source, discovery.depth, discovery.found_at) == (Source.LINK, 3, 9.0)
    assert (discovery.referrer, discovery.hints.anchor) == (HOME, "the text")


def test_links_seen_lately_are_reported_once() -> None:
    """Navigation repeats on every page; when the scope has grown, links that were refused may be wanted."""
    reader = PageReader()
    assert found(reader, "<a href=x>1</a><a href=x>2</a>") == ["x"]
    assert found(reader, "<a href=x>1</a><a href=y>2</a>") == ["y"]
    reader.forget()
    assert found(reader, "<a href=x>1</a>") == ["x"]


def learnt(reader: PageReader, html: str) -> tuple[int, dict[str, float]]:
    """How many links a page has, and what those gain that are reported at once; every page passes on one unit."""
    [page] = reader.read([answer(html)])
    counts: list[int] = []
    discoveries = reader.links(page, 2, 9.0, lambda links: counts.append(links) or 1.0 / links)  # type: ignore[func-returns-value]
    assert all(each.referrer == HOME and each.depth == 3 and not each.is_more for each in discoveries)
    return counts[0], {each.url.removeprefix("https://a.test/"): each.gain for each in discoveries}


def test_gains_of_links_seen_again_are_added_up() -> None:
    """New links are reported at once with their gain; the others are counted, or else returned by `gains`."""
    reader = PageReader(valuation=LinkValuation(learns=True))
    assert learnt(reader, "<a href=x>1</a><a href=y>2</a><a href='x#part'>3</a>") == (2, {"x": 0.5, "y": 0.5})
    counted: list[dict[Url, float]] = []
    reader.count_again(lambda gains: counted.append(dict(gains)) or ())  # type: ignore[func-returns-value]
    assert learnt(reader, "<a href=x>1</a><a href=z>2</a>") == (2, {"z": 0.5})
    reader.count_again(list)
    assert learnt(reader, "<a href=x>1</a>") == (1, {})
    reader.count_again(list)
    assert learnt(reader, "<a href=y>1</a>") == (1, {})
    reader.count_again(lambda gains: counted.append(dict(gains)) or ())  # type: ignore[func-returns-value]
    assert counted == [{Url("https://a.test/y"): 1.0}]
    assert reader.gaining == 1
    [more] = reader.gains(11.0)
    assert (more.url, more.gain, more.found_at, more.is_more) == ("https://a.test/x", 1.5, 11.0, True)
    assert reader.gains(12.0) == []


def test_links_that_are_not_followed_pass_nothing_on() -> None:
    """They do not count: the others share everything. A `nofollow` page passes on nothing."""
    assert learnt(PageReader(valuation=LinkValuation(learns=True)), LINKS) == (2, {"plain": 0.5, "dofollow": 0.5})
    assert learnt(PageReader(ReadingSettings(follow_nofollow=True), LinkValuation(learns=True)), LINKS)[0] == 3
    reader = PageReader(valuation=LinkValuation(learns=True))
    [page] = reader.read([answer('<meta name=robots content="nofollow">' + LINKS)])
    assert reader.links(page, 2, 9.0, lambda _links: pytest.fail("no share is asked for")) == []


def test_every_link_is_reported_where_links_are_kept() -> None:
    """With the page it is on, however often it was seen."""
    reader = PageReader(valuation=LinkValuation(learns=True, keeps_links=True))
    for _ in range(2):
        assert learnt(reader, "<a href=x>1</a><a href=x>2</a><a href=y>3</a>") == (2, {"x": 0.5, "y": 0.5})
    assert reader.gaining == 0


def test_memory_of_links_is_bounded() -> None:
    """Two generations of half the size each; links seen lately are still known."""
    reader = PageReader(ReadingSettings(remembered_links=100))
    for start in range(0, 3000, 40):
        found(reader, "".join(f"<a href={number}>x</a>" for number in range(start, start + 40)))
        assert len(reader._seen.young) + len(reader._seen.old) <= 100 + 2 * 40
    assert found(reader, "<a href=2999>x</a>") == []
    assert found(reader, "<a href=0>x</a>") == ["0"]


def test_bodies_are_unpacked_within_a_bound() -> None:
    """What is beyond is cut off and reported as a problem; so is a body that does not have the coding it claims."""
    reader = PageReader(ReadingSettings(max_decoded_bytes=2000))
    bomb = Fetched(task(), 200, (("Content-Encoding", "gzip"),), gzip.compress(b"<p>x" + b" y" * 10**6), 0.0, 0.0)
    liar = Fetched(task(), 200, (("Content-Encoding", "gzip"),), b"<p>no gzip", 0.0, 0.0)
    pages = reader.read([bomb, liar])
    assert len(pages[0].text) <= 2000
    assert all(page.problems for page in pages)


def test_redirect_is_no_deeper_than_its_source() -> None:
    """It counts the redirects in a row."""
    outcome = Redirected(task(), 301, Url("https://b.test/"), (), 5.0, 0.5)
    discovery = redirection(outcome)
    assert (discovery.url, discovery.source, discovery.depth) == ("https://b.test/", Source.REDIRECT, 2)
    assert (discovery.redirects, discovery.referrer, discovery.found_at) == (2, HOME, 5.5)


@pytest.mark.parametrize("is_watched", [False, True])
def test_blocks_are_read_where_they_will_be_compared(is_watched: bool) -> None:
    """At first visits only in a watch; later if they are not known, or the body differs."""
    state = MemoryState()
    reader = PageReader(records=state.records, watches=is_watched)
    old, new = (b"<article><p>" + b" ".join(b"w%d." % n for n in range(k, k + 80)) + b"</article>" for k in (0, 9))

    def has_blocks(body: bytes, visited_at: float | None = None) -> bool:
        known = FetchTask(HOME, Site("a.test"), Purpose.PAGE, Lane.REFRESH, 0.0, visited_at=visited_at)
        return bool(reader.read([Fetched(known, 200, (), body, 5.0, 0.5)])[0].blocks)

    def keep(*, with_blocks: bool) -> None:
        [page] = read_pages([RawPage(old, HOME, "text/html", wants_blocks=with_blocks)])
        seen = (FirstSeen(Source.SEED, 0.0),)
        record = UrlRecord(HOME, seen, digests=page.digests, version=version_of(page), blocks=page.blocks, visits=1)
        state.records.put([record])

    assert has_blocks(old) is is_watched
    keep(with_blocks=False)
    assert has_blocks(old, visited_at=1.0)
    keep(with_blocks=True)
    assert not has_blocks(old, visited_at=1.0)
    assert has_blocks(new, visited_at=1.0)


@given(st.lists(st.one_of(st.integers(0, 60), st.sampled_from(["age", "clear", "flush", "reopen"])), max_size=80))
def test_memory_of_links_is_read_back_as_it_was(steps: list[int | str]) -> None:
    """After any flush another process remembers the same links, in the same generations."""
    state, saved = MemoryState(), LinkState()
    memory = LinkMemory(20, state.recent_links, saved)
    for step in steps:
        match step:
            case int(number):
                memory.add_all([Url(f"https://a.test/{number}")])
            case "age":
                memory.age()
            case "clear":
                memory.clear()
            case _:
                saved = memory.flush()
                again = LinkMemory(20, state.recent_links, saved)
                assert (again.young, again.old) == (memory.young, memory.old)
                memory = again if step == "reopen" else memory
    saved = memory.flush()
    numbers = [chunk.number for chunk in state.recent_links]
    assert all(saved.old <= number < saved.next for number in numbers), "a chunk was not removed"


def test_memory_of_links_on_disk(tmp_path: Path) -> None:
    """Chunks of both generations are there when the state is opened again."""
    state = DiskState(tmp_path)
    reader = PageReader(ReadingSettings(remembered_links=4), rows=state.recent_links)
    assert found(reader, "<a href=a>1</a><a href=b>2</a><a href=c>3</a>") == ["a", "b", "c"]
    assert found(reader, "<a href=d>1</a>") == ["d"]
    saved = reader.flush()
    state.commit()
    state.close()
    state = DiskState(tmp_path)
    assert {type(chunk) for chunk in state.recent_links} == {LinkChunk}
    reader = PageReader(ReadingSettings(remembered_links=4), rows=state.recent_links, saved=saved)
    assert found(reader, "<a href=a>1</a><a href=d>1</a><a href=e>2</a>") == ["e"]
    state.close()
