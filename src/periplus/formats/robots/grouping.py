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
from .extensions import read_delay, read_hours, read_rate
from .patterns import escaped
from .values import Group, RequestRate, Rule, VisitTime


class Grouping:
    """Takes the lines of groups in their order.

    Rules are appended to `rules`, which is another list after each agent. Those that came before any agent end up in
    `outside`, and say nothing.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.rules: list[Rule] = []
        self.has_empty_rules = False
        self.outside: list[Rule] = []
        self._groups: list[Group] = []
        self._earlier_agents: list[str] = []
        self._agents: list[str] = []
        self._has_habits = False
        self._delay: float | None = None
        self._rate: RequestRate | None = None
        self._hours: VisitTime | None = None
        self._noindex: list[str] = []

    def add_agent(self, agent: str) -> None:
        """One more crawler, or the first of a new group."""
        if self.rules or self.has_empty_rules or self._has_habits:
            self._end()
        self.is_open = True
        if agent:
            self._agents.append(agent)

    def add_habit(self, field: str, value: str) -> bool:
        """What is asked of the agents just above, beyond rules; `False` where that is not understood.

        Of several delays and rates the slowest holds, of several visit times the first.
        """
        match field:
            case "crawl-delay":
                delay = read_delay(value)
                self._delay = slower_delay(self._delay, delay)
                is_understood = delay is not None
            case "request-rate":
                rate = read_rate(value)
                self._rate = slower_rate(self._rate, rate)
                is_understood = rate is not None
            case "visit-time":
                hours = read_hours(value)
                self._hours = self._hours or hours
                is_understood = hours is not None
            case _:
                self._noindex += [escaped(value)] if value else []
                is_understood = bool(value)
        self._has_habits = self._has_habits or is_understood
        return is_understood

    def finish(self) -> list[Group]:
        """All groups, once the last line was read."""
        self._end()
        return self._groups

    def _end(self) -> None:
        """The agents so far have heard it all, but for rules if none came yet."""
        if not self.is_open:
            self.outside = self.rules
        elif self.rules and self._earlier_agents:
            self._groups.append(Group(_once(self._earlier_agents + self._agents), tuple(self.rules)))
            if self._has_habits:
                self._file(())
        else:
            self._file(tuple(self.rules))
        if self.rules or self.has_empty_rules:
            self._earlier_agents = []
        else:
            self._earlier_agents += self._agents
        self.rules, self.has_empty_rules, self._agents = [], False, []
        if self._has_habits:
            self._has_habits, self._delay, self._rate, self._hours, self._noindex = False, None, None, None, []

    def _file(self, rules: tuple[Rule, ...]) -> None:
        agents, noindex = _once(self._agents), tuple(self._noindex)
        self._groups.append(Group(agents, rules, self._delay, self._rate, self._hours, noindex))


def _once(agents: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(agents))
