"""A simulated link farm: trust holds where counts of links do not, and what each adaptation of the farm gains."""

from __future__ import annotations

import numpy as np
import pytest

from periplus_lab.simulate.reputation import (
    FARMS,
    HONEST,
    SCORES,
    DomainWeb,
    Farm,
    domain_web,
    run_reputation,
    shares_of,
    supporters,
)

FARM = {farm.name: farm for farm in FARMS}


@pytest.fixture(scope="module")
def plain() -> DomainWeb:
    return domain_web(FARM["plain"], 0)


def share(web: DomainWeb, score: str) -> float:
    return shares_of(web, SCORES[score](web)).share


def test_trust_gives_a_farm_less_than_a_third_of_star(plain: DomainWeb) -> None:
    """A farm counts its own links with star; the seeds do not link to it."""
    assert share(plain, "trust") < share(plain, "star") / 3
    assert share(plain, "trust") < share(plain, "networks") < share(plain, "star") / 2


def test_the_honest_web_is_the_same_for_every_farm(plain: DomainWeb) -> None:
    """So rows differ by what the farm does."""
    other = domain_web(FARM["all"], 0)
    assert other.seeds.tolist() == plain.seeds.tolist()
    for web in (plain, other):
        assert np.bincount(web.targets, minlength=web.n)[HONEST:].min() >= 40
    honest, others = (web.targets < HONEST for web in (plain, other))
    assert plain.sources[honest].tolist() == other.sources[others].tolist()
    assert plain.targets[honest].tolist() == other.targets[others].tolist()


def test_what_an_adapting_farm_gains(plain: DomainWeb) -> None:
    """Addresses gain nothing by trust and all that networks withheld; bought links are what raises trust."""
    rented = domain_web(FARM["addresses"], 0)
    assert share(rented, "trust") == pytest.approx(share(plain, "trust"))
    assert share(rented, "networks") == pytest.approx(share(rented, "star"))
    assert share(domain_web(FARM["bought"], 0), "trust") > 2 * share(plain, "trust")


def test_more_domains_share_the_same_trust(plain: DomainWeb) -> None:
    """Twice the domains with as many links from outside have no more trust, but twice the supporters of a count."""
    larger = domain_web(FARM["domains"], 0)
    before, after = (shares_of(web, SCORES["trust"](web)) for web in (plain, larger))
    assert after.of_scores < 1.1 * before.of_scores
    assert after.farm_budget < before.farm_budget
    assert share(larger, "star") > 1.2 * share(plain, "star")


def test_supporters_are_counted_to_distance_two() -> None:
    """A chain of four domains with a way back: a domain does not support itself, and a third link is too far."""
    sources, targets = np.array([0, 1, 2, 1]), np.array([1, 2, 3, 0])
    web = DomainWeb(4, 4, sources, targets, np.array([0]), np.arange(4))
    assert supporters(web).tolist() == [1, 1, 2, 2]


def test_a_row_for_each_score_and_farm() -> None:
    """With the mean of the repetitions; the same seeds give the same rows."""
    farms = (Farm("small", domains=50),)
    rows = run_reputation(farms=farms, seeds=range(2))
    assert [row.score for row in rows] == list(SCORES)
    assert all(row.share == pytest.approx(sum(row.values) / 2) for row in rows)
    assert rows == run_reputation(farms=farms, seeds=range(2))
