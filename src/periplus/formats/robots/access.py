"""What a robots.txt means for one crawler.

RFC 9309 section 2.2.1: a crawler obeys every group that names its product token, in any letter case, as if they were
one; where none does, those for `*`; where there are none of those either, everything is allowed. A product token
consists of letters, `_` and `-`, and of an agent line only that much counts: `Foobot/2.1` names Foobot. A crawler
whose own name holds anything else (`bot2`) cannot be named by a robots.txt; `is_valid_agent` tells beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .patterns import PatternSet, path_of
from .values import Group, RequestRate, Rule, Ruling, VisitTime

EVERYBODY = "*"

_TOKEN = re.compile(r"[A-Za-z_-]*")
_PRODUCT = re.compile(r"([A-Za-z_-]+)(?:/|\s*\(|\Z)")
_EVERYBODY_LINE = re.compile(r"\*(?:\s|\Z)")

_UNSPOKEN = Ruling(True)


def is_valid_agent(agent: str) -> bool:
    """Whether a robots.txt can name this crawler: letters, `_` and `-` only."""
    return bool(agent) and _TOKEN.fullmatch(agent) is not None


def product_token(agent: str) -> str:
    """The name in a User-Agent header (`Foobot/2.1 (+https://...)`) or the name itself, in lower case; or nothing."""
    match = _PRODUCT.match(agent)
    return match[1].lower() if match else ""


def named_token(agent_line: str) -> str:
    """Whom an agent line names: a product token in lower case, `*`, or nobody."""
    if _EVERYBODY_LINE.match(agent_line):
        return EVERYBODY
    match = _TOKEN.match(agent_line)
    return match[0].lower() if match else ""


class Access:
    """What one crawler may do on one site. All that a crawler needs to keep of a robots.txt.

    Where a site says two things about speed, the slower one is kept.
    """

    __slots__ = ("_noindex", "_patterns", "crawl_delay", "request_rate", "visit_time")

    def __init__(self, groups: Sequence[Group]) -> None:
        self.crawl_delay = slower_delay(*(group.crawl_delay for group in groups))
        self.request_rate = slower_rate(*(group.request_rate for group in groups))
        self.visit_time: VisitTime | None = next((group.visit_time for group in groups if group.visit_time), None)
        self._patterns = PatternSet(rule for group in groups for rule in group.rules)
        self._noindex = PatternSet(Rule(False, pattern) for group in groups for pattern in group.noindex)

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        path = path_of(url)
        rule = self._patterns.find(path)
        return rule is None or rule.allows or path == "/robots.txt"

    def verdict(self, url: str) -> Ruling:
        """Whether the URL may be fetched, and by which rule. `/robots.txt` itself always may (RFC 9309, 2.2.2)."""
        path = path_of(url)
        rule = self._patterns.find(path)
        return _UNSPOKEN if rule is None or path == "/robots.txt" else Ruling(rule.allows, rule)

    def may_index(self, url: str) -> bool:
        """Whether no `Noindex` line covers the URL."""
        return self._noindex.find(path_of(url)) is None


def slower_delay(*delays: float | None) -> float | None:
    """The longest of the delays that were given."""
    return max((delay for delay in delays if delay is not None), default=None)


def slower_rate(*rates: RequestRate | None) -> RequestRate | None:
    """The lowest of the rates that were given; the first of equal ones."""
    return min(
        (rate for rate in rates if rate is not None), key=lambda rate: rate.requests / rate.seconds, default=None
    )
