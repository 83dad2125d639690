"""Does robots.txt say what it should? From the file itself, as it was last read."""

from __future__ import annotations

from typing import Final

from periplus.formats.robots import parse
from periplus.model import RobotsFile

from .gathering import EXAMPLES, Found, finding
from .values import Example, Finding

_DAY: Final = 86_400
_SLOW_SECONDS: Final = 5.0
_ANYBODY: Final = "periplus-audit-nobody"
"""A crawler that no file names: what holds for it holds for all that are not named."""


def permissions(file: RobotsFile | None, home: str, *, has_sitemap: bool) -> list[Finding]:
    """What is wrong with the robots.txt of a site; nothing if it was never asked for."""
    if file is None:
        return []
    if file.access == "none":
        detail = f"status {file.status}" if file.status else file.reason or "no answer"
        return finding("robots-unreachable", Found(1), detail=detail)
    if file.access != "rules":
        return finding("robots-silent", Found(1)) if has_sitemap else []
    robots = parse(file.body)
    problems = Found(
        len(robots.problems),
        tuple(Example("", f"{problem.reason}: {problem.detail}") for problem in robots.problems[:EXAMPLES]),
        {},
    )
    found = finding("robots-format", problems)
    if not robots.allows(_ANYBODY, home):
        found += finding("robots-closed", Found(1))
    if has_sitemap and not robots.sitemaps:
        found += finding("robots-silent", Found(1))
    delay = robots.crawl_delay(_ANYBODY)
    if delay is not None and delay > _SLOW_SECONDS:
        found += finding("robots-slow", Found(1), delay=delay, limit=f"{int(_DAY / delay):,}")
    return found
