"""Balance of one site: who gets the budget, by what its last pages were worth."""

from __future__ import annotations

import math
import statistics
from random import Random

import msgspec
import pytest
from tests.each_case import each_case

from periplus.model import CollectionDamaged, ConfigError, Lane
from periplus.policy.balance import HISTORY, BalanceMove, BalanceRecord, SiteBalance, SourceSample
from periplus.policy.settings import BalanceSettings

S, D = Lane.SITEMAPS, Lane.DISCOVERY
MANY = 10**9
FULL = BalanceSettings(first_epoch=100, is_graded=False)
"""Figure 8 with its guards: every epoch of full length, every step of one length."""


def crawl_epoch(
    balance: SiteBalance, good: dict[Lane, bool], discovery: int = MANY, sitemaps: int = MANY
) -> dict[Lane, int]:
    """Take pages until the epoch is judged; how many came from each."""
    taken, epoch, page = {S: 0, D: 0}, balance.judged, balance.judged * 10_000
    while balance.judged == epoch:
        lane = balance.choose(discovery - taken[D], sitemaps - taken[S])
        balance.took(lane, min(taken[lane], 255), page)
        balance.learnt(page, good[lane])
        taken[lane] += 1
        page += 1
    balance.check_invariants()
    return taken


def test_first_epoch_is_half_and_half() -> None:
    """Before anything is known, nothing is moved; and quotas are kept to the page."""
    assert crawl_epoch(SiteBalance(FULL), {S: True, D: True}) == {S: 50, D: 50}


def test_better_source_gets_a_step_more() -> None:
    """Lines 10-15: the budget moves by delta to whose last pages were worth more."""
    balance = SiteBalance(FULL)
    crawl_epoch(balance, {S: False, D: True})
    assert balance.quotas == (40, 60)
    assert crawl_epoch(balance, {S: False, D: True}) == {S: 40, D: 60}
    assert [epoch.move.word for epoch in balance.history] == ["to-discovery", "to-discovery"]
    assert (balance.history[0].sitemaps_utility, balance.history[0].discovery_utility) == (0.0, 1.0)


def test_neither_source_is_given_up() -> None:
    """A clamp leaves a sample to the worse source, so that it can prove itself again."""
    balance = SiteBalance(FULL)
    for _ in range(8):
        crawl_epoch(balance, {S: True, D: False})
    assert balance.quotas == (90, 10)
    assert balance.history[-1].move is BalanceMove.AT_BOUND


def test_tie_moves_nothing_unless_strict() -> None:
    """Figure 8 moves to sitemaps on a tie, already before the first epoch; the guarded form does not."""
    balance, strict = SiteBalance(FULL), SiteBalance(BalanceSettings(is_strict=True))
    assert strict.quotas == (60, 40)
    for each in (balance, strict):
        crawl_epoch(each, {S: True, D: True})
    assert (balance.quotas, balance.history[0].move) == ((50, 50), BalanceMove.TIE)
    assert (strict.quotas, strict.history[0].move) == ((70, 30), BalanceMove.TIE_TO_SITEMAPS)


def test_short_queue_spills_and_gets_no_more() -> None:
    """Line 18: what one queue cannot use the other gets, without counting in its sample; and neither is given more
    than it could use."""
    balance = SiteBalance(FULL)
    assert crawl_epoch(balance, {S: True, D: False}, sitemaps=20) == {S: 20, D: 80}
    assert (balance.quotas, balance.history[0].move) == ((50, 50), BalanceMove.UNUSED)
    assert crawl_epoch(balance, {S: True, D: True}, sitemaps=0) == {S: 0, D: 100}
    assert balance.history[1].move is BalanceMove.ONE_SOURCE


def test_spilled_pages_are_in_no_sample() -> None:
    """The sample is of the best kD pages; what was taken beyond them says nothing of the marginal page of the quota."""
    balance = SiteBalance(FULL)
    for page in range(100):
        balance.took(D, page, page)
        balance.learnt(page, page < 50)
    assert (balance.history[0].discovery_good, balance.history[0].discovery_known) == (10, 10)


def test_sample_is_the_lowest_scored_although_better_pages_arrive_late() -> None:
    """Pages found in the middle of an epoch may stand above those taken: the sample is by score, not by time."""
    balance = SiteBalance(FULL)
    for page in range(50):
        balance.took(D, 200 if page < 10 else 100, page)
        balance.learnt(page, page < 10)
        balance.took(S, 100, 1000 + page)
        balance.learnt(1000 + page, True)
    assert (balance.history[0].discovery_good, balance.history[0].sitemaps_good) == (10, 10)


