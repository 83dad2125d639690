"""Dates: the forms that standards allow, the dirt that is common, and what is not a date at all."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.formats import dates
from periplus.model import Granularity, Lastmod

G = Granularity

W3C = {
    # W3C NOTE-datetime, its six granularities
    "1997": ("1997", G.YEAR),
    "1997-07": ("1997-07", G.MONTH),
    "1997-07-16": ("1997-07-16", G.DAY),
    "1997-07-16T19:20+01:00": ("1997-07-16T18:20Z", G.MINUTE),
    "1997-07-16T19:20:30+01:00": ("1997-07-16T18:20:30Z", G.SECOND),
    "1997-07-16T19:20:30.45+01:00": ("1997-07-16T18:20:30.450000Z", G.FRACTION),
    "1997-07-16T19:20Z": ("1997-07-16T19:20Z", G.MINUTE),
    "1997-07-16T19:20:30-08:00": ("1997-07-17T03:20:30Z", G.SECOND),
    "2004-02-29": ("2004-02-29", G.DAY),
    "1969-12-31T23:59:59Z": ("1969-12-31T23:59:59Z", G.SECOND),
    "9999-12-31T23:59:59Z": ("9999-12-31T23:59:59Z", G.SECOND),
    "0001-01-02": ("0001-01-02", G.DAY),
    # near misses
    "1997-07-16t19:20:30z": ("1997-07-16T19:20:30Z", G.SECOND),
    "1997-07-16 19:20:30": ("1997-07-16T19:20:30Z", G.SECOND),
    "1997-07-16 19:20": ("1997-07-16T19:20Z", G.MINUTE),
    "1997-07-16T19:20:30": ("1997-07-16T19:20:30Z", G.SECOND),
    "1997-07-16T19:20:30+0100": ("1997-07-16T18:20:30Z", G.SECOND),
    "1997-07-16T19:20:30+01": ("1997-07-16T18:20:30Z", G.SECOND),
    "1997-07-16 19:20:30 +0100": ("1997-07-16T18:20:30Z", G.SECOND),
    "1997-07-16 19:20:30 UTC": ("1997-07-16T19:20:30Z", G.SECOND),
    "1997-07-16 19:20:30 EST": ("1997-07-17T00:20:30Z", G.SECOND),
    "1997-07-16T19:20:30.12345678901Z": ("1997-07-16T19:20:30.123457Z", G.FRACTION),
    "1997-07-16T19:20:30,5Z": ("1997-07-16T19:20:30.500000Z", G.FRACTION),
    "1997-07-16T9:05:30Z": ("1997-07-16T09:05:30Z", G.SECOND),
    "1997-7-6": ("1997-07-06", G.DAY),
    "1997/07/16": ("1997-07-16", G.DAY),
    "1997.07.16": ("1997-07-16", G.DAY),
    "19970716": ("1997-07-16", G.DAY),
    "19970716T192030Z": ("1997-07-16T19:20:30Z", G.SECOND),
    "19970716192030": ("1997-07-16T19:20:30Z", G.SECOND),
    "\t 1997-07-16T19:20:30Z \r\n": ("1997-07-16T19:20:30Z", G.SECOND),
    " 1997-07-16\n": ("1997-07-16", G.DAY),
    "1997-07-16T24:00:00Z": ("1997-07-17T00:00:00Z", G.SECOND),
    "1997-07-16T24:00Z": ("1997-07-17T00:00Z", G.MINUTE),
    "1998-12-31T23:59:60Z": ("1999-01-01T00:00:00Z", G.SECOND),
    "1997-07-16T19:20:30+99:99": ("1997-07-16T19:20:30Z", G.SECOND),
    "1997-07-16T": ("1997-07-16", G.DAY),
    "1997-07-16Z": ("1997-07-16", G.DAY),
    "1997-07-16+01:00": ("1997-07-16", G.DAY),
    "1997-07-16 07:20 PM": ("1997-07-16T19:20Z", G.MINUTE),
    "1997-07-16 12:20:30 am": ("1997-07-16T00:20:30Z", G.SECOND),
    "1997-07-16T19:20:30+01:00[Europe/Paris]": ("1997-07-16T18:20:30Z", G.SECOND),
    "Wed, 1997/07/16 19:20:30 EDT": ("1997-07-16T23:20:30Z", G.SECOND),
    "1997-07-16T19": ("1997-07-16", G.DAY),
    "1997-07-16T19:20:30+01:00Z": ("1997-07-16T18:20:30Z", G.SECOND),
    "1997-07-16 19:20:30 +0100 CET": ("1997-07-16T18:20:30Z", G.SECOND),
}

NOT_W3C = [
    "",
    " ",
    "yesterday",
    "0000",
    "0000-00-00",
    "0000-00-00T00:00:00Z",
    "0001",
    "0001-01-01",
    "0001-01-01T00:00:00+00:00",
    "-0001-11-30T00:00:00+00:00",
    "2005-02-30",
    "2005-02-30T10:00:00Z",
    "2005-13-01",
    "2005-00-10",
    "2005-01-00",
    "1900-02-29",
    "2005-01-01T25:00:00Z",
    "2005-01-01T10:60:00Z",
    "2005-01-01T10:00:61Z",
    "2005-01-01T24:00:01Z",
    "9999-12-31T23:59:59-05:00",
    "0001-01-02T00:00:00+23:59junk",
    "2005-01/01",
    "2005-01-01-01",
    "2005-01-01T10:00:00+00:xx",
    "2005-01-01 13:00 XM PM",
    "01.02.2005",
    "Copyright 2005",
    "Nov. 2005",
    "10000-01-01",
    "２００５-01-01",
    "2005-01-01" + " " * 80 + "x",
    "2005-01-01T10:00:00." + "1" * 80 + "Z",
]


@each_case("text", W3C)
def test_every_w3c_form_is_read_with_its_granularity(text: str) -> None:
    """A date is worth as much as it says: the start of the period it names, and how long that is."""
    read = dates.read_w3c(text)
    assert read is not None
    written, granularity = W3C[text]
    assert (dates.write_w3c(read), read.granularity) == (written, granularity)


@each_case("text", NOT_W3C)
def test_what_is_not_a_date_is_none(text: str) -> None:
    """Impossible days, zero dates of databases and overlong texts are not guessed at."""
    assert dates.read_w3c(text) is None


def test_known_moments() -> None:
    """POSIX seconds, as other implementations count them."""
    assert dates.read_w3c("1970-01-01") == Lastmod(0.0, G.DAY)
    assert dates.read_w3c("2000-03-01T00:00:00Z") == Lastmod(951868800.0, G.SECOND)
    assert dates.read_w3c("2038-01-19T03:14:08Z") == Lastmod(2147483648.0, G.SECOND)
    assert dates.read_w3c("2005-06-01T12:00:00.25+02:00") == Lastmod(1117620000.25, G.FRACTION)


RFC_9110 = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the standard's own example


@each_case(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 00:49:37 -0800",
        "Sun, 06 Nov 1994 00:49:37 PST",
        "Sun, 06 November 1994 08:49:37 GMT",
        "Sun, 06-Nov-1994 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "06 Nov 1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 GMT 1994",
        "Sun Nov 06 1994 10:49:37 GMT+0200 (EET)",
        "  Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "Nov 6, 1994 8:49:37 AM",
    ],
)
def test_http_dates(text: str) -> None:
    """The three forms of RFC 9110 section 5.6.7, and their relatives, name the same second."""
    assert dates.read_http(text, now=1e9) == RFC_9110
    assert dates.read_http(text) == RFC_9110


@each_case("text", ["", "0", "-1", "now", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT"])
def test_no_http_date(text: str) -> None:
    """`Expires: 0` and its like are not dates."""
    assert dates.read_http(text) is None


@each_case(
    ("digits", "now", "year"),
    [
        ("94", "2024-06-01", "1994"),
        ("24", "2024-06-01", "2024"),
        ("73", "2024-06-01", "2073"),
        ("75", "2024-06-01", "1975"),
        ("01", "2099-06-01", "2101"),
        ("99", "2001-06-01", "1999"),
    ],
)
def test_two_digit_years_are_at_most_fifty_years_ahead(digits: str, now: str, year: str) -> None:
    """RFC 9110: a two-digit year more than 50 years in the future is the most recent past one."""
    moment = dates.read_w3c(now)
    assert moment is not None
    read = dates.read_http(f"Sunday, 06-Nov-{digits} 08:49:37 GMT", now=moment.at)
    assert read is not None
    assert dates.write_w3c(Lastmod(read, G.YEAR)) == year


@each_case(
    ("text", "written"),
    [
        ("Sat, 07 Sep 2002 00:00:01 GMT", "2002-09-07T00:00:01Z"),
        ("07 Sep 02 00:01 EST", "2002-09-07T05:01Z"),
        ("7 Sep 2002 00:00:01 +0530", "2002-09-06T18:30:01Z"),
        ("Sat, 07 Sep 2002 00:00:01 PDT", "2002-09-07T07:00:01Z"),
        ("Sat, 07 Sep 2002", "2002-09-07"),
        ("Sat, 7 Sept 2002 2:30 PM GMT", "2002-09-07T14:30Z"),
        ("Sat, 07 Sep 2002 12:05:00 AM CET", "2002-09-06T23:05:00Z"),
        ("Sat, 07 Sep 102 00:00:01 GMT", "2002-09-07T00:00:01Z"),
        ("Sat, 07 Sep 2002 00:00:01 XYZ", "2002-09-07T00:00:01Z"),
        ("Sat, 07 Sep 2002 00:00:01 MEST", "2002-09-06T22:00:01Z"),
        ("Sat, 07 September 2002 00:00:01 ET", "2002-09-07T05:00:01Z"),
        ("Sat, 07 Sep 2002 00:00:01 Etc/GMT", "2002-09-07T00:00:01Z"),
        ("Sat Sep 07 2002 02:00:01 GMT+0200 (Central European Standard Time)", "2002-09-07T00:00:01Z"),
        ("Sat, 07 Sep 2002 02:00:01 +0200 CEST", "2002-09-07T00:00:01Z"),
        ("Sat , 7, Sep 2002 00:00:01 -0000 GMT", "2002-09-07T00:00:01Z"),
        ("Saturday, September 7th, 2002 at 2:30 PM +0000", "2002-09-07T14:30Z"),
        ("7th September 2002 - 14:30 GMT", "2002-09-07T14:30Z"),
        ("07/Sep/2002:14:30:00 +0000", "2002-09-07T14:30:00Z"),
        ("Sat, 07 Sep 2002 14:30:00 Europe/Paris", "2002-09-07T14:30:00Z"),
        ("07 Sep 2002 GMT", "2002-09-07"),
    ],
)
def test_mail_dates_keep_their_granularity(text: str, written: str) -> None:
    """RSS dates: two or four digits of year, named zones, seconds or weekday missing."""
    read = dates.read_rfc822(text)
    assert read is not None
    assert dates.write_w3c(read) == written
    assert dates.read_any(text) == read


@each_case(
    ("text", "written"),
    [
        ("07.09.2002", "2002-09-07"),
        ("7.9.2002 14:30", "2002-09-07T14:30Z"),
        ("31/12/2002", "2002-12-31"),
        ("12/31/2002 2:30:05 PM", "2002-12-31T14:30:05Z"),
        ("31/12/2002 - 14:30", "2002-12-31T14:30Z"),
        ("Tue, 31/12/2002", "2002-12-31"),
        ("1041345005", "2002-12-31T14:30:05Z"),
        ("1041345005999", "2002-12-31T14:30:05Z"),
        ("104134500", None),
        ("9041345005", None),
        ("31-12-2002", "2002-12-31"),
        ("09/09/2002", "2002-09-09"),
        ("07/09/2002", None),
        ("31.13.2002", None),
        ("13/31/2002", None),
        ("07/09.2002", None),
        ("07.09.02", None),
    ],
)
def test_days_by_numbers(text: str, written: str | None) -> None:
    """Dots mean day, month, year; with other signs the order is taken only where there is but one."""
    read = dates.read_any(text)
    assert (read and dates.write_w3c(read)) == written
    assert dates.read_rfc822(text) is None


def test_a_mail_date_without_its_zone_is_none() -> None:
    """A feed's time of nowhere may be half a day off; HTTP's is in GMT, and asctime has no place for a zone."""
    assert dates.read_rfc822("Sat, 07 Sep 2002 00:00:01") is None
    assert dates.read_any("07 Sep 02 00:00:01") is None
    assert dates.read_http("Sat, 07 Sep 2002 00:00:01") == 1031356801.0
    assert dates.read_any("Sat Sep  7 00:00:01 2002") == Lastmod(1031356801.0, G.SECOND)


def test_a_date_without_its_year_is_none() -> None:
    """The hour is not taken for the year that is missing."""
    assert dates.read_any("Sat, 7 Sep 15:04:05 GMT") is None
    assert dates.read_http("Sat, 7 Sep 15:04:05 GMT", now=1e9) is None


def test_writing_outside_the_calendar_is_our_mistake() -> None:
    """Only a caller can produce such a time; no reader does."""
    with pytest.raises(ValueError, match="outside the years"):
        dates.write_http(1e12)
    with pytest.raises(ValueError, match="outside the years"):
        dates.write_w3c(Lastmod(float("nan"), G.DAY))
