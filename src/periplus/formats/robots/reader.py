"""Reads a robots.txt: bytes in, `Robots` out, whatever the bytes are.

RFC 9309 with the tolerance of Google's parser, which accepts more of the real web than the grammar does: any line end,
a whole or broken byte order mark, misspelt names, names with a suffix, a blank for the colon. Everything beyond a bound
and every invalid line is left out with a `Problem`; the package's docstring lists the reasons.
"""

from __future__ import annotations

import re
from itertools import accumulate

from msgspec.structs import replace

from periplus.model import Problem

from .document import ANY_AGENT, Robots, named_token, slower_delay, slower_rate
from .fields import (
    ABOUT_USE,
    USUAL_SPELLINGS,
    as_octets,
    as_text,
    field_of,
    looks_like_html,
    plain_name,
    read_clean_param,
    read_delay,
    read_hours,
    read_license,
    read_rate,
    read_sitemaps,
    read_usage,
    without_tags,
)
from .patterns import escaped, is_escaped
from .values import CleanParam, Group, LicenseLine, RequestRate, Rule, UsageRule, VisitTime


class Grouping:
    """Collects the lines of groups in their order.

    An `Allow`, `Disallow` or `Content-Usage` line ends the list of agents above it: these are rules (RFC 9309 section
    2.2, draft-ietf-aipref-attach section 3). No other line does, since other records must not interfere with them
    (RFC 9309 section 2.2.4). So in

        User-agent: a
        Crawl-delay: 9
        User-agent: b
        Disallow: /

    the rule is for both crawlers, as in Google's parser. The delay is for `a` alone, as authors of such files mean it.
    The result is two groups: `a` with its delay, then `a` and `b` with the rule.

    Rules are appended to `rules`, which is another list after each agent. Rules before the first agent end up in
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

    def add_habit(self, field: str, value: str, line: int) -> bool:
        """Add what is asked of the agents just above, beyond rules; `False` if the value cannot be read."""
        habits = self._habits or _Habits()
        is_understood = habits.add(field, value, line)
        if is_understood:
            self._habits = habits
            self.has_empty_rules |= field == "content-usage"
        return is_understood

    @property
    def is_for_all(self) -> bool:
        """Whether the current group is for crawlers that no other group names."""
        return any(named_token(agent) == ANY_AGENT for agent in (*self._earlier_agents, *self._agents))

    def finish(self) -> list[Group]:
        """Return all groups, once the last line was read."""
        self._end()
        return self._groups

    def _end(self) -> None:
        """End the group of the current agents; they wait for the next rules if they got none."""
        agents, rules, habits = self._agents, tuple(self.rules), self._habits
        if not self.is_open:
            self.outside = self.rules
        elif self._earlier_agents and (rules or (habits is not None and habits.has_rules)):
            usage = habits.pop_rules() if habits is not None else ()
            self._groups.append(Group(_once(self._earlier_agents + agents), rules, usage=usage))
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
    """The fields of a group besides rules. Of several delays and rates the slowest counts, of visit times the first."""

    __slots__ = ("_delay", "_hours", "_licenses", "_noindex", "_rate", "_usage")

    def __init__(self) -> None:
        self._delay: float | None = None
        self._rate: RequestRate | None = None
        self._hours: VisitTime | None = None
        self._noindex: list[str] = []
        self._usage: list[UsageRule] = []
        self._licenses: list[LicenseLine] = []

    def add(self, field: str, value: str, line: int) -> bool:
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
                self._usage.append(read_usage(field, value, line))
                return True
            case "license":
                self._licenses.append(LicenseLine(read_license(value), line))
                return True
            case _:
                self._noindex += [escaped(value)] if value else []
                return bool(value)

    @property
    def has_rules(self) -> bool:
        """Whether there are `Content-Usage` lines, which are rules."""
        return any(rule.field == "content-usage" for rule in self._usage)

    def pop_rules(self) -> tuple[UsageRule, ...]:
        """Remove and return the `Content-Usage` lines: like other rules they are for all agents above."""
        rules = tuple(rule for rule in self._usage if rule.field == "content-usage")
        self._usage = [rule for rule in self._usage if rule.field != "content-usage"]
        return rules

    def group(self, agents: tuple[str, ...], rules: tuple[Rule, ...]) -> Group:
        """Return the group of these agents and rules with these habits."""
        return Group(
            agents, rules, self._delay, self._rate, self._hours, tuple(self._noindex), tuple(self._usage),
            tuple(self._licenses),
        )  # fmt: skip


def _once(agents: list[str]) -> tuple[str, ...]:
    return tuple(agents) if len(agents) < 2 else tuple(dict.fromkeys(agents))


MAX_BYTES = 1 << 20
"""More is not read. RFC 9309 asks for 500 KiB at least; this is some 40,000 rules."""

MAX_LINE = 2083 * 8 - 1
"""Longer lines are cut: eight times the longest URL that browsers knew, as in Google's parser."""

