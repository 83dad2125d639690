"""No bytes make the readers of pages raise, and what they find keeps its promises."""

from __future__ import annotations

import gzip
import re
import zlib

import brotli
import zstandard
from hypothesis import event, given
from hypothesis import strategies as st

from periplus.content import (
    RawPage,
    decode_body,
    read_page,
    read_pages,
    read_refresh,
    resemblance,
    sketch_of,
    sniff_charset,
)
from periplus.content.charset import prescan
from periplus.content.common_words import COMMON_WORDS
from periplus.content.decode import _gunzip_one_member, _inflate
from periplus.content.digests import digests_of, masked
from periplus.content.links import srcset_urls
from periplus.content.masking import masked_in_python
from periplus.content.redirects import redirect_in
from periplus.content.scan.columns import MAX_ANCHOR
from periplus.content.sketch import sketches_of
from periplus.content.statistics import _text_counts, text_counts_in_python
from periplus.content.words import words_of_all
from periplus.urls import canonical

TAGS = "a p div b i table tr td ul li form input select option script style template svg path base meta link main nav"
pieces = st.one_of(
    st.sampled_from([f"<{name}>" for name in TAGS.split()] + [f"</{name}>" for name in TAGS.split()]),
    st.sampled_from(
        [
            "<a href=x>",
            '<a href="/y?q=1#z" rel=nofollow>',
            "<base href=//other/>",
            "<meta http-equiv=refresh content='1;url=z'>",
            "<meta charset=koi8-r>",
            "<img srcset='a 1x, b 2x'>",
            "<!--",
            "-->",
            "<![CDATA[",
            "&amp;",
            "&#0;",
            "12:30",
            "14 Nov 2026",
            "\x01\x02M",
        ]
    ),
    st.text(max_size=20),
)
pages = st.lists(pieces, max_size=40).map("".join)


@given(st.one_of(st.binary(max_size=2000), pages.map(lambda page: page.encode("utf-8", "replace"))))
def test_no_page_raises(body: bytes) -> None:
    """Whatever the body, there is a page, and its URLs are canonical."""
    for content_type in ("text/html; charset=utf-8", None):
        page = read_page(body, "http://h.example/dir/", content_type)
        assert all(canonical(link.url) == link.url for link in page.links)
        assert all(len(link.anchor) <= MAX_ANCHOR for link in page.links)
        assert "  " not in page.text
        assert page.text == page.text.strip(" ")
        assert len(page.sketch) in (0, 512)
        assert not {"\x01", "\x02", "\n", "\t"} & set(page.text)


@given(pages, st.sampled_from(["text/html", "text/plain", "image/png", "nonsense", ""]), st.text(max_size=30))
def test_no_header_raises(html: str, content_type: str, dirt: str) -> None:
    """Headers are as dirty as bodies."""
    body = html.encode("utf-8", "replace")
    read_page(body, "http://h.example/", f"{content_type}; {dirt}", robots_tags=[dirt], link_headers=[dirt])
    sniff_charset(body, dirt)


@given(pages)
def test_reading_is_a_function(html: str) -> None:
    """The same bytes give the same page."""
    body = html.encode("utf-8", "replace")
    assert read_page(body, "http://h/", "text/html") == read_page(body, "http://h/", "text/html")


@given(st.lists(pages, max_size=6))
def test_pages_are_read_together_as_if_alone(bodies: list[str]) -> None:
    """What other pages are read at the same time makes no difference to a page."""
    raw = [RawPage(body.encode("utf-8", "replace"), "http://h.example/dir/", "text/html") for body in bodies]
    assert read_pages(raw) == [read_page(page.body, page.url, page.content_type) for page in raw]


@given(st.lists(st.text(max_size=100), max_size=5))
def test_texts_are_sketched_together_as_if_alone(texts: list[str]) -> None:
    """Words and shingles never reach from one text into the next."""
    assert sketches_of([text.encode("utf-8", "replace") for text in texts]) == [sketch_of(text) for text in texts]


@given(st.binary(max_size=1500))
def test_prescan_ends(head: bytes) -> None:
    """Any bytes have a declaration or none."""
    prescan(head)
    prescan(b"<meta " + head)


@given(st.binary(max_size=5000), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "x, y", ""]))
def test_no_body_raises(body: bytes, coding: str) -> None:
    """Any bytes under any coding give at most what was asked for."""
    decoded, _ = decode_body(body, coding, max_size=10_000)
    assert len(decoded) <= 10_000


@given(st.binary(max_size=5000), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), max_size=4))
def test_codings_round_trip(body: bytes, codings: list[str]) -> None:
    """What is encoded is decoded, however often."""
    encode = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}
    encoded = body
    for coding in codings:
        encoded = encode[coding](encoded)
    if codings:
        assert decode_body(encoded, ", ".join(codings))[0] == body


