"""Checks of robots.txt, from the file as it was last fetched."""

from __future__ import annotations

from typing import Final

from periplus.formats.robots import parse
from periplus.model import RobotsFile

from .results import Example, Finding
from .site_table import EXAMPLES, Found, finding

_DAY: Final = 86_400
"""Seconds."""
_SLOW_SECONDS: Final = 5.0
"""Crawl-delay above which a crawl of 20,000 pages takes more than a day."""
_OTHER_AGENT: Final = "periplus-audit-any"
"""A user agent that no file names: the rules for all crawlers without a group of their own."""


def check_robots(file: RobotsFile | None, home: str, *, has_sitemap: bool) -> list[Finding]:
    """Check the robots.txt of a site; no findings if it was never requested."""
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
    if not robots.allows(_OTHER_AGENT, home):
        found += finding("robots-closed", Found(1))
    if has_sitemap and not robots.sitemaps:
        found += finding("robots-silent", Found(1))
    delay = robots.crawl_delay(_OTHER_AGENT)
    if delay is not None and delay > _SLOW_SECONDS:
        found += finding("robots-slow", Found(1), delay=delay, limit=f"{int(_DAY / delay):,}")
    return found
