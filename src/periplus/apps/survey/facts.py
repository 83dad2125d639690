"""What a survey counts: a fact on the robots.txt of each domain, and one on each sitemap file.

A fact is what was found, cut down to numbers and names; where it was found is the business of `collection`.

Outcomes of a robots.txt (`RobotsFact.outcome`):

* `file`: it is there, perhaps after redirects; `file-at-www`: a web page stands in its place at the bare name, and the
  file itself under `www.`
* `html-instead`: a web page stands in its place, and under `www.` there is no file either
* `http-404` and its kin: the server said so; `too-many-redirects`; the reasons of the wire (`timeout`, ...)
* `not-asked`: it was not requested, or the result is not known

Outcomes of a sitemap file (`FileFact.outcome`):

* `read`: it is one, whatever its faults
* `html-instead`: a web page in its place; `not-a-sitemap`: something else, or nothing
* `http-404` and its kin; the reasons of the wire; `robots`: its site does not want us to read it
* `redirected`: it leads to a file that is known anyway, or nowhere; `not-fetched`: named, but never asked for
* `not-read`: it came, but was not read to its end, because the crawl was stopped or is under way
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from periplus.formats.robots import parse

from .tables import robots_preferences

FILE, FILE_AT_WWW, HTML_INSTEAD, NOT_ASKED = "file", "file-at-www", "html-instead", "not-asked"
READ, NOT_A_SITEMAP, REDIRECTED = "read", "not-a-sitemap", "redirected"
NOT_FETCHED, NOT_READ = "not-fetched", "not-read"

LONGEST_AGENT = 80
"""Characters of an agent that are looked at: longer texts are not names."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BEFORE_VERSION = re.compile(r"[^/(;]*")
_VERSION = re.compile(r"(?<=[^\s.])[\s_-]+v?\d[\d.]*$")


class RobotsFact(Struct, frozen=True):
    """The robots.txt of a domain. What is inside counts only where it is a file (`is_file`)."""

    domain: str
    outcome: str
    status: int | None = None
    """Of HTTP, of the last answer."""
    size: int = 0
    """Bytes, without content codings."""
    lines: int = 0
    is_html: bool = False
    """Whether an HTML page was returned in its place, wherever the file was found in the end."""
    sections: int = 0
    """Groups: user agents and their rules."""
    agents: tuple[str, ...] = ()
    """The agents that the sections name, as `agent_name` writes them; once for each section."""
    fields: tuple[tuple[str, int], ...] = ()
    """Names of lines in lower case, as they are spelt, and how often."""
    disallows: tuple[int, ...] = ()
    """`Disallow` rules of each section."""
    sitemaps: tuple[str, ...] = ()
    """Sitemaps that it names, as canonical URLs, each once."""
    problems: tuple[tuple[str, int], ...] = ()
    """Reasons, and how often."""
    preferences: tuple[tuple[str, str], ...] = ()
    """What it says about the use of pages: pairs of use and preference."""
    rank: int | None = None
    """The place of the domain in the list of domains, from 1."""

    @property
    def is_file(self) -> bool:
        """Whether the domain has a robots.txt."""
        return self.outcome in (FILE, FILE_AT_WWW)


class FileFact(Struct, frozen=True):
    """A sitemap file: a row of the `sitemapinfo` of the Berkeley report, with what was found inside."""

    url: str
    domain: str
    """The domain that it counts for: the one whose robots.txt names it."""
    tree: str
    """The file that its tree grows from."""
    parent: str | None = None
    """The index that names it."""
    depth: int = 0
    """Indexes above it: the report's level of indirection."""
    kind: str = ""
    """urlset, index, text, rss, atom, html, unknown; empty where nothing came."""
    is_gzipped: bool = False
    outcome: str = READ
    status: int | None = None
    entries: int = 0
    children: int = 0
    size: int = 0
    """Bytes over the wire."""
    problems: tuple[tuple[str, int], ...] = ()
    with_lastmod: int = 0
    with_changefreq: int = 0
    with_priority: int = 0

    @property
    def is_read(self) -> bool:
        """Whether it is a sitemap that could be read."""
        return self.outcome == READ


Fact = RobotsFact | FileFact


def robots_fact(
    domain: str, body: bytes, url: str, *, outcome: str = FILE, status: int | None = 200, is_html: bool = False
) -> RobotsFact:
    """What is to be counted of a robots.txt that was found at `url`."""
    robots = parse(body)
    if robots.is_html:
        return RobotsFact(domain, HTML_INSTEAD, status, is_html=True)
    return RobotsFact(
        domain,
        outcome,
        status,
        size=len(body),
        lines=len(body.removeprefix(_BYTE_ORDER_MARK).splitlines()),
        is_html=is_html,
        sections=len(robots.groups),
        agents=tuple(name for group in robots.groups for name in map(agent_name, group.agents) if name),
        fields=tuple(sorted(robots.fields.items())),
        disallows=tuple(sum(not rule.allows for rule in group.rules) for group in robots.groups),
        sitemaps=robots.sitemap_urls(url),
        problems=counted(problem.reason for problem in robots.problems),
        preferences=robots_preferences(robots),
    )


def agent_name(written: str) -> str:
    """An agent as it is counted: one name for all letter cases, blanks and versions, as in the report.

    What follows `/`, `(` or `;` is left out as a version or platform, and so is a number at the end:
    `Mozilla/4.0 (...)` is mozilla, `Teleport Pro 1.29` is teleport pro.
    """
    match = _BEFORE_VERSION.match(written[:LONGEST_AGENT])
    name = " ".join((match[0] if match else "").lower().split())
    return _VERSION.sub("", name)


def counted(reasons: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """How often each occurs, sorted by name."""
    return tuple(sorted(Counter(reasons).items()))
