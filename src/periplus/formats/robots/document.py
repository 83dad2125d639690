"""A whole robots.txt as one value (`Robots`), and its rules for one crawler (`Access`).

RFC 9309 section 2.2.1: a crawler obeys all groups that name its product token, in any letter case, as if they were one;
if there are none, those for `*`; if there are none of those either, everything is allowed. Of an agent line only the
product token counts: `Foobot/2.1` names Foobot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from periplus.model import Problem, Url
from periplus.urls import canonical

from .patterns import RuleSet, path_of, patterns_of
from .values import CleanParam, Group, LicenseLine, RequestRate, Rule, Ruling, UsageRule, VisitTime

ANY_AGENT = "*"

MAX_USAGE_RULES = 200
"""Lines about use that are kept for one crawler: each is tried for every page. Files have one or two."""
MAX_LICENSES = 10
"""Licences that are kept for one crawler: each is fetched. Files have one."""

_TOKEN = re.compile(r"[A-Za-z_-]*")
_PRODUCT = re.compile(r"([A-Za-z_-]+)(?:\s*[/(]|\Z)")
_ANY_AGENT_LINE = re.compile(r"\*(?:\s|\Z)")

_UNSPOKEN = Ruling(True)


def is_valid_agent(agent: str) -> bool:
    """Whether a robots.txt can name this crawler: its name has letters, `_` and `-` only, as product tokens do."""
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

    Of two conflicting speeds the slower one is kept. `licenses` are those of its groups, or else those of the file.
    """

    __slots__ = ("crawl_delay", "licenses", "request_rate", "usage", "visit_time")

    def __init__(self, groups: Sequence[Group], licenses: Sequence[LicenseLine] = ()) -> None:
        self.crawl_delay: float | None = None
        self.request_rate: RequestRate | None = None
        self.visit_time: VisitTime | None = None
        self.usage: tuple[UsageRule, ...] = ()
        rules: list[Rule] = []
        own: tuple[LicenseLine, ...] = ()
        for group in groups:
            self.crawl_delay = slower_delay(self.crawl_delay, group.crawl_delay)
            self.request_rate = slower_rate(self.request_rate, group.request_rate)
            self.visit_time = self.visit_time or group.visit_time
            rules += group.rules
            if group.usage:
                self.usage = (self.usage + group.usage)[:MAX_USAGE_RULES]
            own += group.licenses
        self.licenses = tuple(dict.fromkeys(own or licenses))[:MAX_LICENSES]
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


MAX_REMEMBERED_AGENTS = 64
"""Maximum number of crawlers whose rules are cached for one file: a crawl has one name, an audit asks for more."""

MAX_FIELD_NAMES = 1000
"""Different names that are counted, at most: a file of junk has any number of them."""


