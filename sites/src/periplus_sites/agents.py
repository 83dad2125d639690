"""Which crawler a User-Agent names.

The crawlers of `crawlers.toml` come first: of them the operator and the way to verify an address are known. Then come
the patterns of the package `crawler-user-agents`, if it is installed (extra `logs`), and last names that say that they
are those of a crawler. A pattern is tried only on agents
that contain its literal text, which is found through its first letters, so that 1,500 patterns cost one pass over an
agent; and each different agent is looked at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct, convert

MOST_CACHED: Final = 50_000
"""Different agents that are remembered; a log of a month has a few thousand, a hostile one any number."""
LONGEST_AGENT: Final = 1_024
"""Letters of an agent that are looked at: real ones have fewer than 500."""
_HEAD: Final = 3
"""Letters of a literal by which it is found: nearly all literals are longer, and few share their beginning."""
_DECLARED: Final = re.compile(r"(?<![\w./-])(?!cubot\b)[a-z][\w.-]*(?:bot|crawler|spider)(?=[/;,)\s]|$)", re.IGNORECASE)
"""The name of a program that says of itself that it is a crawler. Cubot makes phones."""
_ESCAPED_CLASS: Final = frozenset("dDsSwWbBAZ")


class Crawler(Struct, frozen=True):
    """A crawler: `token` is its name in robots.txt; `suffixes` and `ranges` are how its addresses are verified."""

    name: str
    operator: str = ""
    purpose: str = ""
    token: str = ""
    suffixes: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    literal: tuple[str, ...]
    operator: str = ""
    purpose: str = ""
    token: str = ""
    suffixes: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()


class AgentTable:
    """The known crawlers. `patterns`: entries as in the package `crawler-user-agents`, in their order."""

    def __init__(self, patterns: Iterable[Mapping[str, Any]] = ()) -> None:
        self._by_head: dict[str, list[tuple[int, str]]] = {}
        self._always: list[int] = []
        self._short: list[tuple[int, str]] = []
        self._patterns: list[str] = []
        self._crawlers: list[Crawler] = []
        self._cache: dict[str, Crawler | None] = {}
        for crawler, text in _well_known():
            self._add(crawler, re.escape(text), text)
        for entry in patterns:
            pattern = str(entry["pattern"])
            literal = longest_literal(pattern)
            name = _readable(pattern, literal)
            tags = entry.get("tags") or ("",)
            self._add(Crawler(name, "", str(tags[0]), _token(name)), pattern, literal)

    def __len__(self) -> int:
        return len(self._patterns)

    def crawler_of(self, agent: str) -> Crawler | None:
        """The crawler that an agent names, if it names one."""
        try:
            return self._cache[agent]
        except KeyError:
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
            found = self._cache[agent] = self._look(agent[:LONGEST_AGENT])
            return found

    def _add(self, crawler: Crawler, pattern: str, literal: str) -> None:
        place = len(self._patterns)
        self._patterns.append(pattern)
        self._crawlers.append(crawler)
        if not literal:
            self._always.append(place)
        elif len(literal) < _HEAD:
            self._short.append((place, literal))
        else:
            self._by_head.setdefault(literal[:_HEAD], []).append((place, literal))

    def _look(self, agent: str) -> Crawler | None:
        places = set(self._always)
        places.update(place for place, literal in self._short if literal in agent)
        for start in range(len(agent) - _HEAD + 1):
            for place, literal in self._by_head.get(agent[start : start + _HEAD], ()):
                if agent.startswith(literal, start):
                    places.add(place)
        for place in sorted(places):
            if _compiled(self._patterns[place]).search(agent):
                return self._crawlers[place]
        declared = _DECLARED.search(agent)
        return None if declared is None else Crawler(declared[0], token=_token(declared[0]))


@cache
def known_agents() -> AgentTable:
    """The crawlers of `crawlers.toml`, and those of the package `crawler-user-agents` where it is installed."""
    try:
        package = import_module("crawleruseragents")
    except ImportError:
        return AgentTable()
    return AgentTable(package.CRAWLER_USER_AGENTS_DATA)


@cache
def well_known() -> tuple[Crawler, ...]:
    """The crawlers of `crawlers.toml`."""
    return tuple(dict.fromkeys(crawler for crawler, _ in _well_known()))


def _well_known() -> Iterator[tuple[Crawler, str]]:
    table = tomllib.loads(files(__package__).joinpath("crawlers.toml").read_text(encoding="utf-8"))
    for entry in convert(table["crawler"], list[_Entry]):
        token = entry.token or _token(entry.name)
        crawler = Crawler(entry.name, entry.operator, entry.purpose, token, entry.suffixes, entry.ranges)
        yield from ((crawler, text) for text in entry.literal)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def longest_literal(pattern: str) -> str:
    """The longest text that every match of a pattern contains; empty if there is none that is easily seen."""
    runs, run, depth, place = [""], "", 0, 0
    while place < len(pattern):
        letter = pattern[place]
        place += 1
        if letter == "\\" and place < len(pattern) and pattern[place] not in _ESCAPED_CLASS:
            letter, place, is_plain = pattern[place], place + 1, True
        else:
            is_plain = letter not in "\\[](){}|*+?^$."
        if is_plain:
            run += letter if depth == 0 else ""
            continue
        if letter == "|" and depth == 0:
            return ""
        if letter == "[":
            place = pattern.index("]", place + 1) + 1
        elif letter == "{":
            place = pattern.index("}", place) + 1
        elif letter == "\\":
            place += 1
        depth += (letter == "(") - (letter == ")")
        runs.append(run[:-1] if letter in "*?{" else run)
        run = ""
    return max([*runs, run], key=len)


def _readable(pattern: str, literal: str) -> str:
    """A name for people: the pattern without its signs."""
    plain = re.sub(r"\[(\w)\w*\]", r"\1", pattern).replace("\\", "").strip("^$/ ")
    return plain if re.fullmatch(r"[\w .!:+-]+", plain) else literal.strip("/ ") or pattern


def _token(name: str) -> str:
    """The name as a robots.txt can have it."""
    match = re.match(r"[A-Za-z_-]+", name)
    return match[0] if match else ""
