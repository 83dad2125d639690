"""Caching and validators: how long a response is valid, and how to revalidate it.

Validators are RFC 9110 section 8.8, freshness is RFC 9111, `immutable` RFC 8246, the `stale-*` pair RFC 5861 and
Retry-After RFC 9110 section 10.2.3. Nothing here guesses: a response that names no lifetime has none (the heuristics
of RFC 9111 section 4.2.2 are weaker than what `engine.revisit` learns).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from periplus.model import Validators

from .. import dates
from .fields import LONGEST_VALUE, Headers, elements

LONGEST_WAIT = 30 * 86400.0
"""Maximum seconds of a Retry-After."""

_MOST_SECONDS = 2**31
_LONGEST_ETAG = 1024
_ETAG = re.compile(r'(?P<weak>[Ww]/)?"(?P<tag>[^"\x00-\x20\x7f]*)"')
_BARE_ETAG = re.compile(r"(?P<weak>[Ww]/)?'?(?P<tag>[^\"'\x00-\x20\x7f]+)'?")
_SECONDS = re.compile(r'"?(-?)(\d{1,64})(?:\.\d*)?\s*(?:s|sec|secs|seconds)?"?', re.ASCII | re.IGNORECASE)


class ETag(Struct, frozen=True):
    """An entity tag. Weak ones promise the same meaning, strong ones the same bytes."""

    tag: str
    is_weak: bool = False


class CacheControl(Struct, frozen=True):
    """The directives of a response. Durations are in seconds, `None` if not given."""

    no_store: bool = False
    no_cache: bool = False
    private: bool = False
    public: bool = False
    must_revalidate: bool = False
    proxy_revalidate: bool = False
    no_transform: bool = False
    must_understand: bool = False
    immutable: bool = False
    max_age: int | None = None
    s_maxage: int | None = None
    stale_while_revalidate: int | None = None
    stale_if_error: int | None = None


_LENGTHS = frozenset({"max_age", "s_maxage", "stale_while_revalidate", "stale_if_error"})
_FLAGS = frozenset(CacheControl.__struct_fields__) - _LENGTHS


def read_etag(text: str) -> ETag | None:
    """An entity tag, also one whose quotes were forgotten; send back what came, not what this makes of it."""
    text = text.strip()
    if len(text) > _LONGEST_ETAG:
        return None
    match = _ETAG.fullmatch(text) or _BARE_ETAG.fullmatch(text)
    return None if match is None else ETag(match["tag"], match["weak"] is not None)


def read_last_modified(text: str, now: float | None = None) -> float | None:
    """The server's date of the last change; also in the format of a sitemap."""
    at = dates.read_http(text, now)
    if at is not None:
        return at
    read = dates.read_w3c(text)
    return None if read is None else read.at


def validators_of(headers: Headers) -> Validators | None:
    """The validators for a later conditional request, exactly as received; `None` if there are none."""
    etag, last_modified = headers.get("etag"), headers.get("last-modified")
    if etag is not None and read_etag(etag) is None:
        etag = None
    if last_modified is not None and dates.read_http(last_modified) is None:
        last_modified = None
    return None if etag is None and last_modified is None else Validators(etag, last_modified)


def read_retry_after(text: str, now: float) -> float | None:
    """Seconds to wait from `now`, between 0 and `LONGEST_WAIT`; `None` for what is neither a number nor a date.

    A negative number is a server's mistake, not leave to come back at once: it says nothing, either.
    """
    text = text.strip()
    seconds = _SECONDS.fullmatch(text) if len(text) <= dates.LONGEST else None
    if seconds is not None:
        if seconds[1]:
            return None
        wait = float(seconds[2])
    else:
        at = read_last_modified(text, now)
        if at is None:
            return None
        wait = at - now
    return min(max(wait, 0.0), LONGEST_WAIT)


def read_cache_control(values: str | Iterable[str]) -> CacheControl:
    """Parse one value or all of them. Of a repeated length the shortest counts, and an invalid length is 0: stale."""
    limits: dict[str, int] = {}
    for value in (values,) if isinstance(values, str) else values:
        for element in elements(value):
            name, _, argument = element.partition("=")
            name = name.strip().lower().replace("-", "_")
            if name in _FLAGS:
                limits[name] = True
            elif name in _LENGTHS:
                seconds = _delta_seconds(argument)
                limits[name] = min(seconds, limits.get(name, seconds))
    return CacheControl(**limits)  # type: ignore[arg-type]  # flags are bool, lengths int, by the two branches above


def fresh_for(headers: Headers, now: float) -> float | None:
    """Seconds for which the server, as of `now` when the response arrived, promises no change (RFC 9111 section 4.2).

    `None` where it promises nothing, 0 where it requires revalidation. We keep pages for ourselves, so `s-maxage`,
    which applies to shared caches, and `private`, which excludes them, do not count.
    """
    control = read_cache_control(headers.all("cache-control"))
    if control.no_store or control.no_cache:
        return 0.0
    sent_at = dates.read_http(headers.get("date") or "", now)
    lifetime = _lifetime(control, headers, now if sent_at is None else sent_at, now)
    if lifetime is None:
        return None
    return max(0.0, lifetime - _age(headers, sent_at, now))


def _lifetime(control: CacheControl, headers: Headers, sent_at: float, now: float) -> float | None:
    """RFC 9111 section 4.2.1. An Expires that is not a date means "already" (section 5.3)."""
    if control.max_age is not None:
        return float(control.max_age)
    expires = headers.get("expires")
    if expires is None:
        return None
    expires_at = dates.read_http(expires, now)
    return 0.0 if expires_at is None else expires_at - sent_at


def _age(headers: Headers, sent_at: float | None, now: float) -> float:
    """The age of the response on arrival, by its Age field or by our clock (RFC 9111 section 4.2.3)."""
    value = headers.get("age")
    apparent = 0.0 if sent_at is None else max(0.0, now - sent_at)
    return max(apparent, float(_delta_seconds(value.partition(",")[0])) if value else 0.0)


def _delta_seconds(text: str) -> int:
    match = _SECONDS.fullmatch(text.strip()[:LONGEST_VALUE])
    if match is None or match[1]:
        return 0
    return min(int(match[2]), _MOST_SECONDS)
