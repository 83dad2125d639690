"""Which agents a line of a robots.txt is for.

An `Allow` or `Disallow` line ends the list of agents above it; no other line does, since other records must not
interfere with these (RFC 9309 section 2.2.4). So in

    User-agent: a
    Crawl-delay: 9
    User-agent: b
    Disallow: /

the rule is for both crawlers, as in Google's parser. The delay stands below `a` alone, and is for `a` alone: crawlers
that write such lines mean it so. That file is read as two groups, `a` with its delay, then `a` and `b` with the rule.
"""

from __future__ import annotations

from .access import slower_delay, slower_rate
from .extensions import read_delay, read_hours, read_rate, read_usage
from .patterns import escaped
from .values import Group, RequestRate, Rule, UsageRule, VisitTime


class Grouping:
    """Collects the lines of groups in their order.

    Rules are appended to `rules`, which is another list after each agent. Those that came before any agent end up in
    `outside`, and apply to no crawler.
    """

    __slots__ = ("_agents", "_earlier_agents", "_groups", "_habits", "has_empty_rules", "is_open", "outside", "rules")

    def __init__(self) -> None:
        self.is_open = False
        self.rules: list[Rule] = []
        self.has_empty_rules = False
        self.outside: list[Rule] = []
        self._groups: list[Group] = []
        self._earlier_agents: list[str] = []
        self._agents: list[str] = []
        self._habits: _Habits | None = None

    def add_agent(self, agent: str) -> None:
        """Add a crawler to the current group, or begin the next group with it. An empty name begins a group too."""
        if self.rules or self.has_empty_rules or self._habits is not None:
            self._end()
        self.is_open = True
        if agent:
            self._agents.append(agent)

    def add_habit(self, field: str, value: str) -> bool:
        """Add what is asked of the agents just above, beyond rules; `False` if the value cannot be read."""
        habits = self._habits or _Habits()
        is_understood = habits.add(field, value)
        if is_understood:
            self._habits = habits
        return is_understood

    def finish(self) -> list[Group]:
        """Return all groups, once the last line was read."""
        self._end()
        return self._groups

    def _end(self) -> None:
        """End the group of the current agents; they wait for the next rules if they got none."""
        agents, rules, habits = self._agents, tuple(self.rules), self._habits
        if not self.is_open:
            self.outside = self.rules
        elif self._earlier_agents and rules:
            self._groups.append(Group(_once(self._earlier_agents + agents), rules))
            if habits is not None:
                self._groups.append(habits.group(_once(agents), ()))
        elif habits is not None:
            self._groups.append(habits.group(_once(agents), rules))
        else:
            self._groups.append(Group(_once(agents), rules))
        if rules or self.has_empty_rules:
            self._earlier_agents = []
        else:
            self._earlier_agents += agents
        self.rules, self.has_empty_rules, self._agents, self._habits = [], False, [], None


class _Habits:
    """What one group asks beyond rules. Of several delays and rates the slowest holds, of visit times the first."""

    __slots__ = ("_delay", "_hours", "_noindex", "_rate", "_usage")

    def __init__(self) -> None:
        self._delay: float | None = None
        self._rate: RequestRate | None = None
        self._hours: VisitTime | None = None
        self._noindex: list[str] = []
        self._usage: list[UsageRule] = []

    def add(self, field: str, value: str) -> bool:
        """Read one line; `False` if its value cannot be read."""
        match field:
            case "crawl-delay":
                delay = read_delay(value)
                self._delay = slower_delay(self._delay, delay)
                return delay is not None
            case "request-rate":
                rate = read_rate(value)
                self._rate = slower_rate(self._rate, rate)
                return rate is not None
            case "visit-time":
                hours = read_hours(value)
                self._hours = self._hours or hours
                return hours is not None
            case "content-usage" | "content-signal":
                self._usage.append(read_usage(field, value))
                return True
            case _:
                self._noindex += [escaped(value)] if value else []
                return bool(value)

    def group(self, agents: tuple[str, ...], rules: tuple[Rule, ...]) -> Group:
        """Return the group of these agents and rules with these habits."""
        return Group(agents, rules, self._delay, self._rate, self._hours, tuple(self._noindex), tuple(self._usage))


def _once(agents: list[str]) -> tuple[str, ...]:
    return tuple(agents) if len(agents) < 2 else tuple(dict.fromkeys(agents))
