"""Feeds under any bytes: no body makes the reader raise, and what is written is read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats import feed
from periplus.formats.feed import FeedDocument, FeedKind, Item
from periplus.model import Granularity, Lastmod

PIECES = st.lists(
    st.sampled_from(
        ["<rss>", "</rss>", "<feed xmlns='http://www.w3.org/2005/Atom'>", "<channel>", "<item>", "</item>", "<entry>",
         "<link>", "</link>", "<title", ">", "&", ";", "&nbsp;", "&#0;", "&#xD800;", "&#150;", "<![CDATA[", "]]>",
         "<!--", "-->", "<!DOCTYPE", "[", "http://a/", "<guid>", "<pubDate>", "2002", "\x00", "é", "href='x'",
         "xml:base='//['", "<?xml", "?>", "<html>", " "]
    ),
    max_size=30,
).map("".join)  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cn", "Co")), max_size=30).map(
    lambda text: " ".join(text.split())
)
URLS = st.sampled_from(["https://example.com/", "https://example.com/a?b=1&c=%20", "http://xn--caf-dma.example/"])
SECONDS = st.integers(0, 4 * 10**9).map(lambda at: Lastmod(float(at), Granularity.SECOND))
ITEMS = st.builds(
    Item, url=URLS, id=WORDS, title=WORDS, published=st.none() | SECONDS, updated=st.none() | SECONDS, summary=WORDS
)


@given(st.binary() | PIECES.map(str.encode) | PIECES.map(lambda text: text.encode("utf-16")), URLS | st.just(""))
def test_no_bytes_make_the_reader_raise(body: bytes, url: str) -> None:
    """Whatever was served, there is a feed, if an empty one, and a reason."""
    read = feed.read(body, url)
    assert read.kind is not None or read.problems
    assert feed.read([body[:7], body[7:]], url) == read


@given(
    st.builds(
        FeedDocument,
        kind=st.just(FeedKind.RSS), version=st.just("2.0"), url=URLS, link=URLS, title=WORDS,
        updated=st.none() | SECONDS, ttl=st.none() | st.integers(0, 10**5).map(lambda minutes: minutes * 60.0),
        hubs=st.lists(URLS, unique=True).map(tuple), items=st.lists(ITEMS, max_size=3).map(tuple),
    )
)  # fmt: skip
def test_rss_round_trip(written: FeedDocument) -> None:
    """Every field survives RSS."""
    assert feed.read(feed.write(written)) == written


@given(
    st.builds(
        FeedDocument,
        kind=st.just(FeedKind.ATOM), version=st.just("1.0"), url=URLS, link=URLS, title=WORDS, updated=SECONDS,
        hubs=st.lists(URLS, unique=True).map(tuple),
        items=st.lists(ITEMS.filter(lambda item: item.id != "" and item.updated is not None), max_size=3).map(tuple),
    )
)  # fmt: skip
def test_atom_round_trip(written: FeedDocument) -> None:
    """Every field survives Atom, where those that Atom demands are there."""
    assert feed.read(feed.write(written)) == written
