"""A site that is down costs a watched collection nothing: no page is lost, and readers get what they got before."""

from __future__ import annotations

import pytest
from tests.outages.failing_web import KINDS, NO_OUTAGE
from tests.outages.watch import DAYS, Laboratory, Measured, faults_of

REPRESENTATIVE = ("404", "503", "robots-disallow", "maintenance")
KILLED = ("404", "refused", "redirect-login")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """One for all tests: the days before an outage are watched once."""
    return Laboratory(tmp_path_factory.mktemp("outages"))


def check(measured: Measured) -> None:
    """The goals of any outage."""
    assert not faults_of(measured)


@pytest.mark.parametrize("days", [DAYS["1h"], DAYS["2d"]], ids=["1h", "2d"])
@pytest.mark.parametrize("kind", REPRESENTATIVE)
def test_nothing_is_lost_in_an_outage(laboratory: Laboratory, kind: str, days: float) -> None:
    """Two with dates in the sitemap, two without. To see one: `python -m bench.outages --kind KIND`."""
    check(laboratory.outage(kind, days, is_dated=kind in ("404", "maintenance")).measure())


def test_without_an_outage_nothing_differs(laboratory: Laboratory) -> None:
    """The goals hold for a site that is as usual, so that what they find is of the outage."""
    check(laboratory.outage(NO_OUTAGE, DAYS["1h"], is_dated=True).measure())


@pytest.mark.slow
@pytest.mark.parametrize("is_dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("length", DAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_in_any_outage(laboratory: Laboratory, kind: str, length: str, is_dated: bool) -> None:
    """All kinds and lengths."""
    check(laboratory.outage(kind, DAYS[length], is_dated=is_dated).measure())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KILLED)
def test_a_kill_in_the_middle_of_an_outage_changes_nothing(laboratory: Laboratory, kind: str) -> None:
    """The next process goes on from the log, and knows that the site is down."""
    check(laboratory.outage(kind, DAYS["2d"], is_dated=True).measure(is_killed=True))
