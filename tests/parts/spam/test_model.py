"""The spam model: curves, training, links between domains, verdicts, and the table for the crawl."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.parts.spam.spam_hosts import farm_host, features_of, honest_host

from periplus.model import UsageError
from periplus.model.types import Url
from periplus.parts.spam.features import name_features, suffix_kind
from periplus.parts.spam.link_features import DomainGraph, anti_trust_of, link_features, supporter_penalties, trust_of
from periplus.parts.spam.model import Curve, Model, decoded, encoded, loudest, probability, shipped
from periplus.parts.spam.scores import SpamScores, written
from periplus.parts.spam.settings import SpamSettings
from periplus.parts.spam.training import Example, TrainingSettings, cross_validated, evaluated, train
from periplus.parts.spam.verdict import (
    budget_multiplier,
    domain_score,
    is_retired,
    overridden,
    word_of,
    worth_multiplier,
)
from periplus.policy.ordering import lowered

EDGES = [(0, 1), (1, 0), (0, 2), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 4), (4, 6), (6, 4), (5, 6), (6, 5)]


def seven() -> DomainGraph:
    """Seven domains: 0 and 1 are seeds, 4 to 6 a farm of which 5 is known."""
    sources, targets = np.array(EDGES).T
    return DomainGraph(sources, targets, 7, np.array([0, 1]), np.array([5]))


def test_trust_anti_trust_and_spam_mass_of_a_small_graph() -> None:
    """The values of the literature's definitions, worked out for seven domains."""
    graph = seven()
    expected = [0.1971, 0.1588, 0.1513, 0.0643, 0.1729, 0.1278, 0.1278]
    assert trust_of(graph) == pytest.approx(expected, abs=1e-4)
    assert anti_trust_of(graph) == pytest.approx([0.1198, 0.0923, 0.0973, 0.0509, 0.1908, 0.2771, 0.1718], abs=1e-4)
    found = link_features(graph)
    assert found.ranks == pytest.approx([0.0995, 0.0637, 0.0908, 0.0600, 0.2467, 0.2196, 0.2196], abs=1e-4)
    assert found.spam_mass == pytest.approx([-0.683, -1.118, -0.416, 0.090, 0.404, 0.505, 0.505], abs=2e-3)


def test_farm_shape() -> None:
    """In a ring of 25 where all link to all, in-neighbours are linked back and to each other."""
    pairs = np.array([(a, b) for a in range(25) for b in range(25) if a != b]).T
    found = link_features(DomainGraph(pairs[0], pairs[1], 26, np.array([25]), np.array([], np.int64)))
    assert found.reciprocity[0] == pytest.approx(1.0)
    assert found.clustering[0] == pytest.approx(1.0)
    assert np.isnan(found.reciprocity[25])


def test_clustering_and_ranks_are_those_of_the_definition() -> None:
    """Against counting pairs one by one, with a domain that links to all others, and domains that link to few."""
    count, chance = 1500, np.random.default_rng(3)
    pairs = {(0, other) for other in range(1, count)} | {(one, 0) for one in range(1, 40)}
    pairs |= {(int(one), int(other)) for one, other in chance.integers(0, 40, (2000, 2)) if one != other}
    sources, targets = (np.array(ends, np.int64) for ends in zip(*sorted(pairs), strict=True))
    found = link_features(DomainGraph(sources, targets, count, np.array([0]), np.array([7])))
    for number in (0, 3, 17):
        near = [one for one in range(count) if (one, number) in pairs]
        assert 20 <= len(near) <= 64
        joined = sum((one, other) in pairs for one in near for other in near)
        assert found.clustering[number] == pytest.approx(joined / (len(near) * (len(near) - 1)))
        assert found.of(number)["trust_rank"] == pytest.approx((found.trust < found.trust[number]).mean())
    assert found.of(count - 1)["clustering"] is None


def test_supporters_of_equal_rank_are_not_a_power_law() -> None:
    """200 supporters of one rank are penalised fully; ranks of a power law hardly."""
    from scipy.sparse import csr_array

    edges = csr_array((np.ones(300), (np.arange(300), np.full(300, 300))), shape=(301, 301))
    degree = np.asarray(edges.sum(axis=0)).astype(np.int64)
    assert supporter_penalties(edges, degree, np.full(301, 0.1))[300] == 1.0
    power = np.append(np.random.default_rng(1).pareto(1.0, 300) + 1.0, 1.0)
    assert supporter_penalties(edges, degree, power)[300] < 0.3


def test_a_curve_is_linear_between_knots_and_constant_beyond() -> None:
    """Heights at, between and beyond the knots."""
    curve = Curve((0.0, 10.0, 20.0), (-1.0, 1.0, 0.0))
    assert [curve(x) for x in (-5, 0, 5, 10, 15, 99)] == [-1.0, -1.0, 0.0, 1.0, 0.5, 0.0]


