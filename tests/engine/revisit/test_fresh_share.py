"""How fresh copies are, from the visits to all of them: told against what was true."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from periplus.engine.revisit import change_posterior
from periplus.engine.revisit.change_posterior import hours_of
from periplus.engine.revisit.evidence import DAY, PageEvidence, SignalKind, days_of, signals_of
from periplus.engine.revisit.evidence_columns import PAGE, pages_of
from periplus.engine.revisit.fresh_share import _draws, fresh_share
from periplus.engine.revisit.ledger import fit_site
from periplus.engine.revisit.page_rates import certainty, is_disproved, learnt, rate_of, unread_signals
from periplus.engine.revisit.signals import NO_EVIDENCE, SiteEvidence

NOW = 1.7e9


def visited(rate: float, intervals: list[float], random: np.random.Generator) -> PageEvidence:
    """A page of this rate after each of these days, and again, the last visit at NOW."""
    page = PageEvidence().first_visited(NOW - sum(intervals) * DAY)
    for days in intervals:
        page, _ = page.visited(bool(random.random() > np.exp(-rate * days)), page.visited_at + days * DAY)
    return page


@pytest.mark.parametrize("visits", [3, pytest.param(8, marks=pytest.mark.slow)])
def test_the_interval_holds_the_share_of_each_site(visits: int) -> None:
    """Two sites, one of pages that change all the time or never, one of all kinds.

    Of copies much younger than the time between visits less is known, and nothing is asked here: a page that changes
    daily looks like one that changes by the minute.
    """
    random = np.random.default_rng(visits)
    rates = np.concatenate((np.repeat((5.0, 0.01), 200), np.exp(random.uniform(np.log(0.01), np.log(3.0), 400))))
    pages = [visited(rate, list(random.uniform(0.3, 3.0, visits)), random) for rate in rates]
    for days, widest in ((0.5, 0.2), (1.0, 0.15)):
        for first in (0, 400):
            told = fresh_share(pages[first : first + 400], [0] * 400, [SiteEvidence()], NOW + days * DAY)
            true = float(np.exp(-rates[first : first + 400] * days).mean())
            assert told.low <= true <= told.high
            assert told.high - told.low < widest


@pytest.mark.proof
def test_a_sample_says_less_than_all_pages() -> None:
    """The interval of a large collection is wider than that of a collection of the sampled pages alone."""
    pages = [visited((20.0, 0.001)[page % 2], [1.0] * 8, np.random.default_rng(page)) for page in range(80)]
    whole, part = (fresh_share(pages, [0] * 80, [SiteEvidence()], NOW + DAY, n) for n in (80, 10**6))
    assert part.high - part.low > whole.high - whole.low
    assert whole.mean == part.mean


@pytest.mark.proof
def test_copies_with_the_same_text_are_stale_together() -> None:
    """One page at 100 URLs: at least all of them being stale is in the interval, and the expectation is the same."""
    once = [PageEvidence().first_visited(NOW) for _ in range(200)]
    texts = [0] * 100 + list(range(1, 101))
    apart, together = (
        fresh_share(once, [0] * 200, [SiteEvidence()], NOW + DAY / 24, texts=each) for each in ((), texts)
    )
    assert together.mean == apart.mean
    assert together.low < apart.low < together.mean - 0.1
    assert together.low < together.mean - 0.45
    alone = fresh_share(once, [0] * 200, [SiteEvidence()], NOW + DAY / 24, texts=list(range(200)))
    assert alone == apart


def test_two_slow_sites_do_not_decide_what_is_believed_of_the_others() -> None:
    """Nothing changed on two sites that were visited twice: of a third, two changes in ten must still be possible."""
    slow = [visited(0.001, [0.1], np.random.default_rng(page)) for page in range(30)]
    once = [PageEvidence().first_visited(NOW) for _ in range(300)]
    site = [page // 15 for page in range(30)] + [2] * 300
    assert fresh_share([*slow, *once], site, [SiteEvidence()] * 3, NOW + DAY / 8).low < 0.75


@pytest.mark.proof
def test_dates_tell_of_pages_that_were_seen_once() -> None:
    """A page that had not changed for a year will hardly change today; where dates are false that is not known."""
    fast = [visited(2.0, [0.5] * 4, np.random.default_rng(page)) for page in range(50)]
    old = [PageEvidence().first_visited(NOW, 365 * DAY) for _ in range(50)]
    site = [0] * 100
    true, false = (
        _draws([*fast, *old], site, [replace(NO_EVIDENCE, date_doubt=doubt)], NOW + DAY)[50:].mean()
        for doubt in (0.0, 1.0)
    )
    assert true > 0.8
    assert false < true - 0.05


def test_signals_deny_freshness() -> None:
    """A page of which somebody believed says that it changed is hardly fresh; nothing comes of nothing."""
    honest = SiteEvidence().with_kind(SignalKind.SITEMAP, replace(SiteEvidence().kinds[0], right=99.0, judged=99.0))
    page = visited(0.01, [1.0] * 4, np.random.default_rng(0))
    quiet, told = _draws([page, page.signalled(SignalKind.SITEMAP)], [0, 0], [honest], NOW).mean(axis=1)
    assert quiet > 0.9
    assert told < 0.02
    nothing = fresh_share([], [], [], NOW)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


@pytest.mark.proof
def test_changes_may_be_announced_and_not_read_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer it takes until a file is read, the less a silence says, most of all of pages reported often."""
    monkeypatch.setattr(change_posterior, "_MOST_DRAWS", 1_000)  # the difference is smaller than the noise of a hundred
    monkeypatch.setattr(change_posterior, "_PAGES_DRAWN", 40 * 1_000)
    kind = replace(SiteEvidence().kinds[0], right=99.0, judged=99.0)
    pages = [replace(PageEvidence().first_visited(NOW - 10 * DAY), visited_at=NOW - 2 * DAY)] * 40
    shares = []
    for lag in (0.05, 0.5):
        site = replace(SiteEvidence(signals=0.2), kinds=(replace(kind, lag=lag), *SiteEvidence().kinds[1:]))
        known = ([replace(page, heard=heard) for page in pages] for heard in (0.0, 20.0))
        shares += [_draws(each, [0] * 40, [site], NOW).mean() for each in known]
    assert shares[0] > shares[2] > shares[3]
    assert shares[0] > shares[1] > shares[3]
    fresh = PageEvidence().first_visited(NOW)
    assert unread_signals(fresh, SiteEvidence(), NOW) == 0.0


