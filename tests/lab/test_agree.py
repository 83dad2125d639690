"""Publisher and crawler agree, with real servers and processes."""

from __future__ import annotations

import pytest
from tests.lab.agreeing import agree, nightly


@pytest.mark.proof
@pytest.mark.parametrize(
    "way", ["sitemaps", *(pytest.param(way, marks=pytest.mark.slow) for way in ("indexnow", "websub"))]
)
def test_what_is_published_is_visited_first(way: str) -> None:
    """All pages get three banners; the edited ones alone are dated, and `watch` begins with what was reported."""
    found = agree(way, pages=20)
    assert found.is_met, found
    assert not found.moved_by_banners


@pytest.mark.slow
def test_a_site_built_every_night_is_left_alone() -> None:
    """From the second build on no date moves, and no visit finds a change."""
    for moved, levels in nightly(120, 3, visits=12):
        assert not moved
        assert not levels.get("major")
        assert not levels.get("minor")
