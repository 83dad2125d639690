"""A web as far as its division among shards goes: sites with pages and addresses, and the links that leave sites.

Ten million pages and their links fit in memory because links within a site are left out: they never leave a shard.
Sizes of sites are those of `generated`; which page a link leads to follows the same power law of in-degrees (Broder et
al. 2000: a density of degree ** -2.1). How many sites share an address follows Zipf's law too; its
exponent and the largest address are assumptions, since no distribution is published.

Links come in no order, as if the pages of all sites were fetched in turns: the i-th of n links is met when a share of
i / n of the crawl is done.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

from .generated import site_sizes
from .web import MOST_SITES

_RANK_POWER = 1 - 1 / 1.1
"""One less the exponent by which attraction falls with rank, where in-degrees have a tail of 1.1."""
_PRIME = 2_147_483_647
"""Multiplied with ranks it spreads popular pages over all sites. It divides no number of pages below itself."""
_MOST_LINKS = 200_000_000


class ScalingWebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is divided among the shards."""

    pages: int = 1_000_000
    """how many pages"""
    sites: int = 20_000
    """how many sites share them"""
    seed: int = 0
    """the same seed gives the same web"""
    zipf: float = 1.25
    """the site of rank k has pages in proportion to k ** -zipf (Adamic & Huberman 2002)"""
    largest_site: int = 25_000
    """pages of a site at most (Castillo et al. 2004 stopped there)"""
    links: float = 10.0
    """links of a page in the mean, repeated ones not counted"""
    leaving: float = 0.2
    """share of links that leave their site"""
    sites_an_address: float = 4.0
    """sites that share an address in the mean; an assumption"""
    largest_address: int = 1_000
    """sites of an address at most; an assumption"""

    def check(self) -> None:
        """Raise a `ConfigError` where no web can be made of this."""
        if not (1 <= self.sites <= min(self.pages, MOST_SITES) and self.pages <= self.sites * self.largest_site):
            raise ConfigError(
                f"{self.pages} pages do not fit on {self.sites} sites of 1 to {self.largest_site} pages",
                hint="change pages, sites or largest_site",
            )
        if not (0.0 <= self.leaving <= 1.0 and 0.0 <= self.zipf <= 4.0 and self.links >= 0.0):
            raise ConfigError("leaving (0 to 1), zipf (0 to 4) or links is out of range", hint="leaving = 0.2")
        if not 1.0 <= self.sites_an_address <= self.largest_address:
            raise ConfigError("no address has less than one site, nor more than largest_address", hint="4, 1000")
        if self.pages >= _PRIME or self.pages * self.links * self.leaving > _MOST_LINKS:
            raise ConfigError(
                f"more than {_MOST_LINKS:,} links between sites do not fit in memory", hint="take fewer pages or links"
            )


class ScalingWeb(Struct, frozen=True):
    """Sites with their `sizes` in pages and their `address`; link i leads from the site `source[i]` to `target[i]`.

    Pages are numbered in a row, site by site.
    """

    sizes: NDArray[np.int64]
    address: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    site_of_page: NDArray[np.int32]


def generate_scaling_web(settings: ScalingWebSettings) -> ScalingWeb:
    """The web that the settings and their seed describe, and no other."""
    settings.check()
    random = np.random.default_rng(settings.seed)
    sizes = random.permutation(site_sizes(settings.pages, settings.sites, settings.zipf, settings.largest_site))
    site_of_page = np.repeat(np.arange(settings.sites, dtype=np.int32), sizes)
    count = round(settings.pages * settings.links * settings.leaving)
    source = site_of_page[random.integers(settings.pages, size=count, dtype=np.int32)]
    target = _targets(settings.pages, count, random)
    leaves = source != site_of_page[target]
    return ScalingWeb(sizes, _addresses(settings, random), source[leaves], target[leaves], site_of_page)


def _targets(pages: int, count: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Pages drawn by their popularity: rank r is named in proportion to r ** (_RANK_POWER - 1)."""
    drawn = 1.0 + random.random(count) * ((pages + 1.0) ** _RANK_POWER - 1.0)
    rank = np.minimum(drawn ** (1.0 / _RANK_POWER), float(pages)).astype(np.int64) - 1
    spread: NDArray[np.int64] = rank * _PRIME % pages
    return spread.astype(np.int32)


def _addresses(settings: ScalingWebSettings, random: np.random.Generator) -> NDArray[np.int32]:
    """The address of each site."""
    count = max(1, round(settings.sites / settings.sites_an_address), -(-settings.sites // settings.largest_address))
    shared = site_sizes(settings.sites, count, 1.0, settings.largest_address)
    addresses: NDArray[np.int32] = random.permutation(np.repeat(np.arange(count, dtype=np.int32), shared))
    return addresses
