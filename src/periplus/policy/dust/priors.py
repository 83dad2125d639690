"""Names that held on many domains: a new site needs fewer pairs for them.

A kind and a name (such as `drop-param ref`) that was accepted on at least 20 domains, and withdrawn on at most 2 % of
them, becomes a prior Beta(5, 1): four equal pairs are then enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from .rules import QUERY_KINDS, Rule

MIN_DOMAINS: Final = 20
"""Minimum number of domains on which a rule was accepted: fewer may belong to one owner."""
MAX_WITHDRAWN: Final = 0.02
"""Maximum share of domains on which it was withdrawn again."""
_NAMED: Final = QUERY_KINDS | {"drop-prefix", "drop-suffix"}
"""Kinds whose names mean the same on other sites."""


class Prior(Struct, frozen=True, omit_defaults=True):
    """A kind and a name that held on `domains` domains and was withdrawn on `withdrawn`."""

    kind: str
    name: str = ""
    value: str = ""
    domains: int = 0
    withdrawn: int = 0


def priors_of(rules: Iterable[tuple[str, Rule, bool]]) -> list[Prior]:
    """The priors that follow from rules: domain, rule, and whether it was withdrawn."""
    held: dict[tuple[str, str, str], set[str]] = {}
    fell: dict[tuple[str, str, str], set[str]] = {}
    for domain, rule, is_withdrawn in rules:
        if rule.kind in _NAMED:
            (fell if is_withdrawn else held).setdefault((rule.kind, rule.name, rule.value), set()).add(domain)
    counts = Counter({key: len(domains) for key, domains in held.items()})
    found = [
        Prior(*key, domains=count, withdrawn=len(fell.get(key, ())))
        for key, count in counts.items()
        if count >= MIN_DOMAINS
    ]
    kept = [each for each in found if each.withdrawn <= MAX_WITHDRAWN * (each.domains + each.withdrawn)]
    return sorted(kept, key=lambda each: (-each.domains, each.kind, each.name, each.value))