def test_training_finds_the_feature_that_matters() -> None:
    """Spam by one feature is found; an unknown feature adds nothing; the model survives a file."""
    chance = Random(3)
    made = [
        Example(f"h{n}.example", n % 4 == 0, ({"title_words": 20.0 * (n % 4 == 0) + chance.random()},))
        for n in range(200)
    ]
    model = train(made, TrainingSettings(has_grams=False))
    assert (
        model.page_logit({"title_words": 20.0})
        > model.page_logit({"title_words": None})
        > model.page_logit({"title_words": 0.5})
    )
    assert decoded(encoded(model), "it") == model
    assert cross_validated(made, TrainingSettings(has_grams=False), folds=5).auc == 1.0
    with pytest.raises(UsageError, match="both kinds"):
        train(made[1:3])


def test_evaluation_of_known_scores() -> None:
    """A perfect order has an area of 1, a reversed one of 0, ties of one half."""
    labels = [False] * 100 + [True] * 10
    assert evaluated(labels, [0.0] * 100 + [1.0] * 10).auc == 1.0
    assert evaluated(labels, [1.0] * 100 + [0.0] * 10).auc == 0.0
    assert evaluated(labels, [1.0] * 110).auc == 0.5


def test_names() -> None:
    """Digits, hyphens and labels of the owner's part; suffixes that not everyone can register."""
    found = name_features("www.cheap-pills4u.shop.co.uk")
    assert (found["digits"], found["hyphens"], found["labels"], found["has_www"]) == (1.0, 1.0, 2.0, 1.0)
    kinds = [suffix_kind(host) for host in ("www.ed.ac.uk", "gov.example.gov.uk", "a.org", "a.com")]
    assert kinds == ["academic", "public", "organisation", "open"]
    assert name_features("10.0.0.1")["name_length"] == 0.0


def test_what_follows_from_a_probability() -> None:
    """Multipliers, overrides and retirement, which is off by default."""
    assert [worth_multiplier(s) for s in (0.0, 0.5, 1.0)] == [1.0, 0.25, 0.0]
    assert [budget_multiplier(s) for s in (0.5, 1.0)] == [1.0, pytest.approx(0.1)]
    settings = SpamSettings(trusted=("good.example.org",), banned=("example.org",))
    assert overridden("good.example.org", 0.9, settings) == 0.0
    assert overridden("other.example.org", 0.1, settings) == 1.0
    assert word_of("other.example.org", 1.0, settings) == "banned"
    assert [word_of("a.test", s, settings) for s in (0.1, 0.4, 0.6)] == ["clean", "doubtful", "spam"]
    assert not is_retired(0.99, 100, settings)
    assert is_retired(0.99, 100, SpamSettings(may_retire=True))
    assert domain_score([(0.9, 3), (0.1, 2)]) == pytest.approx(0.5)
    assert domain_score([(0.9, 30), (0.1, 2)]) == 0.9


def test_the_table_for_the_crawl() -> None:
    """Hosts are found by their hash; others are not suspicious; levels sink by octaves."""
    scores = SpamScores()
    assert scores.worth(Url("http://bad.example/")) == 1.0
    scores.learn(written({"bad.example": 0.9, "fine.example": 0.01}, {"bad.example": 0.9}, ("bad.example",)))
    assert scores.of_host("bad.example") == pytest.approx(0.9)
    assert scores.of_host("fine.example") == 0.0
    assert scores.worth(Url("http://bad.example/x")) == pytest.approx(0.01)
    assert scores.budget("bad.example") == pytest.approx(0.19)
    assert scores.retired == ("bad.example",)
    assert (lowered(63, 1.0), lowered(63, 0.25), lowered(63, 0.0)) == (63, 67, 255)


def test_the_shipped_model_tells_farms_from_sites() -> None:
    """Hosts of ten pages that it was not trained on, one farm with rotating templates; each verdict has reasons."""
    chance, model = Random(99), shipped()

    def score(pages: tuple[tuple[str, str], ...], host: str) -> float:
        return probability(model.host_logit(host, {}, [features_of(url, html.encode()) for url, html in pages]))

    farm = [farm_host(chance, 10, adapts=number % 2 == 0) for number in range(6)]
    honest = [honest_host(chance, 10) for _ in range(6)]
    assert all(score(host.pages, host.name) > 0.5 for host in farm)
    assert all(score(host.pages, host.name) < 0.3 for host in honest)
    means = model.means_of(features_of(url, html.encode()) for url, html in farm[0].pages)
    parts = model.host_parts(farm[0].name, {}, means)
    assert len(loudest(parts)) == 3


def test_n_grams_are_explained() -> None:
    """A model with n-grams says which part of a name spoke."""
    model = Model(0.0, {}, grams={"loan": 2.0})
    assert loudest(model.name_parts("cheaploans.example")) == ("“loan” in the host name",)
