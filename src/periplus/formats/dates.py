"""Reads dates in every form that the formats of the web use, with the usual mistakes, and writes them.

Three families, each read leniently and written in its one right form:

* W3C datetime, the profile of ISO 8601 that sitemaps and Atom use (W3C NOTE-datetime, RFC 3339): `read_w3c`,
  `write_w3c`. Also read: a day with a zone (an `xsd:date`, which the schema of sitemaps allows), a space or a small
  letter for `T`, no zone (UTC is assumed), zones without a colon, by name or both, one-digit months and days, `/` or
  `.` between them, no separators at all, a weekday in front, a clock of 12 hours, `24:00`, leap seconds.
* HTTP dates (RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime): `read_http`, `write_http`.
* Mail dates, as RSS writes them (RFC 822 and 5322): `read_rfc822`. The last two families share one reader, because
  real servers and feeds mix their forms: a wrong or missing weekday, full month names, ordinals (`7th`), dashes,
  numeric or missing zones, no seconds, no time at all.
* Days by numbers, as people write them: `read_any` takes `31.12.2004`, and `12/31/2004` or `31-12-2004` where only one
  of the two can be the month. It also takes the time of a computer (`1104537600`).

A reader returns `None` for what is not a date: impossible days, the "zero dates" of databases (year 0000, 0001-01-01),
anything outside the years 1 to 9999, and texts longer than 80 characters, which also bounds every pattern below. What
a date means for a crawl is decided elsewhere; nothing here knows what day it is.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from math import floor

from periplus.model import Granularity, Lastmod

LONGEST = 80
"""Characters; no date needs more, and hostile ones may not cost more."""

_DAY = 86400
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = (date(1, 1, 1).toordinal() - _EPOCH_ORDINAL) * _DAY
_END = (date(9999, 12, 31).toordinal() + 1 - _EPOCH_ORDINAL) * _DAY
_FIFTY_YEARS = 50 * 365.2425 * _DAY

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH_NUMBERS = {name[:length]: number for number, name in enumerate(_MONTHS, 1) for length in range(3, len(name) + 1)}
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

# Hours east of Greenwich: the zones of RFC 822, and those that feeds name most. RFC 5322 section 4.3 reads any other
# name as "unknown", which is UTC here; so is `Europe/Paris`, since no database of time zones is loaded.
_ZONES = {
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AT": -4, "ET": -5, "CT": -6, "MT": -7, "PT": -8, "AST": -4, "ADT": -3,
    "AKST": -9, "AKDT": -8, "HST": -10, "BST": 1, "WEST": 1, "CET": 1, "CEST": 2, "MET": 1, "MEST": 2,
    "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "MSK": 3, "SGT": 8, "HKT": 8, "JST": 9, "KST": 9,
    "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip

_OFFSET = r"(?:[A-Za-z]{1,5})?\s?[+-]\d{1,2}(?::?\d{2})?"
_PLACE = r"[A-Za-z]{2,12}/[A-Za-z_/]{2,30}"
_ZONE = rf"(?:(?P<zone>{_OFFSET}|{_PLACE}|[A-Za-z]{{1,5}})(?:(?<=\d)(?:Z|\s[A-Z]{{1,5}}))?)?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,](?P<fraction>\d+))?)?"
_HALF = r"(?:\s?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
_COMMENT = r"(?:\s*\([^()]*\))?"
_WEEKDAY = r"(?:[A-Za-z]{2,9}\b[\s.,]*)?"
_NTH = r"(?P<day>\d{1,2})(?i:st|nd|rd|th)?"
_THEN = r"(?:,\s*|\s+(?:-\s+|at\s+)?|(?<=\d{4}):|T)"
_MONTH = r"(?P<month>[A-Za-z]{3,9})"

_W3C = (
    rf"{_WEEKDAY}(?P<year>\d{{4}})(?:(?P<gap>[-/.])(?P<month>\d{{1,2}})(?:(?P=gap)(?P<day>\d{{1,2}})"
    rf"(?:Z|[+-]\d\d:\d\d|(?:[Tt]|\s+|\s*[Tt]\s*)(?:{_CLOCK}{_HALF}|\d{{1,2}})?\s*{_ZONE}(?:\[[\w/+-]*\])?)?)?)?"
)
_COMPACT = (
    rf"(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d)"
    rf"(?:[Tt]?(?P<hour>\d\d)(?P<minute>\d\d)(?:(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?\s*{_ZONE})?"
)
_BY_NUMBERS = (
    rf"{_WEEKDAY}(?P<one>\d{{1,2}})(?P<gap>[-/.])(?P<other>\d{{1,2}})(?P=gap)(?P<year>\d{{4}})"
    rf"(?:{_THEN}{_CLOCK}{_HALF}\s*{_ZONE})?"
)
_DAY_FIRST = (
    rf"{_WEEKDAY}{_NTH}(?:\s*[-/]\s*|\s+|[.,]\s*){_MONTH}(?:\s*[-/]\s*|\s+|[.,]\s*)(?P<year>\d{{2,4}})"
    rf"(?:{_THEN}{_CLOCK}{_HALF}\s*{_ZONE}{_COMMENT}|\s(?:GMT|UTC?))?"
)
_POSIX = r"(1\d{9})(?:\d{3})?"
_YEAR_LAST = rf"{_WEEKDAY}{_MONTH}\.?\s+{_NTH}(?:,\s*|\s+){_CLOCK}{_HALF}\s*{_ZONE},?\s+(?P<year>\d{{4}})"
_MONTH_FIRST = (
    rf"{_WEEKDAY}{_MONTH}\.?\s+{_NTH}(?:,\s*|\s+)(?P<year>\d{{4}})"
    rf"(?:{_THEN}{_CLOCK}{_HALF}\s*{_ZONE}{_COMMENT})?"
)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used: that takes a millisecond each, and most commands read no dates."""
    return re.compile(text, re.ASCII)


