"""Webs made up, to look like the sample of Castillo et al. (2004, sections III-VII): 3.5 million pages of 50,000 sites.

What the paper says, and what is made of it:

* Sites: sizes follow Zipf's law, none above 25,000 pages (Figure 3). Pages of a site are numbered in a row, its home
  page first, and hang below it as a tree; every page can be reached from the home pages, which are the seeds.
* Links (`generated_links`): most stay on their site; out-degrees and in-degrees have heavy tails. Many home pages have
  few or no in-links, so that home pages have a low PageRank in the mean, and PageRank falls with depth only within
  three or four clicks (Figure 12).
* Pages: 57 GB of 2.4 million pages are 24 KB a page; 80 % of the visits of the real crawl succeeded (Table II): `ok`.
  Sizes are log-normal with the spread that Barford & Crovella (1998) found.

The paper took latency and bandwidth of sites from its crawl and prints neither. The medians here (half a second, 50 KB
a second) and their log-normal spread are assumptions, and so are the kinds of failures.

All chance comes from one seed. How a crawler would fare here is not for this file to say.

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

from periplus.model import ConfigError, Site

from .web import NO_ANSWER, OK, Web, distinct

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


class SiteLayout(Struct, frozen=True):
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
    layout: SiteLayout, settings: LinkSettings, is_ok: NDArray[np.bool_], random: np.random.Generator
) -> tuple[Ints, NDArray[np.int32]]:
    """Where the links of each page begin, and their targets, ascending. Pages that fail have none."""
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


def _attraction(layout: SiteLayout, settings: LinkSettings, random: np.random.Generator) -> _Attraction:
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
    layout: SiteLayout,
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
    layout: SiteLayout,
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


def _neighbours(sources: Ints, layout: SiteLayout, random: np.random.Generator) -> Ints:
    """Pages listed nearby; the listing of a site, without its home page, is a ring."""
    site = layout.site[sources]
    first = layout.first[site] + 1
    size = np.maximum(layout.first[site + 1] - first, 1)
    step = np.ceil(random.standard_exponential(len(sources)) * _NEIGHBOURS).astype(np.int64)
    step[random.random(len(sources)) < 0.5] *= -1
    return np.asarray(np.minimum(first + (sources - first + step) % size, layout.first[site + 1] - 1), np.int64)


def _valued(
    sources: Ints, layout: SiteLayout, sums: Floats, bounds: tuple[int, int], random: np.random.Generator
) -> Ints:
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


_DEEPER = 2.0
"""The page numbered j of its site hangs below page j * u ** 2 for a random u: mean depth ln(j) / 2, five clicks at most
sites; with 1 instead of 2 it would be the uniform recursive tree, twice as deep."""
_FAILURES = ((404, 0.7), (500, 0.1), (NO_ANSWER, 0.2))
"""What the failing pages answer, and their shares: an assumption, the paper does not say."""
_LARGEST_PAGE = 1 << 24
_MOST_PAGES = 1 << 28


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A generated web. The defaults are a hundredth of the paper's sample."""

    pages: int = 35_000
    """how many pages"""
    sites: int = 500
    """how many sites share them"""
    seed: int = 0
    """the same seed gives the same web"""
    zipf: float = 1.25
    """the site of rank k has pages in proportion to k ** -zipf: a density of size ** -1.8 (Adamic & Huberman 2002)"""
    largest_site: int = 25_000
    """pages of a site at most (Castillo et al. stopped there)"""
    links: float = 10.0
    """links of a page in the mean, repeated ones not counted"""
    local: float = 0.8
    """share of links that stay on their site"""
    home: float = 0.01
    """share of the links within a site that lead to its home page, besides those of the tree"""
    home_of_others: float = 0.1
    """share of the links between sites that lead to a home page"""
    unlinked: float = 0.5
    """share of sites that no other site links to"""
    popularity: float = 0.0
    """how much links from other sites favour large sites: 0 not at all, 1 in proportion to their size"""
    mean_size: float = 24_000.0
    """bytes of a page in the mean"""
    size_spread: float = 1.318
    """standard deviation of the logarithm of sizes (Barford & Crovella 1998)"""
    latency: float = 0.5
    """seconds until a site answers: the median; an assumption"""
    latency_spread: float = 0.7
    """standard deviation of its logarithm"""
    bandwidth: float = 50_000.0
    """bytes a second that a site sends: the median; an assumption"""
    bandwidth_spread: float = 1.0
    """standard deviation of its logarithm"""
    ok: float = 1.0
    """share of pages that answer 200; .8 in the paper's own crawl"""

    def check(self) -> None:
        """Raise a `ConfigError` where no web can be made of this."""
        if not 1 <= self.sites <= self.pages <= min(_MOST_PAGES, self.sites * self.largest_site):
            raise ConfigError(
                f"{self.pages} pages do not fit on {self.sites} sites of 1 to {self.largest_site} pages",
                hint="change pages, sites or largest_site",
            )
        for name in ("local", "home", "home_of_others", "unlinked", "popularity", "ok"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} is a share: from 0 to 1", hint=f"for example {name} = 0.5")
        if not (0.0 <= self.links <= 1000.0 and 0.0 <= self.zipf <= 4.0 and 0.0 < self.mean_size <= _LARGEST_PAGE):
            raise ConfigError(
                "links (0 to 1000), zipf (0 to 4) or mean_size (to 16 MB) is out of range", hint="see them"
            )
        if (
            min(self.latency, self.bandwidth) <= 0
            or min(self.latency_spread, self.bandwidth_spread, self.size_spread) < 0
        ):
            raise ConfigError(
                "latency and bandwidth are above 0, and no spread is below", hint="for example 0.5, 50000"
            )


