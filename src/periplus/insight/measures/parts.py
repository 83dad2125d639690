"""Which URLs a measure is of: a domain, a site, whatever begins with a prefix, first seen in a span of time.

A span selects URLs by when anybody first told of them, from `since` up to `until`, and takes them as they were known
at its end: whom it had not been told by, it was not told by, and what was not asked for was not crawled. So SeenDelta
is over the URLs first seen within the span by both, as the paper has it. What pages say is what they said last.
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct


class Part(Struct, frozen=True):
    """Some of the URLs of a collection; all that is said must hold. Times are POSIX seconds."""

    domain: str = ""
    site: str = ""
    prefix: str = ""
    since: float | None = None
    until: float | None = None


EVERYTHING = Part()


def urls_of(part: Part) -> str:
    """What to put behind `from`: the table `urls`, or a part of it, as SQL that stands for itself."""
    wheres = [
        *([f"domain = {_text(part.domain)}"] if part.domain else []),
        *([f"site = {_text(part.site)}"] if part.site else []),
        *([f"starts_with(url, {_text(part.prefix)})"] if part.prefix else []),
        *([f"first_seen_at >= {moment(part.since)}"] if part.since is not None else []),
        *([f"first_seen_at < {moment(part.until)}"] if part.until is not None else []),
    ]
    if not wheres:
        return "urls"
    columns = "*" if part.until is None else f"* replace ({_as_of(moment(part.until))})"
    return f"(select {columns} from urls where {' and '.join(wheres)})"


def _as_of(end: str) -> str:
    """What was not known at the end of the span is not known."""
    told = [
        f"case when {source}_at < {end} then {source}_at end as {source}_at,"
        f" coalesce({source}_at < {end}, false) as by_{source}"
        for source in ("sitemaps", "discovery")
    ]
    made = [f"{claim} and first_visited_at < {end} as {claim}" for claim in ("is_crawled", "is_page", "is_indexable")]
    return ", ".join([*told, *made])


def moment(at: float) -> str:
    """A time in SQL, to the microsecond."""
    return f"timestamptz '{datetime.fromtimestamp(at, UTC).isoformat(sep=' ')}'"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