def test_results_may_come_late_and_in_any_order() -> None:
    """The epoch is judged when both samples are complete; pages taken meanwhile belong to none."""
    balance = SiteBalance(FULL)
    for page in range(50):
        balance.took(D, 1, page)
        balance.took(S, 1, 1000 + page)
    balance.took(S, 1, 5000)
    results = [(page, True) for page in range(40, 50)] + [(1000 + page, page < 45) for page in range(40, 50)]
    for key, is_good in reversed(results):
        assert balance.judged == 0
        balance.learnt(key, is_good)
    assert balance.judged == 1
    assert (balance.history[0].discovery_good, balance.history[0].sitemaps_good) == (10, 5)


def test_results_that_never_come_are_not_waited_for() -> None:
    """A lost page must not stop a site's balance: after a sample's worth of pages the rest is judged."""
    balance = SiteBalance(FULL)
    for page in range(110):
        balance.took(balance.choose(1, 1), 1, page)
        if page % 2:
            balance.learnt(page, True)
    assert balance.judged == 1
    assert balance.history[0].sitemaps_known + balance.history[0].discovery_known == 10


def test_waiting_for_results_favours_neither_source() -> None:
    """Pages taken before the last results are in are shared out like others."""
    balance = SiteBalance(FULL)
    for page in range(100):
        balance.took(balance.choose(1, 1), 1, page)
    lanes = []
    for page in range(100, 108):
        lanes.append(balance.choose(1, 1))
        balance.took(lanes[-1], 1, page)
    assert lanes.count(S) == lanes.count(D) == 4


def test_page_of_both_is_credited_to_both() -> None:
    """One fetch, two accounts: the other source is credited when its queue comes to the page."""
    balance = SiteBalance(BalanceSettings(epoch=10, first_epoch=10))
    for page in range(10):
        balance.took(S, 5, page, is_shared=True)
        if page < 9:
            balance.learnt(page, True)
            balance.came_to(D, 7, page)
    balance.learnt(9, True)
    assert (balance.history[0].sitemaps_good, balance.history[0].discovery_good) == (1, 1)


def test_page_of_both_counts_in_its_epoch_alone() -> None:
    """What the other queue does not reach is not a page of its best kD; nor is what it reaches an epoch later, nor what
    one source alone knows, nor a page whose result is not in."""
    balance = SiteBalance(BalanceSettings(epoch=4, first_epoch=4, step=0.5))
    for page in (1, 2, 3):
        balance.took(S, 5, page, is_shared=page < 3)
    balance.came_to(D, 10, 1)
    balance.learnt(1, True)
    balance.came_to(D, 10, 3)
    balance.took(D, 10, 4)
    for page in (2, 3, 4):
        balance.learnt(page, False)
    balance.came_to(D, 10, 2)
    assert (balance.history[0].discovery_good, balance.history[0].discovery_known) == (0, 1)
    for page in range(5, 9):
        balance.took(S, 5, page)
        balance.learnt(page, True)
    assert balance.history[1].discovery_known == 0


def test_epochs_begin_short_and_grow() -> None:
    """A source that is bad is found out after some dozen pages; a sample has five of them at least."""
    balance = SiteBalance()
    lengths = [sum(crawl_epoch(balance, {S: False, D: True}).values()) for _ in range(6)]
    assert lengths == [20, 30, 45, 67, 100, 100]
    assert [epoch.discovery_known for epoch in balance.history] == [5, 5, 5, 7, 10, 10]
    assert [epoch.discovery for epoch in balance.history] == [10, 25, 40, 60, 90, 90]


def test_strict_form_has_epochs_of_one_length() -> None:
    """Figure 8 knows of no others."""
    assert sum(crawl_epoch(SiteBalance(BalanceSettings(is_strict=True)), {S: True, D: True}).values()) == 100


def test_shares_can_be_fixed() -> None:
    """Fixed shares are kept in every epoch; the results of the pages are recorded all the same."""
    balance = SiteBalance(BalanceSettings(first_epoch=100, share=0.3, is_fixed=True))
    for _ in range(3):
        assert crawl_epoch(balance, {S: True, D: False}) == {S: 30, D: 70}
    assert balance.history[-1].move.word == "fixed"
    assert balance.history[-1].sitemaps_utility == 1.0
    assert SiteBalance(BalanceSettings(first_epoch=100, share=0.0)).quotas == (10, 90)
    assert SiteBalance(BalanceSettings(first_epoch=100, share=1.0, is_fixed=True)).quotas == (100, 0)
    assert crawl_epoch(SiteBalance(BalanceSettings(share=1.0, is_fixed=True)), {S: True, D: True})[D] == 0


