"""The first budget of a domain, before its links are scored: it halves with each domain between it and a seed's."""

from __future__ import annotations

import math

import pytest

from periplus.engine.frontier import Domains
from periplus.model import Discovery, Site, Source, Url
from periplus.policy.domain_budgets import base_at
from periplus.policy.filters import BudgetSettings
from periplus.store import MemoryState, SiteState


def found(domains: Domains, site: str, referrer: str | None) -> float:
    """A link to the first page of a site: the budget of its domain then."""
    discovery = Discovery(Url(f"http://{site}/"), Source.LINK, 0.0, 1, Url(referrer) if referrer else None)
    domains.admitted(discovery, SiteState(Site(site)))
    return domains.of(Site(site)).budget


def test_base_halves_with_each_link_after_the_first() -> None:
    """Never below one page; a domain of which no way is known has the whole."""
    assert [base_at(hops, 10) for hops in (0, 1, 2, 3, 4, 9)] == [10, 10, 5, 2, 1, 1]


def test_domains_that_introduce_each_other_get_little() -> None:
    """A chain of domains from a seed; what a sitemap lists has no referrer."""
    state = MemoryState()
    domains = Domains(state.domains, BudgetSettings(base=16), seeds=[Url("http://seed.test/")])
    assert domains.of(Site("seed.test")).budget == math.inf
    assert found(domains, "near.test", "http://www.seed.test/a") == 16
    assert found(domains, "far.test", "http://near.test/") == 8
    assert found(domains, "farther.test", "http://far.test/x") == 4
    assert found(domains, "a.farther.test", "http://seed.test/") == 4  # the domain is known already
    assert found(domains, "elsewhere.test", "http://other-shard.test/") == 8
    assert found(domains, "listed.test", None) == 16
    domains.flush()
    again = Domains(state.domains, BudgetSettings(base=16), seeds=[Url("http://seed.test/")])
    assert again.of(Site("farther.test")).budget == 4


def test_a_score_replaces_the_distance() -> None:
    """Once links are scored, the way to a domain does not matter."""
    domains = Domains(MemoryState().domains, BudgetSettings(base=16), seeds=[Url("http://seed.test/")])
    found(domains, "near.test", "http://seed.test/")
    found(domains, "far.test", "http://near.test/")
    domains.set_budgets({"far.test": 700}.get)
    assert domains.of(Site("far.test")).budget == 700


@pytest.mark.parametrize("base", [1, 2, 7, 10, 16, 100])
def test_a_domain_is_in_the_order_in_which_a_new_process_would_have_it(base: int) -> None:
    """After any number of pages: the order depends on what was fetched, not on when it was last computed."""
    state = MemoryState()
    domains = Domains(state.domains, BudgetSettings(base=base))
    domain = domains.of(Site("a.test"))
    domains.joined(domain)
    for _ in range(3 * base):
        domains.granted(domain)
        domains.flush()
        again = Domains(state.domains, BudgetSettings(base=base)).of(Site("a.test"))
        assert (domain.fetched, domain.octave, domain.until) == (again.fetched, again.octave, again.until)
