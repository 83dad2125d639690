"""Writing a robots.txt: what is written here, `parse` reads back as the same value."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from .document import Robots
from .values import CleanParam, Group, RequestRate, VisitTime

_BREAKS = frozenset("\r\n#\0")
_BLANK = " \t\v\f"


def write(robots: Robots) -> bytes:
    """The file for `robots`, in UTF-8.

    Raises `ValueError` for a text that no line can hold: with a line break, a `#`, or white space around it.
    """
    blocks = [*map(_group_lines, robots.groups), _site_lines(robots)]
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks).strip("\n").encode() + b"\n"


def _group_lines(group: Group) -> Iterator[str]:
    """A group that has no rule ends with an empty one: without it the next group's rules would hold for it too."""
    for agent in group.agents or ("",):
        yield _line("User-agent", agent)
    if group.crawl_delay is not None:
        yield _line("Crawl-delay", f"{Decimal(repr(group.crawl_delay)):f}")
    if group.request_rate is not None:
        yield _line("Request-rate", _rate(group.request_rate))
    if group.visit_time is not None:
        yield _line("Visit-time", _hours(group.visit_time))
    for pattern in group.noindex:
        yield _line("Noindex", pattern)
    for usage in group.usage:
        path = "" if usage.pattern == "/" else usage.pattern
        yield _line(usage.field.title(), f"{path} {usage.value}".strip(_BLANK))
    for rule in group.rules:
        yield _line("Allow" if rule.allows else "Disallow", rule.pattern)
    if not group.rules:
        yield "Disallow:"


def _site_lines(robots: Robots) -> Iterator[str]:
    if robots.host is not None:
        yield _line("Host", robots.host)
    for clean_param in robots.clean_params:
        yield _line("Clean-param", _clean_param(clean_param))
    for sitemap in robots.sitemaps:
        yield _line("Sitemap", sitemap)


def _line(name: str, value: str) -> str:
    if not _BREAKS.isdisjoint(value) or value != value.strip(_BLANK):
        raise ValueError(f"no line of a robots.txt can hold {value!r}")
    return f"{name}: {value}" if value else f"{name}:"


def _rate(rate: RequestRate) -> str:
    hours = f" {_hours(rate.hours)}" if rate.hours is not None else ""
    return f"{rate.requests}/{rate.seconds}{hours}"


def _hours(hours: VisitTime) -> str:
    return f"{hours.start:%H%M}-{hours.end:%H%M}"


def _clean_param(clean_param: CleanParam) -> str:
    names = "&".join(clean_param.params)
    return f"{names} {clean_param.path}" if clean_param.path else names
