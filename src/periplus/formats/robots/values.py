"""The contents of a robots.txt as values: rules, groups, and extensions.

`reader` parses them, `document` writes them and applies them to one crawler and one URL.
"""

from __future__ import annotations

from datetime import time

from msgspec import Struct


class Rule(Struct, frozen=True, eq=False, gc=False):
    """One `Allow` or `Disallow` line.

    `pattern` is the path pattern as matched: escapes in upper case, octets beyond ASCII escaped (RFC 9309 section
    2.2.2). `line` is where it was written, counted from 1, so that a person finds it; it is not part of what the rule
    says, and two rules that say the same are equal wherever they stand.
    """

    allows: bool
    pattern: str
    line: int = 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        return self.allows == other.allows and self.pattern == other.pattern

    def __hash__(self) -> int:
        return hash((self.allows, self.pattern))

    def __str__(self) -> str:
        return f"{'Allow' if self.allows else 'Disallow'}: {self.pattern}"


class Ruling(Struct, frozen=True):
    """Whether a URL may be fetched, and the rule that decided; `None` if no rule matched."""

    allowed: bool
    rule: Rule | None = None


class VisitTime(Struct, frozen=True):
    """The hours, in UTC, in which a crawler is welcome. They span midnight where `end` is before `start`."""

    start: time
    end: time


class RequestRate(Struct, frozen=True):
    """At most `requests` in any `seconds`, where `hours` is given only then."""

    requests: int
    seconds: int
    hours: VisitTime | None = None


class CleanParam(Struct, frozen=True):
    """Query parameters that do not change the page, below a path (Yandex). An empty path is every path."""

    params: tuple[str, ...]
    path: str = ""


class UsageRule(Struct, frozen=True, gc=False, eq=False):
    """One `Content-Usage` or `Content-Signal` line: `field` is its name in lower case, `value` as written.

    `pattern` is the path that it is about, as in `Rule`; `/` if it names none. `formats.preferences` reads values.
    `line` is where it was written; as in `Rule`, two that say the same are equal wherever they stand.
    """

    field: str
    pattern: str
    value: str
    line: int = 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UsageRule):
            return NotImplemented
        return (self.field, self.pattern, self.value) == (other.field, other.pattern, other.value)

    def __hash__(self) -> int:
        return hash((self.field, self.pattern, self.value))


class LicenseLine(Struct, frozen=True, gc=False, eq=False):
    """One `License` line (RSL 1.0): the location as written, and the number of its line, which is not compared."""

    location: str
    line: int = 0

    def __eq__(self, other: object) -> bool:
        return self.location == other.location if isinstance(other, LicenseLine) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.location)


class Group(Struct, frozen=True, gc=False):
    """The rules for some crawlers, in their order.

    `agents` are as written (`*`: all others); none at all is a group for no crawler. An empty `Disallow:` or `Allow:`
    forbids and permits nothing, and is not a rule here. `noindex` are patterns like those of `rules`,
    `usage` are preferences about the use of pages, `licenses` where their licences are.
    """

    agents: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    crawl_delay: float | None = None
    request_rate: RequestRate | None = None
    visit_time: VisitTime | None = None
    noindex: tuple[str, ...] = ()
    usage: tuple[UsageRule, ...] = ()
    licenses: tuple[LicenseLine, ...] = ()