# The fast paths put an answer together from three that they remember: of `2005-01-01`, `T13:45` and `:07+02:00`, or of
# `Sat, 01 Jan 2005`, ` 13:45` and `:07 GMT`. A site's dates share few of each. What is not so well formed misses, and
# goes to the patterns above.
_REMEMBERED = 8192
_MINUTES = {f"{gap}{m // 60:02}:{m % 60:02}": m * 60.0 for gap in "T " for m in range(1440)}
_GMT_SECONDS = {f":{second:02} GMT": float(second) for second in range(60)}
_IMF_DAY = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4}", re.ASCII)
_TAIL = re.compile(r"(?::(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?)?(?P<zone>Z|[+-]\d\d:?\d\d)?", re.ASCII)


def read_w3c(text: str) -> Lastmod | None:
    """A W3C datetime in any of its six granularities, or nearly one."""
    if len(text) == 10:
        return _read_day(text)
    if len(text) <= LONGEST:
        midnight, minutes, tail = _midnight(text[:10]), _MINUTES.get(text[10:16]), _tail(text[16:])
        if midnight is not None and minutes is not None and tail is not None:
            return Lastmod(midnight + minutes + tail[0], tail[1])
    return _read_any_w3c(text)


def read_http(text: str, now: float | None = None) -> float | None:
    """An HTTP date as POSIX seconds; one without a zone is in GMT, one without a time is a midnight.

    RFC 9110 reads a two-digit year as the latest that is not more than 50 years after `now`; without `now` the fixed
    rule of RFC 5322 stands in (00-49 is this century).
    """
    if len(text) == 29:
        midnight, minutes, seconds = _imf_day(text[:16]), _MINUTES.get(text[16:22]), _GMT_SECONDS.get(text[22:])
        if midnight is not None and minutes is not None and seconds is not None:
            return midnight + minutes + seconds
    match = _match_english(text)
    read = None if match is None else _read_match(match, now)
    return None if read is None else read.at


def read_rfc822(text: str) -> Lastmod | None:
    """Parse a date as RSS writes it, with the granularity of its form.

    A time must name its zone here: unlike a server's, a feed's missing zone is seldom GMT, and RFC 822 has no default.
    """
    match = _match_english(text)
    if match is None or (match["hour"] is not None and match["zone"] is None and match.re is not _pattern(_YEAR_LAST)):
        return None
    return _read_match(match, None)


def read_any(text: str) -> Lastmod | None:
    """A date in any of these forms, as in feeds and sitemaps of every kind; also seconds since 1970."""
    return read_w3c(text) or read_rfc822(text) or _read_by_numbers(text) or _read_posix(text)


