"""Sites without faults have no findings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.apps.audit.clean_sites import SITES, CleanSite, alarms

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("make", SITES, ids=lambda make: make.__name__)
def test_a_site_without_faults_has_no_findings(make: Callable[[CleanSite], None]) -> None:
    """Errors, warnings and notices."""
    pages, found = alarms(make, seed=23, pages=20)
    assert pages > 20
    assert found == []