def told(pages: list[PageEvidence], night: float) -> list[PageEvidence]:
    """Each of these pages has a new date, and was visited this number of days ago."""
    return [replace(page, visited_at=NOW - night * DAY).signalled(SignalKind.SITEMAP) for page in pages]


def test_a_site_that_reports_all_pages_for_the_first_time_may_be_right_or_wrong() -> None:
    """No visit has checked its reports: that all copies are fresh and that none is must both be possible."""
    once = [PageEvidence().first_visited(NOW - DAY / 2) for _ in range(300)]
    unchecked = fresh_share(told(once, 0.5), [0] * 300, [SiteEvidence()], NOW)
    assert unchecked.low < 0.1
    assert unchecked.high > 0.7


def test_reports_that_proved_wrong_on_some_pages_leave_the_others_fresh() -> None:
    """Twenty visits found nothing after a report: of 300 other pages with one most are fresh, and surely so."""
    random = np.random.default_rng(1)
    pages = [visited(0.001, [1.0] * 3, random) for _ in range(300)]
    checked = [page.signalled(SignalKind.SITEMAP).visited(False, NOW)[0] for page in told(pages[:20], 0.5)]
    found = fresh_share([*checked, *told(pages[20:], 0.5)], [0] * 300, [SiteEvidence()], NOW)
    assert found.low > 0.7


@pytest.mark.proof
def test_reports_are_right_for_pages_that_were_changed_after_them() -> None:
    """A build dates all pages anew each night, and half of them change each night: those are believed to be stale."""
    edited = PageEvidence().first_visited(NOW - 6.5 * DAY)
    still = edited
    for night in range(6):
        at = NOW - (5.5 - night) * DAY
        edited, still = (
            page.signalled(SignalKind.SITEMAP).visited(is_changed, at)[0]
            for page, is_changed in ((edited, True), (still, False))
        )
    pages = [page.signalled(SignalKind.SITEMAP) for page in [*[edited] * 100, *[still] * 100]]
    chances = _draws(pages, [0] * 200, [SiteEvidence()], NOW).mean(axis=1)
    assert chances[:100].mean() < 0.35
    assert chances[100:].mean() > 0.85