def paper_settings(seed: int = 0) -> WebSettings:
    """The size of the paper's own sample (Castillo et al. 2004, section IV); 80 % of visits succeed (Table II)."""
    return WebSettings(pages=3_500_000, sites=50_000, seed=seed, ok=0.8)


def small_settings(seed: int = 0) -> WebSettings:
    """Settings for 19,582 pages on 800 sites, on which orderings can be compared in seconds.

    Home pages matter here, unlike in the paper's sample: sites link to their own and to others'. So breadth-first is
    good early. The order of the results can be expected to hold, their values cannot.
    """
    return WebSettings(pages=19_582, sites=800, seed=seed, zipf=1.0, home=0.4, home_of_others=0.8, unlinked=0.0)


def generate(settings: WebSettings = WebSettings()) -> Web:  # noqa: B008 - frozen
    """The web that the settings and their seed describe, and no other."""
    settings.check()
    random = np.random.default_rng(settings.seed)
    layout = _layout(settings, random)
    status = _statuses(settings, layout, random)
    starts, targets = links(
        layout,
        LinkSettings(**{name: getattr(settings, name) for name in LinkSettings.__struct_fields__}),
        status == OK,
        random,
    )
    sites = settings.sites
    return Web(
        [Site(f"site-{number}.example") for number in range(sites)],
        layout.site,
        starts,
        targets,
        _sizes(settings, status, random),
        status,
        settings.latency * np.exp(settings.latency_spread * random.standard_normal(sites)),
        settings.bandwidth * np.exp(settings.bandwidth_spread * random.standard_normal(sites)),
        layout.first[:-1].copy(),
    )


def site_sizes(pages: int, sites: int, zipf: float, largest: int) -> NDArray[np.int64]:
    """Pages of each site, the largest first: as near to rank ** -zipf as whole numbers from 1 to `largest` can be."""
    shape = np.arange(1.0, sites + 1.0) ** -zipf
    low, high = 0.0, 2.0 * largest / shape[-1]
    for _ in range(200):
        scale = (low + high) / 2
        low, high = (scale, high) if np.clip(scale * shape, 1, largest).sum() < pages else (low, scale)
    sizes = np.floor(np.clip(high * shape, 1, largest)).astype(np.int64)
    return _evened(sizes, pages, largest)


def _evened(sizes: NDArray[np.int64], pages: int, largest: int) -> NDArray[np.int64]:
    """The sizes, of which some have a page added or removed so that their sum is `pages`."""
    while missing := pages - int(sizes.sum()):
        open_to_it = np.flatnonzero(sizes < largest if missing > 0 else sizes > 1)[: abs(missing)]
        sizes[open_to_it] += 1 if missing > 0 else -1
    return sizes


def _layout(settings: WebSettings, random: np.random.Generator) -> SiteLayout:
    """The site of each page. Sites are in an order that does not depend on their size."""
    sizes = random.permutation(site_sizes(settings.pages, settings.sites, settings.zipf, settings.largest_site))
    first = np.zeros(settings.sites + 1, np.int64)
    np.cumsum(sizes, out=first[1:])
    site = np.repeat(np.arange(settings.sites, dtype=np.int32), sizes)
    place = np.arange(settings.pages) - first[site]
    parent = first[site] + (place * random.random(settings.pages) ** _DEEPER).astype(np.int64)
    parent[first[:-1]] = -1
    return SiteLayout(first, site, parent)


def _statuses(settings: WebSettings, layout: SiteLayout, random: np.random.Generator) -> NDArray[np.int16]:
    """What pages answer. Only pages that no other hangs below fail, so that all can still be reached."""
    status = np.full(settings.pages, OK, np.int16)
    failing = round((1.0 - settings.ok) * settings.pages)
    if not failing:
        return status
    is_leaf = np.ones(settings.pages, np.bool_)
    is_leaf[layout.parent[layout.parent >= 0]] = False
    leaves = np.flatnonzero(is_leaf)
    if failing > len(leaves):
        raise ConfigError(
            f"ok = {settings.ok}: too many pages fail for the others to be reached",
            hint=f"at least {1 - len(leaves) / settings.pages + 0.005:.2f} for this web",
        )
    kinds = np.array([kind for kind, _ in _FAILURES], np.int16)
    edges = np.cumsum([share for _, share in _FAILURES])[:-1]
    chosen = random.permutation(leaves)[:failing]
    status[chosen] = kinds[np.searchsorted(edges, random.random(failing), side="right")]
    return status


def _sizes(settings: WebSettings, status: NDArray[np.int16], random: np.random.Generator) -> NDArray[np.int32]:
    """Bytes of each page; 0 for pages that do not answer."""
    median = settings.mean_size * np.exp(-(settings.size_spread**2) / 2)
    sizes = median * np.exp(settings.size_spread * random.standard_normal(settings.pages))
    return np.where(status == NO_ANSWER, 0, np.clip(sizes, 1, _LARGEST_PAGE)).astype(np.int32)
