"""Checks of robots.txt as it was last fetched: its access, its lines, and what its rules match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from periplus.formats.robots import Robots, parse, path_of
from periplus.formats.robots.fields import FIELDS, field_of
from periplus.formats.robots.patterns import patterns_of
from periplus.model import RobotsFile
from periplus.view.findings import FaultyUrl

from .results import SiteFinding
from .site_table import EXAMPLES, Found, SiteTable, finding

_DAY: Final = 86_400
"""Seconds."""
_SLOW_SECONDS: Final = 5.0
"""Crawl-delay above which a crawl of 20,000 pages takes more than a day."""
_OTHER_AGENT: Final = "periplus-audit-any"
"""A user agent that no file names: the rules for all crawlers without a group of their own."""
_MAX_BYTES: Final = 500 << 10
"""Bytes that every crawler must read at least (RFC 9309); many read no more."""
_MAX_RULES: Final = 200
"""Rules whose matches are looked for."""
_MAX_URLS: Final = 200_000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_KNOWN: Final = "select url from audited union select url from audited_embedded where url is not null limit $most"
_FILES: Final = """
select url, kind, min(page) as page from audited_embedded
where kind in ('style', 'script') group by url, kind order by url limit 5000
"""


def check_robots(file: RobotsFile | None, home: str, *, has_sitemap: bool) -> list[SiteFinding]:
    """Check the robots.txt of a site by itself; no findings if it was never requested."""
    if file is None:
        return []
    if file.access == "none":
        detail = f"status {file.status}" if file.status else file.reason or "no answer"
        return finding("robots-unreachable", Found(1), detail=detail)
    if file.access != "rules":
        return finding("robots-silent", Found(1)) if has_sitemap else []
    robots = parse(file.body)
    found = finding("robots-format", _noted(f"{each.reason}: {each.detail}" for each in robots.problems))
    if not robots.allows(_OTHER_AGENT, home):
        found += finding("robots-closed", Found(1))
    if has_sitemap and not robots.sitemaps:
        found += finding("robots-silent", Found(1))
    delay = robots.crawl_delay(_OTHER_AGENT)
    if delay is not None and delay > _SLOW_SECONDS:
        found += finding("robots-slow", Found(1), delay=delay, limit=f"{int(_DAY / delay):,}")
    return [*found, *_spelling(file.body, robots)]


def _spelling(body: bytes, robots: Robots) -> list[SiteFinding]:
    relative = [f"Sitemap: {url}" for url in robots.sitemaps if not url.lower().startswith(("http://", "https://"))]
    return [
        *finding("robots-misspelt", _noted(_misspelt(robots.fields))),
        *finding("robots-sitemap-url", _noted(relative)),
        *finding("robots-bom", Found(int(body.startswith(_BYTE_ORDER_MARK)))),
        *finding("robots-large", Found(int(len(body) > _MAX_BYTES))),
    ]


def _noted(notes: Iterable[str]) -> Found:
    lines = list(notes)
    return Found(len(lines), tuple(FaultyUrl("", line) for line in lines[:EXAMPLES]))


def _misspelt(names: Iterable[str]) -> Iterable[str]:
    """Names of fields that are nearly those of the standard: most crawlers do not guess what is meant."""
    for name in names:
        if name in FIELDS:
            continue
        meant = field_of(name) or next(iter(get_close_matches(name, FIELDS, 1, 0.8)), "")
        if meant:
            yield f"{name}, for {meant}"


def check_rules(file: RobotsFile | None, table: SiteTable, *, is_whole: bool) -> list[SiteFinding]:
    """Check what the rules match: style sheets and scripts should be open, and every rule should match something.

    A site with pages should have rules, even if they allow everything.
    """
    if file is None or file.access != "rules":
        is_missing = file is not None and file.status in (404, 410) and table.count("is_page") > 0
        return finding("robots-missing", Found(int(is_missing)))
    robots = parse(file.body)
    files = table.views.database.execute(_FILES).fetchall()
    own = [(url, kind, page) for url, kind, page in files if f"://{file.site}/" in url]
    blocked = [(url, kind, page) for url, kind, page in own if not robots.allows(_OTHER_AGENT, url)]
    examples = tuple(FaultyUrl(url, kind, page) for url, kind, page in blocked)
    closed = Found(len(blocked), examples[: max(EXAMPLES, table.examples)])
    found = finding("robots-blocks-files", closed, len(own))
    if is_whole and robots.allows(_OTHER_AGENT, f"http://{file.site}/"):
        urls = [url for (url,) in table.views.database.execute(_KNOWN, {"most": _MAX_URLS}).fetchall()]
        paths = [path_of(url) for url in urls if f"://{file.site}/" in url]
        idle = list(_idle_rules(robots, paths))
        rules = sum(len(group.rules) for group in robots.groups)
        found += finding("robots-unmatched", _noted(idle), rules)
    return found


def _idle_rules(robots: Robots, paths: Sequence[str]) -> Iterable[str]:
    """Rules for all crawlers that match none of the paths."""
    rules = {
        rule.pattern: rule for group in robots.groups if "*" in group.agents for rule in group.rules if rule.pattern
    }
    for pattern, rule in list(rules.items())[:_MAX_RULES]:
        patterns = list(patterns_of(rule))
        if patterns and not any(each.matches(path) for each in patterns for path in paths):
            yield f"{'Allow' if rule.allows else 'Disallow'}: {pattern}"
