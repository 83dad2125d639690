"""The spam model: a curve for each feature, whose heights add up to the log odds of spam, and the weight of neighbours.

p = 1 / (1 + exp(-sum)). A curve is linear between at most `MAX_KNOTS` knots and constant beyond them, so that every
verdict can be explained by the features that raised it most. An unknown feature adds nothing. Kinds (of the public
suffix) and, in models trained on labels of real hosts, n-grams of the host's name have weights instead of curves.
`shipped` is the model of the package (see `training` for how it was made).

Hosts and domains cost a farm nothing, so each has few pages. A host with few pages is therefore also judged by pages of
its domain, of domains that it links to, and of those that these link to (Castillo, Donato, Gionis, Murdock & Silvestri,
"Know your neighbors", 2007). Only links *from* a host count, which its owner controls. And neighbours only add to a
suspicion that its own pages raise: comments on a good site link to spam, and links to good sites are cheap camouflage.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import UsageError

from .features import FEATURES, GRAPH_FEATURES, NAME_FEATURES, SUFFIX, Features, name_features, name_grams, suffix_kind

MAX_KNOTS: Final = 16
"""Knots of a curve, at most: finer ones follow the noise of the labels."""
SHRINKAGE: Final = 5
"""Pages of a host that count as much as knowing nothing: a host is not judged by one page."""
PHRASES: Final = {**FEATURES, **NAME_FEATURES, **GRAPH_FEATURES}
"""How to report the value of each feature."""


class Curve(Struct, frozen=True):
    """A piecewise-linear function: its value at each of the ascending `knots`."""

    knots: tuple[float, ...]
    weights: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """The height at a value; beyond the first and last knot, that of the knot."""
        at = bisect_right(self.knots, value)
        if at == 0:
            return self.weights[0]
        if at == len(self.knots):
            return self.weights[-1]
        share = (value - self.knots[at - 1]) / (self.knots[at] - self.knots[at - 1])
        return self.weights[at - 1] * (1.0 - share) + self.weights[at] * share


class Contribution(Struct, frozen=True):
    """The contribution of one feature to the log odds, and its value."""

    name: str
    weight: float
    words: str


class PageMeans(Struct, frozen=True):
    """What the pages of a host add up to: by feature, in the order of `FEATURES`, the mean weight and the mean value.

    They are not a number where no page has the feature. `total` is the sum of all weights of all pages.
    """

    weights: NDArray[np.float64]
    values: NDArray[np.float64]
    total: float
    pages: int


class Model(Struct, frozen=True, forbid_unknown_fields=True):
    """A trained model. `trained_on` says from what."""

    intercept: float
    curves: dict[str, Curve]
    kinds: dict[str, float] = {}
    grams: dict[str, float] = {}
    trained_on: str = ""

    def page_parts(self, features: Features) -> list[Contribution]:
        """The contribution of each known feature of a page."""
        return [
            Contribution(name, curve(value), PHRASES[name].format(value))
            for name, value in features.items()
            if value is not None and (curve := self.curves.get(name)) is not None
        ]

    def name_parts(self, host: str) -> list[Contribution]:
        """The contributions of the name of a host."""
        parts = self.page_parts(name_features(host))
        kind = suffix_kind(host)
        if kind in self.kinds:
            parts.append(Contribution(SUFFIX, self.kinds[kind], f"a name under a suffix of the kind {kind}"))
        grams = [gram for gram in sorted(name_grams(host)) if gram in self.grams] if self.grams else []
        parts += [Contribution(gram, self.grams[gram], f"“{gram.strip('^$')}” in the host name") for gram in grams]
        return parts

    def page_weight(self, features: Features) -> float:
        """The sum of the contributions of all known features of a page to the log odds."""
        return sum(
            curve(value)
            for name, value in features.items()
            if value is not None and (curve := self.curves.get(name)) is not None
        )

    def page_logit(self, features: Features) -> float:
        """The log odds of a page by its content alone."""
        return self.intercept + self.page_weight(features)

    def host_parts(self, host: str, features: Features, pages: PageMeans) -> list[Contribution]:
        """The contributions of the host's name, its place among others and its pages: of the pages the mean, shrunk."""
        return self.name_parts(host) + self.page_parts(features) + self._mean_parts(pages)

    def host_logit(self, host: str, features: Features, pages: Sequence[Features]) -> float:
        """The log odds of a host."""
        return self.intercept + sum(part.weight for part in self.host_parts(host, features, self.means_of(pages)))

    def means_of(self, pages: Iterable[Features]) -> PageMeans:
        """What some pages add up to."""
        curves = [(name, self.curves.get(name)) for name in FEATURES]
        weights, values, counts = ([0.0] * len(curves) for _ in range(3))
        read = 0
        for features in pages:
            read += 1
            for at, (name, curve) in enumerate(curves):
                value = features.get(name)
                if value is not None and curve is not None:
                    weights[at] += curve(value)
                    values[at] += value
                    counts[at] += 1
        known = np.where(np.array(counts) > 0, counts, np.nan)
        return PageMeans(np.array(weights) / known, np.array(values) / known, sum(weights), read)

    def _mean_parts(self, pages: PageMeans) -> list[Contribution]:
        shrunk = shrinkage(pages.pages)
        means = zip(FEATURES, pages.weights.tolist(), pages.values.tolist(), strict=True)
        return [
            Contribution(name, shrunk * weight, PHRASES[name].format(value))
            for name, weight, value in means
            if not math.isnan(weight)
        ]