def run_toy(settings: BalanceSettings, seed: int, epochs: int) -> list[int]:
    """kS over time where page x of an epoch is good with probability .95 e^(-x/90) or .7 e^(-x/60)."""
    random, balance, page, quotas = Random(seed), SiteBalance(settings), 0, []
    for epoch in range(epochs):
        x = {S: 0, D: 0}
        while balance.judged == epoch:
            lane = balance.choose(MANY, MANY)
            chance = 0.95 * math.exp(-x[S] / 90) if lane is S else 0.7 * math.exp(-x[D] / 60)
            balance.took(lane, min(x[lane], 255), page)
            balance.learnt(page, random.random() < chance)
            x[lane] += 1
            page += 1
        quotas.append(balance.quotas[0])
    return quotas


@pytest.mark.parametrize("is_graded", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_settles_at_the_best_split(is_graded: bool) -> None:
    """Two falling curves whose best split is 71: the long-run mean is 69.5 +- 3, as computed independently."""
    quotas = run_toy(BalanceSettings(is_graded=is_graded), 1, 280)[50:]
    assert abs(statistics.mean(quotas) - 69.5) <= 3


@pytest.mark.slow
def test_stays_within_a_step_of_the_best_split() -> None:
    """With steps that go by the difference, the typical epoch is within one step of 71, and most are."""
    quotas = run_toy(BalanceSettings(), 3, 350)[100:]
    near = sum(abs(quota - 71) <= 10 for quota in quotas)
    assert abs(statistics.median(quotas) - 71) <= 10
    assert near > 0.7 * len(quotas)


def test_steps_go_by_the_difference() -> None:
    """A page where there is hardly one, a step for a quarter of a page, four at most; all alike if not graded."""
    settings = BalanceSettings()
    assert [settings.step_for(difference) for difference in (0.01, 0.1, 0.25, 0.5, 1.0)] == [1, 2, 10, 40, 40]
    assert [FULL.step_for(difference) for difference in (0.01, 1.0)] == [10, 10]


def test_source_that_turns_bad_loses_its_budget_at_once() -> None:
    """Sitemaps may list their best pages first: what was good for three hundred pages must not be followed for three
    hundred more."""
    balance = SiteBalance()
    for _ in range(6):
        crawl_epoch(balance, {S: True, D: False})
    assert balance.quotas == (90, 10)
    for _ in range(3):
        crawl_epoch(balance, {S: False, D: True})
    assert balance.quotas == (10, 90)


def test_history_is_short_and_packed_small() -> None:
    """What is kept of a site is bounded, whatever happens there."""
    balance = SiteBalance()
    for _ in range(HISTORY + 5):
        crawl_epoch(balance, {S: True, D: False})
    assert len(balance.history) == HISTORY
    assert len(msgspec.msgpack.encode(balance.record)) < 250
    assert len(msgspec.msgpack.encode(SiteBalance().record)) < 24


def test_other_settings_keep_the_proportion() -> None:
    """What was learnt is kept when the epoch's length changes between two runs."""
    balance = SiteBalance(FULL)
    crawl_epoch(balance, {S: True, D: False})
    again = SiteBalance(BalanceSettings(epoch=1000, first_epoch=1000), balance.record)
    assert again.quotas == (600, 400)
    assert SiteBalance().quotas == (10, 10)


@each_case(
    "record",
    [
        BalanceRecord(100, 50, pages=-1),
        BalanceRecord(100, 50, sitemaps=SourceSample(1, bytearray(b"\x01"), [])),
        BalanceRecord(100, 50, sitemaps=SourceSample(2, bytearray(b"\x02\x01"), [0, 0])),
    ],
)
def test_damaged_record_is_refused(record: BalanceRecord) -> None:
    """A record that no balance has written is a damaged collection, not a crash."""
    with pytest.raises(CollectionDamaged, match="balance of a site is inconsistent") as caught:
        SiteBalance(record=record)
    assert caught.value.hint


@each_case(("epoch", "step", "decay"), [(1, 0.1, 0.7), (100, 0.0, 0.7), (100, 0.6, 0.7), (100, 0.1, 1.0)])
def test_settings_that_cannot_be(epoch: int, step: float, decay: float) -> None:
    """A setting that makes no sense is refused when it is read."""
    with pytest.raises(ConfigError):
        BalanceSettings(epoch=epoch, step=step, decay=decay)


@each_case("settings", [{"first_epoch": 1}, {"share": 1.1}, {"share": -0.1}])
def test_beginnings_that_cannot_be(settings: dict[str, float]) -> None:
    """Nor can a first epoch without two pages, nor a share of more than all."""
    with pytest.raises(ConfigError):
        msgspec.convert(settings, BalanceSettings)
