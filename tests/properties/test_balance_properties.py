"""Balance against any course of events: quotas, empty queues, restarts, and Figure 8 itself."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from periplus.model import Lane
from periplus.policy.balance import BalanceRecord, SiteBalance
from periplus.policy.settings import BalanceSettings

S, D = Lane.SITEMAPS, Lane.DISCOVERY
SETTINGS = st.builds(
    BalanceSettings,
    epoch=st.integers(2, 30),
    first_epoch=st.integers(2, 30),
    share=st.floats(0.0, 1.0),
    is_fixed=st.booleans(),
    step=st.floats(0.01, 0.5),
    decay=st.floats(0.0, 0.9),
    is_graded=st.booleans(),
    is_strict=st.booleans(),
)
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),  # waiting in discovery
        st.integers(0, 3),  # waiting in sitemaps
        st.integers(0, 255),
        st.booleans(),  # whether the other source knows it, too
        st.integers(0, 3),  # how many results arrive now
        st.booleans(),
    ),
    max_size=150,
)


def reread(record: BalanceRecord) -> BalanceRecord:
    """The record as it comes back from a store."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=BalanceRecord)


@given(SETTINGS, EVENTS, st.randoms(use_true_random=False))
def test_quotas_hold_and_restarts_change_nothing(
    settings: BalanceSettings, events: list[tuple[int, int, int, bool, int, bool]], random: Random
) -> None:
    """At any moment: the quotas make an epoch and, unless fixed, leave a sample to each, no empty queue is named while
    the other has something, and a balance that was encoded and decoded at every step decides and ends like one that was
    not."""
    balance, restarted = SiteBalance(settings), SiteBalance(settings)
    out: list[int] = []
    for page, (discovery, sitemaps, level, is_shared, results, is_good) in enumerate(events):
        restarted = SiteBalance(settings, reread(restarted.record))
        lane = balance.choose(discovery, sitemaps)
        assert restarted.choose(discovery, sitemaps) is lane
        assert (sitemaps if lane is S else discovery) or not (sitemaps or discovery)
        out.append(page)
        arrived = [out.pop(random.randrange(len(out))) for _ in range(min(results, len(out)))]
        for each in (balance, restarted):
            each.took(lane, level, page, is_shared=is_shared)
            for key in arrived:
                each.learnt(key, is_good)
                each.came_to(S if lane is D else D, level, key)
            each.check_invariants()
            assert sum(each.quotas) == settings.length(each.judged)
            assert min(each.quotas) >= (0 if settings.is_fixed else settings.sample(sum(each.quotas)))
    assert balance.record == restarted.record
    assert balance.history == restarted.history


@given(SETTINGS, SETTINGS, st.integers(0, 40))
def test_settings_may_change_between_two_runs(before: BalanceSettings, after: BalanceSettings, pages: int) -> None:
    """Whatever was asked before, and wherever in an epoch the last run ended: what was kept is not damage."""
    balance = SiteBalance(before)
    for page in range(pages):
        balance.took(balance.choose(1, 1), 1, page, is_shared=True)
        balance.learnt(page - 1, True)
    again = SiteBalance(after, reread(balance.record))
    assert again.judged == balance.judged
    assert sum(again.quotas) == after.length(again.judged)
    for page in range(pages, pages + 40):
        again.took(again.choose(1, 1), 1, page, is_shared=True)
        again.check_invariants()


Page = tuple[int, bool]
"""Its level, and whether it is good."""


def figure_8(settings: BalanceSettings, sitemaps: list[list[Page]], discovery: list[list[Page]]) -> list[int]:
    """Figure 8 as printed, on queues that are given for each epoch; only kS and kD are clamped."""
    n, delta = settings.epoch, settings.delta
    k_s = n // 2
    utility_s = utility_d = 1.0
    quotas = []
    for queue_s, queue_d in zip(sitemaps, discovery, strict=True):
        queue_s, queue_d = sorted(queue_s, key=level_of_page), sorted(queue_d, key=level_of_page)
        k_s = k_s - delta if utility_s < utility_d else k_s + delta
        k_s = min(max(k_s, delta), n - delta)
        quotas.append(k_s)
        top_s, top_d = queue_s[:k_s], queue_d[: n - k_s]
        utility_s, utility_d = (sum(good for _, good in top[-delta:]) / delta for top in (top_s, top_d))
    return quotas


def level_of_page(page: Page) -> int:
    return page[0]


def crawl(settings: BalanceSettings, sitemaps: list[list[Page]], discovery: list[list[Page]]) -> list[int]:
    """The same with a balance, a page at a time, results at the end of the epoch and in another order."""
    balance, quotas, key = SiteBalance(settings), [], 0
    for queue_s, queue_d in zip(sitemaps, discovery, strict=True):
        quotas.append(balance.quotas[0])
        waiting = {S: sorted(queue_s, key=level_of_page), D: sorted(queue_d, key=level_of_page)}
        results = []
        for _ in range(settings.epoch):
            lane = balance.choose(len(waiting[D]), len(waiting[S]))
            level, is_good = waiting[lane].pop(0)
            balance.took(lane, level, key)
            results.append((key, is_good))
            key += 1
        for name, is_good in reversed(results):
            balance.learnt(name, is_good)
    return quotas


@st.composite
def courses(draw: st.DrawFn) -> tuple[BalanceSettings, list[list[Page]], list[list[Page]]]:
    """Epochs in which there is enough for everybody, though not always in both queues."""
    settings = BalanceSettings(epoch=draw(st.integers(2, 20)), step=draw(st.floats(0.05, 0.5)), is_strict=True)
    random = Random(draw(st.integers(0, 2**32)))
    sitemaps: list[list[Page]] = []
    discovery: list[list[Page]] = []
    for _ in range(draw(st.integers(1, 12))):
        short = random.randrange(settings.epoch + 1)
        sizes = [short, settings.epoch * 2] if random.random() < 0.5 else [settings.epoch * 2, short]
        for queues, size in zip((sitemaps, discovery), sizes, strict=True):
            share = random.random()
            queues.append([(random.randrange(6), random.random() < share) for _ in range(size)])
    return settings, sitemaps, discovery


@given(courses())
def test_strict_form_is_figure_8(course: tuple[BalanceSettings, list[list[Page]], list[list[Page]]]) -> None:
    """Whatever the queues hold, the strict form shares out every epoch as the paper's algorithm does."""
    assert crawl(*course) == figure_8(*course)