@given(
    st.lists(st.binary(max_size=40) | st.binary(max_size=2).map(lambda some: some * 500), min_size=1, max_size=2),
    st.just([]) | st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=2),
    st.just(0) | st.integers(0, 12),
    st.just(b"") | st.binary(max_size=12) | st.sampled_from([b"\x1f\x8b", b"\0" * 8]),
)
def test_a_body_decoded_at_once_is_that_of_its_pieces(
    members: list[bytes], changes: list[tuple[int, int]], cut: int, behind: bytes
) -> None:
    """Of whole, changed, cut and lengthened members, what libdeflate decodes is what the pieces give."""
    body = bytearray(b"".join(map(gzip.compress, members)))
    for place, byte in changes:
        body[place % len(body)] = byte
    encoded = bytes(body[: len(body) - cut]) + behind
    if not encoded.startswith(b"\x1f\x8b"):
        return
    at_once = _gunzip_one_member(encoded, 10_000)
    event("decoded at once" if at_once is not None else "left to the other decoder")
    if at_once is not None:
        assert at_once == b"".join(_inflate(encoded, 31))
        assert len(at_once) <= 10_000


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=300))
def test_words_are_what_a_plain_search_finds(text: str) -> None:
    """As many numbers as words, and equal ones for equal words, whatever is around them."""
    words = [word.lower() for word in re.findall(r"\w+", text, re.ASCII)]
    numbers = words_of_all([text.encode()]).numbers.tolist()
    assert numbers == [number for word in words for number in words_of_all([word.encode()]).numbers.tolist()]


@given(st.text(max_size=300))
def test_case_and_signs_do_not_change_words(text: str) -> None:
    """No text fails, and its words stay what they are when signs are put around it."""
    data = text.encode("utf-8", "replace")
    numbers = words_of_all([data]).numbers.tolist()
    assert words_of_all(["\u2014".encode() + data + "\xb6\U0001f600".encode()]).numbers.tolist() == numbers


@given(st.text(max_size=300))
def test_masking_is_stable(text: str) -> None:
    """Masking never fails, and digests are made of any text."""
    data = text.encode("utf-8", "replace")
    masked(data)
    digests_of(data, data, data, data)


VOLATILE_PARTS = (
    "0", "1", "12", "123", "2026", ":", ".", ",", "'", "-", "/", "+", "_", "T", "z", "am", "PM", "st", "nd", "th",
    "jan", "January", "sept", "May", "dec", "mon", "Tues", "Saturday", "views", "visitors", "reply", "online", "sec",
    "minutes", "days", "ago", "a", "f", "abcdef", "deadbeef", "550e8400-e29b-41d4-a716-446655440000", "1,234,567",
    "12:30:05.123", "a8f5f167f44f4964e6c998dee82711", "2026-11-14T12:30:05Z", "14/11/2026", "x", "é", "東", "\n",
    "\0", *[" "] * 12,
)  # fmt: skip


@given(st.lists(st.sampled_from(VOLATILE_PARTS), max_size=20).map("".join) | st.text(max_size=100))
def test_both_scanners_mask_the_same(text: str) -> None:
    """The rules in C are those of the regular expression."""
    data = text.encode("utf-8", "replace")
    assert masked(data) == masked_in_python(data)


WORD_PARTS = (
    *sorted(COMMON_WORDS)[::16], b"The", b"\xc3\x89t\xc3\xa9", b"word", b"W", *[b" "] * 20, b"\t", b"\v", b"\f",
    b"\r\n", b"\x1c", b"\x85", b"\xc2\xa0", b"\0", b"\xff", b"a" * 1020, b"b " * 1020,
)  # fmt: skip


@given(st.lists(st.sampled_from(WORD_PARTS), max_size=60).map(b"".join), st.binary(max_size=100))
def test_both_scanners_count_the_same_words(text: bytes, other: bytes) -> None:
    """Words are split as `bytes.split` does, and only the beginnings of long texts count."""
    assert _text_counts(text, text) == text_counts_in_python(text, text)
    assert _text_counts(text, other) == text_counts_in_python(text, other)


@given(st.text(max_size=300), st.sampled_from(["text/html; charset=utf-8", "text/plain; charset=utf-8"]))
def test_folding_is_idempotent(text: str, content_type: str) -> None:
    """The text of a folded text is that text."""

    def folded(written: str) -> str:
        body = written.replace("<", "").replace("&", "").encode("utf-8", "replace")
        return read_page(body, "http://h/", content_type).text

    assert folded(folded(text)) == folded(text)


@given(st.text(alphabet="abc ", max_size=200), st.text(alphabet="abc ", max_size=200))
def test_resemblance_is_a_share(a: str, b: str) -> None:
    """Between 0 and 1, symmetric, and 1 for the same text."""
    one, other = sketch_of(a), sketch_of(b)
    assert 0 <= resemblance(one, other) == resemblance(other, one) <= 1
    assert resemblance(one, one) == 1


@given(st.text(max_size=200))
def test_small_readers_take_anything(text: str) -> None:
    """Refreshes, scripts and source sets may hold anything."""
    read_refresh(text)
    redirect_in(f"location='{text}';{text}")
    assert all(url and not url.isspace() for url in srcset_urls(text))
