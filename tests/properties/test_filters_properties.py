"""Filters and levels against any input: total, pure, bounded, and the same after a restart."""

from __future__ import annotations

import fnmatch
import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import Accept, Discovery, Reject, Rewrite, Site, Source, Url
from periplus.parts.dust.learning import SiteDust
from periplus.parts.dust.renames import Renames
from periplus.policy.filters import (
    REASONS,
    BudgetSettings,
    FilterSettings,
    PatternSettings,
    ScopeSettings,
    Sessions,
    ShapeSettings,
    SiteFilterState,
    TrapSettings,
    key_of,
    standard_chain,
    template_of,
)
from periplus.policy.filters.patterns import glob
from periplus.policy.filters.site_states import MAX_STEPS, Window
from periplus.policy.ordering import level_of
from periplus.urls import canonical

SEED = Url("http://a.test/")
PIECES = st.sampled_from(
    ["a", "b", "/", "//", "?", "&", "=", ";", "(", ")", "1", "2026", "-", ".", "%20", "%", "é", "..", "jsessionid=",
     "sid=9f86d081884c7d65", "utm_id=1", ".jpg", "S(", "lit3py55t21z5v55vlm25s55", "@", ":8080", "x" * 40]
)  # fmt: skip
PATHS = st.lists(PIECES, max_size=14).map("".join)


@st.composite
def urls(draw: st.DrawFn) -> Url:
    """Canonical URLs of a few hosts with everything in them that a filter looks for."""
    host = draw(st.sampled_from(["a.test", "www.a.test", "b.test:81", "user@a.test", "127.0.0.1", "[::1]"]))
    return canonical(f"http://{host}/{draw(PATHS)}") or SEED


DISCOVERIES = st.builds(
    Discovery,
    url=urls(),
    source=st.sampled_from(Source),
    found_at=st.just(0.0),
    depth=st.integers(0, 5),
    referrer=st.none() | urls(),
    redirects=st.integers(0, 3),
)
EAGER = FilterSettings(
    traps=TrapSettings(
        window=2, min_unique=0.6, max_values=3, min_unique_values=1.0, max_templates=4, max_parameters=3, max_sites=2
    ),
    budgets=BudgetSettings(max_depth=4, max_redirects=2, max_pages_per_site=9),
    scope=ScopeSettings("any"),
)

CHOOSY = FilterSettings(
    patterns=PatternSettings(include=("*a*", "*2026*"), exclude=("*b*",)),
    scope=ScopeSettings("prefix"),
    shape=ShapeSettings(max_length=60, max_segments=3, max_repeats=1),
)


@given(st.lists(DISCOVERIES, max_size=12), st.sampled_from(["domain", "host", "prefix", "any"]))
def test_every_url_gets_a_verdict(discoveries: list[Discovery], kind: str) -> None:
    """No canonical URL makes a filter raise; a reason is one of the list; a new name is canonical and wanted."""
    chain = standard_chain([SEED], FilterSettings(scope=ScopeSettings(kind)))
    for discovery in discoveries:
        verdict = chain.judge(discovery)
        assert chain.judge(discovery) == verdict
        if isinstance(verdict, Reject):
            assert verdict.reason in REASONS
        elif isinstance(verdict, Rewrite):
            assert canonical(verdict.url) == verdict.url != discovery.url
            renamed = Discovery(verdict.url, discovery.source, 0.0, discovery.depth)
            assert not isinstance(chain.judge(renamed), Reject)


@given(st.lists(st.tuples(DISCOVERIES, st.booleans(), st.booleans()), max_size=30))
def test_a_crawl_that_is_killed_at_any_time_decides_as_one_that_is_not(
    steps: list[tuple[Discovery, bool, bool]],
) -> None:
    """Verdicts are a function of what was admitted and observed, and that survives in what is kept."""
    kept: dict[Site, bytes] = {}

    def recall(site: Site) -> SiteFilterState | None:
        return msgspec.msgpack.decode(kept[site], type=SiteFilterState) if site in kept else None

    steady = standard_chain([SEED], EAGER)
    killed = standard_chain([SEED], EAGER, recall)
    for discovery, is_unique, dies in steps:
        assert steady.judge(discovery) == killed.judge(discovery)
        assert steady.admit(discovery) == killed.admit(discovery)
        steady.observe(discovery.url, is_unique)
        killed.observe(discovery.url, is_unique)
        assert steady.reconsider(discovery) == killed.reconsider(discovery)
        if dies:
            kept.update((site, msgspec.msgpack.encode(lessons)) for site, lessons in killed.changed())
            killed.check_invariants()
            killed = standard_chain([SEED], EAGER, recall)
    steady.check_invariants()
    assert all(len(state) < 2000 for state in kept.values())


@given(
    st.lists(st.tuples(DISCOVERIES, st.booleans()), max_size=20),
    st.lists(DISCOVERIES, max_size=12),
    st.sampled_from([EAGER, FilterSettings(), CHOOSY]),
    st.sampled_from(["", "http://a.test/", "http://b.test:81/"]),
)
def test_urls_get_together_the_verdicts_that_each_gets_alone(
    learnt: list[tuple[Discovery, bool]], discoveries: list[Discovery], settings: FilterSettings, renaming: str
) -> None:
    """Filters that pass over a site as a whole would have accepted each of its URLs."""
    chain = standard_chain([SEED], settings, learning=[Renames])
    for discovery, is_unique in learnt:
        chain.admit(discovery)
        chain.observe(discovery.url, is_unique)
    if renaming:
        state = chain.states.changing(Url(renaming))
        state.keep(SiteDust(cleaned=((("a", "b"), "/"),)))
        state.dated = [key_of(template_of(each.url)) for each in discoveries]
    assert chain.judge_all(discoveries) == [chain.judge(discovery) for discovery in discoveries]
    chain.check_invariants()


@given(urls())
def test_a_name_without_its_session_has_none(url: Url) -> None:
    """One rewrite is enough, but for what only then stands together, and a name only gets shorter."""
    verdict = Sessions().judge(Discovery(url, Source.LINK, 0.0))
    if isinstance(verdict, Rewrite):
        assert len(verdict.url) < len(url)
    else:
        assert verdict == Accept()


@given(st.text("ab*/", max_size=8), st.text("ab/", max_size=12))
def test_globs_match_what_backtracking_would_find(pattern: str, text: str) -> None:
    """Taking the first place for each star loses no match."""
    expected = re.fullmatch(fnmatch.translate("*" + pattern), text) is not None
    assert glob("*" + pattern)(text) is expected


@given(st.lists(st.booleans(), max_size=300), st.integers(1, 64), st.floats(0.0, 1.0))
def test_a_window_is_bounded_and_opens_again(observed: list[bool], size: int, least: float) -> None:
    """Steps stay within their bounds, and enough unique pages open any kind."""
    window = Window()
    for is_unique in observed:
        window.observe(is_unique, size, least)
        assert 0 <= window.steps <= MAX_STEPS
        assert 0 <= window.bits < 2**size
    for _ in range(size * (MAX_STEPS + 1)):
        window.observe(True, size, least)
    assert window.steps == 0


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_larger_scores_never_come_later(one: float, other: float) -> None:
    """Levels are monotone, and a byte."""
    low, high = sorted((one, other))
    assert 0 <= level_of(high) <= level_of(low) <= 255
    assert (level_of(one) < 128) == (one > 0)
