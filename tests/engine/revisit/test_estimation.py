"""Rates and the worth of signals, estimated together from what is kept of pages."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from periplus.engine.revisit.estimation import Estimates, SiteBeliefs, estimate_pages, parts
from periplus.engine.revisit.evidence import (
    DAY,
    KINDS,
    MOST_SIGNALS,
    RING,
    PageEvidence,
    SignalKind,
    observation,
    unpack_page,
)
from periplus.engine.revisit.evidence_columns import PAGE, observations_of
from periplus.engine.revisit.signals import (
    ALWAYS_NOW,
    BUILD_TIME,
    HONEST,
    SILENT,
    UNKNOWN,
    USELESS,
    KindEvidence,
    SiteEvidence,
)
from periplus.model import CollectionDamaged

NOW = 1.7e9


def living(
    sites: int, pages: int, precision: tuple[float, float], recall: tuple[float, float], seed: int
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.float64]]:
    """Pages with eight visits each, as the model has it; their sites, and the true precision of each site."""
    random = np.random.default_rng(seed)
    site = np.repeat(np.arange(sites), pages)
    p, found = random.uniform(*precision, sites), random.uniform(*recall, sites)
    rate = random.uniform(0.02, 1, len(site))
    kept = np.zeros(len(site), PAGE)
    watched = np.zeros(len(site))
    for visit in range(RING):
        days = random.exponential(4, len(site)) + 0.5
        told = random.poisson(found[site] * rate * days)
        wrong = random.poisson(found[site] * rate * (1 / p[site] - 1) * days)
        is_changed = told + random.poisson((1 - found[site]) * rate * days) > 0
        signals = np.minimum(told + wrong, MOST_SIGNALS).astype(np.uint32)
        length = np.round(np.log2(days * DAY) * 128).astype(np.uint32)
        kept["ring"][:, visit] = 1 << 31 | signals << 13 | is_changed.astype(np.uint32) << 12 | length
        kept["heard"] += told + wrong
        watched += days
    kept["watched_from"] = (NOW - watched * DAY).astype(np.uint32)
    return kept, site, p


def estimated(kept: NDArray[np.void], site: NDArray[np.int64]) -> Estimates:
    return estimate_pages(kept, site, NOW, SiteBeliefs.none(int(site.max()) + 1))


@pytest.mark.parametrize(
    ("precision", "recall", "error"), [((0.2, 0.98), (0.1, 0.95), 0.08), ((0.9, 0.995), (0.8, 0.95), 0.04)]
)
def test_the_worth_of_signals_is_learnt(
    precision: tuple[float, float], recall: tuple[float, float], error: float
) -> None:
    """Some eight visits to each of fifty pages tell how often a site's signals are right: mixed, good."""
    kept, site, true = living(40, 50, precision, recall, seed=1)
    found = estimated(kept, site).precision[:, SignalKind.SITEMAP]
    assert np.sqrt(np.mean((found - true) ** 2)) < error


def test_noise_is_not_heard() -> None:
    """Where signals are hardly ever right, most sites are taken for silent, and no rate suffers."""
    kept, site, _ = living(20, 400, (0.02, 0.06), (0.02, 0.06), seed=1)
    told = estimated(kept, site)
    assert (told.precision[:, SignalKind.SITEMAP] == 0).mean() > 0.5
    gamma, kappa = told.heard(site)
    assert (gamma[kappa == 0] == 0).all()
    deaf = told.precision[site, 0] == 0
    assert told.alpha[deaf].mean() == pytest.approx(0.51, rel=0.1)


def test_rates_are_learnt_beside_signals() -> None:
    """What signals tell is not counted twice: untold changes and right signals sum up to all changes."""
    kept, site, _ = living(20, 200, (0.3, 0.9), (0.2, 0.8), seed=3)
    told = estimated(kept, site)
    every = told.alpha + told.precision[site, 0] * told.gamma
    assert every.mean() == pytest.approx(0.51, rel=0.1)


def test_sites_have_nothing_to_do_with_each_other() -> None:
    """Estimated in parts or all at once, the result is the same."""
    kept, site, _ = living(7, 30, (0.2, 0.9), (0.2, 0.9), seed=2)
    whole = estimated(kept, site)
    cuts = list(parts(site, most=50))
    assert len(cuts) > 1
    pieces = [estimated(kept[pages], site[pages] - sites.start) for pages, sites in cuts]
    assert np.concatenate([piece.alpha for piece in pieces]) == pytest.approx(whole.alpha)
    assert np.concatenate([piece.precision for piece in pieces]) == pytest.approx(whole.precision)


def test_a_page_that_was_visited_once_is_like_its_site() -> None:
    """And a site of which nothing is known at all still has a finite rate."""
    kept, site, _ = living(2, 50, (0.5, 0.9), (0.5, 0.9), seed=4)
    kept["ring"][0] = 0
    told = estimated(kept, site)
    assert told.alpha[0] == pytest.approx(told.site_alpha[0], rel=1e-2)
    nothing = estimate_pages(np.zeros(3, PAGE), np.zeros(3, np.int64), NOW, SiteBeliefs.none(1))
    assert np.isfinite(nothing.alpha).all()
    assert (nothing.alpha > 0).all()


