"""Reading a robots.txt: bytes in, `Robots` out, whatever the bytes are.

RFC 9309 with the tolerance of Google's parser, which reads more of the real web than the grammar does: any line end, a
whole or broken byte order mark, misspelt names, names with something behind them, a blank for the colon. What is beyond
a bound is left out with a `Problem`, and so is what makes no sense; the reasons are listed in the package's docstring.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from typing import TypeVar

from msgspec.structs import replace

from ...model import Problem
from .charset import as_octets, as_text, looks_like_html
from .document import Robots
from .extensions import read_clean_param, read_delay, read_hours, read_rate, read_sitemaps
from .grouping import Grouping
from .names import FieldNames
from .patterns import escaped
from .values import CleanParam, Rule

MAX_BYTES = 1 << 20
"""More is not read. RFC 9309 asks for 500 KiB at least; this is some 40,000 rules."""

MAX_LINE = 2083 * 8 - 1
"""Longer lines are cut: eight times the longest URL that browsers knew, as in Google's parser."""

MAX_PROBLEMS = 100
MAX_DETAIL = 200
MAX_FIELD_NAMES = 1000
MAX_FIELD_NAME = 64

_BLANK = " \t\v\f"
_BLANKS = re.compile("[ \t\v\f]+")
_COMMENT = re.compile("#[^\n]*")
_SITEMAP_WITHOUT_COLON = re.compile(r"[ \t\v\f]*site-?map[ \t\v\f]+(https?://.*)", re.IGNORECASE)

_T = TypeVar("_T")


def parse(body: bytes, *, limit: int = MAX_BYTES) -> Robots:
    """What the robots.txt says. Never raises; at most `limit` bytes are read, up to the end of a line."""
    reader = _Reader()
    if len(body) > limit:
        reader.note("too-large", f"{len(body)} bytes")
        body = body[: 1 + max(body.rfind(b"\n", 0, limit), body.rfind(b"\r", 0, limit))] or body[:limit]
    octets, wrong = as_octets(body)
    if wrong is not None:
        reader.note(wrong)
    if looks_like_html(octets):
        reader.note("html-instead")
        return Robots(problems=reader.problems, is_html=True)
    return reader.read(octets)


