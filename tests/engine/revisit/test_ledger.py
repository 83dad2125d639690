"""Many pages at once are what each of them is alone."""

from __future__ import annotations

import numpy as np
import pytest

from periplus.engine.revisit.evidence import DAY, RING, PageEvidence, SignalKind
from periplus.engine.revisit.ledger import VisitLedger
from periplus.engine.revisit.signals import NO_EVIDENCE


@pytest.mark.parametrize("days", [0.02, 3.0])
@pytest.mark.parametrize("signals", [0, 2])
def test_old_visits_are_folded_as_those_of_a_page_alone(days: float, signals: int) -> None:
    """Into the same sums, whether visits are close together or far apart, and with signals between them."""
    ledger, page, site = VisitLedger(np.zeros(1, np.int64), 0.0), PageEvidence().first_visited(0.0), NO_EVIDENCE
    rate, ledger.estimates.kappa[0] = float(ledger.pages["rate"][0]), site.kappas
    one = np.zeros(1, np.int64)
    for number in range(1, RING + 10):
        for _ in range(signals):
            ledger.signalled(one)
            page = page.signalled(SignalKind.SITEMAP)
        is_changed, now = number % 2 == 0, number * days * DAY
        ledger.visited(one, np.array([is_changed]), now)
        page, dropped = page.visited(is_changed, now)
        if dropped:
            site, changes, in_days = site.fold(dropped, rate)
            page = page.folded(changes, in_days)
    assert page.old_changes > 0
    assert ledger.pages["old_changes"][0] == pytest.approx(page.old_changes, rel=1e-4)
    assert ledger.pages["old_days"][0] == pytest.approx(page.old_days, rel=1e-4)
    assert tuple(ledger.pages["ring"][0]) == page.ring