def write_w3c(lastmod: Lastmod) -> str:
    """Format a date in UTC, with its own granularity. Raises `ValueError` outside the years 1 to 9999."""
    moment = _moment(lastmod.at)
    day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
    match lastmod.granularity:
        case Granularity.YEAR:
            return day[:4]
        case Granularity.MONTH:
            return day[:7]
        case Granularity.DAY:
            return day
        case Granularity.MINUTE:
            return f"{day}T{moment:%H:%M}Z"
        case Granularity.SECOND:
            return f"{day}T{moment:%H:%M:%S}Z"
        case Granularity.FRACTION:
            microseconds = min(round(lastmod.at % 1 * 1e6), 999_999)
            return f"{day}T{moment:%H:%M:%S}.{microseconds:06}Z"


def write_http(at: float) -> str:
    """The one form that RFC 9110 lets a sender generate (IMF-fixdate). Raises `ValueError` as `write_w3c` does."""
    moment = _moment(at)
    month = _MONTHS[moment.month - 1][:3].capitalize()
    return f"{_WEEKDAYS[moment.weekday()]}, {moment.day:02} {month} {moment.year:04} {moment:%H:%M:%S} GMT"


@lru_cache(maxsize=_REMEMBERED)
def _read_day(text: str) -> Lastmod | None:
    """Ten characters are nearly always `YYYY-MM-DD`, and a site has few of them: remember the answers."""
    midnight = _midnight(text)
    return _read_any_w3c(text) if midnight is None else Lastmod(float(midnight), Granularity.DAY)


@lru_cache(maxsize=_REMEMBERED)
def _tail(text: str) -> tuple[float, Granularity] | None:
    """The part after `hh:mm`: the seconds less the zone, and their precision."""
    match = _TAIL.fullmatch(text)
    if match is None:
        return None
    seconds = int(match["second"] or 0) - _zone(match["zone"])
    if match["fraction"] is not None:
        return seconds + float(f"0.{match['fraction']}"), Granularity.FRACTION
    return float(seconds), Granularity.MINUTE if match["second"] is None else Granularity.SECOND


@lru_cache(maxsize=_REMEMBERED)
def _imf_day(text: str) -> float | None:
    """The day of an IMF-fixdate (RFC 9110 section 5.6.7), `Sun, 06 Nov 1994`, as POSIX seconds."""
    match = _match_english(text) if _IMF_DAY.fullmatch(text) else None
    read = None if match is None else _read_match(match, None)
    return None if read is None else read.at


@lru_cache(maxsize=_REMEMBERED)
def _midnight(day: str) -> int | None:
    """`YYYY-MM-DD` as POSIX seconds, where it is well formed and no zone can carry it out of the calendar."""
    if len(day) != 10 or not day.isascii() or day[4] != "-" or day[7] != "-":
        return None
    year, month, day_of_month = day[:4], day[5:7], day[8:]
    if not (year.isdigit() and month.isdigit() and day_of_month.isdigit()) or not "1000" <= year < "9999":
        return None
    return _days(int(year), int(month), int(day_of_month))


def _days(year: int, month: int, day: int) -> int | None:
    """Midnight of a day as POSIX seconds; `None` for an invalid day, or a zero date of databases."""
    if (year, month, day) == (1, 1, 1):
        return None
    try:
        return (date(year, month, day).toordinal() - _EPOCH_ORDINAL) * _DAY
    except ValueError:
        return None


