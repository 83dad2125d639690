"""Which shard has a site: all agree, the shares are even, and little moves when shards come."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.router import ShardPlacement, owner_of
from periplus.model import Site

SITES = [Site(f"host{number}.test") for number in range(4000)]


@given(st.text(min_size=1, max_size=40), st.integers(1, 64))
def test_every_site_has_one_owner(name: str, shards: int) -> None:
    """The same in every process and at every call."""
    owner = owner_of(Site(name), shards)
    placement = ShardPlacement(shards)
    assert 0 <= owner < shards
    assert placement.owner(Site(name)) == placement.owner(Site(name)) == owner


def test_owners_do_not_change_between_versions() -> None:
    """A collection is continued by another version: a site must stay where its queue lies."""
    assert [owner_of(Site(name), 3) for name in ("s0.lab.test", "s1.lab.test", "a.new-home.example")] == [0, 2, 1]


def test_shares_are_even() -> None:
    """Within a tenth, of some thousand sites."""
    counts = Counter(owner_of(site, 4) for site in SITES)
    assert max(counts.values()) < 1.1 * len(SITES) / 4


def test_only_the_sites_of_a_new_shard_move() -> None:
    """Rendezvous hashing: those of no other shard."""
    moved = [site for site in SITES if owner_of(site, 4) != owner_of(site, 5)]
    assert {owner_of(site, 5) for site in moved} == {4}
    assert len(moved) < 1.2 * len(SITES) / 5


def test_what_is_remembered_is_bounded() -> None:
    """A crawl of a hundred million hosts has the memory of fifty thousand."""
    placement = ShardPlacement(2)
    for number in range(60_000):
        placement.owner(Site(str(number)))
    assert len(placement._owners) <= 50_000
