"""What every implementation of `Listings` promises."""

from __future__ import annotations

import pytest

from periplus.model import Listings, Site
from periplus.store import State

A, B = Site("a.test"), Site("b.test")


@pytest.fixture
def listings(state: State) -> Listings:
    return state.listings


def drained(listings: Listings, site: Site) -> list[bytes]:
    found = []
    while (slice_ := listings.take(site)) is not None:
        found.append(slice_)
    return found


def test_slices_come_by_level_and_then_as_they_were_added(listings: Listings) -> None:
    """The best first; a site knows nothing of its neighbours."""
    listings.add(A, 63, [b"one", b"two"])
    listings.add(B, 0, [b"other"])
    listings.add(A, 60, [b"better"])
    listings.add(A, 63, [b"three"])
    assert len(listings) == 5
    assert drained(listings, A) == [b"better", b"one", b"two", b"three"]
    assert list(listings.sites()) == [B]
    assert listings.take(A) is None
    assert len(listings) == 1


def test_every_site_is_named_once(listings: Listings) -> None:
    """However many levels and slices it has."""
    for number in range(200):
        listings.add(Site(f"s{number}.test"), number, [b"x", b"y"])
        listings.add(Site(f"s{number}.test"), 255, [b"z"])
    listings.add(A, 1, [])
    assert sorted(listings.sites()) == sorted(Site(f"s{number}.test") for number in range(200))
