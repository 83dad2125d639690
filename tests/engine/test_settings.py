"""Defaults of the engine's settings that depend on others."""

from __future__ import annotations

import pytest

from periplus.engine.frontier.politeness import delay_after
from periplus.engine.settings import PolitenessSettings


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (PolitenessSettings(), 10.0),
        (PolitenessSettings(delay=0.0), 0.0),
        (PolitenessSettings(delay=0.0, slow_factor=3.0), 6.0),
        (PolitenessSettings(slow_factor=0.0), 1.0),
    ],
)
def test_a_slow_server_rests_longer_unless_no_delay_is_asked_for(settings: PolitenessSettings, expected: float) -> None:
    """After an answer that took two seconds."""
    assert delay_after(settings, None, 2.0) == expected