class _Reader:
    """Goes through the lines once, in order, and keeps what they say."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._names = FieldNames()
        self._names_seen: list[str] = []
        self._grouping = Grouping()
        self._sitemaps: dict[str, None] = {}
        self._host: str | None = None
        self._clean_params: list[CleanParam] = []
        self._line = ""
        self._handlers: dict[str, Callable[[str, int], None]] = {
            "user-agent": self._agent,
            "sitemap": self._sitemap,
            "host": self._preferred_host,
            "clean-param": self._clean_param,
            "noindex": self._noindex,
            "crawl-delay": self._habit(read_delay, self._grouping.add_delay),
            "request-rate": self._habit(read_rate, self._grouping.add_rate),
            "visit-time": self._habit(read_hours, self._grouping.add_hours),
        }

    def note(self, reason: str, detail: str = "", line: int = 0) -> None:
        """Remember a problem, with the number of its line for the time being; very many are one problem."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(reason, as_text(detail[:MAX_DETAIL]), line))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem("more-problems", "", line))

    def read(self, octets: bytes) -> Robots:
        """Everything that the lines say."""
        text = octets.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
        if "#" in text:
            text = _COMMENT.sub("", text)
        lines = text.split("\n")
        if max(map(len, lines)) > MAX_LINE:
            lines = [self._within_bounds(line, number) for number, line in enumerate(lines, 1)]
        self._read_lines(lines, is_plain="%" not in text and text.isascii())
        return Robots(
            self._grouping.finish(),
            tuple(self._sitemaps),
            host=self._host,
            clean_params=self._clean_params,
            fields=self._count_fields(),
            problems=_with_offsets(self.problems, octets),
        )

    def _within_bounds(self, line: str, number: int) -> str:
        if len(line) > MAX_LINE:
            self.note("long-line", f"{len(line)} bytes", number)
        return line[:MAX_LINE]

    def _read_lines(self, lines: list[str], *, is_plain: bool) -> None:
        """The loop that the time is spent in: rules are read here, everything else elsewhere."""
        names, seen, grouping = self._names, self._names_seen.append, self._grouping
        for number, line in enumerate(lines, 1):
            name, colon, value = line.partition(":")
            if not colon:
                name, value = self._split_at_blank(line, number)
                if not name:
                    continue
            seen(name)
            field = names[name]
            value = value.strip(_BLANK)
            if field == "disallow" or field == "allow":
                if not grouping.is_open:
                    self.note("outside-group", line, number)
                    continue
                grouping.has_rule_lines = True
                if value:
                    if value[0] not in "/*":
                        self.note("pattern-without-slash", value, number)
                    grouping.rules.append(Rule(field == "allow", value if is_plain else escaped(value), number))
            elif field:
                self._line = line
                self._handlers[field](value, number)

    def _split_at_blank(self, line: str, number: int) -> tuple[str, str]:
        """A known name and one word behind it: the colon was forgotten. Anything else says nothing."""
        line = line.strip(_BLANK)
        name, *values = _BLANKS.split(line, maxsplit=2)
        if len(values) == 1 and self._names[name]:
            self.note("no-colon", line, number)
            return name, values[0]
        if line:
            self.note("not-a-field", line, number)
        return "", ""

    def _agent(self, value: str, number: int) -> None:
        if not value:
            self.note("empty-agent", line=number)
        self._grouping.add_agent(as_text(value))

    def _habit(self, read: Callable[[str], _T | None], add: Callable[[_T], None]) -> Callable[[str, int], None]:
        """What to do with a line of a group that is no rule: read its value and file it, or say what is wrong."""

        def handle(value: str, number: int) -> None:
            found = read(value)
            if not self._grouping.is_open:
                self.note("outside-group", self._line, number)
            elif found is None:
                self.note("bad-value", self._line, number)
            else:
                add(found)

        return handle

    def _noindex(self, value: str, number: int) -> None:
        if not self._grouping.is_open:
            self.note("outside-group", self._line, number)
        elif value:
            self._grouping.add_noindex(escaped(value))

    def _preferred_host(self, value: str, number: int) -> None:
        """The first one holds (Yandex)."""
        if not value:
            self.note("bad-value", self._line, number)
        elif self._host is None:
            self._host = as_text(value)

    def _clean_param(self, value: str, number: int) -> None:
        found = read_clean_param(as_text(value))
        if found is None:
            self.note("bad-value", self._line, number)
        else:
            self._clean_params.append(found)

    def _sitemap(self, value: str, number: int) -> None:
        """In `Sitemap http://...` the first colon is that of the location."""
        if whole := _SITEMAP_WITHOUT_COLON.fullmatch(self._line):
            self.note("no-colon", self._line, number)
            value = whole[1]
        found = read_sitemaps(as_text(value))
        if not found:
            self.note("bad-value", self._line, number)
        self._sitemaps.update(dict.fromkeys(found))

    def _count_fields(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name, count in Counter(self._names_seen).items():
            plain = as_text(name.strip(_BLANK)).lower()[:MAX_FIELD_NAME]
            if plain in counts or len(counts) < MAX_FIELD_NAMES:
                counts[plain] = counts.get(plain, 0) + count
        return counts


def _with_offsets(problems: list[Problem], octets: bytes) -> list[Problem]:
    """Where a problem has the number of a line, put where in the file that line begins."""
    if not problems:
        return problems
    ends = list(accumulate(map(len, octets.splitlines(keepends=True)), initial=0))
    return [replace(problem, at=ends[problem.at - 1] if problem.at else None) for problem in problems]
