"""The links of a generated web.

A page links to those that hang below it, and to others: most on its own site, half of them its neighbours (what a site
lists together links together), half the pages that its site values. A page's own attraction is Pareto distributed, and
so are the popularity of its site and the number of links that a page has: in-degrees and out-degrees are power laws
with the exponents that Broder et al. (2000) measured, 2.1 and 2.72.

Links are drawn for some hundred thousand pages at a time, so that three million pages need little more memory than
their web itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .web import distinct

_IN_TAIL = 1.1
_OUT_TAIL = 1.72
"""Exponents of the distribution functions: one less than those of the densities."""
_MOST_LINKS = 2_000
"""Links of one page."""
_NEAR = 0.25
_NEIGHBOURS = 10.0
"""Share of local links to neighbours, and their mean distance."""
_BLOCK = 200_000
"""Pages whose links are generated at a time."""
_ROUNDS = 6
"""How often links are drawn again in the place of repeated ones; small sites have few pages to link to."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Layout(Struct, frozen=True):
    """Site `s` has the pages from `first[s]` to `first[s + 1]`, its home page first; each hangs below its `parent`."""

    first: Ints
    site: NDArray[np.int32]
    parent: Ints


class LinkSettings(Struct, frozen=True):
    """See `WebSettings`, of which these are a part."""

    links: float
    local: float
    home: float
    home_of_others: float
    unlinked: float
    popularity: float


class _Attraction(Struct, frozen=True):
    """Cumulative attraction of the pages: for links of their own site, and of the whole web."""

    local: Floats
    foreign: Floats


def links(
    layout: Layout, settings: LinkSettings, is_ok: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Ints, NDArray[np.int32]]:
    """Where the links of each page begin, and where they lead, ascending. Pages that fail have none."""
    pages = len(layout.site)
    attraction = _attraction(layout, settings, random)
    counts = np.zeros(pages, np.int64)
    found: list[NDArray[np.int32]] = []
    for low, high in _blocks(layout.first):
        keys = _block(layout, settings, attraction, is_ok, (low, high), random)
        counts[low:high] = np.bincount(keys // pages - low, minlength=high - low)
        found.append((keys % pages).astype(np.int32))
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts, np.concatenate(found)


def _blocks(first: Ints) -> Iterator[tuple[int, int]]:
    """Pages of whole sites, some at a time."""
    low = 0
    while low < first[-1]:
        high = int(first[np.searchsorted(first, min(low + _BLOCK, int(first[-1])))])
        yield low, high
        low = high


def _attraction(layout: Layout, settings: LinkSettings, random: np.random.Generator) -> _Attraction:
    """Home pages attract their own site by `home` only, and other sites by a share of the site's popularity."""
    home, size = layout.first[:-1], np.diff(layout.first)
    own = _pareto(random.random(len(layout.site)), _IN_TAIL)
    own[home] = 0.0
    total = np.add.reduceat(own, home)
    fame = _pareto(random.random(len(size)), _IN_TAIL) * size**settings.popularity
    fame[np.argsort(fame, kind="stable")[: int(settings.unlinked * len(size))]] = 0.0
    of_home = np.where(total > 0, settings.home_of_others, 1.0)
    foreign = own * (fame * (1.0 - of_home) / np.where(total > 0, total, 1.0))[layout.site]
    foreign[home] = fame * of_home
    return _Attraction(_sums(own), _sums(foreign))


def _block(
    layout: Layout,
    settings: LinkSettings,
    attraction: _Attraction,
    is_ok: NDArray[np.bool_],
    bounds: tuple[int, int],
    random: np.random.Generator,
) -> Ints:
    """The links of some pages as source * pages + target, ascending, each once."""
    pages = len(layout.site)
    low, high = bounds
    below = low + np.flatnonzero(layout.parent[low:high] >= 0)
    keys = layout.parent[below] * pages + below
    able = low + np.flatnonzero(is_ok[low:high])
    wanted = round(settings.links * len(able))
    sources = _sources(able, max(0, wanted - len(keys)), random)
    drawn = sources
    for _ in range(_ROUNDS):
        targets = _targets(drawn, layout, settings, attraction, bounds, random)
        keys = distinct(np.concatenate((keys, (drawn * pages + targets)[targets != drawn])))
        if wanted - len(keys) <= wanted // 200 or not len(sources):
            break
        drawn = sources[random.integers(len(sources), size=wanted - len(keys))]
    return keys


def _sources(able: Ints, count: int, random: np.random.Generator) -> Ints:
    """Draws pages that can link: a few of them often, most of them rarely."""
    if not len(able):
        return able
    degree = (_pareto(random.random(len(able)), _OUT_TAIL) - 1.0) * (_OUT_TAIL - 1.0) * count / len(able)
    return np.repeat(able, np.minimum(degree + random.random(len(able)), _MOST_LINKS).astype(np.int64))


def _targets(
    sources: Ints,
    layout: Layout,
    settings: LinkSettings,
    attraction: _Attraction,
    bounds: tuple[int, int],
    random: np.random.Generator,
) -> Ints:
    """Where a link of each source leads; sometimes to itself."""
    targets = layout.first[layout.site[sources]]
    local = settings.local if attraction.foreign[-1] > 0 else 1.0
    edges = np.array([settings.home, settings.home + (1.0 - settings.home) * _NEAR, 1.0]) * local
    kind = np.searchsorted(edges, random.random(len(sources)), side="right")
    near, valued, strange = (np.flatnonzero(kind == number) for number in (1, 2, 3))
    targets[near] = _neighbours(sources[near], layout, random)
    targets[valued] = _valued(sources[valued], layout, attraction.local, bounds, random)
    chance = random.random(len(strange)) * attraction.foreign[-1]
    targets[strange] = np.searchsorted(attraction.foreign, chance, side="right") - 1
    return targets


def _neighbours(sources: Ints, layout: Layout, random: np.random.Generator) -> Ints:
    """Pages listed nearby; the listing of a site, without its home page, is a ring."""
    site = layout.site[sources]
    first = layout.first[site] + 1
    size = np.maximum(layout.first[site + 1] - first, 1)
    step = np.ceil(random.standard_exponential(len(sources)) * _NEIGHBOURS).astype(np.int64)
    step[random.random(len(sources)) < 0.5] *= -1
    return np.asarray(np.minimum(first + (sources - first + step) % size, layout.first[site + 1] - 1), np.int64)


def _valued(sources: Ints, layout: Layout, sums: Floats, bounds: tuple[int, int], random: np.random.Generator) -> Ints:
    """Pages of the same site, as much as they attract."""
    site = layout.site[sources]
    first, end = layout.first[site], layout.first[site + 1]
    chance = sums[first] + random.random(len(sources)) * (sums[end] - sums[first])
    low, high = bounds
    found = low + np.searchsorted(sums[low : high + 1], chance, side="right") - 1
    return np.asarray(np.clip(found, first, end - 1), np.int64)


def _pareto(chance: Floats, tail: float) -> Floats:
    """Pareto distributed from 1 on: P(more than x) = x ** -tail."""
    return np.asarray((1.0 - chance) ** (-1.0 / tail), np.float64)


def _sums(values: Floats) -> Floats:
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums
