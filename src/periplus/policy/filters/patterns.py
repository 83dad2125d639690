r"""Include and exclude patterns over URLs.

Reasons: `excluded`, `not-included`; the rule of the first is the pattern.

A pattern is a glob in which only `*` is special (it stands for anything, slashes too; `?` begins a query) and which has
to match from end to end:

    */docs/*             the whole URL
    example.org/docs/*   without a scheme: host, path and query, by http or https
    /docs/*              from the root of any site: path and query
    re:/v[0-9]+/api/     a regular expression of Python, found anywhere in the URL

`exclude` wins. If `include` is not empty, one of its patterns must match; seeds need not match one.

Globs take linear time. Regular expressions are the user's own, but the URLs are strangers': a repetition of what itself
repeats or has alternatives, such as `(a+)+`, runs forever on a URL made for it and is refused as a mistake. The
length of the URL is bounded by `shape`, which must come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from ...model import ConfigError, Discovery, Reject, Source, Verdict
from .backtracking import backtracks
from .globs import glob
from .verdicts import ACCEPT

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
        rule = self._exclude.match(discovery.url)
        if rule is not None:
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
