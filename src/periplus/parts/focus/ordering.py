"""Orderings of a focused crawl: the URL whose page is most probably on the topic comes first.

The *potential* of a URL, from 0 to 1, comes from the pages that link to it: how relevant they are, and what their
links say. Shark-search (Hersovici et al. 1998) adds what the page before has of the topic to what the anchor and the
words around it have; relevance is inherited over irrelevant pages, halved at each, so that the crawl tunnels through
some of them. `focused` learns besides, from the pages it has read, which folders of sites lead to the topic. Several
links to a URL count by the best of them.

A frontier keeps one number for a URL, its worth. Here it holds two: the potential decides its size, so that levels of
queues divide [0, 1] evenly, and its last bits are what the URL inherits (`worth_of`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from periplus.model import ConfigError, Discovery, KnownLinks, Ordering, Source, Url
from periplus.policy.ordering import make_ordering, ordering
from periplus.policy.ordering.importance import OCTAVES, ByWorth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TUNNEL: Final = 4
"""Irrelevant pages in a row over which relevance is inherited."""
RELEVANT: Final = 0.5
"""Relevance from which a page counts as on the topic."""
_DECAY: Final = 0.5
"""Share of relevance that a link inherits: delta of the paper."""
_INHERITED: Final = 0.5
"""Weight of what is inherited, against what the link says: gamma of the paper."""
_ANCHOR: Final = 0.8
"""Weight of the anchor, against the words around it: beta of the paper."""
_LAST_INHERITED: Final = _DECAY * RELEVANT * _DECAY**TUNNEL
"""The least that is inherited: a relevant page, and then as many irrelevant pages as a tunnel is long."""
_SEED: Final = 1.0
"""What a seed inherits: people chose it for the topic, even if its own page has only links."""
_CROWD: Final = 30.0
"""Links of a page from which on each inherits less: a table of contents does not recommend all that it lists."""
_LAYERS: Final = 5
"""Layers of a context graph: 0 is on the topic, 5 is beyond the last."""
_HIGH_BITS: Final = 40
_LOW: Final = 1 << 12
"""A worth is a double of 53 bits: 40 for the potential, 12 for what is inherited."""


def worth_of(potential: float, inherited: float = 0.0) -> float:
    """Encode both in one number that grows with the potential; levels of queues grow evenly with it."""
    fraction, octave = math.frexp(2.0 ** (OCTAVES * (2.0 * min(max(potential, 0.0), 1.0) - 1.0)))
    high = math.floor(math.ldexp(fraction, _HIGH_BITS))
    low = math.floor(min(max(inherited, 0.0), 1.0) * (_LOW - 1) + 0.5) / _LOW
    return math.ldexp(high + low, octave - _HIGH_BITS)


def potential_of(worth: float) -> float:
    """The potential in a worth."""
    return min(max((math.log2(worth) / OCTAVES + 1.0) / 2.0, 0.0), 1.0) if worth > 0.0 else 0.0


def inherited_of(worth: float) -> float:
    """The inherited value that is encoded in this worth."""
    scaled = math.ldexp(math.frexp(worth)[0], _HIGH_BITS)
    return (scaled - math.floor(scaled)) * _LOW / (_LOW - 1)


class LinkSigns(NamedTuple):
    """The evidence about a link: how much of the topic its anchor and its context have.

    `promise` is what was learnt of its folder: the relevance that is expected there, as a multiple of the crawl's mean.
    `layer` is how many links its page is away from the topic, by its words (see `parts.focus.LayerClassifier`).
    """

    anchor: float
    context: float
    promise: float = 1.0
    layer: int = 5


@runtime_checkable
class Focusing(Protocol):
    """An ordering of a focused crawl."""

    is_learning: bool
    """Whether `LinkSigns.promise` is wanted, which costs time for each link."""
    needs_layers: bool
    """Whether `LinkSigns.layer` is wanted: only a simulation knows it."""

    def potential(self, relevance: float, inherited: float, signs: LinkSigns, links: int) -> float:
        """The potential of a link of a page that has `links` of them. `inherited` is what the link inherits."""


def inherited(relevance: float, of_page: float) -> float:
    """The value that the links of a page inherit: of its relevance, or else of what it inherited itself."""
    if relevance >= RELEVANT:
        return _DECAY * relevance
    passed = _DECAY * of_page
    return passed if passed >= _LAST_INHERITED else 0.0


def shark(passed: float, anchor: float, context: float) -> float:
    """The potential by shark-search. `passed` is what the link inherits."""
    return _INHERITED * passed + (1.0 - _INHERITED) * (_ANCHOR * anchor + (1.0 - _ANCHOR) * context)


class ByPotential(ByWorth):
    """What the orderings of a focused crawl share: seeds first, then by potential, of several links the best."""

    is_learning = False
    needs_layers = False

    def score(self, discovery: Discovery) -> float:
        """The worth that it was found with."""
        if discovery.source is Source.SEED:
            return worth_of(1.0, _SEED)
        return discovery.gain or worth_of(0.0)

    def share(self, worth: float, links: int) -> float:  # noqa: ARG002
        """What the page itself is worth: its links get a potential each where the page is read, and inherit from it."""
        return worth

    def rest(self, worth: float) -> float:
        """The page keeps its worth."""
        return worth

    def combined(self, worth: float, gain: float, share: float) -> float:
        """The better of what a URL has and what another link gives it, of which only a share counts (spam)."""
        if share < 1.0:
            gain = worth_of(potential_of(gain) * share, inherited_of(gain))
        return max(worth, gain)


class BestFirst(ByPotential):
    """Links of the most relevant page first, whatever they say (Cho, Garcia-Molina & Page 1998)."""

    def potential(self, relevance: float, inherited: float, signs: LinkSigns, links: int) -> float:  # noqa: ARG002
        """The relevance of the page."""
        return relevance


class Shark(ByPotential):
    """Shark-search (Hersovici et al. 1998): relevance of the page, anchor, and the words around it."""

    def potential(self, relevance: float, inherited: float, signs: LinkSigns, links: int) -> float:  # noqa: ARG002
        """The potential by the formula of the paper."""
        return shark(inherited, signs.anchor, signs.context)


class Focused(ByPotential):
    """Shark-search that knows hubs and folders.

    What the links of a page with many links inherit is less, by the square root of their number. Potentials are
    multiplied by the promise of the folder that a URL lies in, to the power of `learning`: pages of a site that were on
    the topic recommend their neighbours, and dead ends sink.
    """

    is_learning = True

    def __init__(self, learning: float = 0.5) -> None:
        if not 0.0 <= learning <= 1.0:
            raise ConfigError(f"focused: learning must be from 0 to 1, got {learning}")
        self._learning = learning

    def potential(self, relevance: float, inherited: float, signs: LinkSigns, links: int) -> float:  # noqa: ARG002
        """The potential by the formula of the paper, with less for crowds and more for promising folders."""
        passed = inherited * min(1.0, math.sqrt(_CROWD / max(links, 1)))
        return min(shark(passed, signs.anchor, signs.context) * math.pow(signs.promise, self._learning), 1.0)


class ContextGraph(ByPotential):
    """Links of pages that are few links away from the topic first (Diligenti et al. 2000)."""

    needs_layers = True

    def potential(self, relevance: float, inherited: float, signs: LinkSigns, links: int) -> float:  # noqa: ARG002
        """The nearer the layer of the page."""
        return 1.0 - signs.layer / (_LAYERS + 1.0)


class NBest(Shark):
    """Shark-search in batches: the best `every` URLs are fetched before the order is looked at again (Pinkerton 1994).

    With small batches the order is nearly as good as without, and sites get pauses between requests.
    """

    is_batch = True

    def __init__(self, every: int = 64) -> None:
        if every < 1:
            raise ConfigError(f"n_best: every must be at least 1, got {every}")
        self.every = every

    def batch_size(self, waiting: int) -> int:
        """The best of them."""
        return min(waiting, self.every)

    def ranks(self, known: KnownLinks) -> NDArray[np.float64]:
        """Their potentials have not changed: only the batch is new."""
        return known.worth


ORDERINGS: Final[dict[str, Callable[..., Ordering]]] = {
    "best_first": BestFirst,
    "focused": Focused,
    "n_best": NBest,
    "shark": Shark,
}
"""Those for a crawl."""
_SIMULATED: Final[dict[str, Callable[..., Ordering]]] = {**ORDERINGS, "context_graph": ContextGraph}
"""Those for a simulation, which knows links backwards."""


def focused_orderings() -> tuple[str, ...]:
    """The names of those for a crawl, in order."""
    return tuple(ORDERINGS)


def any_ordering(
    name: str, *, oracle: Callable[[Url], float] | None = None, **settings: int | float | str | bool
) -> Ordering:
    """The ordering of that name, of these and of those that need no topic (`policy.ordering`)."""
    make = _SIMULATED.get(name)
    if make is None:
        return ordering(name, focused_orderings(), oracle=oracle, **settings)
    return make_ordering(name, make, settings)
