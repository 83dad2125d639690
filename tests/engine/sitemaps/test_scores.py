"""Scores of listed pages: comparable over sites, and by priorities only where these say something."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.each_case import each_case

from periplus.engine.sitemaps.scores import UNRANKED, Priorities, SitemapScore, entry_ranks, sitemap_score
from periplus.engine.sitemaps.settings import ScoreSettings
from periplus.graph import SitemapVertex
from periplus.model import ConfigError, Url
from periplus.policy.ordering import level_of

URL = Url("http://a.test/x")


def said(*priorities: float | None) -> Priorities:
    counted = Priorities()
    counted.observe(priorities)
    return counted


def one(score: SitemapScore, url: Url, priority: float | None, priorities: Priorities) -> float:
    return score.scores([url], [priority], priorities)[0]


def test_priority_counts_in_multiples_of_the_mean() -> None:
    """A site with priorities that differ orders its pages, and gains nothing over other sites."""
    priorities = said(*[1.0] * 10, *[0.2] * 40)
    score = sitemap_score(ScoreSettings())
    assert one(score, URL, 1.0, priorities) == pytest.approx(1.0 / 0.36)
    assert one(score, URL, 0.2, priorities) == pytest.approx(0.2 / 0.36)
    scores = score.scores([URL] * 50, [1.0] * 10 + [0.2] * 40, priorities)
    assert np.mean(scores) == pytest.approx(1.0)


@each_case("value", [None, 0.0, 0.5, 1.0])
def test_equal_priorities_say_nothing(value: float | None) -> None:
    """A site that sets everything to one value, and now and then another, is not believed: all pages score 1."""
    priorities = said(*[value] * 10_000, 0.3, 0.9)
    score = sitemap_score(ScoreSettings())
    assert not ScoreSettings().is_informative(priorities)
    assert {one(score, URL, each, priorities) for each in (None, 0.0, 0.3, 0.9, 1.0)} == {1.0}


def test_few_entries_are_not_judged() -> None:
    """Two pages that differ prove nothing yet."""
    assert not ScoreSettings().is_informative(said(0.1, 0.9))
    assert ScoreSettings().is_informative(said(*[0.1, 0.9] * 10))


def test_missing_and_impossible_priorities_are_the_default() -> None:
    """The protocol: 0.5 where none is given. What is not a number between 0 and 1 was not given."""
    priorities = said(None, 7.0, float("nan"), 0.5, *[1.0] * 16)
    assert priorities.counts == {50: 4, 100: 16}
    score = sitemap_score(ScoreSettings())
    assert len({one(score, URL, value, priorities) for value in (None, 7.0, float("nan"), 0.5)}) == 1


def test_priorities_take_constant_memory() -> None:
    """A hundred million entries cost as much as a hundred and one."""
    priorities = said(*np.random.default_rng(1).random(50_000).tolist())
    assert len(priorities.counts) <= 101
    kept = msgspec.msgpack.encode(priorities)
    assert len(kept) < 600
    assert msgspec.msgpack.decode(kept, type=Priorities) == priorities


def test_zero_priority_everywhere_divides_nothing() -> None:
    """No site can make us divide by zero."""
    score = sitemap_score(ScoreSettings(least_entropy=0.0, least_entries=0))
    assert one(score, URL, 0.0, said(0.0, 0.0)) == 0.0
    assert one(score, URL, 1.0, said()) == 2.0
    assert level_of(one(score, URL, 0.0, said(0.0)))


def test_ranks_of_links_and_of_both() -> None:
    """PageRank: nothing without a link. PriorityRank: the orphan of the published check has a rank, which rises with
    its priority."""
    sources, targets = [0, 0, 1, 2], [1, 2, 0, 1]
    plain = entry_ranks("pagerank", sources, targets, 4)
    assert plain[3] == 0.0
    assert plain[:3].min() > 0.0
    files = [SitemapVertex(0, [0, 1, 2, 3], [1.0, 0.5, 0.5, 0.8])]
    even = entry_ranks("priority_rank", sources, targets, 4, files, is_informative=False)
    told = entry_ranks("priority_rank", sources, targets, 4, files)
    assert even.mean() == pytest.approx(1.0)
    expected = np.array([0.3280, 0.3027, 0.1636, 0.0707])
    assert even / even.sum() == pytest.approx(expected / expected.sum(), abs=1e-4)
    assert told[3] > even[3]


def test_pages_without_a_rank_yet() -> None:
    """By links alone they wait; by both they have what the jump gives, by priority."""
    priorities = said(*[0.2, 0.8] * 20)
    ranks = {URL: 3.0}
    other = Url("http://a.test/new")
    by_links = sitemap_score(ScoreSettings(score="pagerank"), ranks.get)
    by_both = sitemap_score(ScoreSettings(score="priority_rank"), ranks.get)
    assert (one(by_links, URL, 0.8, priorities), one(by_links, other, 0.8, priorities)) == (3.0, 0.0)
    assert one(by_both, URL, 0.2, priorities) == 3.0
    assert one(by_both, other, 0.8, priorities) == pytest.approx(UNRANKED * 1.6)


def test_names_are_known() -> None:
    """A misspelt score names its neighbour."""
    with pytest.raises(ConfigError) as caught:
        ScoreSettings(score="priorityrank")
    assert "priority_rank" in caught.value.hint
