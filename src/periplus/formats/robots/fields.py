"""Reads the parts of a robots.txt: its bytes, the names of its fields, and the values of fields beyond RFC 9309.

The file should be UTF-8. Patterns are compared by octet (RFC 9309 section 2.2.2) and need no decoding, so a wrong
charset label does no harm: octets are handled as the Latin-1 string of the same codes, and only names and locations
become text.

Read here are the values of `Crawl-delay` (Microsoft, Yandex), `Request-rate` and `Visit-time` (the extended standard of
1996), `Clean-param` (Yandex), `Sitemap` (sitemaps.org), `Content-Usage` (IETF aipref), `Content-Signal`
(contentsignals.org) and `License` (RSL). No pattern has two neighbouring repetitions that match the same character, so
that no value is slow to read.
"""

from __future__ import annotations

import re
from datetime import time
from functools import lru_cache

from .patterns import escaped
from .values import CleanParam, RequestRate, UsageRule, VisitTime

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF_16_LE = re.compile(rb"(?:[\t-~]\0){4}")
_UTF_16_BE = re.compile(rb"(?:\0[\t-~]){4}")

_MARKUP = re.compile(
    rb"\s*<(?:!--|(?:!doctype|\?xml|html|head|body|title|meta|link|script|style|div|span|table|center|font|h\d|pre|p|br)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(rb"<(?:/?[a-z][a-z0-9]*(?:[ \t][^<>\r\n]*)?|![a-z-][^<>\r\n]*)>", re.IGNORECASE)
_AGENT_LINE = re.compile(rb"(?:^|[\r\n])[ \t]*user-?agent[ \t]*:", re.IGNORECASE)


def looks_like_html(body: bytes) -> bool:
    """Whether a web page was served in place of the file: it begins with markup, and no line of it names an agent.

    Many servers answer every address with a page and status 200. A true robots.txt that was wrapped in markup by
    mistake is still obeyed.
    """
    return _MARKUP.match(body) is not None and _AGENT_LINE.search(without_tags(body)) is None


def without_tags(body: bytes) -> bytes:
    """A robots.txt that was wrapped in markup by mistake as it was meant: `Disallow: /<br>` is about `/`.

    Blanks take the place of tags, so that lines and positions stay. A location in angle brackets is not a tag.
    """
    return _TAG.sub(lambda tag: b" " * len(tag[0]), body) if _MARKUP.match(body) else body


def as_octets(body: bytes) -> tuple[bytes, str | None]:
    """The file as UTF-8 or what claims to be, without byte order mark and NULs; and what was wrong, as a reason.

    A byte order mark may be cut short: each of its octets is skipped as long as they are in order, as Google's parser
    does. Half a character of UTF-16, where the file was cut, is none. The mark of UTF-16 before a line of ASCII that
    names an agent is skipped: some editors write it before any text.
    """
    wrong = None
    if body.startswith(_UTF_16_MARKS) and (b"\0" not in body or _AGENT_LINE.search(body[2:])):
        wrong, body = "utf-16", body[2:]
    if b"\0" in body:
        encoding = _utf_16(body)
        wrong = "utf-16" if encoding else "nul-bytes"
        text = body.decode(encoding, "ignore").encode() if encoding else body
        body = text.replace(b"\0", b"")
    if body[:1] == b"\xef":
        body = body[_length_of_mark(body) :]
    return body, wrong


def _length_of_mark(body: bytes) -> int:
    length = 0
    while length < 3 and body[length : length + 1] == _BYTE_ORDER_MARK[length : length + 1]:
        length += 1
    return length


def _utf_16(body: bytes) -> str | None:
    """By its mark, or by the look of ASCII in it: text has no NULs, and names are ASCII, so UTF-16 has some."""
    if body.startswith(_UTF_16_MARKS):
        return "utf-16"
    if _UTF_16_LE.match(body):
        return "utf-16-le"
    return "utf-16-be" if _UTF_16_BE.match(body) else None


def as_text(octets: str) -> str:
    """The text that octets spell: UTF-8, or Latin-1 where they are not."""
    if octets.isascii():
        return octets
    try:
        return octets.encode("latin-1").decode()
    except UnicodeDecodeError:
        return octets


MAX_NAME = 64
"""Maximum length; longer names are cut, and not names of fields."""

_BLANK = " \t\v\f"

ABOUT_USE = frozenset({"content-usage", "content-signal"})
"""The fields about the use of pages."""

FIELDS = (
    *("user-agent", "allow", "disallow", "sitemap"),
    *("crawl-delay", "request-rate", "visit-time", "noindex", "host", "clean-param"),
    *("content-usage", "content-signal", "license"),
)

_BEGINNINGS = {
    "user-agent": ("user-agent", "useragent", "user agent", "user_agent"),
    "allow": ("allow",),
    "disallow": ("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"),
    "sitemap": ("sitemap", "site-map"),
}

_WITHOUT_DASH = {
    name.replace("-", other): name
    for name in ("crawl-delay", "request-rate", "visit-time", "clean-param", "content-usage", "content-signal")
    for other in ("", " ", "_")
}

USUAL_SPELLINGS = {
    spelling: field for field in FIELDS for spelling in (field, field.capitalize(), field.title(), field.upper())
}
"""What nearly all names are written like: these need not be worked out."""


@lru_cache(maxsize=1024)
def field_of(name: str) -> str:
    """The field that a name stands for, ignoring letter case and blanks around it; the empty string if it is unknown.

    As in Google's parser, a name counts if it begins like a field of RFC 9309 or like one of its common misspellings.
    Other fields must be spelt right, except for the dash.
    """
    name = name.strip(_BLANK).lower()
    if name in FIELDS:
        return name
    for field, beginnings in _BEGINNINGS.items():
        if name.startswith(beginnings):
            return field
    return _WITHOUT_DASH.get(name, "")


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """A name as it is counted: the text it spells, without blanks, in lower case."""
    return as_text(name.strip(_BLANK)).lower()[:MAX_NAME]


_BLANKS = re.compile(f"[{_BLANK}]+")
_AROUND = " \t\v\f<>\"'`,;“”‘’"

_DELAY = re.compile(r"(\d{1,9}(?:[.,]\d{1,9})?|[.,]\d{1,9})\s*(?:s|secs?|seconds?)?\.?", re.ASCII | re.IGNORECASE)
_RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})\s*([a-z]*)\s*", re.ASCII | re.IGNORECASE)
_HOURS = re.compile(r"(\d{1,2})[:.]?(\d{2})[\s-]+(\d{1,2})[:.]?(\d{2})(?!\d)", re.ASCII)
_REPEATED_NAME = re.compile(rf"(?:site-?map\s*:[{_AROUND}]*)+", re.IGNORECASE)