def built(nights: int, hour: float) -> list[PageEvidence]:
    """Pages of a site that is built at two o'clock each night, visited every seven hours; a third change each night.

    The last visits were before two o'clock of the day of NOW.
    """
    midnight, random, pages = NOW // DAY * DAY, np.random.default_rng(5), []
    for number in range(90):
        page = PageEvidence().first_visited(midnight - (nights - 0.5 * random.random()) * DAY)
        while (to := page.visited_at + 7 / 24 * DAY) < midnight + min(hour, 2.0) / 24 * DAY:
            builds = (to / DAY - 2 / 24) // 1.0 - (page.visited_at / DAY - 2 / 24) // 1.0
            page, dropped = page.visited(number % 3 == 0 and builds > 0, to)
            page = page.folded(0.0, 0.0) if dropped else page
        pages.append(page)
    return pages


@pytest.mark.proof
def test_a_build_is_expected_at_its_hour() -> None:
    """Nothing of it was visited: before two o'clock all copies are fresh, and after three a third may be stale."""
    midnight, site = NOW // DAY * DAY, [0] * 90
    before, after = (
        fresh_share(built(7, hour), site, [SiteEvidence()], midnight + hour / 24 * DAY) for hour in (1.0, 4.0)
    )
    assert before.low > 0.8
    assert after.low < 2 / 3 < after.high
    assert after.mean < before.mean - 0.05


def test_bins_are_parted_into_hours_of_the_day() -> None:
    """Of bins over two days: the days that lie in each hour."""
    hours = hours_of(np.array([2.0, 1.25, 0.5, 0.0]), 10 * DAY)
    assert hours.sum(axis=1) == pytest.approx([0.75, 0.75, 0.5])
    assert hours[0] == pytest.approx([1 / 24] * 18 + [0.0] * 6)
    assert hours[1] == pytest.approx([1 / 24] * 12 + [0.0] * 6 + [1 / 24] * 6)
    assert hours[2] == pytest.approx([0.0] * 12 + [1 / 24] * 12)


def test_bins_of_decades_take_as_little_memory_as_those_of_days() -> None:
    """Imported pages may have been visited in 1970; each hour has its share of all days."""
    edges = np.concatenate(([NOW / DAY], np.linspace(3.0, 0.0, 200)))
    tracemalloc.start()
    hours = hours_of(edges, NOW)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * hours.nbytes
    assert hours.sum(axis=1) == pytest.approx(-np.diff(edges))
    assert hours[0] == pytest.approx([(NOW / DAY - 3.0) / 24] * 24, abs=1 / 24)


def test_a_date_of_a_build_counts_no_more_once_visits_were_folded() -> None:
    """Pages dated by a build of the day before, and unchanged at ten visits: their dates do not make them faster."""
    page, site = PageEvidence().first_visited(NOW - 10 * DAY, 0.5 * DAY), replace(NO_EVIDENCE, rate=0.05, pages=50)
    site = replace(site, date_doubt=0.9)
    assert site.false_dates > 0.8
    for visit in range(10):
        page, site = learnt(page, site, False, NOW - (9 - visit) * DAY)
    assert page.old_changes < 0.1
    assert fresh_share([page] * 50, [0] * 50, [site], NOW + DAY).mean > 0.95


def test_a_date_that_visits_disprove_is_forgotten() -> None:
    """Still for a year, it says, and changed at each of three visits: then it is a page like others of its site."""
    page, site = PageEvidence().first_visited(NOW, 365 * DAY), replace(NO_EVIDENCE, rate=0.3, pages=50)
    assert rate_of(page, site) < 0.05
    for visit in range(3):
        page, site = learnt(page, site, True, NOW + (visit + 1) * 2 * DAY)
    assert page.dated == 0.0
    assert rate_of(page, site) > 0.2
    honest, _ = learnt(PageEvidence().first_visited(NOW, 365 * DAY), site, False, NOW + 2 * DAY)
    assert honest.dated > 0.0
    assert not is_disproved(honest, site)


