"""The values of the fields that RFC 9309 does not define but sites write: each a text in, a value or `None` out.

`Crawl-delay` (Microsoft, Yandex), `Request-rate` and `Visit-time` (the extended standard of 1996), `Clean-param`
(Yandex), `Sitemap` (sitemaps.org), `Content-Usage` (IETF aipref) and `Content-Signal` (contentsignals.org).

Patterns here have no two neighbouring repetitions that can take the same character, so that no value makes them slow.
"""

from __future__ import annotations

import re
from datetime import time

from .charset import as_text
from .patterns import escaped
from .values import CleanParam, RequestRate, UsageRule, VisitTime

_BLANK = " \t\v\f"
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


def read_usage(field: str, octets: str) -> UsageRule:
    """A preference about use, and perhaps the path that it is about: `train-ai=n`, `/images/ train-ai=n`."""
    path, value = "/", octets
    if octets.startswith("/"):
        path, *rest = _BLANKS.split(octets, maxsplit=1)
        value = rest[0] if rest else ""
    return UsageRule(field, escaped(path), as_text(value))


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
