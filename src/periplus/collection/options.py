"""The options of a crawl as settings: one list of names for the command line and for programs.

A name here is the name of the option (`--limit`) and of the keyword (`limit=`). `None` leaves the setting as the
collection has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from periplus.model import ConfigError, UsageError

from .config.fields import parse_duration, parse_size

FOCUSED: Final = "focused"
"""The ordering of a crawl with a topic, unless another is asked for."""


def crawl_settings(
    *,
    limit: int | None = None,
    max_bytes: str | int | None = None,
    media: str | Sequence[str] | None = None,
    depth: int | None = None,
    scope: str | None = None,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    for_: str | float | None = None,
    order: str | None = None,
    order_by: str | Path | None = None,
    sitemap: str | Sequence[str] | None = None,
    sitemaps: bool | None = None,
    render: str | None = None,
    rate: float | None = None,
    workers: int | None = None,
    forms: bool | None = None,
    topic: str | None = None,
    like: str | Sequence[str] | None = None,
    unlike: str | Sequence[str] | None = None,
    topic_by: str | None = None,
) -> dict[str, object]:
    """The settings of the options for what to crawl, and how fast."""
    if topic or like or topic_by:
        order = order or FOCUSED
        sitemaps = sitemaps or False
    return {
        "topic.words": topic,
        "topic.like": several("--like", like),
        "topic.unlike": several("--unlike", unlike),
        "topic.program": topic_by,
        "topic.examples": 0 if like or unlike else None,
        "crawl.limit": limit,
        "crawl.max_bytes": byte_count("--max-bytes", max_bytes),
        "media.types": media_types(media),
        "crawl.for": duration("--for", for_),
        "crawl.rate": rate,
        "crawl.workers": workers,
        "forms.enabled": None if forms is None else "submit" if forms else "discover",
        "crawl.ordering": order,
        "ordering.by": str(Path(order_by).resolve()) if order_by else None,
        "sitemaps.submitted": several("--sitemap", sitemap),
        "sitemaps.follow": True if sitemap else sitemaps,
        "render.mode": render,
        "scope.kind": scope,
        "budgets.max_depth": depth,
        "patterns.include": several("--include", include),
        "patterns.exclude": several("--exclude", exclude),
    }


def wire_settings(
    contact: str | None = None,
    delay: str | float | None = None,
    resolve: Iterable[str] | Mapping[str, str] | None = None,
    allow_private: str | Sequence[str] | None = None,
    proxy: str | None = None,
    ca_file: str | Path | None = None,
) -> dict[str, object]:
    """The settings of the options that all commands with requests have: contact, politeness, addresses, proxy, TLS."""
    return {
        "crawl.contact": contact,
        "politeness.delay": duration("--delay", delay),
        "dns.hosts": addresses(resolve or ()),
        "wire.allow_private": several("--allow-private", allow_private),
        "wire.proxy": proxy,
        "wire.ca_file": str(Path(ca_file).resolve()) if ca_file else None,
    }


def several(option: str, values: str | Iterable[str] | None) -> list[str] | None:
    """The values of an option that may be repeated; a single text is one value."""
    if not values:
        return None
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Iterable):
        raise UsageError(f"{option}: expected a text or a list of texts, got {values!r}")
    return list(values)


def duration(option: str, value: str | float | None) -> float | None:
    """A length of time in seconds; a text such as `1h30m` is read as it is on the command line."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        return parse_duration(value)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def byte_count(option: str, value: str | int | None) -> int | None:
    """A number of bytes; a text such as `10MB` is read as it is on the command line."""
    if value is None or isinstance(value, int):
        return value
    try:
        return parse_size(value)
    except ConfigError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error


def media_types(given: str | Sequence[str] | None) -> list[str] | None:
    """Types of files, each by itself or several with commas between."""
    texts = [given] if isinstance(given, str) else given or []
    return [one.strip() for text in texts for one in text.split(",") if one.strip()] or None


def addresses(pairs: Iterable[str] | Mapping[str, str]) -> dict[str, str] | None:
    """Names with their addresses: a table, or texts of the form `NAME=IP`."""
    if isinstance(pairs, Mapping):
        return {name.lower(): address for name, address in pairs.items()} or None
    found = {}
    for pair in pairs:
        name, equals, address = pair.partition("=")
        if not (name and equals and address):
            raise UsageError(
                f"--resolve must be NAME=ADDRESS, got {pair}", hint="write --resolve www.example.org=192.0.2.1"
            )
        found[name.lower()] = address
    return found or None


def moment_of(text: str | None, now: float) -> float | None:
    """A time as people write it: a date, a time of a day, or how long ago."""
    if text is None:
        return None
    hint = "write 2026-11-14, 2026-11-14T10:30Z, 2d or 1h30m"
    try:
        written = datetime.fromisoformat(text.strip())
        at = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        try:
            at = now - parse_duration(text)
        except ConfigError as error:
            raise UsageError(f"{text!r} is not a time", hint=hint) from error
    try:
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is not a time between the years 1 and 9999", hint=hint) from error
    return at
