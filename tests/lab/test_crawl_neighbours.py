"""Eight shards whose sites share addresses, by the server: no address is asked too often, no site waits in vain."""

from __future__ import annotations

import statistics
from collections import Counter
from itertools import pairwise

import pytest
from tests.lab.crawling import by_address, crawl, standing

from periplus.engine.router import owner_of
from periplus.model import Url
from periplus.urls import site_of
from periplus_lab import World

SHARDS, DELAY = 8, 0.1
IP_DELAY = DELAY
"""As long as that of a site: so that it is felt wherever two sites share an address, and by no other site."""

pytestmark = pytest.mark.slow

Asked = dict[str, list[tuple[float, str, int]]]
"""By address: when, which host, and which shard asked."""


@pytest.fixture(scope="module")
def world() -> World:
    """Fifteen sites, seven of them on two machines."""
    return World(28, 15, pages=36)


@pytest.fixture(scope="module")
def asked(world: World, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    found: Asked = {}
    with standing(world) as lab:
        options = by_address(lab) | {
            "politeness.delay": DELAY, "politeness.ip_delay": IP_DELAY, "politeness.slow_factor": 0.0,
        }  # fmt: skip
        crawl(tmp_path_factory.mktemp("many"), [lab.url(site.host) for site in world.sites()], options, SHARDS)
        for visit in lab.log.visits():
            owner = owner_of(site_of(Url(lab.url(visit.host))), SHARDS)
            found.setdefault(world.address(visit.host), []).append((visit.real_started_at, visit.host, owner))
    return {address: sorted(visits) for address, visits in found.items()}


def test_an_address_is_asked_no_more_often_than_by_one_shard(asked: Asked) -> None:
    """In any time T, T / ip_delay requests and one for each shard that is there.

    Another for each is allowed for here: the server sees when requests come in, and the first may be late.
    """
    shards_at = {address: len({owner for _, _, owner in visits}) for address, visits in asked.items()}
    assert max(shards_at.values()) > 1
    for address, visits in asked.items():
        times, spare = [at for at, _, _ in visits], 2 * shards_at[address]
        for more in range(5 * shards_at[address], len(times)):
            for begin, end in zip(times, times[more:], strict=False):
                assert more + 1 <= (end - begin) / IP_DELAY + spare


def test_site_alone_at_an_address_waits_for_no_other(asked: Asked) -> None:
    """The largest of those sites is asked as often as it allows; as many times `ip_delay` as shards would be 8."""
    alone = {address: visits for address, visits in asked.items() if len({host for _, host, _ in visits}) == 1}
    times = [at for at, _, _ in max(alone.values(), key=len)]
    assert len(times) > 15
    assert statistics.median(later - earlier for earlier, later in pairwise(times)) < SHARDS * IP_DELAY / 2


def test_all_sites_were_asked_by_many_shards(asked: Asked, world: World) -> None:
    """Without which the rest of this file says little."""
    hosts = Counter(host for visits in asked.values() for _, host, _ in visits)
    assert set(hosts) == {site.host for site in world.sites()}
    assert len({owner for visits in asked.values() for _, _, owner in visits}) > 4
