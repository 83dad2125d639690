"""How far a crawl goes from its seeds."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.model import Accept, ConfigError, Discovery, Reject, Source, Url
from periplus.policy.filters import Scope, ScopeSettings


def scope(kind: str, *seeds: str) -> Scope:
    return Scope([Url(seed) for seed in seeds], ScopeSettings(kind))


def link(url: str, source: Source = Source.LINK, depth: int = 1) -> Discovery:
    return Discovery(Url(url), source, 0.0, depth)


@each_case(
    ("kind", "seed", "url", "inside"),
    [
        ("domain", "https://docs.example.org/a/", "http://www.example.org/", True),
        ("domain", "https://docs.example.org/a/", "https://example.org:8443/", True),
        ("domain", "https://docs.example.org/", "https://example.com/", False),
        ("domain", "https://docs.example.org/", "https://notexample.org/", False),
        ("domain", "https://docs.example.org/", "https://example.org.evil.com/", False),
        ("domain", "https://docs.example.org/", "https://example.org@evil.com/", False),
        ("domain", "https://docs.example.org/", "https://user:pw@www.example.org/", True),
        ("domain", "https://me.github.io/", "https://you.github.io/", False),
        ("domain", "https://shop.co.uk/", "https://other.co.uk/", False),
        ("domain", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", True),
        ("domain", "http://127.0.0.1:8000/", "http://127.0.0.1:9000/", False),
        ("domain", "http://localhost:8000/", "http://localhost:9000/", False),
        ("domain", "http://[::1]:8000/", "http://[::1]:8000/x", True),
        ("domain", "https://github.io/", "https://github.io/about", True),
        ("domain", "https://github.io/", "https://me.github.io/", False),
        ("host", "https://docs.example.org/", "http://docs.example.org/x", True),
        ("host", "https://docs.example.org/", "https://www.example.org/", False),
        ("host", "https://docs.example.org/", "https://docs.example.org:8443/", False),
        ("prefix", "https://example.org/docs/intro.html", "http://example.org/docs/a/b?c", True),
        ("prefix", "https://example.org/docs/intro.html", "https://example.org/docs", False),
        ("prefix", "https://example.org/docs/intro.html", "https://example.org/docs2/", False),
        ("prefix", "https://example.org/docs/", "https://other.org/docs/", False),
        ("prefix", "https://example.org/docs/", "https://example.org/?/docs/", False),
        ("prefix", "https://example.org/a?b=/c/", "https://example.org/x", True),
        ("any", "https://example.org/", "http://elsewhere.net/", True),
    ],
)
def test_a_seed_stands_for_a_place(kind: str, seed: str, url: str, inside: bool) -> None:
    """Domain, site, directory or the whole web; ports tell sites apart, schemes do not."""
    verdict = scope(kind, seed).judge(link(url))
    assert verdict == (Accept() if inside else Reject("out-of-scope", kind))


@each_case("kind", ["domain", "host", "prefix"])
def test_seeds_and_what_they_redirect_to_are_inside(kind: str) -> None:
    """The page that was asked for is fetched, wherever it has gone; links from it are judged by the scope."""
    judge = scope(kind, "https://example.org/").judge
    assert judge(link("https://other.net/", Source.SEED, 0)) == Accept()
    assert judge(link("https://other.net/", Source.REDIRECT, 0)) == Accept()
    assert isinstance(judge(link("https://other.net/", Source.REDIRECT, 1)), Reject)
    assert isinstance(judge(link("https://other.net/")), Reject)


@each_case(
    ("kind", "seed", "target", "moved"),
    [
        ("domain", "http://example.org/", "https://www.example.com/", True),
        ("domain", "http://example.org/", "https://www.example.com/en/", True),
        ("domain", "http://example.org/", "https://www.example.com/index.html", True),
        ("domain", "http://example.org/", "https://www.example.org/", False),
        ("host", "http://example.org/", "https://www.example.org/", True),
        ("host", "http://example.org/a", "https://www.example.org/b", True),
        ("host", "http://example.org/docs", "https://docs.example.org/docs/", True),
        ("host", "http://example.org/", "https://docs.example.org/en/", True),
        ("host", "http://example.org/", "https://login.example.org/sso?to=x", False),
        ("prefix", "http://example.org/docs/", "https://www.example.org/docs/", True),
        ("prefix", "http://example.org/docs/", "https://www.example.org/", False),
        ("domain", "http://example.org/", "https://login.example.net/oauth?to=x", False),
        ("domain", "http://example.org/", "https://social.net/example", False),
        ("domain", "http://example.org/", "https://registrar.com/?domain=example.org", False),
        ("domain", "http://example.org/some/page", "https://example.com/", False),
        ("any", "http://example.org/", "https://www.example.com/", False),
    ],
)
def test_a_site_that_moved_takes_its_scope_along(kind: str, seed: str, target: str, moved: bool) -> None:
    """The top of a site that leads to the top of another; not to a log-in, a registrar or a profile."""
    assert scope(kind, seed).has_moved(Url(seed), Url(target)) is moved


def test_widening_takes_in_the_new_place() -> None:
    """Also for hosts that were refused before."""
    here = scope("domain", "https://example.org/")
    assert isinstance(here.judge(link("https://www.example.com/a")), Reject)
    assert here.widen(Url("https://example.com/"))
    assert here.judge(link("https://www.example.com/a")) == Accept()
    assert not here.widen(Url("https://docs.example.com/"))


def test_many_seeds_cost_one_question() -> None:
    """A directory is looked up, not searched for: 20,000 seeds on one site are not a burden."""
    here = scope("prefix", *(f"https://example.org/user{number}/index.html" for number in range(20_000)))
    assert here.judge(link("https://example.org/user19999/a/b/c")) == Accept()
    assert isinstance(here.judge(link("https://example.org/user20000/a/b/c")), Reject)


def test_an_unknown_kind_names_the_nearest() -> None:
    """A slip of the pen is answered with what was meant."""
    with pytest.raises(ConfigError) as error:
        scope("domains", "https://example.org/")
    assert "'domain'" in error.value.hint
