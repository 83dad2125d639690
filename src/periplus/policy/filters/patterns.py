"""Filters URLs by include and exclude patterns.

Reasons: `excluded`, `not-included`; the rule of the first is the pattern.

A pattern is a glob in which only `*` is special (it stands for anything, slashes too; `?` begins a query) and which has
to match from end to end:

    */docs/*             the whole URL
    example.org/docs/*   without a scheme: host, path and query, by http or https
    /docs/*              from the root of any site: path and query
    re:/v[0-9]+/api/     a regular expression of RE2, found anywhere in the URL

`exclude` wins. If `include` is not empty, one of its patterns must match; seeds need not match one.

Both take linear time, since hostile sites choose the URLs and the settings may be those of somebody else: for globs see
`glob`, and RE2 does not backtrack. `Shape`, which must come first, bounds the length of the URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import re2
from msgspec import Struct

from periplus.model import ConfigError, Discovery, Reject, Source, Url, Verdict
from periplus.model.flags import Flag

from .reasons import ACCEPT


def glob(pattern: str) -> Callable[[str], bool]:
    """A function that returns whether a URL matches from end to end.

    For each star the first place where the following text occurs is always right, so no star is tried twice: the time
    is linear, whatever the pattern and the URL.
    """
    matches = wildcards(pattern)
    if pattern.startswith("/"):
        return lambda url: matches(url[url.index("/", 8) :])
    if "://" not in pattern and not pattern.startswith("*"):
        return lambda url: matches(url.partition("://")[2])
    return matches


def wildcards(pattern: str) -> Callable[[str], bool]:
    """A function that returns whether a text matches from end to end, where `*` stands for anything."""
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


MAX_PATTERNS = 1000
MAX_PATTERN_LENGTH = 2000
_GLANCED_AT = 4096
_MAX_MEMORY = 2**18
"""Bytes that a regular expression may take, compiled and while it searches: `MAX_PATTERNS` take 256 MiB."""

_OPTIONS = re2.Options()
_OPTIONS.max_mem, _OPTIONS.log_errors, _OPTIONS.never_capture = _MAX_MEMORY, False, True
_NOT_FOUND = (-1, -1)

_NOT_SUPPORTED = (
    (re.compile(r"\(\?<?[=!]$"), "name what must match in `include`, and what must not in `exclude`"),
    (re.compile(r"\\[1-9]$|\(\?P$"), "instead of a reference to a group write its alternatives out"),
    (re.compile(r"\(\?>$|[*+?}]\+$"), "leave out the `?>` of the group or the second `+`: no search goes back"),
    (re.compile(r"\\Z$"), r"the end is `$` or `\z`"),
    (re.compile(r"\\[uUN]$"), "write the character itself"),
    (re.compile(r"\{\d*,?\d*\}$|too large"), "repeat at most 1,000 times, or name fewer repetitions"),
)
"""What RE2 says of what Python has and it has not, and what to write instead."""


class PatternSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The two lists."""

    include: Annotated[
        tuple[str, ...],
        Flag(
            "--include",
            "Only URLs like */docs/*, /docs/* or re:REGEX. May be repeated.",
            "PATTERN",
            verbs=("crawl", "map", "audit"),
        ),
    ] = ()
    """If not empty, crawl only URLs that match one of these."""
    exclude: Annotated[
        tuple[str, ...],
        Flag(
            "--exclude",
            "Skip URLs like this, even if --include matches. May be repeated.",
            "PATTERN",
            verbs=("crawl", "map", "audit"),
        ),
    ] = ()
    """Refuse URLs that match one of these."""


class Patterns:
    """Refuses what is excluded, and what is not included."""

    def __init__(self, settings: PatternSettings | None = None) -> None:
        settings = settings or PatternSettings()
        self._exclude = _Alternatives("exclude", settings.exclude)
        self._include = _Alternatives("include", settings.include)

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """Those that are excluded, not included, or too long to look at before their length is judged."""
        accepts = self._accepts
        return [place for place, url in enumerate(urls) if len(url) > _GLANCED_AT or not accepts(url)]

    def _accepts(self, url: Url) -> bool:
        for _, matches in self._exclude.patterns:
            if matches(url):
                return False
        for _, matches in self._include.patterns:
            if matches(url):
                return True
        return self._include.is_empty

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
        self.patterns = [(pattern, compiled(pattern)) for pattern in patterns]
        self.is_empty = not patterns

    def match(self, url: str) -> str | None:
        """The first pattern that matches, as it was written."""
        for written, pattern in self.patterns:
            if pattern(url):
                return written
        return None


def compiled(pattern: str) -> Callable[[str], object]:
    """A function that says whether a URL matches. Raises `ConfigError` for a pattern that cannot be used."""
    if not pattern or len(pattern) > MAX_PATTERN_LENGTH:
        raise ConfigError(
            f"a pattern of {len(pattern)} characters", hint=f"a pattern has 1 to {MAX_PATTERN_LENGTH}: */docs/*"
        )
    if not pattern.startswith("re:"):
        return glob(pattern)
    search = _expression(pattern[3:])

    def matches(text: str) -> bool:
        data = text.encode(errors="replace")
        return bool(search(re2._Anchor.UNANCHORED, data, 0, len(data))[0] != _NOT_FOUND)

    return matches


def _expression(source: str) -> Any:
    """The search of RE2 itself, in bytes; its Python module makes a `Match` of each, in three times the time."""
    try:
        return re2.compile(source, _OPTIONS)._regexp.Match
    except (re2.error, UnicodeEncodeError) as error:
        detail = error.args[0].decode(errors="replace") if isinstance(error, re2.error) else str(error)
        instead = next((hint for said, hint in _NOT_SUPPORTED if said.search(detail)), "")
        raise ConfigError(
            f"{'not supported in' if instead else 'not'} a regular expression (RE2): {source[:200]!r}: {detail[:200]}",
            hint=instead or "escape . ? + ( ) with a backslash, or leave out `re:` for a simple pattern with *",
        ) from error