_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def read_delay(text: str) -> float | None:
    """Seconds: `10`, `0.5`, `,5`, `10s`."""
    if text.isdigit() and text.isascii() and len(text) <= 9:
        return float(text)
    match = _DELAY.fullmatch(text)
    return float(match[1].replace(",", ".")) if match else None


def read_rate(text: str) -> RequestRate | None:
    """Requests in a time, and perhaps the hours in which this holds: `1/5`, `100/15m`, `1/10s 1820-1940`."""
    match = _RATE.match(text)
    if match is None:
        return None
    unit = _UNIT_SECONDS.get(match[3][:1].lower())
    requests, seconds = int(match[1]), int(match[2]) * (unit or 0)
    rest = text[match.end() :]
    hours = read_hours(rest) if rest else None
    if requests == 0 or seconds == 0 or (rest and hours is None):
        return None
    return RequestRate(requests, seconds, hours)


def read_hours(text: str) -> VisitTime | None:
    """Two times of the day in UTC: `0200-0630`, `0200 0630`, `02:00-06:30`, `02.00-06.30`."""
    match = _HOURS.match(text)
    if match is None:
        return None
    start_hour, start_minute, end_hour, end_minute = map(int, match.groups())
    if max(start_hour, end_hour) > 24 or max(start_minute, end_minute) > 59:
        return None
    return VisitTime(time(start_hour % 24, start_minute), time(end_hour % 24, end_minute))


def read_usage(field: str, octets: str, line: int = 0) -> UsageRule:
    """A preference about use, and perhaps the path that it is about: `train-ai=n`, `/images/ train-ai=n`."""
    path, value = "/", octets
    if octets.startswith("/"):
        path, *rest = _BLANKS.split(octets, maxsplit=1)
        value = rest[0] if rest else ""
    return UsageRule(field, escaped(path), as_text(value), line)


def read_license(octets: str) -> str:
    """The location in the value of a `License` line, without the quotes and angle brackets around it."""
    return as_text(octets).strip(_AROUND)


def read_clean_param(text: str) -> CleanParam | None:
    """Parameter names joined by `&`, and perhaps a path: `ref&sid /shop/`."""
    names, _, path = text.replace("\t", " ").partition(" ")
    params = tuple(name for name in names.split("&") if name)
    return CleanParam(params, path.strip()) if params else None


def read_sitemaps(text: str) -> list[str]:
    """The locations in the value of one line: usually one, sometimes several, dressed in quotes or angle brackets."""
    if " " in text or "\t" in text:
        words = _BLANKS.split(text.strip(_BLANK))
        if len(words) == 1 or all("://" in word for word in words):
            return [word for word in map(_undress, words) if word]
    location = _undress(text)
    return [location] if location else []


def _undress(text: str) -> str:
    text = text.strip(_AROUND)
    if text[:1] in "sS" and (repeated := _REPEATED_NAME.match(text)):
        return text[repeated.end() :]
    return text
