"""The rules of a robots.txt for one crawler.

RFC 9309 section 2.2.1: a crawler obeys every group that names its product token, in any letter case, as if they were
one; where none does, those for `*`; where there are none of those either, everything is allowed. A product token
consists of letters, `_` and `-`, and of an agent line only that much counts: `Foobot/2.1` names Foobot. A crawler
whose own name holds anything else (`bot2`) cannot be named by a robots.txt; `is_valid_agent` tells beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .patterns import path_of, patterns_of
from .rules import RuleSet
from .values import Group, RequestRate, Rule, Ruling, UsageRule, VisitTime

ANY_AGENT = "*"

MAX_USAGE_RULES = 200
"""Lines about use that are kept for one crawler: each is tried for every page. Files have one or two."""

_TOKEN = re.compile(r"[A-Za-z_-]*")
_PRODUCT = re.compile(r"([A-Za-z_-]+)(?:\s*[/(]|\Z)")
_ANY_AGENT_LINE = re.compile(r"\*(?:\s|\Z)")

_UNSPOKEN = Ruling(True)


def is_valid_agent(agent: str) -> bool:
    """Whether a robots.txt can name this crawler: letters, `_` and `-` only."""
    return bool(agent) and _TOKEN.fullmatch(agent) is not None


def product_token(agent: str) -> str:
    """The name in a User-Agent header (`Foobot/2.1 (+https://...)`) or the name itself, in lower case; or nothing."""
    match = _PRODUCT.match(agent)
    return match[1].lower() if match else ""


def named_token(agent_line: str) -> str:
    """The agent that a line names: a product token in lower case, `*`, or empty."""
    if agent_line.isalpha() and agent_line.isascii():
        return agent_line.lower()
    if _ANY_AGENT_LINE.match(agent_line):
        return ANY_AGENT
    match = _TOKEN.match(agent_line)
    return match[0].lower() if match else ""


class Access(RuleSet):
    """The rules and delays of a robots.txt for one crawler: all that it needs to keep.

    Of two conflicting speeds the slower one is kept.
    """

    __slots__ = ("crawl_delay", "request_rate", "usage", "visit_time")

    def __init__(self, groups: Sequence[Group]) -> None:
        self.crawl_delay: float | None = None
        self.request_rate: RequestRate | None = None
        self.visit_time: VisitTime | None = None
        self.usage: tuple[UsageRule, ...] = ()
        rules: list[Rule] = []
        for group in groups:
            self.crawl_delay = slower_delay(self.crawl_delay, group.crawl_delay)
            self.request_rate = slower_rate(self.request_rate, group.request_rate)
            self.visit_time = self.visit_time or group.visit_time
            rules += group.rules
            if group.usage:
                self.usage = (self.usage + group.usage)[:MAX_USAGE_RULES]
        super().__init__(rules)

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        rule = self.rule_for(url)
        return rule is None or rule.allows or is_robots_txt(url)

    def verdict(self, url: str) -> Ruling:
        """Whether the URL may be fetched, and the rule that says so."""
        rule = self.rule_for(url)
        return _UNSPOKEN if rule is None or is_robots_txt(url) else Ruling(rule.allows, rule)

    def usage_for(self, url: str) -> list[UsageRule]:
        """The lines about the use of a URL: for each field those with the longest matching path."""
        if not self.usage:
            return []
        path, found = path_of(url), list[UsageRule]()
        for rule in self.usage:
            if any(pattern.matches(path) for pattern in patterns_of(Rule(False, rule.pattern))):
                found.append(rule)
        longest: dict[str, int] = {}
        for rule in found:
            longest[rule.field] = max(longest.get(rule.field, 0), len(rule.pattern))
        return [rule for rule in found if len(rule.pattern) == longest[rule.field]]


def is_robots_txt(url: str) -> bool:
    """RFC 9309 section 2.2.2: the file itself is always allowed."""
    return "/robots.txt" in url and path_of(url) == "/robots.txt"


def slower_delay(one: float | None, other: float | None) -> float | None:
    """The longer of two delays, of which either may not be given."""
    return other if one is None or (other is not None and other > one) else one


def slower_rate(one: RequestRate | None, other: RequestRate | None) -> RequestRate | None:
    """The lower of two rates, of which either may not be given."""
    if one is None or other is None:
        return one or other
    return other if other.requests * one.seconds < one.requests * other.seconds else one