MAX_PROBLEMS = 100
"""Problems that are listed, at most, and then one that says that there are more."""

MAX_DETAIL = 200
"""Characters of a line that are shown with a problem."""

_BLANK = " \t\v\f"
_BLANKS = re.compile("[ \t\v\f]+")
_COMMENT = re.compile("#[^\n]*")
_SITEMAP_WITHOUT_COLON = re.compile(r"[ \t\v\f]*site-?map[ \t\v\f]+(https?://.*)", re.IGNORECASE)


def parse(body: bytes, *, limit: int = MAX_BYTES) -> Robots:
    """Parse a robots.txt. Never raises; at most `limit` bytes are read, up to the end of a line."""
    size = len(body)
    if size > limit:
        body = body[: 1 + max(body.rfind(b"\n", 0, limit), body.rfind(b"\r", 0, limit))] or body[:limit]
    octets, wrong = as_octets(body)
    is_html = b"<" in octets and looks_like_html(octets)
    reader = _Reader(without_tags(octets) if b"<" in octets else octets)
    if size > limit:
        reader.note("too-large", f"{size} bytes")
    if wrong is not None:
        reader.note(wrong)
    if is_html:
        reader.note("html-instead")
        return Robots(problems=reader.located_problems(), is_html=True)
    return reader.read()