class Robots:
    """A parsed robots.txt: the rules of a site for crawlers.

    `sitemaps` are as written, without white space, quotes and angle brackets, each once; `sitemap_urls` resolves them.
    `host` is the preferred host name and `clean_params` the idle query parameters (both Yandex). `licenses` are those
    for crawlers whose groups name none. `is_html`: the server sent a web page in place of the file; it has no rules.

    Two are equal if their rules are; `fields` and `problems` describe how the file is written. `field_names` are the
    names of all lines in lower case, for `fields` to count.
    """

    __slots__ = (
        "_accesses",
        "_by_token",
        "_field_names",
        "clean_params",
        "groups",
        "host",
        "is_html",
        "licenses",
        "problems",
        "sitemaps",
    )

    def __init__(
        self,
        groups: Sequence[Group] = (),
        sitemaps: Sequence[str] = (),
        *,
        host: str | None = None,
        clean_params: Sequence[CleanParam] = (),
        licenses: Sequence[LicenseLine] = (),
        field_names: Sequence[str] = (),
        problems: Sequence[Problem] = (),
        is_html: bool = False,
    ) -> None:
        self.groups = tuple(groups)
        self.sitemaps = tuple(sitemaps)
        self.host = host
        self.clean_params = tuple(clean_params)
        self.licenses = tuple(licenses)
        self._field_names = field_names
        self.problems = tuple(problems)
        self.is_html = is_html
        self._by_token: dict[str, list[Group]] | None = None
        self._accesses: dict[str, Access] = {}

    @property
    def fields(self) -> Counter[str]:
        """How often each field was written, by its name in lower case, known or not: what surveys count, with ACAP."""
        counts = Counter(self._field_names)
        return counts if len(counts) <= MAX_FIELD_NAMES else Counter(dict(counts.most_common(MAX_FIELD_NAMES)))

    def access(self, agent: str) -> Access:
        """The access of one crawler: a product token, or a User-Agent header that begins with one."""
        found = self._accesses.get(agent)
        if found is None:
            found = self._accesses[agent] = self._read_for(agent)
        return found

    def allows(self, agent: str, url: str) -> bool:
        """Whether a crawler may fetch a URL. The URL is matched as it is spelt: give it in canonical form."""
        access = self._accesses.get(agent) or self.access(agent)
        rule = access.rule_for(url)
        return rule is None or rule.allows or is_robots_txt(url)

    def verdict(self, agent: str, url: str) -> Ruling:
        """Whether a crawler may fetch a URL, and the rule that says so."""
        return self.access(agent).verdict(url)

    def crawl_delay(self, agent: str) -> float | None:
        """The seconds a crawler is asked to rest between two requests."""
        return self.access(agent).crawl_delay

    def request_rate(self, agent: str) -> RequestRate | None:
        """How many requests a crawler may send in how many seconds."""
        return self.access(agent).request_rate

    def visit_time(self, agent: str) -> VisitTime | None:
        """The hours in which a crawler is welcome."""
        return self.access(agent).visit_time

    def noindex(self, agent: str) -> tuple[str, ...]:
        """The patterns that a crawler is asked to keep out of an index."""
        return tuple(pattern for group in self.groups_for(agent) for pattern in group.noindex)

    def sitemap_urls(self, base: str) -> tuple[Url, ...]:
        """The sitemaps as canonical URLs, resolved against the URL of this file; unusable ones are left out."""
        found = (canonical(sitemap, base) for sitemap in self.sitemaps)
        return tuple(dict.fromkeys(url for url in found if url is not None))

    def groups_for(self, agent: str) -> tuple[Group, ...]:
        """The groups that a crawler obeys, in the order they were written."""
        return tuple(self._groups_by_token().get(self._token_for(agent), ()))

    def _read_for(self, agent: str) -> Access:
        """Crawlers that no group names share one reading, kept under the token that they obey."""
        if len(self._accesses) >= MAX_REMEMBERED_AGENTS:
            self._accesses.clear()
        token = self._token_for(agent)
        if token not in self._accesses:
            self._accesses[token] = Access(self._groups_by_token().get(token, ()), self.licenses)
        return self._accesses[token]

    def _token_for(self, agent: str) -> str:
        token = product_token(agent)
        return token if token and token in self._groups_by_token() else ANY_AGENT

    def _groups_by_token(self) -> dict[str, list[Group]]:
        if self._by_token is None:
            self._by_token = {}
            for group in self.groups:
                for token in dict.fromkeys(map(named_token, group.agents)):
                    self._by_token.setdefault(token, []).append(group)
        return self._by_token

    def _content(self) -> tuple[object, ...]:
        return self.groups, self.sitemaps, self.host, self.clean_params, self.licenses

    def __eq__(self, other: object) -> bool:
        return self._content() == other._content() if isinstance(other, Robots) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        return f"Robots(groups={self.groups!r}, sitemaps={self.sitemaps!r})"


_BREAKS = frozenset("\r\n#\0")
_BLANK = " \t\v\f"


def write(robots: Robots) -> bytes:
    """The file for `robots`, in UTF-8.

    Raises `ValueError` for a text that no line can hold: with a line break, a `#`, or white space around it.
    """
    blocks = [*map(_group_lines, robots.groups), _site_lines(robots)]
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks).strip("\n").encode() + b"\n"


def _group_lines(group: Group) -> Iterator[str]:
    """A group that has no rule ends with an empty one: without it the next group's rules would hold for it too."""
    for agent in group.agents or ("",):
        yield _line("User-agent", agent)
    if group.crawl_delay is not None:
        yield _line("Crawl-delay", f"{Decimal(repr(group.crawl_delay)):f}")
    if group.request_rate is not None:
        yield _line("Request-rate", _rate(group.request_rate))
    if group.visit_time is not None:
        yield _line("Visit-time", _hours(group.visit_time))
    for pattern in group.noindex:
        yield _line("Noindex", pattern)
    for usage in group.usage:
        path = "" if usage.pattern == "/" else usage.pattern
        yield _line(usage.field.title(), f"{path} {usage.value}".strip(_BLANK))
    for license_line in group.licenses:
        yield _line("License", license_line.location)
    for rule in group.rules:
        yield _line("Allow" if rule.allows else "Disallow", rule.pattern)
    if not group.rules:
        yield "Disallow:"


def _site_lines(robots: Robots) -> Iterator[str]:
    if robots.host is not None:
        yield _line("Host", robots.host)
    for clean_param in robots.clean_params:
        yield _line("Clean-param", _clean_param(clean_param))
    for license_line in robots.licenses:
        yield _line("License", license_line.location)
    for sitemap in robots.sitemaps:
        yield _line("Sitemap", sitemap)


def _line(name: str, value: str) -> str:
    if not _BREAKS.isdisjoint(value) or value != value.strip(_BLANK):
        raise ValueError(f"no line of a robots.txt can hold {value!r}")
    return f"{name}: {value}" if value else f"{name}:"


def _rate(rate: RequestRate) -> str:
    hours = f" {_hours(rate.hours)}" if rate.hours is not None else ""
    return f"{rate.requests}/{rate.seconds}{hours}"


def _hours(hours: VisitTime) -> str:
    return f"{hours.start:%H%M}-{hours.end:%H%M}"


def _clean_param(clean_param: CleanParam) -> str:
    names = "&".join(clean_param.params)
    return f"{names} {clean_param.path}" if clean_param.path else names
