"""Matches URLs with the path patterns of robots.txt: RFC 9309 section 2.2.2, as Google's matcher reads it.

`*` stands for any octets and `$` at the end for the end of the path; nothing else is special, and a pattern matches
every path that begins like it. The longest matching pattern decides, and `Allow` of two equally long.

Hostile sites write `*a*a*a*a*b`, on which regular expressions backtrack. Here a pattern is split at its stars and its
pieces are searched from left to right; the leftmost place for each is always right, so the time is linear in the path.

Sites write up to 150,000 rules, and a crawler asks about every URL it discovers. `RuleSet` therefore keeps patterns in
a tree by the characters they begin with: a URL is compared only with patterns that begin like it, and with those that
have a star at or near the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from .values import Rule

_OCTETS = re.compile(r"[\x80-\xff]++")
_LOWER_ESCAPES = re.compile(r"%(?![0-9A-F]{2})[0-9A-Fa-f]{2}(?>(?:%[0-9A-Fa-f]{2})*)")
"""Escapes from the first on that is not in upper case."""

_UNRESERVED_ESCAPE = re.compile(r"%(?:2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_VERBATIM = re.compile(r"%2(?:A|4)")
_NEVER_IN_URLS = re.compile(r'[ "<>]')
_SPELT_IN_TWO_WAYS = re.compile(r'[% "<>]|/index\.htm')
_END_OF_HOST = re.compile(r"[/?;]")


def path_of(url: str) -> str:
    """The part of a URL that patterns are matched with: path, parameters and query, without the fragment.

    Nothing is decoded or escaped: the URL is expected as it is sent. Only a missing path becomes `/`.
    """
    url = url.partition("#")[0]
    start = 2 if url.startswith("//") else 0
    first = _END_OF_HOST.search(url, start)
    scheme_end = url.find("://", start)
    if scheme_end >= 0 and (first is None or first.start() > scheme_end):
        first = _END_OF_HOST.search(url, scheme_end + 3)
    if first is None:
        return "/"
    path = url[first.start() :]
    return path if path.startswith("/") else "/" + path


def beyond(start: str) -> str:
    """The first string that sorts behind everything that begins with `start`."""
    last = start[-1:] or "/"
    return start[:-1] + chr(min(ord(last) + 1, 0x10FFFF))


def is_escaped(text: str) -> bool:
    """Whether `escaped` would return every pattern in this text unchanged."""
    return text.isascii() and ("%" not in text or _LOWER_ESCAPES.search(text) is None)


def escaped(pattern: str) -> str:
    """A pattern as it is matched, from octets as Latin-1: what is beyond ASCII escaped, escapes in upper case."""
    if not pattern.isascii():
        pattern = _OCTETS.sub(_escape, pattern)
    return _LOWER_ESCAPES.sub(_upper, pattern) if "%" in pattern else pattern


def _escape(match: re.Match[str]) -> str:
    return f"%{match[0].encode('latin-1').hex('%')}".upper()


def _upper(match: re.Match[str]) -> str:
    return match[0].upper()


class Pattern(Struct, frozen=True):
    """One spelling of a rule's pattern, split for matching.

    `start` is what a path must begin with; such paths sort from `start` up to `beyond`, and to compare is much faster
    than `str.startswith`. `pieces` come behind it in this order, with anything between, and `end` is the end of the
    path; they are `None` where the pattern has no star, or no `$`. `rank` is twice the length that the rule was written
    with, and one more for `Allow`: the highest decides. `needle` is the longest text that every path holds which this
    matches. A plain pattern has neither star nor `$`, and matches whatever begins with `start`.
    """

    rank: int
    start: str
    beyond: str
    pieces: tuple[str, ...] | None
    end: str | None
    needle: str
    is_plain: bool
    rule: Rule

    @property
    def needs_query(self) -> bool:
        """Whether only a path with a `?` can match."""
        return any("?" in piece for piece in (self.start, *(self.pieces or ()), self.end or ""))

    def matches(self, path: str) -> bool:
        """Whether the pattern matches this path, from its beginning."""
        if not self.start <= path < self.beyond:
            return False
        if self.pieces is None:
            return self.end is None or path == self.start
        at = len(self.start)
        for piece in self.pieces:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return self.end is None or (len(path) - len(self.end) >= at and path.endswith(self.end))


def patterns_of(rule: Rule) -> Iterator[Pattern]:
    """Every pattern of a rule; none if the rule can match no path, because of how it begins.

    An `Allow` of `/a/index.html` means `/a/` too (Google's matcher). A `Disallow` holds for the spelling it has and for
    the one of our canonical URLs: RFC 9309 calls `/%7Ejoe` and `/~joe` equal, Google's matcher does not, and a crawler
    that respells URLs must not fetch a disallowed page because of that. `%2A` and `%24` are how a rule spells a star
    and a dollar that are not special (RFC 9309 section 2.2.3).
    """
    pattern, rank = rule.pattern, 2 * len(rule.pattern) + rule.allows
    if pattern[:1] not in ("/", "*"):
        return
    yield _split(pattern, rank, rule)
    if not has_more_spellings(rule):
        return
    if not rule.allows:
        other = _as_in_canonical_urls(pattern)
        if other != pattern:
            yield _split(other, rank, rule)
        if _VERBATIM.search(other) is not None:
            yield _with_verbatim(_split(other, rank, rule))
    elif pattern.rpartition("/")[2].startswith("index.htm"):
        folder = pattern[: pattern.rindex("/") + 1]
        yield _split(f"{folder}$", 2 * len(folder) + 3, rule)


@lru_cache(maxsize=4096)
def path_patterns(pattern: str) -> tuple[Pattern, ...]:
    """The patterns that a path is matched with: of a text of other files that have such patterns."""
    return tuple(patterns_of(Rule(False, escaped(pattern.encode("utf-8", "replace").decode("latin-1")))))


def matches_path(pattern: str, path: str) -> bool:
    """Whether a pattern, as it is written in a file in UTF-8, matches a path."""
    return any(each.matches(path) for each in path_patterns(pattern))


def has_more_spellings(rule: Rule) -> bool:
    """Whether a rule may have another pattern than its own."""
    return _SPELT_IN_TWO_WAYS.search(rule.pattern) is not None


def _as_in_canonical_urls(pattern: str) -> str:
    return _NEVER_IN_URLS.sub(_escape, _UNRESERVED_ESCAPE.sub(_unescape, pattern))


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[0][1:], 16))


def _with_verbatim(pattern: Pattern) -> Pattern:
    """A pattern with stars and dollars in place of their escapes: none of them is special now."""

    def plain(text: str) -> str:
        return _VERBATIM.sub(_unescape, text)

    start, pieces, end = pattern.start, pattern.pieces, pattern.end
    return replace(
        pattern,
        start=plain(start),
        beyond=beyond(plain(start)),
        pieces=None if pieces is None else tuple(map(plain, pieces)),
        end=None if end is None else plain(end),
        needle=plain(pattern.needle),
    )


def _split(pattern: str, rank: int, rule: Rule) -> Pattern:
    end: str | None = None
    if pattern[-1] == "$":
        pattern, end = pattern[:-1], ""
    if pattern[-1:] == "*":
        pattern, end = pattern.rstrip("*"), None
    if "*" not in pattern:
        return Pattern(rank, pattern, beyond(pattern), None, end, pattern, end is None, rule)
    start, *pieces = pattern.split("*")
    if end is not None:
        end = pieces.pop()
    needle = max(start, *pieces, end or "", key=len)
    return Pattern(rank, start, beyond(start), tuple(filter(None, pieces)), end, needle, False, rule)


_STEP = 4
"""Characters that are compared in one step: most paths differ from most patterns in their first four."""

_FEW = 8
"""Patterns that are tried one after the other, at most; more are put into branches."""


class RuleSet:
    """The rules for one crawler on one site, made ready to decide about its URLs.

    Loose patterns, those with a star in the first step or shorter than it, have no place in the tree: they are looked
    for in a path by a text that it must hold. One that matches every path is none of them; it holds where no other
    does. What stands before the path is the same in all URLs of a site, and is looked for only once.
    """

    __slots__ = ("_default", "_loose", "_loose_without_query", "_origin", "_origin_end", "_path", "_step", "_tree")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._tree: dict[str, _Branch] = {}
        self._default: tuple[int, Rule | None] = (0, None)
        self._origin = self._origin_end = ""
        self._step = self._path = slice(0)
        loose: list[Pattern] = []
        for rule in rules:
            step = rule.pattern[:_STEP]
            if len(step) == _STEP and "*" not in step and "$" not in step and not has_more_spellings(rule):
                self._branch(step).rules.append(rule)
            else:
                self._place(rule, loose)
        loose.sort(key=_rank, reverse=True)
        self._loose = tuple(loose)
        self._loose_without_query = tuple(pattern for pattern in loose if not pattern.needs_query)

    def _branch(self, step: str) -> _Branch:
        branch = self._tree.get(step)
        if branch is None:
            branch = self._tree[step] = _Branch()
        return branch

    def _place(self, rule: Rule, loose: list[Pattern]) -> None:
        for pattern in patterns_of(rule):
            if len(pattern.start) >= _STEP:
                self._branch(pattern.start[:_STEP]).patterns.append(pattern)
            elif not pattern.is_plain or pattern.start not in ("", "/"):
                loose.append(pattern)
            elif pattern.rank > self._default[0]:
                self._default = (pattern.rank, rule)

    def rule_for(self, url: str) -> Rule | None:
        """The rule that decides about a URL; `None` if none matches."""
        if self._origin <= url < self._origin_end:
            branch = self._tree.get(url[self._step])
            if branch is None and not self._loose:
                return self._default[1]
            path = path_of(url) if "#" in url else url[self._path]
        else:
            path = self._cut(url)
            branch = self._tree.get(path[:_STEP])
        rank, rule = self._default
        while branch is not None:
            for pattern in branch.here or branch.put_in_order():
                if pattern.start <= path < pattern.beyond and (pattern.is_plain or pattern.matches(path)):
                    if pattern.rank > rank:
                        rank, rule = pattern.rank, pattern.rule
                    break
            branch = branch.further.get(path[branch.start : branch.end]) if branch.further else None
        for pattern in self._loose if "?" in path else self._loose_without_query:
            if pattern.needle in path and pattern.matches(path):
                return pattern.rule if pattern.rank > rank else rule
        return rule

    def _cut(self, url: str) -> str:
        """The path; and remember what stands before it."""
        path = path_of(url)
        if "#" not in url and url.startswith(("http://", "https://")) and url.endswith(path):
            at = len(url) - len(path)
            self._step, self._path = slice(at, at + _STEP), slice(at, None)
            self._origin = url[: at + 1]
            self._origin_end = beyond(self._origin)
        return path


class _Branch:
    """Patterns with a common prefix, the best first. If there are many, most are split by the characters that follow.

    `rules` and `patterns` were added here; `rules` are those whose pattern was not needed yet, since most branches are
    never visited. On the first visit to a branch, `here` becomes the patterns to try in it, and `further` the branches
    beyond it, if any, by the characters of a path from `start` to `end`.
    """

    __slots__ = ("end", "further", "here", "patterns", "rules", "start")

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.patterns: list[Pattern] = []
        self.here: tuple[Pattern, ...] | None = None
        self.further: dict[str, _Branch] | None = None
        self.start = self.end = 0

    def put_in_order(self) -> tuple[Pattern, ...]:
        """Prepare and return the patterns to be tried here."""
        if self.here is None:
            for rule in self.rules:
                self.patterns += patterns_of(rule)
            if len(self.patterns) > _FEW:
                self._part()
            self.here = tuple(sorted(self.patterns, key=_rank, reverse=True))
            self.rules, self.patterns = [], []
        return self.here

    def _part(self) -> None:
        """A pattern that ends before the next step stays here, so that every step leaves fewer patterns."""
        self.start = _common_length([pattern.start for pattern in self.patterns])
        self.end = self.start + _STEP
        self.further = {}
        staying = []
        for pattern in self.patterns:
            if len(pattern.start) < self.end:
                staying.append(pattern)
                continue
            step = pattern.start[self.start : self.end]
            if step not in self.further:
                self.further[step] = _Branch()
            self.further[step].patterns.append(pattern)
        self.patterns = staying


def _rank(pattern: Pattern) -> int:
    return pattern.rank


def _common_length(starts: list[str]) -> int:
    """How many characters all have in common: as many as the first and the last in order."""
    first, last = min(starts), max(starts)
    return next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