def _read_any_w3c(text: str) -> Lastmod | None:
    text = text.strip()
    if len(text) > LONGEST:
        return None
    w3c = _pattern(_W3C).fullmatch(text)
    match = w3c or _pattern(_COMPACT).fullmatch(text)
    if match is None or (match["day"] is None and not text[0].isdigit()):  # months have no weekday
        return None
    midnight = _days(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    if midnight is None:
        return None
    if match["day"] is None:
        return Lastmod(float(midnight), Granularity.YEAR if match["month"] is None else Granularity.MONTH)
    return _with_time(midnight, match, match["half"] if w3c else None)


def _read_by_numbers(text: str) -> Lastmod | None:
    """Day, month and year: with dots always in this order, else in the one order that makes a date."""
    text = text.strip()
    match = _pattern(_BY_NUMBERS).fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    day, month = int(match["one"]), int(match["other"])
    if match["gap"] != "." and month > 12:
        day, month = month, day
    elif match["gap"] != "." and day <= 12 and day != month:
        return None
    midnight = _days(int(match["year"]), month, day)
    return None if midnight is None else _with_time(midnight, match, match["half"])


def _read_posix(text: str) -> Lastmod | None:
    """The time of a computer, from 2001 to 2033: ten digits, or thirteen where it counts milliseconds."""
    match = _pattern(_POSIX).fullmatch(text.strip())
    return None if match is None else Lastmod(float(match[1]), Granularity.SECOND)


def _match_english(text: str) -> re.Match[str] | None:
    """A date with its month by name: HTTP's three forms, mail's, and common variants."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    return (
        _pattern(_DAY_FIRST).fullmatch(text)
        or _pattern(_YEAR_LAST).fullmatch(text)
        or _pattern(_MONTH_FIRST).fullmatch(text)
    )


def _read_match(match: re.Match[str], now: float | None) -> Lastmod | None:
    month = _MONTH_NUMBERS.get(match["month"].lower())
    if month is None:
        return None
    if len(match["year"]) == 2 and now is not None:
        return _in_latest_century(int(match["year"]), month, match, now)
    return _in_year(_full_year(match["year"]), month, match)


def _in_year(year: int, month: int, match: re.Match[str]) -> Lastmod | None:
    midnight = _days(year, month, int(match["day"]))
    return None if midnight is None else _with_time(midnight, match, match["half"])


def _in_latest_century(year: int, month: int, match: re.Match[str], now: float) -> Lastmod | None:
    """The latest date with these two digits that lies at most 50 years ahead (RFC 9110 section 5.6.7)."""
    if not _FIRST <= now < _END:
        return None
    this = _moment(now).year // 100 * 100
    dates = (_in_year(century + year, month, match) for century in (this + 100, this, this - 100))
    return next((read for read in dates if read is not None and read.at <= now + _FIFTY_YEARS), None)


def _full_year(digits: str) -> int:
    """RFC 5322 section 4.3: 00-49 is 2000-2049, 50-99 and all of three digits count from 1900."""
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + 2000 if len(digits) == 2 and year < 50 else year + 1900


def _with_time(midnight: int, match: re.Match[str], half: str | None) -> Lastmod | None:
    """Add the clock and take the zone away; a day alone is in UTC, whatever zone it names."""
    if match["hour"] is None:
        return Lastmod(float(midnight), Granularity.DAY)
    clock = _clock(_hour(int(match["hour"]), half), int(match["minute"]), int(match["second"] or 0))
    if clock is None:
        return None
    at = midnight + clock - _zone(match["zone"])
    if not _FIRST <= at < _END:
        return None
    if match["second"] is None:
        return Lastmod(float(at), Granularity.MINUTE)
    if match["fraction"] is None:
        return Lastmod(float(at), Granularity.SECOND)
    return Lastmod(min(at + float(f"0.{match['fraction']}"), _END - 0.001), Granularity.FRACTION)


def _hour(hour: int, half: str | None) -> int:
    """The hour of a clock of 24, from one of 12 where it says which half of the day it means."""
    if half is None or not 1 <= hour <= 12:
        return hour
    return hour % 12 + (12 if half in "Pp" else 0)


def _clock(hour: int, minute: int, second: int) -> int | None:
    """Seconds since midnight. ISO 8601 has a 24:00, and leap seconds count as the next second, as POSIX has it."""
    if (hour, minute, second) == (24, 0, 0):
        return _DAY
    if hour > 23 or minute > 59 or second > 60:
        return None
    return hour * 3600 + minute * 60 + second


def _zone(text: str | None) -> int:
    """Seconds east of Greenwich. An invalid zone counts as UTC, so the day is right within one."""
    if not text:
        return 0
    sign = max(text.find("+"), text.find("-"))
    if sign < 0:
        return _ZONES.get(text.upper(), 0) * 3600
    digits = text[sign + 1 :].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if hours > 23 or minutes > 59:
        return 0
    return (hours * 3600 + minutes * 60) * (1 if text[sign] == "+" else -1)


def _moment(at: float) -> datetime:
    """The second that `at` lies in."""
    if not _FIRST <= at < _END:
        raise ValueError(f"{at} is outside the years 1 to 9999")
    return _EPOCH + timedelta(seconds=floor(at))
