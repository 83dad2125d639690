"""Rows of `discoveries`: every URL that was offered, by whom, and what became of the offer."""

from __future__ import annotations

from periplus.model import NO_HINTS, Discovered, Discovery, Granularity, Lastmod, Refused
from periplus.urls import site_of

Row = tuple[object, ...]

_GRANULARITIES = tuple(granularity.name.lower() for granularity in Granularity)
_NO_HINTS = (None,) * 6


def discovery_row(event: Discovered) -> Row:
    """The row of a URL that nobody refused."""
    return (*_facts(event.discovery), event.is_new, *_hints(event.discovery), None, None)


def refusal_row(event: Refused) -> Row:
    """The row of a URL that a filter would not have. Whether it was new nobody asked."""
    return (*_facts(event.discovery), None, *_hints(event.discovery), event.reason, event.rule)


def lastmod_values(lastmod: Lastmod | None) -> tuple[float | None, str | None]:
    """When, and how finely that was written."""
    return (None, None) if lastmod is None else (lastmod.at, _GRANULARITIES[lastmod.granularity])


def _facts(discovery: Discovery) -> Row:
    url = discovery.url
    return (
        url,
        site_of(url),
        discovery.source.value,
        discovery.found_at,
        discovery.depth,
        discovery.redirects,
        discovery.referrer,
    )


def _hints(discovery: Discovery) -> Row:
    hints = discovery.hints
    if hints is NO_HINTS:
        return _NO_HINTS
    changefreq = hints.changefreq
    return (
        *lastmod_values(hints.lastmod),
        None if changefreq is None else changefreq.value,
        hints.priority,
        hints.anchor,
        hints.title,
    )
