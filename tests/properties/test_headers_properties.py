"""Header fields under any text: no reader raises or hangs, and what is written is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.linear_time import assert_linear
from tests.reference import header_writing as w

from periplus.formats import headers as h
from periplus.model import Directives

PIECES = st.lists(
    st.sampled_from(
        ["<", ">", '"', "\\", ",", ";", "=", ":", " ", "a", "rel", "noindex", "max-snippet", "-1", "unavailable_after",
         "text/html", "charset", "W/", "max-age", "'", "utf-8", "\n", "é"]
    ),
    max_size=40,
).map("".join)  # fmt: skip
VALUES = st.lists(st.text() | PIECES, max_size=3)
TOKENS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8).map(str.lower)
TEXTS = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=20).map(str.strip)


@given(VALUES, st.floats(allow_nan=False, allow_infinity=False))
def test_no_value_makes_a_reader_raise(values: list[str], now: float) -> None:
    """Fields come from servers: whatever they hold, there is an answer."""
    h.read_links(values, "https://example.com/")
    h.read_cache_control(values)
    h.read_content_type(values)
    h.read_robots_tag(values, "periplus")
    for value in values:
        h.read_directives(value)
        h.read_etag(value)
        wait = h.read_retry_after(value, now)
        assert wait is None or 0 <= wait <= h.LONGEST_WAIT
    names = ("Cache-Control", "Expires", "Date", "Age", "ETag", "Last-Modified")
    fields = h.Headers([(name, value) for name in names for value in values])
    fresh = h.fresh_for(fields, now)
    assert fresh is None or fresh >= 0
    h.validators_of(fields)


@pytest.mark.parametrize(
    "piece", ['"', '\\"', '"\\', "<", "<,", "a=", "a ", "; ", ":", "x:", '="', ",", "\\", "unavailable_after:"]
)
def test_readers_take_linear_time(piece: str) -> None:
    """No value, however repetitive, takes a pattern into a maze."""

    def read(size: int) -> None:
        value = piece * (size // len(piece) + 10)
        for reader in (h.read_links, h.read_cache_control, h.read_content_type, h.read_directives, h.read_etag):
            reader(value)

    assert_linear(read, h.LONGEST_VALUE)


@given(st.builds(
    h.CacheControl,
    no_store=st.booleans(), no_cache=st.booleans(), private=st.booleans(), immutable=st.booleans(),
    max_age=st.none() | st.integers(0, 2**31), s_maxage=st.none() | st.integers(0, 2**31),
    stale_if_error=st.none() | st.integers(0, 2**31),
))  # fmt: skip
def test_cache_control_round_trip(control: h.CacheControl) -> None:
    """Every directive survives."""
    assert h.read_cache_control(w.write_cache_control(control)) == control


LIMITS = st.none() | st.integers(-1, 2**31)


@given(
    st.builds(
        Directives,
        noindex=st.booleans(), nofollow=st.booleans(), noarchive=st.booleans(), nosnippet=st.booleans(),
        noimageindex=st.booleans(), notranslate=st.booleans(), indexifembedded=st.booleans(),
        max_snippet=LIMITS, max_image_preview=st.none() | st.sampled_from(["none", "standard", "large"]),
        max_video_preview=LIMITS,
        unavailable_after=st.none() | st.integers(-(10**10), 10**11).map(float),
    ),
    st.sampled_from(["", "periplus"]),
)  # fmt: skip
def test_robots_tag_round_trip(directives: Directives, agent: str) -> None:
    """Every wish survives, and binds only the agent it names."""
    written = w.write_robots_tag(directives, agent)
    assert h.read_robots_tag(written, "periplus") == directives
    if agent:
        assert h.read_robots_tag(written, "other") == Directives()


@given(st.lists(st.builds(
    h.WebLink,
    url=st.sampled_from(["https://example.com/", "https://example.com/a,b;c?d=%22", "/rel", ""]),
    rel=st.lists(TOKENS, max_size=3).map(tuple), hreflang=st.lists(TOKENS, max_size=2).map(tuple),
    type=st.sampled_from(["", "text/html", "application/atom+xml"]), title=TEXTS, media=TEXTS,
    anchor=st.sampled_from(["", "#x", "/y"]),
), max_size=4))  # fmt: skip
def test_links_round_trip(links: list[h.WebLink]) -> None:
    """Every attribute survives quoting."""
    assert h.read_links(w.write_links(links)) == links


@given(TOKENS, st.none() | TOKENS, st.none() | TEXTS.filter(lambda text: text and "'" not in text))
def test_content_type_round_trip(subtype: str, charset: str | None, boundary: str | None) -> None:
    """Type, charset and boundary survive."""
    media = h.MediaType(f"text/{subtype}", charset, boundary)
    assert h.read_content_type(w.write_content_type(media)) == media


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"'), max_size=50), st.booleans())
def test_etag_round_trip(tag: str, is_weak: bool) -> None:
    """A tag survives, weak or strong."""
    etag = h.ETag(tag, is_weak)
    assert h.read_etag(w.write_etag(etag)) == etag
