"""The levels of the ordering `targets`: every level has a worth, and every worth an action."""

from __future__ import annotations

from periplus.model import Discovery, Source, Url
from periplus.parts.targets.bandit import MAX_ACTIONS, SiteBandit, SiteTargets
from periplus.parts.targets.ordering import FIRST_ACTION, TARGET_LEVEL, TargetsFirst, action_of_worth, worth_of_level
from periplus.policy.ordering import ZERO_LEVEL, level_of


def test_a_worth_keeps_its_level() -> None:
    """All levels of actions are before that of zero, and are found again."""
    for level in range(FIRST_ACTION + MAX_ACTIONS):
        assert level_of(worth_of_level(level)) == level < ZERO_LEVEL
    assert action_of_worth(worth_of_level(FIRST_ACTION + 5)) == 5


def test_what_was_not_found_by_a_link_is_of_the_first_action() -> None:
    """Seeds, and URLs without a score, such as those of another ordering's lists."""
    ordering = TargetsFirst()
    assert level_of(ordering.score(Discovery(Url("http://a.test/"), Source.SEED, 0.0))) == FIRST_ACTION
    assert action_of_worth(0.0) == action_of_worth(worth_of_level(TARGET_LEVEL)) == 0
    bandit = SiteBandit(SiteTargets())
    bandit.learn(MAX_ACTIONS - 1, 1, {})  # it does not exist
    assert bandit.learnt.actions[0].targets == 1


def test_the_first_link_decides() -> None:
    """A page keeps its worth when it is read, when it is linked to again, and passes it on to where it redirects."""
    ordering, worth = TargetsFirst(), worth_of_level(7)
    assert ordering.combined(worth, worth_of_level(3), 1.0) == worth
    assert ordering.combined(0.0, worth, 1.0) == worth
    assert ordering.share(worth, 10) == ordering.rest(worth) == ordering.score_of(worth, 99) == worth
