"""Shards come to addresses and leave, die and are born; words are lost, the coordinator dies: shares add up to 1."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from periplus.engine.frontier import AddressClaims, AddressShares, ClaimsReport
from periplus.engine.sharding import ClaimRegistry

SHARDS = 3
ADDRESSES = 2
STEPS = 1_000
ENOUGH = 40


class Place:
    """A shard with its two channels: both keep the order, and may lose everything that is on its way."""

    def __init__(self, at_once: int) -> None:
        self.claims = AddressClaims(SHARDS, at_once)
        self.here: set[int] = set()
        self.said: list[ClaimsReport] = []
        self.told: list[AddressShares] = []


class Crowd:
    """Whatever can happen, one thing at a time, by chance."""

    def __init__(self, limit: int, at_once: int) -> None:
        self.limit, self.at_once, self.life = limit, at_once, 1
        self.registry = self.coordinator()
        self.places = [Place(at_once) for _ in range(SHARDS)]
        for number in range(SHARDS):
            self.registry.reset(number)

    def coordinator(self) -> ClaimRegistry:
        return ClaimRegistry(SHARDS, self.life, self.limit, self.at_once)

    def comes_or_leaves(self, number: int, address: int) -> None:
        place = self.places[number]
        if address in place.here:
            place.claims.leave(address)
        else:
            place.claims.enter(address)
        place.here ^= {address}

    def says(self, number: int) -> None:
        place = self.places[number]
        place.said.append(place.claims.report())

    def is_heard(self, number: int) -> None:
        place = self.places[number]
        if place.said:
            answer = self.registry.receive(number, place.said.pop(0))
            if answer is not None:
                assert len(answer.shares) <= self.at_once
                place.told.append(answer)

    def hears(self, number: int) -> None:
        place = self.places[number]
        if place.told:
            place.claims.update(place.told.pop(0))
            assert set(place.claims.news()) <= place.here

    def talks(self, number: int) -> None:
        self.says(number)
        self.is_heard(number)
        self.hears(number)

    def words_are_lost(self, number: int) -> None:
        self.places[number].said.clear()
        self.places[number].told.clear()

    def a_shard_dies(self, number: int) -> None:
        """The next process begins when requests of the last one have ended."""
        self.places[number] = Place(self.at_once)
        self.registry.reset(number)

    def the_coordinator_dies(self) -> None:
        """What it had answered may still arrive, before anything that the next one says."""
        self.life += 1
        self.registry = self.coordinator()

    def everything_is_said(self) -> None:
        """Then each has its share: as many as are there, or as there are shards; and there is nothing more to say."""
        for _ in range(ENOUGH):
            for number, place in enumerate(self.places):
                self.says(number)
                while place.said or place.told:
                    self.is_heard(number)
                    self.hears(number)
        for address in range(ADDRESSES):
            shares = [place.claims.share(address) for place in self.places if address in place.here]
            assert set(shares) <= {len(shares), SHARDS}, shares
            if self.limit >= ADDRESSES:
                assert set(shares) <= {len(shares)}
        for number, place in enumerate(self.places):
            assert len(place.claims) == len(place.here)
            assert self.registry.receive(number, place.claims.report()) is None

    def check(self) -> None:
        for address in range(ADDRESSES):
            shares = [share for place in self.places if (share := place.claims.share(address))]
            assert sum((Fraction(1, share) for share in shares), Fraction(0)) <= 1, (address, shares)

    def step(self, chance: Random) -> None:
        number = chance.randrange(SHARDS)
        what = chance.random()
        if what < 0.004:
            self.the_coordinator_dies()
        elif what < 0.008:
            self.everything_is_said()
        elif what < 0.02:
            self.a_shard_dies(number)
        elif what < 0.03:
            self.words_are_lost(number)
        elif what < 0.2:
            self.comes_or_leaves(number, chance.randrange(ADDRESSES))
        else:
            chance.choice((self.says, self.is_heard, self.hears, self.talks))(number)


@pytest.mark.parametrize("at_once", [1, 2, 100])
@pytest.mark.parametrize("limit", [1, 100])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_shares_add_up_to_one_at_most(seed: int, limit: int, at_once: int) -> None:
    """At every moment and at every address, over all who may ask there."""
    crowd, chance = Crowd(limit, at_once), Random(f"{seed}/{limit}/{at_once}")
    for _ in range(STEPS):
        crowd.step(chance)
        crowd.check()
