"""A whole robots.txt as one value, and the queries of a crawler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...model import Problem, Url
from ...urls import canonical
from .access import ANY_AGENT, Access, is_robots_txt, named_token, product_token
from .values import CleanParam, Group, RequestRate, Ruling, VisitTime

MAX_REMEMBERED_AGENTS = 64
"""Maximum number of crawlers whose rules are cached for one file: a crawl has one name, an audit asks for more."""

MAX_FIELD_NAMES = 1000
"""Different names that are counted, at most: a file of junk has any number of them."""


class Robots:
    """What a site asks of crawlers.

    `sitemaps` are as written, without white space, quotes and angle brackets, each once; `sitemap_urls` resolves them.
    `host` is the preferred host name and `clean_params` the idle query parameters (both Yandex). `is_html` says that a
    web page stood in the place of the file: it has no rules.

    Two are equal that say the same; `fields` and `problems` tell how it was said. `field_names` are the names of all
    lines in lower case, for `fields` to count.
    """

    __slots__ = (
        "_accesses",
        "_by_token",
        "_field_names",
        "clean_params",
        "groups",
        "host",
        "is_html",
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
        field_names: Sequence[str] = (),
        problems: Sequence[Problem] = (),
        is_html: bool = False,
    ) -> None:
        self.groups = tuple(groups)
        self.sitemaps = tuple(sitemaps)
        self.host = host
        self.clean_params = tuple(clean_params)
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
        """What this means for one crawler: a product token, or a User-Agent header that begins with one."""
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
            self._accesses[token] = Access(self._groups_by_token().get(token, ()))
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

    def _said(self) -> tuple[object, ...]:
        return self.groups, self.sitemaps, self.host, self.clean_params

    def __eq__(self, other: object) -> bool:
        return self._said() == other._said() if isinstance(other, Robots) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._said())

    def __repr__(self) -> str:
        return f"Robots(groups={self.groups!r}, sitemaps={self.sitemaps!r})"
