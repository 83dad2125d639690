"""The meaning of a path pattern: RFC 9309 section 2.2.2, as Google's matcher reads it.

`*` stands for any octets and `$` at the end for the end of the path; nothing else is special, and a pattern matches
whatever begins like it. Which of several matching patterns decides is in `rules`.

Hostile sites write `*a*a*a*a*b`, and regular expressions backtrack on it. Here a pattern is split at its stars, and its
pieces are looked for from left to right; to take the leftmost place for each is never wrong, so that the time is linear
in the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from .values import Rule

_OCTETS = re.compile(r"[\x80-\xff]++")
_LOWER_ESCAPES = re.compile(r"%(?![0-9A-F]{2})[0-9A-Fa-f]{2}(?>(?:%[0-9A-Fa-f]{2})*)")
"""Escapes from the first on that is not in upper case."""

_UNRESERVED_ESCAPE = re.compile(r"%(?:2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
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
    """What sorts right behind everything that begins with `start`."""
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
    """Every pattern that stands for a rule; none where it can match no path, since it begins like none.

    An `Allow` of `/a/index.html` means `/a/` too (Google's matcher). A `Disallow` holds for the spelling it has and for
    the one of our canonical URLs: RFC 9309 calls `/%7Ejoe` and `/~joe` equal, Google's matcher does not, and a crawler
    that respells URLs must not thereby step over a fence.
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
    elif pattern.rpartition("/")[2].startswith("index.htm"):
        folder = pattern[: pattern.rindex("/") + 1]
        yield _split(f"{folder}$", 2 * len(folder) + 3, rule)


def has_more_spellings(rule: Rule) -> bool:
    """Whether a rule may have another pattern than its own."""
    return _SPELT_IN_TWO_WAYS.search(rule.pattern) is not None


def _as_in_canonical_urls(pattern: str) -> str:
    return _NEVER_IN_URLS.sub(_escape, _UNRESERVED_ESCAPE.sub(_unescape, pattern))


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[0][1:], 16))


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
