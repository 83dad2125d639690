"""What a person wants and does not want."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.model import Accept, ConfigError, Discovery, Reject, Source, Url
from periplus.policy.filters import Patterns, PatternSettings
from periplus.policy.filters.patterns import backtracks


def judge(
    url: str, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), source: Source = Source.LINK
) -> object:
    return Patterns(PatternSettings(include, exclude)).judge(Discovery(Url(url), source, 0.0))


@each_case(
    ("pattern", "url", "matches"),
    [
        ("*/docs/*", "https://example.org/docs/a", True),
        ("*/docs/*", "https://example.org/docs", False),
        ("*.pdf", "https://example.org/a.pdf", True),
        ("*.pdf", "https://example.org/a.pdf?x", False),
        ("https://example.org/*", "https://example.org/", True),
        ("https://example.org/*", "http://example.org/", False),
        ("example.org/docs/*", "http://example.org/docs/a", True),
        ("example.org/docs/*", "http://www.example.org/docs/a", False),
        ("/docs/*", "http://any.net/docs/a?b", True),
        ("/docs/*", "http://any.net/a/docs/", False),
        ("/", "http://any.net/", True),
        ("*?sort=*", "http://any.net/a?sort=1", True),
        ("*?sort=*", "http://any.net/a&sort=1", False),
        ("*a*a", "http://b.net/a", False),
        ("*a**a*", "http://b.net/axa", True),
        ("*[x]*", "http://b.net/[x]", True),
        ("*[x]*", "http://b.net/x", False),
        ("re:/v[0-9]+/", "http://b.net/v12/a", True),
        ("re:^https:", "http://b.net/v12/a", False),
    ],
)
def test_how_a_pattern_is_written_says_what_it_is_laid_upon(pattern: str, url: str, matches: bool) -> None:
    """Whole URL, host and path, path alone, or a regular expression; only the star is special."""
    assert judge(url, exclude=(pattern,)) == (Reject("excluded", pattern) if matches else Accept())
    assert judge(url, include=(pattern,)) == (Accept() if matches else Reject("not-included", "include"))


def test_exclude_wins_and_seeds_need_no_include() -> None:
    """A seed is where one starts, even if only what lies behind it is wanted; what is excluded is excluded."""
    assert judge("http://b.net/", include=("*/docs/*",), source=Source.SEED) == Accept()
    assert judge("http://b.net/docs/x", include=("*/docs/*",), exclude=("*x",)) == Reject("excluded", "*x")
    assert judge("http://b.net/docs/x", exclude=("*x",), source=Source.SEED) == Reject("excluded", "*x")
    assert judge("http://b.net/", include=("/a", "/")) == Accept()


@each_case("pattern", ["", "re:(", "re:[a", "re:*", "re:(a+)+$", "re:(a|aa)*b", "re:((a*)b?)*", "x" * 2001])
def test_a_pattern_that_cannot_be_used_is_a_mistake(pattern: str) -> None:
    """It is said at the start and with a way out, not met as a crash or a standstill on some URL."""
    with pytest.raises(ConfigError) as error:
        judge("http://b.net/", include=(pattern,))
    assert error.value.hint


def test_there_may_be_many_patterns_but_not_any_number() -> None:
    """Each is asked of every URL."""
    with pytest.raises(ConfigError):
        judge("http://b.net/", include=("*a",) * 1001)


@each_case(
    ("expression", "is_dangerous"),
    [
        (r"/a/[0-9]+/b.*\.html", False),
        (r"(?:/a|/b)+", True),
        (r"(?:/a|/b)++", False),
        (r"(?>(?:/a|/b)+)", False),
        (r"(?>(?:/a|/b)+c)", True),
        (r"(?>(?:/a|/b)+)*", True),
        (r"(a+)?", False),
        (r"(a+){3}", False),
        (r"(a+){2,}", True),
        (r"([(+|*])+", False),
        (r"(\(\+\|)*", False),
        (r"((ab)+c)*", True),
        (r"(?#(a+)+)x", False),
        (r"(ab)*(cd)*", False),
        (r")+", False),
    ],
)
def test_repetitions_inside_repetitions_are_found(expression: str, is_dangerous: bool) -> None:
    """By the text alone, on the safe side; characters in classes and behind a backslash are only characters."""
    assert backtracks(expression) is is_dangerous
