"""Which agents a line of a robots.txt is for.

An `Allow` or `Disallow` line ends the list of agents above it; no other line does, since other records must not
interfere with these (RFC 9309 section 2.2.4). So in

    User-agent: a
    Crawl-delay: 9
    User-agent: b
    Disallow: /

the rule is for both crawlers, as in Google's parser. The delay stands below `a` alone, and is for `a` alone: those who
write such lines mean it so. That file is read as two groups, `a` with its delay, then `a` and `b` with the rule.
"""

from __future__ import annotations

from .access import slower_delay, slower_rate
from .values import Group, RequestRate, Rule, VisitTime


class Grouping:
    """Takes the lines of groups in their order. Rules are appended to `rules`, and only while `is_open`."""

    def __init__(self) -> None:
        self.is_open = False
        self.has_rule_lines = False
        self.rules: list[Rule] = []
        self._groups: list[Group] = []
        self._earlier_agents: list[str] = []
        self._begin()

    def _begin(self) -> None:
        """What is said from here on is said to the agents that come now, and rules to the earlier ones too."""
        self._agents: list[str] = []
        self._has_habits = False
        self._delay: float | None = None
        self._rate: RequestRate | None = None
        self._hours: VisitTime | None = None
        self._noindex: list[str] = []

    def add_agent(self, agent: str) -> None:
        """One more crawler, or the first of a new group."""
        if self.has_rule_lines or self._has_habits:
            self._end()
        self.is_open = True
        if agent:
            self._agents.append(agent)

    def _end(self) -> None:
        agents, rules = _once(self._agents), tuple(self.rules)
        if self._earlier_agents and rules:
            self._groups.append(Group(_once(self._earlier_agents + self._agents), rules))
            rules = ()
        if rules or self._has_habits or not self.rules:
            self._groups.append(Group(agents, rules, self._delay, self._rate, self._hours, tuple(self._noindex)))
        if self.has_rule_lines:
            self._earlier_agents.clear()
        else:
            self._earlier_agents += self._agents
        self.rules.clear()
        self.has_rule_lines = False
        self._begin()

    def add_delay(self, delay: float) -> None:
        """A `Crawl-delay`; of several the longest holds."""
        self._has_habits = True
        self._delay = slower_delay(self._delay, delay)

    def add_rate(self, rate: RequestRate) -> None:
        """A `Request-rate`; of several the lowest holds."""
        self._has_habits = True
        self._rate = slower_rate(self._rate, rate)

    def add_hours(self, hours: VisitTime) -> None:
        """A `Visit-time`; of several the first holds."""
        self._has_habits = True
        self._hours = self._hours or hours

    def add_noindex(self, pattern: str) -> None:
        """A `Noindex` pattern."""
        self._has_habits = True
        self._noindex.append(pattern)

    def finish(self) -> list[Group]:
        """All groups, once the last line was read."""
        if self.is_open:
            self._end()
        return self._groups


def _once(agents: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(agents))