def test_dates_of_a_site_are_believed_as_far_as_they_were_true() -> None:
    """Pages that bear the day of their making are found out by a few visits; true dates are trusted more and more."""
    lying = honest = replace(NO_EVIDENCE, rate=0.3, pages=50)
    for page in range(8):
        lying = lying.dated(300.0, 3.0, page % 2 == 0)
        honest = honest.dated(3.0, 3.0, page % 2 == 0)
    assert lying.false_dates > 0.6
    assert honest.false_dates < 0.15
    built = replace(NO_EVIDENCE, rate=0.03, pages=50)
    for _ in range(20):
        built = built.dated(0.8, 1.0, is_changed=False)
    assert built.false_dates > 0.8, "pages change less often than dates of the last build would have it"
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(lying), type=SiteEvidence) == lying


def test_one_date_on_most_pages_says_nothing() -> None:
    """That of a build: doubted from the start."""
    pages = [PageEvidence().first_visited(NOW + page, 86_400.0 + page) for page in range(30)]
    built, _ = fit_site(NO_EVIDENCE, pages_of(b"".join(page.pack() for page in pages)), NOW)
    apart = [PageEvidence().first_visited(NOW, (page + 1) * 86_400.0) for page in range(30)]
    written, _ = fit_site(NO_EVIDENCE, pages_of(b"".join(page.pack() for page in apart)), NOW)
    assert built.false_dates > 0.8
    assert written.false_dates < 0.2


def test_a_site_is_the_mean_of_its_pages_and_knows_how_much_they_are_alike() -> None:
    """Slow pages known for long do not make the others slow; a site of two kinds of pages is not one of one."""
    random = np.random.default_rng(3)
    mixed = [visited(rate, [1.0] * 6, random) for rate in (3.0, 0.01) for _ in range(100)]
    alike = [visited(0.7, [1.0] * 6, random) for _ in range(200)]
    both, _ = fit_site(NO_EVIDENCE, pages_of(b"".join(page.pack() for page in mixed)), NOW)
    one, _ = fit_site(NO_EVIDENCE, pages_of(b"".join(page.pack() for page in alike)), NOW)
    assert both.shape < 0.5 < one.shape
    dated = [PageEvidence().first_visited(NOW, (1000 + page) * DAY) for page in range(100)]
    kept = pages_of(b"".join(page.pack() for page in [*alike, *dated]))
    assert fit_site(NO_EVIDENCE, kept, NOW)[0].rate == pytest.approx(0.7 * 200 / 300, rel=0.2)
    assert kept.dtype == PAGE


def test_a_change_told_late_was_told() -> None:
    """The visit that found it counts as one after a signal; what was before all visits is none of theirs."""
    page = PageEvidence().first_visited(NOW)
    for visit, is_changed in enumerate((True, False, True)):
        page, _ = page.visited(is_changed, NOW + (visit + 1) * 2 * DAY)
    late = page.signalled_late(SignalKind.SITEMAP, NOW + 1 * DAY)
    assert [signals_of(code)[SignalKind.SITEMAP] for code in late.ring] == [1, 0, 0]
    assert [days_of(code) for code in late.ring] == pytest.approx([2.0] * 3, rel=0.01)
    assert late.heard == page.heard + 1
    assert late.signalled_late(SignalKind.SITEMAP, NOW + 1 * DAY) is late
    assert page.signalled_late(SignalKind.SITEMAP, NOW - DAY) is page
    assert page.signalled_late(SignalKind.SITEMAP, NOW + 7 * DAY) is page


def test_long_pauses_of_fast_pages_are_not_an_end() -> None:
    """Whatever is multiplied, a number comes of it: changes by the minute, and a visit after years."""
    site = replace(NO_EVIDENCE, rate=2.0, pages=50)
    page = replace(PageEvidence().first_visited(NOW), rate=1440.0)
    for visit in range(12):
        page, site = learnt(page, site, True, NOW + (visit + 1) * 1000 * DAY)
        assert 0.0 < rate_of(page, site) < np.inf
        assert 0.0 < certainty(replace(page, rate=1440.0), site) < np.inf
