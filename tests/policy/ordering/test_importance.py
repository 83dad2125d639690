"""How much a URL is wanted, which site is next, and how both become keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.model import ConfigError, Discovery, InvariantError, Learning, Source, Url
from periplus.policy.ordering import LAST_LEVEL, ZERO_LEVEL, Scored, level_of, levels_of, ordering, orderings


def page(number: int, depth: int = 0) -> Discovery:
    return Discovery(Url(f"http://h.net/{number}"), Source.LINK, 0.0, depth)


@each_case(
    ("score", "level"),
    [
        (math.inf, 0),
        (2.0**40, 0),
        (2.0**32, 0),
        (2.0**31.75, 0),
        (2.0**31, 1),
        (1.0, 63),
        (1.5, 62),
        (2.0**-32, 127),
        (2.0**-40, 127),
        (5e-324, 127),
        (0.0, ZERO_LEVEL),
        (-0.0, ZERO_LEVEL),
        (-0.5, 129),
        (-1.0, 129),
        (-1.5, 130),
        (-126.0, 254),
        (-127.0, LAST_LEVEL),
        (-1e300, LAST_LEVEL),
        (-math.inf, LAST_LEVEL),
    ],
)
def test_levels(score: float, level: int) -> None:
    """Half octaves above zero, whole numbers below, and the ends hold everything beyond."""
    assert level_of(score) == level


def test_a_score_that_is_not_a_number_is_a_bug_of_ours() -> None:
    """It must not be filed anywhere."""
    with pytest.raises(InvariantError):
        level_of(math.nan)


def levels_by(score: Callable[[Url, object], float], urls: Sequence[str]) -> list[int]:
    policy = Scored(score)
    return [level_of(policy.score(Discovery(Url(url), Source.LINK, 0.0, 0))) for url in urls]


def test_small_scores_are_told_apart() -> None:
    """Of a function as 1 / length, and as far as before of one that uses the whole range."""
    urls = ["http://h.net/" + "a" * length for length in range(100)]
    levels = levels_by(lambda url, _: 1 / len(url), urls)
    assert levels == sorted(levels)
    assert len(set(levels)) > 25
    even = levels_by(lambda url, _: (len(url) - 13) / 127, [*urls, urls[0] + "a" * 127])
    assert len(set(even)) == len(even)
    assert (even[-1], even[0]) == (0, LAST_LEVEL)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_score_never_comes_later(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert levels_by(lambda *_: high, ["http://h.net/"]) <= levels_by(lambda *_: low, ["http://h.net/"])


def test_breadth_first_takes_shallow_pages_and_then_who_has_waited() -> None:
    """Najork & Wiener; a level for each link from a seed."""
    policy = ordering("breadth_first")
    assert [level_of(policy.score(page(0, depth))) for depth in (0, 1, 2, 500)] == [128, 129, 130, 255]
    keys = {
        "deep": policy.site_key(9, 131, 1.0),
        "late": policy.site_key(9, 129, 8.0),
        "first": policy.site_key(1, 129, 2.0),
    }
    assert sorted(keys, key=keys.__getitem__) == ["first", "late", "deep"]


def test_largest_site_takes_the_longest_queue() -> None:
    """Castillo's Length: pages first come, first served."""
    policy = ordering("largest_site")
    assert {policy.score(page(number, number)) for number in range(9)} == {0.0}
    keys = {
        "short": policy.site_key(1, 0, 1.0),
        "long": policy.site_key(9, 200, 8.0),
        "first": policy.site_key(9, 255, 2.0),
    }
    assert sorted(keys, key=keys.__getitem__) == ["first", "long", "short"]


def test_random_is_the_same_for_the_same_seed_and_spread_over_all_levels() -> None:
    """A crawl that was killed goes on in its order; no level is crowded."""
    pages = [page(number) for number in range(12_800)]
    policy, same, other = ordering("random"), ordering("random", seed=0), ordering("random", seed=1)
    levels = [level_of(policy.score(each)) for each in pages]
    assert levels == [level_of(same.score(each)) for each in pages]
    assert levels != [level_of(other.score(each)) for each in pages]
    counts = [levels.count(level) for level in range(128)]
    assert min(counts) > 50
    assert max(counts) < 160


def test_orderings_are_chosen_by_name() -> None:
    """An unknown name or setting is answered with the nearest known one."""
    assert {"breadth_first", "largest_site", "random", "indegree", "opic", "rankmass", "batch"} <= set(orderings())
    assert type(ordering("depth")) is type(ordering("breadth_first"))
    assert type(ordering("length")) is type(ordering("largest_site"))
    with pytest.raises(ConfigError) as error:
        ordering("breadthfirst")
    assert "'breadth_first'" in error.value.hint
    with pytest.raises(ConfigError) as error:
        ordering("random", sed=1)
    assert "'seed'" in error.value.hint
    with pytest.raises(ConfigError):
        ordering("breadth_first", seed=1)


def test_the_oracle_must_be_there() -> None:
    """The PageRank of a page that was never seen is unknown: the caller passes where it comes from."""
    with pytest.raises(ConfigError):
        ordering("optimal")
    policy = ordering("optimal", oracle={Url("http://h.net/1"): 3.0, Url("http://h.net/2"): 4.0}.__getitem__)
    assert policy.score(page(1)) < policy.score(page(2))


@each_case(
    ("name", "settings"),
    [
        ("opic_adaptive", {"window": 0}),
        ("partial", {"every": 0}),
        ("batch", {"damping": 1.0}),
        ("rankmass", {"damping": 0.0}),
        ("rankmass_windowed", {"share": 0.0}),
    ],
)
def test_settings_without_sense_are_refused(name: str, settings: dict[str, Any]) -> None:
    """At once, and not in the middle of a crawl."""
    with pytest.raises(ConfigError):
        ordering(name, **settings)


@given(st.lists(st.floats(min_value=0.0, allow_nan=False), max_size=50))
def test_levels_of_many_are_those_of_each(scores: list[float]) -> None:
    """The vectorised rule is the same rule, at the ends too."""
    assert levels_of(np.array(scores)).tolist() == [level_of(score) for score in scores]


def test_cash_is_neither_made_nor_lost() -> None:
    """What a page passes on and what it keeps is what it had (Abiteboul, Preda & Cobena 2003)."""
    policy = ordering("opic")
    assert isinstance(policy, Learning)
    assert 7 * policy.share(0.9, 7) + policy.rest(0.9) == pytest.approx(0.9)
    tired = ordering("rankmass", damping=0.85)
    assert isinstance(tired, Learning)
    assert 7 * tired.share(0.9, 7) + tired.rest(0.9) == pytest.approx(0.85 * 0.9)


def test_old_cash_counts_by_the_window() -> None:
    """A page that collected for ten windows counts by its income over one."""
    policy = ordering("opic_adaptive", window=100)
    assert isinstance(policy, Learning)
    assert policy.score_of(5.0, 100) == 5.0
    assert policy.score_of(5.0, 1000) == 0.5