class _Reader:
    """Goes through the lines once, in order, and keeps what they say.

    Octets are handled as the Latin-1 string that holds them, so that nothing is lost and patterns keep their octets.
    """

    __slots__ = (
        "_clean_params",
        "_detached",
        "_grouping",
        "_host",
        "_licenses",
        "_names",
        "_octets",
        "_problems",
        "_sitemaps",
    )

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._problems: list[Problem] = []
        self._names: list[str] = []
        self._grouping = Grouping()
        self._sitemaps: list[str] = []
        self._host = ""
        self._clean_params: list[CleanParam] = []
        self._licenses: list[LicenseLine] = []
        self._detached: set[int] | None = None

    def read(self) -> Robots:
        """The contents of the lines."""
        text = _with_plain_line_ends(self._octets.decode("latin-1"))
        if "#" in text:
            text = _COMMENT.sub("", text)
        lines = text.split("\n")
        if _has_long_line(text):
            lines = [self._within_bounds(line, number) for number, line in enumerate(lines, 1)]
        self._read_lines(lines, is_ascii=text.isascii(), is_plain=is_escaped(text))
        groups = self._grouping.finish()
        if self._grouping.outside:
            self._note_outside(self._grouping.outside)
        return Robots(
            groups,
            tuple(dict.fromkeys(self._sitemaps)),
            host=self._host or None,
            clean_params=self._clean_params,
            licenses=self._licenses,
            field_names=self._names,
            problems=self.located_problems() if self._problems else (),
        )

    def _within_bounds(self, line: str, number: int) -> str:
        if len(line) > MAX_LINE:
            self.note("long-line", f"{len(line)} bytes", number)
        return line[:MAX_LINE]

    def _read_lines(self, lines: list[str], *, is_ascii: bool, is_plain: bool) -> None:  # noqa: C901
        """The loop that the time is spent in: rules and agents are read here, everything else elsewhere."""
        count, usual, grouping = self._names.append, USUAL_SPELLINGS.get, self._grouping
        rules = grouping.rules
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            name, colon, value = line.partition(":")
            if not colon:
                name, value = self._split_at_blank(line, number)
                if not name:
                    continue
            field = usual(name)
            if field is None:
                field = field_of(name)
                count(plain_name(name))
            else:
                count(field)
            value = value.strip(_BLANK)
            if field == "disallow" or field == "allow":
                if not value:
                    grouping.has_empty_rules = True
                    continue
                rules.append(Rule(field == "allow", value if is_plain else escaped(value), number))
                if value[0] not in "/*":
                    self.note("pattern-without-slash", value, number)
            elif field == "user-agent":
                if not value:
                    self.note("empty-agent", line, number)
                grouping.add_agent(value if is_ascii else as_text(value))
                rules = grouping.rules
            elif field:
                self._read_other(field, value, line, number)

    def _split_at_blank(self, line: str, number: int) -> tuple[str, str]:
        """A known name and one word behind it: the colon was forgotten. Anything else says nothing."""
        line = line.strip(_BLANK)
        name, *values = _BLANKS.split(line, maxsplit=2)
        if len(values) == 1 and field_of(name):
            self.note("no-colon", line, number)
            return name, values[0]
        if line:
            self.note("not-a-field", line, number)
        return "", ""

    def _read_other(self, field: str, value: str, line: str, number: int) -> None:
        """Read a line that is neither rule nor agent. Of several hosts the first counts (Yandex)."""
        is_understood: object
        match field:
            case "sitemap":
                is_understood = found = read_sitemaps(self._whole_location(value, line, number))
                self._sitemaps += found
            case "host":
                is_understood = value
                self._host = self._host or as_text(value)
            case "clean-param":
                is_understood = clean_param = read_clean_param(as_text(value))
                self._clean_params += [clean_param] if clean_param else []
            case "license":
                is_understood = self._read_license(value, line, number)
            case _ if not self._grouping.is_open:
                is_understood = True
                self.note("outside-group", line, number)
            case _:
                is_understood = self._grouping.add_habit(field, value, number)
                if field in ABOUT_USE and not self._grouping.is_for_all and self._is_detached(number):
                    self.note("misplaced-signal", line, number)
        if not is_understood:
            self.note("bad-value", line, number)

    def _read_license(self, value: str, line: str, number: int) -> bool:
        """Read a `License` line: of the current group, or of the whole file outside of groups and where one has ended.

        RSL wants an absolute URL. A path is read as well, but not words such as `MIT`.
        """
        location = read_license(value)
        if "://" not in location:
            if not location.startswith(("/", "./", "../")) and not location.lower().endswith(".xml"):
                return False
            self.note("relative-license", line, number)
        if self._grouping.is_open and not self._is_detached(number):
            return self._grouping.add_habit("license", value, number)
        self._licenses.append(LicenseLine(location, number))
        return True

    def _is_detached(self, number: int) -> bool:
        """Whether a line about use stands apart at the end of a group: behind a blank line or one for all crawlers.

        By RFC 9309 it belongs to the group nevertheless; authors mean the whole site.
        """
        if self._detached is None:
            self._detached = _detached_lines(_with_plain_line_ends(self._octets.decode("latin-1")).split("\n"))
        return number in self._detached

    def _whole_location(self, value: str, line: str, number: int) -> str:
        """In `Sitemap http://...` the first colon is that of the location."""
        if value[:2] == "//" and (whole := _SITEMAP_WITHOUT_COLON.fullmatch(line)):
            self.note("no-colon", line, number)
            value = whole[1]
        return as_text(value)

    def note(self, reason: str, detail: str = "", line: int = 0) -> None:
        """Record a problem, with the number of its line for now."""
        if len(self._problems) <= MAX_PROBLEMS:
            self._problems.append(Problem(reason, as_text(detail[:MAX_DETAIL]), line))

    def _note_outside(self, rules: list[Rule]) -> None:
        for rule in rules[: MAX_PROBLEMS + 1]:
            self.note("outside-group", str(rule), rule.line)

    def located_problems(self) -> list[Problem]:
        """The problems in order, each with the place where its line begins instead of the number of that line."""
        starts = [0, *accumulate(map(len, self._octets.splitlines(keepends=True)))]
        in_order = sorted(self._problems, key=lambda problem: problem.at or 0)
        located = [replace(problem, at=starts[problem.at - 1] if problem.at else None) for problem in in_order]
        return located if len(located) <= MAX_PROBLEMS else [*located[:MAX_PROBLEMS], Problem("more-problems")]


_ENDS_GROUP = frozenset({"", "sitemap", "host", "clean-param"})


def _with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _detached_lines(lines: list[str]) -> set[int]:
    """The numbers of lines about use, and of licences, that are at the end of a group but apart from it."""
    found: set[int] = set()
    apart: list[int] = []  # since the last line that ended a group
    is_apart = False
    for number, line in enumerate(lines, 1):
        if line.lstrip(_BLANK).startswith("#"):
            continue
        name, colon, _ = line.partition("#")[0].partition(":")
        field = field_of(name) if colon else ""
        if field in ABOUT_USE or field == "license":
            if is_apart:
                apart.append(number)
        elif field in _ENDS_GROUP:
            is_apart = is_apart or bool(field) or not line.strip(_BLANK)
        else:
            if field == "user-agent":
                found.update(apart)
            apart, is_apart = [], False
    return found.union(apart)


def _has_long_line(text: str) -> bool:
    """Whether a line is longer than `MAX_LINE`. The search goes from a line's start to the last one within reach."""
    start = 0
    while len(text) - start > MAX_LINE:
        start = text.rfind("\n", start, start + MAX_LINE + 1) + 1
        if not start:
            return True
    return False
