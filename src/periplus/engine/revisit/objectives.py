"""What is wanted of a collection, and so what a visit is worth: objectives and policies, each chosen by its name.

Every stale copy costs something, the more the longer it was not visited: let c be that cost. With a price for each
visit it is best to come as soon as t c(t) minus the integral of c reaches the price (Olston & Pandey, WWW 2008,
equation 4), and where signals come, as soon as the mean of what c would stay below the present cost does. That number
is the index of a page: what a visit to it is worth now. Always visiting the page with the largest index is the best
policy, and the price that results is the Lagrange multiplier of the budget: nothing has to be solved.

Objectives, in the order of what they cost for a copy with N changes behind, and after what they are named:

* `binary`: 1 as soon as it is stale at all; pages that change too often for the budget are given up (Cho &
  Garcia-Molina, TODS 2003)
* `harmonic`: 1 + 1/2 + ... + 1/N: more for each change, so that no page is given up (Kolobov et al., NeurIPS 2019)
* `mixed`: 90 % binary and 10 % harmonic: hardly less fresh than `binary`, and no page is forgotten; the default
* `longevity`: how much of it is stale, not whether it is: the share of a page that a change replaces, as seen at its
  visits. That is the form of Olston & Pandey (WWW 2008) with two kinds of fragments, those that never change, which are
  never stale, and those that go with every change; what differs at every visit is not a change (`content.churn`)
* `age`: days since the first change that it lacks
* `capture`: changes not seen before they were overwritten; the page that most likely has one is visited (WIC: Pandey,
  Dhamdhere & Olston, VLDB 2004)

Policies to compare with, which ignore signals: `uniform` and `proportional` visits; `optimal` (binary, regular visits;
Cho & Garcia-Molina 2003); `azar` (binary, random visits: Azar et al., PNAS 2018); `lambda` (harmonic, random visits:
LambdaCrawl, Kolobov et al. 2019); `adaptive` (what Nutch does: an interval for each page that shrinks with every change
found and grows otherwise, see `adaptive`). Each of them is an index as well: the price at which its frequency is one
visit after the time that has passed.

All of them are of one form: weight x rate^-power x phi(rate x age), which is what makes tables of them possible.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError
from periplus.policy.settings import nearest

Floats = NDArray[np.float64]
Shape = Callable[[Floats], Floats]
Cost = Callable[[Floats, Floats, float], Floats]
"""The cost of a copy after expected unsignalled `changes` and `signals`; the share `precision` of these is right."""

HARMONIC_SHARE = 0.10
"""The harmonic share of the mixed objective: freshness loses 0.2 %, and what is stale is less so by a sixth."""


class Objective(Struct, frozen=True):
    """An index: a visit is worth weight x rate^-`power` x `phi`(expected changes).

    `cost` is set where signals are used, and None where only time counts; `is_weighted`: important pages are worth
    more. `is_interval`: the rate is not one of changes but what `adaptive` makes of it.
    """

    name: str
    phi: Shape
    power: float = 1.0
    cost: Cost | None = None
    is_weighted: bool = True
    is_interval: bool = False
    is_greedy: bool = False
    """the index is the cost itself, not what can be saved by coming now"""
    is_by_share: bool = False
    """a page counts by how much of it changes would replace"""

    @property
    def counts_days(self) -> bool:
        """Whether worth is in days of a fresh copy, as that of new pages and of hubs is, and signals are used."""
        return self.cost is not None and self.power == 1.0


def at_least_two(expected: Floats) -> Floats:
    """R^1: the probability of more than one change."""
    return np.where(
        expected < 1e-3, expected**2 / 2 - expected**3 / 3, -np.expm1(-expected) - expected * np.exp(-expected)
    )


def _binary(expected: Floats) -> Floats:
    return at_least_two(expected)


def _harmonic(expected: Floats) -> Floats:
    return np.where(expected < 1e-4, expected**2 / 2, expected + np.expm1(-expected))


def _age(expected: Floats) -> Floats:
    return np.where(expected < 1e-2, expected**3 / 3 - expected**4 / 8, expected**2 / 2 - at_least_two(expected))


def binary_cost(changes: Floats, signals: Floats, precision: float) -> Floats:
    """The probability that a copy is stale."""
    return np.asarray(-np.expm1(-changes + signals * np.log1p(-precision)))


def harmonic_cost(changes: Floats, signals: Floats, precision: float) -> Floats:
    """E[1 + 1/2 + ... + 1/N]: the integral over u in (0, 1) of (1 - e^(-m u) (1 - p u)^n)/u."""
    return _over_u(lambda u: 1.0 - _still_fresh(changes, signals, precision, u))


def age_cost(changes: Floats, signals: Floats, precision: float) -> Floats:
    """The age in units of 1/rate: m times the integral of 1 - e^(-m u) (1 - p u)^n; signals came at any time."""
    return changes * (1.0 - _over_u(lambda u: u * _still_fresh(changes, signals, precision, u)))


def _mixed_cost(changes: Floats, signals: Floats, precision: float) -> Floats:
    return (1 - HARMONIC_SHARE) * binary_cost(changes, signals, precision) + HARMONIC_SHARE * harmonic_cost(
        changes, signals, precision
    )


def _still_fresh(changes: Floats, signals: Floats, precision: float, u: float) -> Floats:
    return np.asarray(np.exp(-changes * u + signals * np.log1p(-precision * u)))


def _over_u(of: Callable[[float], Floats]) -> Floats:
    """An integral over du/u from 0 to 1, taken in -ln u, where it is smooth however many changes are expected."""
    total = np.zeros(())
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total = total + weight * of(float(np.exp(-node)))
    return np.asarray(total)


def _panels(ends: tuple[float, ...], points: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(points)
    low, half = np.array(ends[:-1])[:, None], np.diff(ends)[:, None] / 2
    return (low + half * (nodes + 1)).ravel(), (half * weights).ravel()


_NODES, _WEIGHTS = _panels((0.0, 3.0, 8.0, 16.0, 30.0), 10)


def _capture(expected: Floats) -> Floats:
    return np.asarray(-np.expm1(-expected))


_OBJECTIVES = {
    each.name: each
    for each in (
        Objective("binary", _binary, cost=binary_cost),
        Objective("harmonic", _harmonic, cost=harmonic_cost),
        Objective(
            "mixed", lambda e: (1 - HARMONIC_SHARE) * _binary(e) + HARMONIC_SHARE * _harmonic(e), cost=_mixed_cost
        ),
        Objective("longevity", _binary, cost=binary_cost, is_by_share=True),
        Objective("age", _age, power=2.0, cost=age_cost),
        Objective("capture", _capture, power=0.0, cost=binary_cost, is_greedy=True),
        Objective("uniform", lambda e: e, is_weighted=False),
        Objective("proportional", lambda e: e, power=0.0, is_weighted=False),
        Objective("optimal", _binary),
        Objective("azar", lambda e: (e / (1 + e)) ** 2),
        Objective("lambda", lambda e: e * e / (1 + e)),
        Objective("adaptive", lambda e: e, power=0.0, is_weighted=False, is_interval=True),
    )
}


def objectives() -> tuple[str, ...]:
    """The names, in order."""
    return tuple(sorted(_OBJECTIVES))


def objective(name: str) -> Objective:
    """The one of that name. Raises `ConfigError` for a name that is not there."""
    found = _OBJECTIVES.get(name)
    if found is None:
        raise ConfigError(
            f"no such refresh policy: {name[:100]!r}",
            hint=f"did you mean {nearest(name, objectives())!r}? There are {', '.join(objectives())}",
        )
    return found
