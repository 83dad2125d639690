"""Dates under any text: no reader raises, and what is written is read back."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats import dates
from periplus.model import Granularity, Lastmod

FIRST = dates.read_w3c("0001-01-02")
LAST = dates.read_w3c("9999-12-31")
assert FIRST is not None
assert LAST is not None
MOMENTS = st.floats(FIRST.at, LAST.at)
DATE_LIKE = st.text(st.sampled_from("0123456789-+:/.,TtZz ()GMTSunNovEST²\n"), max_size=70)
PIECES = st.lists(
    st.sampled_from(
        ["Sun", ",", " ", "06", "6", "Nov", "-", "1994", "94", "08:49", ":37", "GMT", "+0100", "PM", "T", "."]
    ),
    max_size=14,
).map("".join)


@given(st.text() | DATE_LIKE | PIECES, st.none() | st.floats())
def test_no_text_makes_a_reader_raise(text: str, now: float | None) -> None:
    """Whatever a server sends, the answer is nothing or a time in the years 1 to 9999."""
    for read in (dates.read_w3c(text), dates.read_rfc822(text), dates.read_any(text)):
        if read is not None:
            assert math.isfinite(read.at)
            assert dates.write_w3c(read)
    at = dates.read_http(text, now)
    if at is not None:
        assert dates.write_http(at).endswith(" GMT")


@given(MOMENTS, st.sampled_from(list(Granularity)))
def test_w3c_round_trip(at: float, granularity: Granularity) -> None:
    """Reading what was written gives the start of the same period, and writing that again gives the same text."""
    written = dates.write_w3c(Lastmod(at, granularity))
    read = dates.read_w3c(written)
    if written in {"0001", "0001-01"}:
        assert read is None  # a zero date, however it came to be
        return
    assert read is not None
    assert read.granularity is granularity
    if granularity is Granularity.FRACTION:
        assert abs(read.at - at) < 2e-5  # what a double holds in the year 1
    else:
        assert read.at <= at < read.at + granularity.seconds
        assert dates.write_w3c(read) == written


@given(
    MOMENTS.map(dates.write_http),
    st.lists(st.tuples(st.integers(0, 28), st.sampled_from("0123456789 :,-SunNovGMT\u0664")), max_size=3),
    st.none() | MOMENTS,
)
def test_http_dates_nearly_well_formed(text: str, changes: list[tuple[int, str]], now: float | None) -> None:
    """The short way for well formed dates and the patterns for all others give the same answer."""
    for place, character in changes:
        text = text[:place] + character + text[place + 1 :]
    assert dates.read_http(text, now) == dates.read_http(f" {text}", now)  # white space takes the long way


@given(MOMENTS)
def test_http_round_trip(at: float) -> None:
    """An HTTP date names a second."""
    assert dates.read_http(dates.write_http(at)) == math.floor(at)
    assert dates.read_any(dates.write_http(at)) == Lastmod(float(math.floor(at)), Granularity.SECOND)


@given(st.datetimes(datetime(1902, 1, 1), datetime(9000, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_w3c_agrees_with_the_standard_library(moment: datetime, minutes: int) -> None:
    """The fast path, the patterns and the library's own calendar count the same seconds."""
    moment = moment.replace(tzinfo=UTC, microsecond=0)
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    expected = Lastmod(moment.timestamp() - minutes * 60, Granularity.SECOND)
    assert dates.read_w3c(f"{moment:%Y-%m-%dT%H:%M:%S}{zone}") == expected
    assert dates.read_w3c(f" {moment:%Y/%m/%dt%H:%M:%S} {zone}") == expected
