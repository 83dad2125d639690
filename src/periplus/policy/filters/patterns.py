"""Filters URLs by include and exclude patterns.

Reasons: `excluded`, `not-included`; the rule of the first is the pattern.

A pattern is a glob in which only `*` is special (it stands for anything, slashes too; `?` begins a query) and which has
to match from end to end:

    */docs/*             the whole URL
    example.org/docs/*   without a scheme: host, path and query, by http or https
    /docs/*              from the root of any site: path and query
    re:/v[0-9]+/api/     a regular expression of Python, found anywhere in the URL

`exclude` wins. If `include` is not empty, one of its patterns must match; seeds need not match one.

Globs take linear time. Regular expressions are the user's own, but hostile sites choose the URLs: an expression that
may take exponential time is refused as a mistake (`backtracks`). Polynomial time is accepted, because `Shape`, which
must come first, bounds the length of the URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from periplus.model import ConfigError, Discovery, Reject, Source, Verdict

from .reasons import ACCEPT


def glob(pattern: str) -> Callable[[str], bool]:
    """A function that returns whether a URL matches from end to end.

    For each star the first place where the following text occurs is always right, so no star is tried twice: the time
    is linear, whatever the pattern and the URL.
    """
    matches = _matcher(pattern)
    if pattern.startswith("/"):
        return lambda url: matches(url[url.index("/", 8) :])
    if "://" not in pattern and not pattern.startswith("*"):
        return lambda url: matches(url.partition("://")[2])
    return matches


def _matcher(pattern: str) -> Callable[[str], bool]:
    first, *others = pattern.split("*")
    if not others:
        return pattern.__eq__
    middle, last = [piece for piece in others[:-1] if piece], others[-1]
    if len(middle) == 1 and not first and not last:
        piece = middle[0]
        return lambda text: piece in text

    def matches(text: str) -> bool:
        if not text.startswith(first):
            return False
        end = len(first)
        for piece in middle:
            start = text.find(piece, end)
            if start < 0:
                return False
            end = start + len(piece)
        return text.endswith(last) and len(text) - len(last) >= end

    return matches


_TOKEN = re.compile(
    r"""
      \\.                                     # an escaped character
    | \[\^?\]?(?>(?:\\.|[^\]\\])*)\]          # a class
    | \(\?\#[^)]*+\)                          # a comment
    | (?P<open>\() (?P<atomic>\?>)?
    | (?P<close>\)) (?P<repeat>[*+]|\{\d*+,\d*+\})? (?P<possessive>\+)? (?P<is_last>(?=\)))?
    | (?P<vary>[*+?|]|\{\d*+,\d*+\}) (?P<kept>\+)?
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def backtracks(expression: str) -> bool:
    """Whether a group that holds a repetition or alternatives is itself repeated in a way that can go back.

    `(a+)+`, `(a|ab)*` and similar can split one text in exponentially many ways, and a backtracking matcher tries them
    all. The test errs on the safe side: `(?:/a|/b)*` is harmless and is refused as well. A repetition that ends an
    atomic group, `(?>(a+)+)`, or is possessive, `(a+)++`, never goes back and is allowed. Atomic groups are the better
    choice: Python before 3.11.5 misreads possessive groups.
    """
    varies, atomic = [False], [False]
    for token in _TOKEN.finditer(expression):
        if token["open"]:
            varies.append(False)
            atomic.append(token["atomic"] is not None)
        elif token["close"] and len(varies) > 1:
            inside = varies.pop()
            atomic.pop()
            is_kept = token["possessive"] or (token["is_last"] is not None and atomic[-1])
            if token["repeat"] and not is_kept and inside:
                return True
            varies[-1] |= inside or bool(token["repeat"] and not is_kept)
        elif token["vary"] and not token["kept"]:
            varies[-1] = True
    return False


MAX_PATTERNS = 1000
MAX_PATTERN_LENGTH = 2000


class PatternSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The two lists."""

    include: tuple[str, ...] = ()
    """If not empty, crawl only URLs that match one of these."""
    exclude: tuple[str, ...] = ()
    """Refuse URLs that match one of these."""


class Patterns:
    """Refuses what is excluded, and what is not included."""

    def __init__(self, settings: PatternSettings | None = None) -> None:
        settings = settings or PatternSettings()
        self._exclude = _Alternatives("exclude", settings.exclude)
        self._include = _Alternatives("include", settings.include)

    def judge(self, discovery: Discovery) -> Verdict:
        """Exclude first; then include, if there is any and the URL is not a seed."""
        if not self._exclude.is_empty and (rule := self._exclude.match(discovery.url)) is not None:
            return Reject("excluded", rule)
        if self._include.is_empty or discovery.source is Source.SEED or self._include.match(discovery.url) is not None:
            return ACCEPT
        return Reject("not-included", "include")


class _Alternatives:
    """Several patterns as one, in the order given."""

    def __init__(self, name: str, patterns: tuple[str, ...]) -> None:
        if len(patterns) > MAX_PATTERNS:
            raise ConfigError(
                f"{name}: {len(patterns)} patterns", hint=f"at most {MAX_PATTERNS}; a `*` can stand for many"
            )
        self._patterns = [(pattern, compiled(pattern)) for pattern in patterns]
        self.is_empty = not patterns

    def match(self, url: str) -> str | None:
        """The first pattern that matches, as it was written."""
        for written, pattern in self._patterns:
            if pattern(url):
                return written
        return None


def compiled(pattern: str) -> Callable[[str], object]:
    """A function that says whether a URL matches. Raises `ConfigError` for a pattern that cannot be used."""
    if not pattern or len(pattern) > MAX_PATTERN_LENGTH:
        raise ConfigError(
            f"a pattern of {len(pattern)} characters", hint=f"a pattern has 1 to {MAX_PATTERN_LENGTH}: */docs/*"
        )
    return _expression(pattern[3:]).search if pattern.startswith("re:") else glob(pattern)


def _expression(source: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"not a regular expression: {source[:200]!r}: {error}",
            hint="escape . ? + ( ) with a backslash, or leave out `re:` for a simple pattern with *",
        ) from error
    if backtracks(source):
        raise ConfigError(
            f"a repetition inside a repetition: {source[:200]!r}",
            hint="some URLs would take exponential time; put the outer repetition into an atomic group: (?>(...)*)",
        )
    return pattern