def test_evidence_of_a_page_goes_through_its_ring() -> None:
    """Eight visits are kept as they were, the ninth drops the first; a packed record is a row of the array."""
    page = PageEvidence().first_visited(NOW, age=2 * DAY)
    assert (page.old_changes, page.old_days) == (0.5, 2)
    now, dropped = NOW, 0
    for visit in range(RING + 1):
        for _ in range(visit):
            page = page.signalled(SignalKind.FEED)
        now += DAY * (visit + 1)
        page, dropped = page.visited(visit % 2 == 0, now)
        assert bool(dropped) == (visit == RING)
    assert len(page.ring) == RING
    row = np.frombuffer(page.pack(), PAGE)
    seen = observations_of(row)
    assert seen.days == pytest.approx(np.arange(2, RING + 2), rel=0.004)
    assert seen.is_changed.tolist() == [visit % 2 == 0 for visit in range(1, RING + 1)]
    assert seen.signals[:, SignalKind.FEED].tolist() == [min(visit, MOST_SIGNALS) for visit in range(1, RING + 1)]
    assert seen.signals[:, SignalKind.SITEMAP].sum() == 0
    assert unpack_page(page.pack()).ring == page.ring
    assert len(page.pack()) == 64


def test_what_leaves_the_ring_is_not_lost() -> None:
    """It stays with the page as changes in days that say as much of its rate, and with the site as right signals."""
    page = PageEvidence(rate=0.1).first_visited(NOW).signalled(SignalKind.SITEMAP)
    page, _ = page.visited(True, NOW + 10 * DAY)
    site, changes, days = SiteEvidence().fold(page.ring[0], 0.1)
    reasons = 1.0 + np.log(2)
    assert changes - 0.1 * days == pytest.approx(1.0 / np.expm1(reasons), rel=0.01)
    assert 0 < days < 10
    assert site.of(SignalKind.SITEMAP).old_judged == 1
    assert 0.5 < site.of(SignalKind.SITEMAP).old_right < 1
    assert page.folded(changes, days).old_changes == pytest.approx(changes)
    page, _ = page.visited(False, NOW + 15 * DAY)
    _, changes, days = SiteEvidence().fold(page.ring[1], 0.1)
    assert changes == 0
    assert days == pytest.approx(5, rel=0.004)


def test_visits_after_long_say_little() -> None:
    """A page that is found changed after a hundred expected changes is as unknown as before."""
    often, seldom = np.zeros(1, PAGE), np.zeros(1, PAGE)
    for visit in range(RING):
        often["ring"][0, visit] = observation(DAY, visit % 2 == 0, 0)
        seldom["ring"][0, visit] = observation(300 * DAY, True, 0)
    one = np.zeros(1, np.int64)
    known = estimate_pages(often, one, NOW, SiteBeliefs.none(1)).shape[0]
    unknown = estimate_pages(seldom, one, NOW, SiteBeliefs.none(1)).shape[0]
    assert known > 4
    assert unknown < 1.5


def test_evidence_that_never_was_is_refused() -> None:
    """Damage is said, not guessed at."""
    with pytest.raises(CollectionDamaged):
        unpack_page(b"x" * 63)
    few_kinds = msgspec.msgpack.encode(SiteEvidence(kinds=()))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(few_kinds, type=SiteEvidence)
    assert unpack_page(b"") == PageEvidence()


def test_lies_are_recognised() -> None:
    """A file that says now of everything, and one whose times are its own, begin with little trust."""
    always = honest = built = KindEvidence()
    for _ in range(3):
        always = always.polled(100, 99)
        honest = honest.polled(100, 7)
        built = built.polled(100, 60, is_generated=True)
    assert (always.verdict, built.verdict) == (ALWAYS_NOW, BUILD_TIME)
    assert always.precision == built.precision == pytest.approx(0.05)
    assert honest.verdict == UNKNOWN
    assert honest.precision == 0.5


def test_few_pages_are_not_a_lie() -> None:
    """A blog of three pages may well have changed all of them."""
    small = KindEvidence()
    for _ in range(5):
        small = small.polled(3, 3, is_generated=True)
    assert small.precision == 0.5


def test_a_liar_that_becomes_honest_is_believed_again() -> None:
    """What visits find outweighs what was suspected; polls of another kind lift the suspicion."""
    liar = KindEvidence(lying_polls=3, polls=3)
    assert KindEvidence(right=180, judged=200, lying_polls=3, polls=3).precision > 0.8
    assert not liar.polled(100, 4).is_lying


def test_words_for_a_site() -> None:
    """What is told to people: from how much evidence, and between which bounds."""
    good = KindEvidence(right=95, judged=100, polls=10, moved=0.05)
    assert good.verdict == HONEST
    low, high = good.interval
    assert low < good.precision < high
    assert KindEvidence(right=3, judged=100, polls=10, moved=0.5).verdict == USELESS
    assert KindEvidence().verdict == SILENT


def test_recall_and_delay() -> None:
    """Told changes among all of them; days between what a signal names and its hearing."""
    feed = KindEvidence(right=8, judged=8).heard(NOW - DAY, NOW)
    site = SiteEvidence(rate=0.3, signals=0.2).with_kind(SignalKind.FEED, feed)
    assert site.recall(SignalKind.FEED) == pytest.approx(0.2 * 0.9 / (0.3 + 0.2 * 0.9))
    assert site.recall(SignalKind.PING) == 0
    assert feed.lag == 1
    assert len(site.kappas) == KINDS
    kept = msgspec.msgpack.encode(site)
    assert msgspec.msgpack.decode(kept, type=SiteEvidence) == site
    assert len(kept) < 500
