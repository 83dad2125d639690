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
from collections.abc import Iterable

from .values import Rule

_ESCAPE_OR_OCTET = re.compile(r"%[0-9A-Fa-f]{2}|[\x80-\xff]")

_UNRESERVED_ESCAPE = re.compile(r"%(?:2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")

_NEVER_IN_URLS = re.compile(r'[ "<>]')

_ABSOLUTE = re.compile(r"https?://[^/?;#]*(/[^#]*)")

_Entry = tuple[int, Rule]
_Wild = tuple[int, str, str, tuple[str, ...], str | None, Rule]

_NOTHING: tuple[int, None] = (1, None)
"""Below the rank of every pattern of one character or more."""


def path_of(url: str) -> str:
    """The part of a URL that patterns are matched with: path, parameters and query, without the fragment.

    Nothing is decoded or escaped: the URL is expected as it is sent. Only a missing path becomes `/`.
    """
    match = _ABSOLUTE.match(url)
    return match[1] if match else _path_of_any(url)


def _path_of_any(url: str) -> str:
    """The same for URLs without a path or a scheme: `//host/a`, `host/a` and `/a` are all seen in the wild."""
    start = 2 if url.startswith("//") else 0
    url = url.partition("#")[0]
    first = re.compile(r"[/?;]").search(url, start)
    scheme_end = url.find("://", start)
    if scheme_end >= 0 and (first is None or first.start() >= scheme_end):
        first = re.compile(r"[/?;]").search(url, scheme_end + 3)
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


class PatternSet:
    """Rules made ready to decide about paths. Building costs a sort; `find` hardly depends on their number."""

    __slots__ = ("_best", "_exact", "_longest_first", "_longest_first_no_query", "_parents", "_prefixes")

    def __init__(self, rules: Iterable[Rule]) -> None:
        prefixes: dict[str, _Entry] = {}
        self._exact: dict[str, _Entry] = {}
        wild: list[_Wild] = []
        for pattern, rank, rule in _spellings(rules):
            entry = (rank, rule)
            is_anchored = pattern[-1] == "$"
            body = pattern[:-1] if is_anchored else pattern
            if body[-1:] == "*":
                body = body.rstrip("*")
                is_anchored = False
            if "*" in body:
                wild.append(_wild(body, is_anchored, entry))
            else:
                _keep_best(self._exact if is_anchored else prefixes, body, entry)
        wild.sort(key=lambda one: -one[0])
        self._longest_first = tuple(wild)
        self._longest_first_no_query = tuple(one for one in wild if "?" not in one[5].pattern)
        self._prefixes = sorted(prefixes)
        self._parents, self._best = _chains(self._prefixes, prefixes)

    def find(self, path: str) -> Rule | None:
        """The rule that decides about `path`."""
        rank, rule = self._exact.get(path, _NOTHING)
        at = bisect_right(self._prefixes, path) - 1
        while at >= 0:
            if path.startswith(self._prefixes[at]):
                if self._best[at][0] > rank:
                    rank, rule = self._best[at]
                break
            at = self._parents[at]
        for one in self._longest_first if "?" in path else self._longest_first_no_query:
            if one[0] <= rank:
                break
            if one[1] in path and _matches(path, one):
                return one[5]
        return rule


def _spellings(rules: Iterable[Rule]) -> Iterable[tuple[str, int, Rule]]:
    """Every pattern that can match, with the rank of its rule: twice its length, and one more for `Allow`.

    A pattern must begin like a path does. An `Allow` of `/a/index.html` means `/a/` too (Google's matcher). A
    `Disallow` holds for the spelling it has and for the one of our canonical URLs: RFC 9309 calls `/%7Ejoe` and `/~joe`
    equal, Google's matcher does not, and a crawler that respells URLs must not thereby step over a fence.
    """
    for rule in rules:
        pattern = rule.pattern
        if pattern[:1] not in ("/", "*"):
            continue
        rank = 2 * len(pattern) + rule.allows
        yield pattern, rank, rule
        if rule.allows:
            folder, slash, name = pattern.rpartition("/")
            if name.startswith("index.htm"):
                yield folder + slash + "$", 2 * (len(folder) + 2) + 1, rule
        elif (other := _as_in_canonical_urls(pattern)) != pattern:
            yield other, rank, rule


def _as_in_canonical_urls(pattern: str) -> str:
    if "%" in pattern:
        pattern = _UNRESERVED_ESCAPE.sub(lambda match: chr(int(match[0][1:], 16)), pattern)
    return _NEVER_IN_URLS.sub(lambda match: f"%{ord(match[0]):02X}", pattern)


def _keep_best(entries: dict[str, _Entry], key: str, entry: _Entry) -> None:
    known = entries.get(key)
    if known is None or known[0] < entry[0]:
        entries[key] = entry


def _wild(body: str, is_anchored: bool, entry: _Entry) -> _Wild:
    """A pattern with `*` inside: rank, the piece to look for first, then start, middle pieces, end and rule."""
    start, *pieces = body.split("*")
    end = pieces.pop() if is_anchored else None
    middle = tuple(piece for piece in pieces if piece)
    rank, rule = entry
    return rank, max(start, *middle, end or "", key=len), start, middle, end, rule


def _matches(path: str, wild: _Wild) -> bool:
    _, _, start, middle, end, _ = wild
    if not path.startswith(start):
        return False
    at = len(start)
    for piece in middle:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return end is None or (len(path) - len(end) >= at and path.endswith(end))


def _chains(ordered: list[str], entries: dict[str, _Entry]) -> tuple[list[int], list[_Entry]]:
    """For each prefix, in order: where its own longest proper prefix stands (-1: none), and the best entry so far.

    A longer prefix need not rank higher: `/a***` is longer than `/ab`.
    """
    parents: list[int] = []
    best: list[_Entry] = []
    open_ones: list[int] = []
    for prefix in ordered:
        while open_ones and not prefix.startswith(ordered[open_ones[-1]]):
            open_ones.pop()
        parent = open_ones[-1] if open_ones else -1
        entry = entries[prefix]
        best.append(entry if parent < 0 or entry[0] > best[parent][0] else best[parent])
        open_ones.append(len(parents))
        parents.append(parent)
    return parents, best
