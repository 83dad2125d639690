"""One page as a store keeps it: what its next visit is worth, when, and what a visit teaches."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.engine.revisit.evidence import DAY, PageEvidence, SignalKind
from periplus.engine.revisit.page_rates import certainty, learnt
from periplus.engine.revisit.page_value import Appraiser, Hub
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence

NOW = 1.7e9
HONEST = SiteEvidence(rate=0.01, signals=0.1, pages=50).with_kind(
    SignalKind.SITEMAP, KindEvidence(right=95, judged=100, polls=20, moved=0.05)
)
LIAR = SiteEvidence(rate=0.1, signals=5.0, pages=50).with_kind(
    SignalKind.SITEMAP, KindEvidence(right=2, judged=400, polls=20, moved=1.0)
)


def visited(rate: float) -> PageEvidence:
    return PageEvidence(rate=rate).first_visited(NOW)


def test_due_when_it_is_worth_its_price() -> None:
    """At that moment, and neither too soon nor too late."""
    appraiser = Appraiser(RefreshSettings(margin=1.0), price=1.0)
    page = visited(0.2)
    due_at = appraiser.due_at(page, SiteEvidence(), 2.0, NOW)
    assert appraiser.worth(page, SiteEvidence(), 2.0, due_at) == pytest.approx(1.0, rel=0.01)
    told = appraiser.appraise(page, SiteEvidence(), 2.0, due_at)
    assert told.level in (63, 64)
    assert told.due_at == pytest.approx(due_at, abs=1)
    assert appraiser.due_at(page, SiteEvidence(), 0.0, NOW) == NOW + 90 * DAY
    assert appraiser.due_at(page, SiteEvidence(), 1e9, NOW) == NOW + 3600


def test_a_signal_of_an_honest_site_is_heard() -> None:
    """The page is due at once; that of a liar changes nothing."""
    appraiser = Appraiser(price=2.0)
    for site, is_heard in ((HONEST, True), (LIAR, False)):
        page = visited(0.01)
        before = appraiser.due_at(page, site, 1.0, NOW + 5 * DAY)
        after = appraiser.due_at(page.signalled(SignalKind.SITEMAP), site, 1.0, NOW + 5 * DAY)
        assert (after < NOW + DAY) == is_heard
        assert (after < before) == is_heard


def test_a_site_that_always_says_so_gets_no_more_than_its_share() -> None:
    """However often it touches every date: its pages are visited as if it were silent."""
    appraiser = Appraiser(price=1.0)
    page = visited(0.1)
    for _ in range(50):
        page = page.signalled(SignalKind.SITEMAP)
    silent = appraiser.due_at(visited(0.1), SiteEvidence(rate=0.1), 1.0, NOW)
    loud = appraiser.due_at(page, LIAR, 1.0, NOW + DAY)
    assert loud == pytest.approx(silent, abs=1)


def test_hubs_are_due_sooner() -> None:
    """For the pages that they lead to, besides their own."""
    appraiser = Appraiser(price=1.0)
    page, hub = visited(0.05), Hub(new_a_day=3.0, page_worth=1.0)
    plain = appraiser.due_at(page, SiteEvidence(), 1.0, NOW)
    sooner = appraiser.due_at(page, SiteEvidence(), 1.0, NOW, hub)
    assert sooner < plain
    assert appraiser.worth(page, SiteEvidence(), 1.0, sooner, hub) == pytest.approx(0.9, rel=0.02)


def test_what_visits_teach() -> None:
    """A page that always changed has a higher rate than one that never did, and both are finite."""
    busy, idle, site = PageEvidence(), PageEvidence(), SiteEvidence(rate=0.1)
    for visit in range(30):
        busy, site = learnt(busy, site, True, NOW + visit * DAY)
        idle, site = learnt(idle, site, False, NOW + visit * DAY)
    assert busy.rate > 1.0
    assert idle.rate < 0.05
    assert len(busy.ring) == 8
    assert idle.old_days == pytest.approx(21, rel=0.3)
    assert certainty(idle, site) > certainty(PageEvidence(), site)


def test_what_visits_teach_of_a_steady_page() -> None:
    """Near the truth after some dozens of visits."""
    random, page, site = np.random.default_rng(1), PageEvidence(), SiteEvidence(rate=0.5)
    now, found = NOW, []
    for visit in range(200):
        now += 2 * DAY
        page, site = learnt(page, site, bool(random.random() < 1 - np.exp(-0.4)), now)
        if visit > 40:
            found.append(page.rate)
    assert np.mean(found) == pytest.approx(0.2, rel=0.25)
