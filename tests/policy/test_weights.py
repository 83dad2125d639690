"""How much pages matter: by importance, by a user's patterns, in means of the collection."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.model import ConfigError, Url
from periplus.policy.weights import PageWeights, check_importance

NEWS, OLD, ELSE = (Url(f"http://a.test/{path}") for path in ("news/1", "old/1", "x"))


def test_without_settings_all_pages_weigh_one() -> None:
    """And no time is spent on it."""
    weigher = PageWeights()
    assert weigher.is_equal
    weigher.settle([NEWS, OLD])
    assert weigher(NEWS) == 1.0


def test_the_first_pattern_that_fits_counts() -> None:
    """Patterns are those of the filters; what none fits weighs 1."""
    weigher = PageWeights({"/news/*": 3.0, "re:a\\.test": 0.5})
    assert [weigher(url) for url in (NEWS, OLD)] == [3.0, 0.5]
    assert PageWeights({"/news/*": 3.0})(ELSE) == 1.0


def test_the_mean_over_the_pages_is_one() -> None:
    """So the price of a visit means what it meant."""
    weigher = PageWeights({"/news/*": 9.0, "/old/*": 0.0}, {NEWS: 2.0, ELSE: 1.0}.get)
    pages = [NEWS, OLD, ELSE]
    weigher.settle(pages)
    assert sum(map(weigher, pages)) / 3 == pytest.approx(1.0)
    assert weigher(OLD) == 0.0
    weigher.settle([OLD])
    assert weigher.mean == 1.0


def test_importance_is_bounded_both_ways() -> None:
    """A page without links to it is worth something, and the most linked one not everything."""
    weigher = PageWeights(None, {NEWS: 1e9, OLD: 0.0}.get)
    assert weigher(NEWS) == 100.0
    assert weigher(OLD) == weigher(ELSE) == 0.1


@each_case("weight", [-1.0, float("nan"), float("inf"), 1001.0])
def test_weights_that_cannot_be_are_refused(weight: float) -> None:
    """With what can be, as a hint."""
    with pytest.raises(ConfigError) as error:
        PageWeights({"/x": weight})
    assert "1 is the mean" in (error.value.hint or "")


def test_names_and_patterns_are_checked() -> None:
    """A typing error names the nearest."""
    assert check_importance("pagerank") == "pagerank"
    with pytest.raises(ConfigError) as error:
        check_importance("pagernak")
    assert "pagerank" in (error.value.hint or "")
    with pytest.raises(ConfigError):
        PageWeights({"re:(?=a)": 2.0})
