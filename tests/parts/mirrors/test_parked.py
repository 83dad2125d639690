"""Parked domains are those that many others resemble."""

from __future__ import annotations

from periplus.content import sketch_of
from periplus.model import Domain
from periplus.parts.mirrors.parked import HomePage, parked_domains


def test_a_parked_domain_has_five_others_like_it() -> None:
    sketch = sketch_of("This domain is for sale, make an offer to our broker today and own it tomorrow morning")
    broker = [Domain("broker.com")] * 4 + [None]
    homes = [HomePage(Domain(f"d{number}.com"), 40, sketch, broker) for number in range(6)]
    assert [each.domain for each in parked_domains(homes)] == [f"d{number}.com" for number in range(6)]
    assert parked_domains(homes[:5]) == []
    own = [HomePage(Domain(f"d{number}.com"), 40, sketch, [None] * 5) for number in range(6)]
    assert parked_domains(own) == []
