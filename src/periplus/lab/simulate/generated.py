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
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError, Site

from .generated_links import Layout, LinkSettings, links
from .web import NO_ANSWER, OK, Web

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
    """19,582 pages on 800 sites, on which orderings can be told apart in seconds.

    Home pages matter here, unlike in the paper's sample: sites link to their own and to others'. So breadth-first is
    good early. Which ordering beats which is to be expected of it, not a figure known from another graph of this size.
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
    """The sizes with a page more or less here and there, so that their sum is right."""
    while missing := pages - int(sizes.sum()):
        open_to_it = np.flatnonzero(sizes < largest if missing > 0 else sizes > 1)[: abs(missing)]
        sizes[open_to_it] += 1 if missing > 0 else -1
    return sizes


def _layout(settings: WebSettings, random: np.random.Generator) -> Layout:
    """The site of each page. Sites are in an order that does not depend on their size."""
    sizes = random.permutation(site_sizes(settings.pages, settings.sites, settings.zipf, settings.largest_site))
    first = np.zeros(settings.sites + 1, np.int64)
    np.cumsum(sizes, out=first[1:])
    site = np.repeat(np.arange(settings.sites, dtype=np.int32), sizes)
    place = np.arange(settings.pages) - first[site]
    parent = first[site] + (place * random.random(settings.pages) ** _DEEPER).astype(np.int64)
    parent[first[:-1]] = -1
    return Layout(first, site, parent)


def _statuses(settings: WebSettings, layout: Layout, random: np.random.Generator) -> NDArray[np.int16]:
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
