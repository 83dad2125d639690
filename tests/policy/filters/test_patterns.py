"""What a person wants and does not want."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.each_case import each_case

from periplus.model import Accept, ConfigError, Discovery, Reject, Source, Url
from periplus.policy.filters import Patterns, PatternSettings


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


@each_case("pattern", ["", "re:(", "re:[a", "re:*", "x" * 2001])
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
    ("pattern", "hint"),
    [
        (r"re:/(?!private/)", "exclude"),
        (r"re:(?<=/)a", "include"),
        (r"re:/([a-z]+)/\1/", "alternatives"),
        (r"re:(?P<a>x)(?P=a)", "alternatives"),
        (r"re:(?>a+)b", "?>"),
        (r"re:a++b", "second"),
        (r"re:a{2}+b", "second"),
        (r"re:a\Z", r"\z"),
        (r"re:\u00e9", "the character"),
        (r"re:a{1001}", "1,000"),
        (r"re:(\pL*a){100}", "1,000"),
        ("re:\udcff", "backslash"),
    ],
)
def test_what_is_not_in_re2_is_named_with_what_to_write(pattern: str, hint: str) -> None:
    """Lookaround, references and the like, and what would take too much memory."""
    with pytest.raises(ConfigError, match="regular expression") as error:
        judge("http://b.net/", include=(pattern,))
    assert repr(pattern[3:]) in str(error.value)
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize("expression", ["(.*a){30}x", ".*.*.*.*.*.*.*.*x$", "(a?){60}a{60}$", "(a+)+$", "(a|aa)*b"])
def test_no_expression_takes_long(expression: str) -> None:
    """A matcher that goes back would not end in a lifetime; in a process of its own, which can be killed."""
    program = (
        "from periplus.policy.filters.patterns import compiled\n"
        f"compiled('re:{expression}')('https://a.net/' + 'a' * 60 + '/')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
