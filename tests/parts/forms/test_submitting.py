"""When a form is submitted again whose requests of the day are used up."""

from __future__ import annotations

import pytest

from periplus.engine.machine import LONG_REST
from periplus.parts.forms.submitting import DAY, next_day


@pytest.mark.parametrize("hour", [0.0, 12.0, 23.5, 23.99])
def test_no_crawl_waits_for_the_next_day(hour: float) -> None:
    """The engine ends a crawl if all that is left is due after `LONG_REST`, also shortly before midnight."""
    now = 20_000 * DAY + hour * 3600
    assert next_day(now) >= 20_001 * DAY
    assert next_day(now) - now > LONG_REST