def shrinkage(pages: int) -> float:
    """The share of a host's mean over its pages that counts: (sum + SHRINKAGE * 0) / (pages + SHRINKAGE)."""
    return pages / (pages + SHRINKAGE)


def probability(logit: float) -> float:
    """The probability of log odds."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(logit))


def loudest(parts: Collection[Contribution], count: int = 3) -> tuple[str, ...]:
    """The features that are the strongest evidence for spam, in words; if there are none, those against it."""
    raised = sorted((part for part in parts if part.weight > 0.0), key=lambda part: -part.weight)
    lowered = sorted((part for part in parts if part.weight < 0.0), key=lambda part: part.weight)
    return tuple(part.words for part in (raised or lowered)[:count])


def encoded(model: Model) -> bytes:
    """The JSON of a model, for a file."""
    return msgspec.json.format(msgspec.json.encode(model), indent=1)


def decoded(data: bytes, where: str) -> Model:
    """A model from its JSON; `where` is named in the error."""
    try:
        model = msgspec.json.decode(data, type=Model)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{where} is not a spam model: {error}", hint="train it again: periplus spam train") from error
    for name, curve in model.curves.items():
        if name not in PHRASES or not _is_curve(curve):
            raise UsageError(f"{where}: the curve {name} is not valid", hint="train it again: periplus spam train")
    return model


def _is_curve(curve: Curve) -> bool:
    knots = curve.knots
    is_ascending = all(one < other for one, other in pairwise(knots))
    return 1 <= len(knots) == len(curve.weights) <= MAX_KNOTS and is_ascending


@cache
def shipped() -> Model:
    """The model of the package."""
    return decoded(files(__package__).joinpath("weights.json").read_bytes(), "the spam model of the package")


LINKED: Final = 1.0
"""Weight of a page of a linked domain, compared with an own page; of one that is two links away, its square."""
MOST_PAGES: Final = 5.0
"""Pages of a linked domain that count, at most: its size must not outweigh the others."""
ENOUGH_PAGES: Final = 20
"""Pages of a host from which it is judged by its own alone."""

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


def pooled_pages(
    sources: Numbers, targets: Numbers, domains: int, places: Numbers, sums: Values, counts: Values
) -> list[tuple[float, float]]:
    """For each host the sum of the weights of all pages that count for it, and the number of these pages.

    `places` has the number of each host's domain, `sums` the weights of its pages added up, `counts` their number.
    """
    from scipy.sparse import csr_array  # it takes a third of a second to load, and a crawl reads only scores

    own, pages = np.bincount(places, sums, domains), np.bincount(places, counts, domains)
    means = own / np.maximum(pages, 1.0)
    few = np.minimum(pages, MOST_PAGES)
    links = csr_array((np.ones(len(sources)), (sources, targets)), shape=(domains, domains))
    near, near_pages = links @ (means * few), links @ few
    mutual: Values = np.asarray(links.multiply(links.T).sum(axis=1)).ravel()  # two links away is also the domain itself
    far, far_pages = links @ near - mutual * means * few, links @ near_pages - mutual * few
    total = own + LINKED * near + LINKED**2 * far
    count = pages + LINKED * near_pages + LINKED**2 * far_pages
    return list(zip(total[places].tolist(), count[places].tolist(), strict=True))


def neighbour_part(total: float, count: float, own: float, pages: int) -> Contribution | None:
    """The contribution of neighbours beyond the host's own pages, which are worth `own` in all; `None` if nothing."""
    if pages >= ENOUGH_PAGES or count <= pages or own <= 0.0:
        return None
    effective = min(count, float(ENOUGH_PAGES))
    weight = effective / (effective + SHRINKAGE) * total / count - shrinkage(pages) * own / max(pages, 1)
    words = "pages of its domain and of domains that it links to look like spam"
    return Contribution("neighbours", weight, words) if weight > 0.0 else None
