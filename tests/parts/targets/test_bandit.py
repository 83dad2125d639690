"""The actions of a site: kinds of links, what they bring, and the same after any commit."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.parts.targets.bandit import MAX_ACTIONS, MAX_ONWARD, SiteBandit, SiteTargets, signs_of

HOME = "http://a.test/"


def reopened(bandit: SiteBandit) -> SiteBandit:
    return SiteBandit(msgspec.msgpack.decode(msgspec.msgpack.encode(bandit.learnt), type=SiteTargets))


def test_links_of_one_kind_have_one_action() -> None:
    """Path, folders and extension tell links apart; figures, names and hashes do not."""
    bandit = SiteBandit(SiteTargets())
    first = bandit.action_of(f"{HOME}sets/2024/a.html", "/ul/li/a", HOME)
    assert bandit.action_of(f"{HOME}sets/2025/b.html", "/ul/li/a", HOME) == first
    assert bandit.action_of(f"{HOME}sets/2025/b.html", "/nav/a", HOME) != first
    assert bandit.action_of(f"{HOME}sets/2025/b.csv", "/ul/li/a", HOME) != first
    assert bandit.action_of(f"{HOME}news/2025/b.html", "/ul/li/a", HOME) != first
    assert signs_of(f"{HOME}files/b1946ac92492d2347c6235b4d2611184/x", "/a", HOME) == signs_of(
        f"{HOME}files/591785b794601e212b260e25925636fd/y", "/a", HOME
    )
    assert signs_of(f"{HOME}d3/0af/x.html", "/a", HOME) == signs_of(f"{HOME}b7/c11/y.html", "/a", HOME)
    assert signs_of(f"{HOME}5b19ac/x", "/a", HOME) == signs_of(f"{HOME}c0ffe1/y", "/a", HOME)
    assert signs_of(f"{HOME}dc/ddf/x.html", "/a", HOME) == signs_of(f"{HOME}d9/df8/y.html", "/a", HOME)
    assert signs_of(f"{HOME}de/x.html", "/a", HOME) != signs_of(f"{HOME}fa/x.html", "/a", HOME)


def test_links_on_pages_of_other_sections_are_others() -> None:
    """Pages of one form are told apart by the section of the page that links to them; the first page has none."""
    bandit = SiteBandit(SiteTargets())
    water, news, first = (bandit.action_of(f"{HOME}p/1", "/li/a", f"{HOME}{name}") for name in ("water/", "news/", ""))
    assert len({water, news, first}) == 3
    assert bandit.action_of(f"{HOME}p/2", "/li/a", f"{HOME}water/list-2/") == water
    assert bandit.action_of(f"{HOME}p/3", "/li/a", f"{HOME}p/2") == first


def test_what_brings_targets_comes_first() -> None:
    """An action that brought targets is before one that did not, and before one without requests."""
    bandit = SiteBandit(SiteTargets())
    good, bad, new = (bandit.action_of(f"{HOME}{name}/1", f"/{name}/a", HOME) for name in ("good", "bad", "new"))
    for _ in range(10):
        bandit.learn(good, 2, {})
        bandit.learn(bad, 0, {})
    assert bandit.ranked([bad, new, good]) == [good, new, bad]


def test_lists_are_worth_what_they_list() -> None:
    """An action without targets whose links bring them is before one whose links do not."""
    bandit = SiteBandit(SiteTargets())
    lists, items, posts = (bandit.action_of(f"{HOME}{name}/1", f"/{name}/a", HOME) for name in ("list", "item", "post"))
    for _ in range(5):
        bandit.learn(lists, 0, {items: 10})
        bandit.learn(posts, 0, {posts: 10})
        for _ in range(10):
            bandit.learn(items, 1, {})
    assert bandit.ranked([posts, lists]) == [lists, posts]
    assert bandit.learnt.actions[lists].index > 0.5


def test_what_pages_lead_to_says_something_of_others() -> None:
    """Pages without files of their own, two links away from them, are expected to be like others of their section."""
    bandit = SiteBandit(SiteTargets())
    old, bad = (bandit.action_of(f"{HOME}old/1", "/p/a", f"{HOME}{section}/") for section in ("water", "news"))
    file = bandit.action_of(f"{HOME}file/1", "/div/a", f"{HOME}old/1")
    for _ in range(5):
        bandit.learn(old, 0, {file: 2})
        bandit.learn(bad, 0, {})
        bandit.learn(file, 1, {})
    news, water = (bandit.action_of(f"{HOME}new/1", "/li/a", f"{HOME}{section}/") for section in ("news", "water"))
    assert bandit.ranked([news, water]) == [water, news]
    actions = bandit.learnt.actions
    assert 2.0 * actions[news].prior < actions[water].prior <= max(action.index for action in actions)


def test_a_site_learnt_without_sections_goes_on() -> None:
    """Actions that were kept with fewer signs stay, and links join them when there is no room."""
    bandit = SiteBandit(SiteTargets())
    for number in range(MAX_ACTIONS):
        bandit.action_of(f"{HOME}x.e{number}", "/a", HOME)
    for action in bandit.learnt.actions[1:]:
        action.signs.pop()
    joined = reopened(bandit).action_of(f"{HOME}unknown/x.e2", "/p/a", HOME)
    assert bandit.learnt.actions[joined].signs[2] == signs_of(f"{HOME}x.e2", "/a", HOME)[2]


def test_an_extension_says_something_of_links_elsewhere() -> None:
    """A new action is expected to bring what others with its extension have brought."""
    bandit = SiteBandit(SiteTargets())
    source, data = (bandit.action_of(f"{HOME}one/1.{name}", "/p/a", HOME) for name in ("txt", "dat"))
    for _ in range(10):
        bandit.learn(source, 0, {})
        bandit.learn(data, 1, {})
    other_source, other_data = (bandit.action_of(f"{HOME}two/1.{name}", "/td/a", HOME) for name in ("txt", "dat"))
    assert bandit.ranked([other_source, other_data]) == [other_data, other_source]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("link"), st.integers(0, 300), st.integers(0, 12)),
        st.tuples(st.just("learn"), st.integers(0, 200), st.integers(0, 40)),
        st.tuples(st.just("reopen"), st.just(0), st.just(0)),
    ),
    max_size=400,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_any_commits_leave_the_same_choices(moves: list[tuple[str, int, int]]) -> None:
    """A bandit that is written and read at any time chooses as one that is not; actions and numbers are bounded."""
    kept, again = SiteBandit(SiteTargets()), SiteBandit(SiteTargets())
    for move, one, other in moves:
        count = len(kept.learnt.actions)
        if move == "link":
            place = (f"{HOME}{'f' * (one % 40)}/{other}/x.e{one % 7}", f"/p{one}/a", f"{HOME}{'s' * (other % 3)}/y")
            assert kept.action_of(*place) == again.action_of(*place)
        elif move == "learn":
            for bandit in (kept, again):
                bandit.learn(one % count, other % 5, {other % count: other} if other else {})
        else:
            again = reopened(again)
        numbers = list(range(len(kept.learnt.actions)))
        ranked = kept.ranked(numbers)
        assert ranked == again.ranked(numbers)
        assert sorted(ranked) == numbers
    assert len(kept.learnt.actions) <= MAX_ACTIONS
    for action in kept.learnt.actions:
        assert len(action.onward) <= 2 * MAX_ONWARD
        assert math.isfinite(action.index)
        assert math.isfinite(action.prior)


@pytest.mark.proof
def test_the_most_actions_and_links_beyond_them() -> None:
    """When there is no room a link joins the action most like it, and what is kept stays small."""
    bandit = SiteBandit(SiteTargets())
    for number in range(1000):
        bandit.action_of(f"{HOME}{'f' * number}/x.e{number % 3}", f"/{'p' * number}/a", HOME)
        bandit.learn(number % len(bandit.learnt.actions), 1, dict.fromkeys(range(len(bandit.learnt.actions)), 1))
    assert len(bandit.learnt.actions) == MAX_ACTIONS
    joined = bandit.action_of(f"{HOME}unknown/x.e2", "/p/a", HOME)
    assert bandit.learnt.actions[joined].signs[2] == signs_of(f"{HOME}unknown/x.e2", "/p/a", HOME)[2]
    assert len(msgspec.msgpack.encode(bandit.learnt)) < 100_000
