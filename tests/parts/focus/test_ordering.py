"""Orderings of a focused crawl: the check values of shark-search, and the worth that holds two numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.each_case import each_case

from periplus.model import ConfigError, Discovery, Source, Url
from periplus.parts.focus.ordering import (
    Focusing,
    LinkSigns,
    any_ordering,
    focused_orderings,
    inherited,
    inherited_of,
    potential_of,
    shark,
    worth_of,
)
from periplus.policy.ordering import level_of


def test_shark_check_values() -> None:
    """R = .6 with anchor .4; no anchor and context .3; an irrelevant page that inherited .3."""
    assert shark(inherited(0.6, 0.0), 0.4, 1.0) == pytest.approx(0.41)
    assert shark(inherited(0.6, 0.0), 0.0, 0.3) == pytest.approx(0.18)
    assert inherited(0.1, 0.3) == pytest.approx(0.15)
    assert shark(0.15, 0.0, 0.3) == pytest.approx(0.105)


def test_tunnels_end_after_four_irrelevant_pages() -> None:
    passed = inherited(1.0, 0.0)
    lengths = 0
    while passed:
        passed = inherited(0.0, passed)
        lengths += 1
    assert lengths == 6  # a page of relevance 1 is worth one more than one of .5
    passed = inherited(0.5, 0.0)
    for _ in range(4):
        assert passed
        passed = inherited(0.0, passed)
    assert passed > 0.0
    assert inherited(0.0, passed) == 0.0


@each_case("potential", [0.0, 0.105, 0.41, 0.5, 0.7071, 1.0])
@each_case("passed", [0.0, 0.015625, 0.3, 0.5, 1.0])
def test_worth_holds_potential_and_inheritance(potential: float, passed: float) -> None:
    worth = worth_of(potential, passed)
    assert potential_of(worth) == pytest.approx(potential, abs=1e-9)
    assert inherited_of(worth) == pytest.approx(passed, abs=1 / 4096)


def test_levels_divide_potentials_evenly() -> None:
    levels = [level_of(worth_of(number / 100)) for number in range(101)]
    assert levels == sorted(levels, reverse=True)
    assert (levels[0], levels[50], levels[100]) == (127, 63, 0)
    assert max(before - after for before, after in pairwise(levels)) <= 2


def test_best_link_counts() -> None:
    for name in focused_orderings():
        order = any_ordering(name)
        assert isinstance(order, Focusing)
        found = Discovery(Url("http://a.test/"), Source.LINK, 0.0, gain=worth_of(0.3, 0.2))
        assert order.score(found) == worth_of(0.3, 0.2)
        assert order.score(Discovery(Url("http://a.test/"), Source.SEED, 0.0)) == worth_of(1.0, 1.0)
        assert order.combined(worth_of(0.3), worth_of(0.2, 0.5), 1.0) == worth_of(0.3)  # type: ignore[attr-defined]
        spam = order.combined(worth_of(0.1), worth_of(0.8, 0.5), 0.5)  # type: ignore[attr-defined]
        assert potential_of(spam) == pytest.approx(0.4, abs=1e-6)
        assert inherited_of(spam) == pytest.approx(0.5, abs=1 / 4096)


def test_orderings_differ_in_what_they_look_at() -> None:
    best_first, plain, focused = (any_ordering(name) for name in ("best_first", "shark", "focused"))
    assert isinstance(best_first, Focusing)
    assert isinstance(plain, Focusing)
    assert isinstance(focused, Focusing)
    signs = LinkSigns(0.4, 1.0)
    assert best_first.potential(0.6, 0.3, signs, 10) == 0.6
    assert plain.potential(0.6, 0.3, signs, 10) == pytest.approx(0.41) == focused.potential(0.6, 0.3, signs, 10)
    assert plain.potential(0.6, 0.3, signs, 3000) > focused.potential(0.6, 0.3, signs, 3000)
    assert focused.potential(0.6, 0.3, LinkSigns(0.4, 1.0, promise=4.0), 10) == pytest.approx(0.82)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="learning"):
        any_ordering("focused", learning=2.0)
    with pytest.raises(ConfigError, match="every"):
        any_ordering("n_best", every=0)
