"""From answers to pages and where they lead: what pages ask not to follow is left alone, repeats are met once."""

from __future__ import annotations

import gzip

import pytest

from periplus.crawl.reading import PageReader, ReadingSettings, redirection
from periplus.model import Fetched, FetchTask, Lane, Purpose, Redirected, Site, Source, Url

HOME = Url("https://a.test/")


def task(url: Url = HOME) -> FetchTask:
    return FetchTask(url, Site("a.test"), Purpose.PAGE, Lane.DISCOVERY, 0.0, depth=2, redirects=1)


def answer(html: str, *headers: tuple[str, str]) -> Fetched:
    return Fetched(task(), 200, (("Content-Type", "text/html; charset=utf-8"), *headers), html.encode(), 5.0, 0.5)


def found(reader: PageReader, html: str, *headers: tuple[str, str]) -> list[str]:
    [page] = reader.read([answer(html, *headers)])
    return [discovery.url.removeprefix("https://a.test/") for discovery in reader.links(page, 2, 9.0)]


LINKS = """<a href=plain>p</a> <a href=no rel="UGC NoFollow">n</a> <a href=dofollow rel="nofollow-not">d</a>"""


def test_links_that_ask_not_to_be_followed_are_left_alone() -> None:
    """By the word, not by a part of one; unless we are told otherwise."""
    assert found(PageReader(), LINKS) == ["plain", "dofollow"]
    assert found(PageReader(ReadingSettings(follow_nofollow=True)), LINKS) == ["plain", "no", "dofollow"]


def test_a_page_that_asks_so_leads_nowhere() -> None:
    """In its head, or in a header."""
    assert found(PageReader(), '<meta name=robots content="nofollow">' + LINKS) == []
    assert found(PageReader(), LINKS, ("X-Robots-Tag", "nofollow")) == []
    assert len(found(PageReader(ReadingSettings(follow_nofollow=True)), LINKS, ("X-Robots-Tag", "none"))) == 3


def test_links_can_be_left_alone_altogether() -> None:
    """Where only what sites list is wanted: no link, and no other name of the page."""
    reader = PageReader(ReadingSettings(follow_links=False, follow_nofollow=True))
    assert found(reader, "<link rel=canonical href=c>" + LINKS) == []
    [page] = reader.read([answer(LINKS)])
    assert reader.learn(page, 2, 9.0, lambda _links: pytest.fail("nothing is asked")) == []


def test_relatives_of_a_page_are_ways_too() -> None:
    """Its canonical name, its neighbours, other versions of it, and where it sends a browser."""
    head = """<link rel=canonical href=c><link rel=next href=n><link rel=prev href=p><link rel=amphtml href=m>
    <link rel=alternate hreflang=de href=d><meta http-equiv=refresh content="0; url=r">"""
    assert found(PageReader(), head) == ["c", "n", "p", "m", "r", "d"]


def test_a_way_says_where_it_was_found() -> None:
    """One deeper than its page, at the time of reading, with the text of the link."""
    reader = PageReader()
    [page] = reader.read([answer("<a href=x>the text</a>")])
    [discovery] = reader.links(page, 2, 9.0)
    assert (discovery.source, discovery.depth, discovery.found_at) == (Source.LINK, 3, 9.0)
    assert (discovery.referrer, discovery.hints.anchor) == (HOME, "the text")


def test_links_lately_met_are_met_once_until_they_may_be_wanted_again() -> None:
    """Navigation repeats on every page; when the scope has grown, what was refused may not be any more."""
    reader = PageReader()
    assert found(reader, "<a href=x>1</a><a href=x>2</a>") == ["x"]
    assert found(reader, "<a href=x>1</a><a href=y>2</a>") == ["y"]
    reader.forget()
    assert found(reader, "<a href=x>1</a>") == ["x"]


def learnt(reader: PageReader, html: str) -> tuple[int, dict[str, float]]:
    """How many links a page has, and what those gain that are told at once; every page gives away one unit."""
    [page] = reader.read([answer(html)])
    counts: list[int] = []
    discoveries = reader.learn(page, 2, 9.0, lambda links: counts.append(links) or 1.0 / links)  # type: ignore[func-returns-value]
    assert all(each.referrer == HOME and each.depth == 3 and not each.is_more for each in discoveries)
    return counts[0], {each.url.removeprefix("https://a.test/"): each.gain for each in discoveries}


def test_links_met_again_are_added_up() -> None:
    """New ones are told at once with what they gain; the others when somebody asks, one for each URL."""
    reader = PageReader()
    assert learnt(reader, "<a href=x>1</a><a href=y>2</a><a href='x#part'>3</a>") == (2, {"x": 0.5, "y": 0.5})
    assert learnt(reader, "<a href=x>1</a><a href=z>2</a>") == (2, {"z": 0.5})
    assert learnt(reader, "<a href=x>1</a>") == (1, {})
    assert reader.gaining == 1
    [more] = reader.gains(11.0)
    assert (more.url, more.gain, more.found_at, more.is_more) == ("https://a.test/x", 1.5, 11.0, True)
    assert reader.gains(12.0) == []


def test_links_that_are_not_followed_pass_nothing_on() -> None:
    """Nor do they count: the others share all of it. A page that asks so keeps what it has."""
    assert learnt(PageReader(), LINKS) == (2, {"plain": 0.5, "dofollow": 0.5})
    assert learnt(PageReader(ReadingSettings(follow_nofollow=True)), LINKS)[0] == 3
    [page] = PageReader().read([answer('<meta name=robots content="nofollow">' + LINKS)])
    assert PageReader().learn(page, 2, 9.0, lambda _links: pytest.fail("nothing is asked")) == []


def test_where_links_are_kept_every_one_is_told() -> None:
    """With the page it is on, however often it was met."""
    reader = PageReader(keeps_links=True)
    for _ in range(2):
        assert learnt(reader, "<a href=x>1</a><a href=x>2</a><a href=y>3</a>") == (2, {"x": 0.5, "y": 0.5})
    assert reader.gaining == 0


def test_what_is_remembered_is_bounded() -> None:
    """Two generations of half as many each; what was met lately is still known."""
    reader = PageReader(ReadingSettings(remembered_links=100))
    for start in range(0, 3000, 40):
        found(reader, "".join(f"<a href={number}>x</a>" for number in range(start, start + 40)))
        assert len(reader._young) + len(reader._old) <= 100 + 2 * 40
    assert found(reader, "<a href=2999>x</a>") == []
    assert found(reader, "<a href=0>x</a>") == ["0"]


def test_bodies_are_unpacked_within_a_bound() -> None:
    """What is beyond is cut off and told as a problem; a coding that is not what it says, too."""
    reader = PageReader(ReadingSettings(max_decoded_bytes=2000))
    bomb = Fetched(task(), 200, (("Content-Encoding", "gzip"),), gzip.compress(b"<p>x" + b" y" * 10**6), 0.0, 0.0)
    liar = Fetched(task(), 200, (("Content-Encoding", "gzip"),), b"<p>no gzip", 0.0, 0.0)
    pages = reader.read([bomb, liar])
    assert len(pages[0].text) <= 2000
    assert all(page.problems for page in pages)


def test_a_redirect_is_no_deeper_than_where_it_came_from() -> None:
    """It counts how many led here in a row."""
    outcome = Redirected(task(), 301, Url("https://b.test/"), (), 5.0, 0.5)
    discovery = redirection(outcome)
    assert (discovery.url, discovery.source, discovery.depth) == ("https://b.test/", Source.REDIRECT, 2)
    assert (discovery.redirects, discovery.referrer, discovery.found_at) == (2, HOME, 5.5)
