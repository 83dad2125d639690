"""Parked domains are those that many others resemble."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from periplus.content import sketch_of
from periplus.model import Domain
from periplus.parts.mirrors.parked import HomePage, OtherPage, parked_domains


def test_a_parked_domain_has_five_others_like_it() -> None:
    sketch = sketch_of("This domain is for sale, make an offer to our broker today and own it tomorrow morning")
    broker = [Domain("broker.com")] * 4 + [None]
    homes = [HomePage(Domain(f"d{number}.com"), 40, sketch, broker) for number in range(6)]
    assert [each.domain for each in parked_domains(homes)] == [f"d{number}.com" for number in range(6)]
    assert parked_domains(homes[:5]) == []
    own = [HomePage(Domain(f"d{number}.com"), 40, sketch, [None] * 5) for number in range(6)]
    assert parked_domains(own) == []


def _prose(key: object, words: int) -> str:
    chance = Random(repr(key))
    return " ".join("".join(chance.choices("abcdefghiklmnoprst", k=6)) for _ in range(words))


def test_a_short_page_that_names_its_domain_is_compared_without_the_name() -> None:
    """Nine domains at one broker, whose pages of 51 words differ by their names."""
    links = [Domain("broker.com")] * 4 + [None]
    homes = []
    for number in range(9):
        name = f"domain{number}{_prose(number, 1)}.com"
        text = f"{name} is for sale {_prose('offer', 22)} buy {name} now {_prose('price', 20)}"
        homes.append(HomePage(Domain(name), 51, sketch_of(text), links, f"{name} for sale"))
    assert len(parked_domains(homes)) == 9


def test_a_domain_with_pages_of_its_own_is_not_parked() -> None:
    """The chapters of a federation: one home page, but for the town, that leads to the federation; and own news."""
    links = [Domain("federation.org")] * 5 + [None] * 2
    homes = []
    for number in range(7):
        town = _prose(number, 1)
        text = f"{_prose('welcome', 30)} {town} {_prose('members', 30)}"
        others = [OtherPage(f"/news/{page}", sketch_of(_prose((number, page), 40))) for page in range(3)]
        domain = Domain(f"{town}-chapter.org")
        homes.append(HomePage(domain, 61, sketch_of(text), links, f"{town} chapter", others, 6))
    assert parked_domains(homes) == []
    assert parked_domains([replace(home, others=()) for home in homes]) == []  # nobody has read them yet
    bare = [replace(home, others=(OtherPage("/about", sketch_of(_prose("about", 60))),), known=1) for home in homes]
    assert len(parked_domains(bare)) == 7
