"""What a job has learnt about spam shrinks budgets and the worth of pages; nothing is refused."""

from __future__ import annotations

import pytest

from periplus.engine.frontier import Domains
from periplus.model import Site, Url
from periplus.parts.spam.scores import SpamScores, written
from periplus.policy.filters import BudgetSettings
from periplus.policy.weights import PageWeights
from periplus.store import MemoryState


def learnt() -> SpamScores:
    """One bad host."""
    scores = SpamScores()
    scores.learn(written({"bad.example": 0.9}, {"bad.example": 1.0}))
    return scores


def test_budget_of_a_spam_domain_shrinks() -> None:
    """A tenth of it remains, also of a domain that was in memory before; others keep theirs."""
    domains = Domains(MemoryState().domains, BudgetSettings(base=100))
    assert domains.of(Site("bad.example")).budget == 100
    domains.discounts = learnt()
    domains.appraise_again()
    assert domains.of(Site("bad.example")).budget == 10
    assert domains.of(Site("fine.example")).budget == 100


def test_weight_of_a_spam_page_shrinks() -> None:
    """By (1 - s) squared."""
    weights = PageWeights()
    weights.multiply_by(learnt().worth)
    assert weights(Url("http://bad.example/x")) == pytest.approx(0.01)
    assert weights(Url("http://fine.example/x")) == 1.0
