"""Which of many path patterns decides about a path: RFC 9309 section 2.2.2, as Google's matcher reads it.

The longest pattern that matches wins, and `Allow` wins a tie. `*` stands for any octets, `$` at the end for the end of
the path; nothing else is special. Sites write up to 150,000 rules and hostile ones write `*a*a*a*a*b`, so no pattern
becomes a regular expression: those backtrack. Instead

* patterns without a wildcard are kept sorted. All of them that begin a path are prefixes of the greatest one that does
  not sort after the path, so one binary search and a walk along a chain of ever shorter prefixes finds them;
* patterns that end in `$` and have no `*` are looked up whole;
* the rest are tried from the longest on, each by searching its literal pieces from left to right. To take the leftmost
  place for every piece is never wrong, so this is linear in the path, and a piece that must occur tells most patterns
  apart from the path before anything else is tried.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from .values import Rule

_ESCAPE_OR_OCTET = re.compile(r"%[0-9A-Fa-f]{2}|[\x80-\xff]")
_UNRESERVED_ESCAPE = re.compile(r"%(?:2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_NEVER_IN_URLS = re.compile(r'[ "<>]')
_ODD = re.compile(r'^[^/*]|^$|[%"<> ]|/index\.htm')
_END_OF_HOST = re.compile(r"[/?;]")

_Spelt = tuple[str, int, Rule]
_Entry = tuple[int, Rule | None]
_Wild = tuple[int, str, tuple[str, ...], str, Rule]

_NOTHING: _Entry = (0, None)

_HEAD = 4
"""So many characters of a path tell most paths from all rules."""


def path_of(url: str) -> str:
    """The part of a URL that patterns are matched with: path, parameters and query, without the fragment.

    Nothing is decoded or escaped: the URL is expected as it is sent. Only a missing path becomes `/`.
    """
    start = url.find("/", 8)
    if start < 0 or "#" in url or not url.startswith(("http://", "https://")) or -1 < url.find("?") < start:
        return _path_of_any(url)
    return url[start:]


def _path_of_any(url: str) -> str:
    """The same for URLs without a path or a scheme: `//host/a`, `host/a` and `/a` are all seen in the wild."""
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


def escaped(pattern: str) -> str:
    """A pattern as it is matched, from octets as Latin-1: what is beyond ASCII escaped, escapes in upper case."""
    if "%" not in pattern and pattern.isascii():
        return pattern
    return _ESCAPE_OR_OCTET.sub(_escape, pattern)


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    return found.upper() if len(found) == 3 else f"%{ord(found):02X}"


class RuleSet:
    """The rules for one crawler on one site, made ready to decide about its URLs.

    Most URLs of a site begin like no rule at all, and the first characters of the path tell. So rules are kept by their
    first characters, and are put in order only when a URL begins like them. The loose ones, which begin with less than
    these characters (`/*.pdf`), are asked about every URL. All URLs of a site begin alike, so that what stands before
    the path is looked for only once.
    """

    __slots__ = ("_head_end", "_loose", "_origin", "_path_at", "_rooted")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rooted: dict[str, _Bundle] = {}
        loose: list[_Spelt] = []
        for rule in rules:
            for spelt in _spellings(rule) if _ODD.search(rule.pattern) else (_as_written(rule),):
                head = spelt[0][:_HEAD]
                if len(head) < _HEAD or "*" in head or "$" in head:
                    loose.append(spelt)
                elif head in self._rooted:
                    self._rooted[head].spelt.append(spelt)
                else:
                    self._rooted[head] = _Bundle([spelt])
        self._loose = _Bundle(loose) if loose else None
        self._origin, self._path_at, self._head_end = "?", 0, 0

    def find(self, url: str) -> Rule | None:
        """The rule that decides about a URL; `None` where none matches."""
        loose = self._loose
        if url.startswith(self._origin):
            rooted = self._rooted.get(url[self._path_at : self._head_end])
            if rooted is None and loose is None:
                return None
            path = path_of(url) if "#" in url else url[self._path_at :]
        else:
            path = self._cut(url)
            rooted = self._rooted.get(path[:_HEAD])
        best = _NOTHING if rooted is None else rooted.find(path)
        if loose is not None:
            other = loose.find(path)
            if other[0] > best[0]:
                return other[1]
        return best[1]

    def _cut(self, url: str) -> str:
        """The path; and remember what stands before it."""
        path = path_of(url)
        if url.endswith(path) and url.startswith(("http://", "https://")):
            self._path_at = len(url) - len(path)
            self._head_end = self._path_at + _HEAD
            self._origin = url[: self._path_at + 1]
        return path


class _Bundle:
    """Some rules, put in order when they are first needed so that the best one is found soon.

    A rule ranks by twice the length of its pattern, and one more for `Allow`. `_prefixes` are in order, `_parents` says
    for each where its own longest proper prefix stands, and `_best` which rule ranks highest of it and its prefixes.
    The first is the empty prefix, where every search may end.
    """

    __slots__ = ("_best", "_exact", "_parents", "_prefixes", "_wild", "_wild_without_query", "spelt")

    def __init__(self, spelt: list[_Spelt]) -> None:
        self.spelt = spelt
        self._prefixes: list[str] = []

    def find(self, path: str) -> _Entry:
        """The rule that decides about `path`, and its rank."""
        prefixes = self._prefixes or self._put_in_order()
        at = bisect_right(prefixes, path) - 1
        while not path.startswith(prefixes[at]):
            at = self._parents[at]
        best = self._best[at]
        if self._exact:
            best = max(best, self._exact.get(path, _NOTHING), key=_rank)
        if self._wild:
            for needle, one in self._wild if "?" in path else self._wild_without_query:
                if needle in path and _matches(path, one):
                    return (one[0], one[4]) if one[0] > best[0] else best
        return best

    def _put_in_order(self) -> list[str]:
        prefixes: dict[str, _Entry] = {"": _NOTHING}
        self._exact: dict[str, _Entry] = {}
        wild: list[_Wild] = []
        for pattern, rank, rule in self.spelt:
            is_anchored = pattern[-1] == "$"
            body = pattern[:-1] if is_anchored else pattern
            if body[-1:] == "*":
                body, is_anchored = body.rstrip("*"), False
            if "*" in body:
                wild.append(_wild(body, is_anchored, rank, rule))
                continue
            entries = self._exact if is_anchored else prefixes
            if rank > entries.get(body, _NOTHING)[0]:
                entries[body] = (rank, rule)
        wild.sort(key=_rank, reverse=True)
        self._wild = tuple((_longest_piece(one), one) for one in wild)
        self._wild_without_query = tuple(pair for pair in self._wild if "?" not in pair[1][4].pattern)
        self._prefixes = sorted(prefixes)
        self._parents, self._best = _chains(self._prefixes, prefixes)
        self.spelt.clear()
        return self._prefixes


def _rank(entry: _Entry | _Wild) -> int:
    return entry[0]


def _as_written(rule: Rule) -> _Spelt:
    return rule.pattern, 2 * len(rule.pattern) + rule.allows, rule


def _spellings(rule: Rule) -> Iterator[_Spelt]:
    """The patterns of a rule that can match a path, with their ranks.

    A pattern must begin like a path does. An `Allow` of `/a/index.html` means `/a/` too (Google's matcher). A
    `Disallow` holds for the spelling it has and for the one of our canonical URLs: RFC 9309 calls `/%7Ejoe` and `/~joe`
    equal, Google's matcher does not, and a crawler that respells URLs must not thereby step over a fence.
    """
    pattern, rank, _ = as_written = _as_written(rule)
    if pattern[:1] not in ("/", "*"):
        return
    yield as_written
    if rule.allows:
        folder, _, name = pattern.rpartition("/")
        if name.startswith("index.htm"):
            yield f"{folder}/$", 2 * len(folder) + 5, rule
    elif (other := _as_in_canonical_urls(pattern)) != pattern:
        yield other, rank, rule


def _as_in_canonical_urls(pattern: str) -> str:
    if "%" in pattern:
        pattern = _UNRESERVED_ESCAPE.sub(_unescape, pattern)
    return _NEVER_IN_URLS.sub(_escape, pattern)


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[0][1:], 16))


def _wild(body: str, is_anchored: bool, rank: int, rule: Rule) -> _Wild:
    """A pattern with `*` inside: rank, what it begins with, the pieces inside, what it ends with, and its rule."""
    start, *pieces = body.split("*")
    end = pieces.pop() if is_anchored else ""
    return rank, start, tuple(piece for piece in pieces if piece), end, rule


def _longest_piece(wild: _Wild) -> str:
    return max(wild[1], *wild[2], wild[3], key=len)


def _matches(path: str, wild: _Wild) -> bool:
    _, start, middle, end, _ = wild
    if not path.startswith(start):
        return False
    at = len(start)
    for piece in middle:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return len(path) - len(end) >= at and path.endswith(end)


def _chains(ordered: list[str], entries: dict[str, _Entry]) -> tuple[list[int], list[_Entry]]:
    """`_parents` and `_best` of a `_Bundle`. A longer prefix need not rank higher: `/a***` is longer than `/ab`."""
    parents: list[int] = []
    best: list[_Entry] = []
    parent = 0
    for at, prefix in enumerate(ordered):
        while not prefix.startswith(ordered[parent]):
            parent = parents[parent]
        entry = entries[prefix]
        best.append(best[parent] if at and best[parent][0] > entry[0] else entry)
        parents.append(parent)
        parent = at
    return parents, best
