"""The useful links of the sites of a collection: from what was crawled, or from what sitemaps list if nothing was."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from periplus.insight.listed import listed_urls
from periplus.insight.ulinks import (
    Listed,
    Sample,
    TreeStatistics,
    Ulink,
    chosen_ulinks,
    exact_ulinks,
    tree_statistics,
)
from periplus.insight.ulinks.titles import entitled, grouped, pages_of, sites_of
from periplus.urls import site_of

from .collection import Collection, states
from .facts.listed_urls import Judging
from .facts.site_list import names_of

if TYPE_CHECKING:
    from periplus.insight.views import Views

SITES_SHOWN = 20
"""Sites whose links are chosen where none is named: the largest."""
SCRATCH = "periplus-ulinks-"
"""How temporary folders begin."""


class SiteUlinks(Struct, frozen=True):
    """The links of a site. `urls`: from how many they were chosen; `tree` counts a sample of them."""

    site: str
    source: str
    urls: int
    ulinks: list[Ulink]
    tree: TreeStatistics


class Wanted(Struct, frozen=True):
    """How many links, by which algorithm."""

    k: int
    m: int
    is_exact: bool

    def of(self, sample: Sample, pages: frozenset[str] = frozenset()) -> list[Ulink]:
        """The links of a sample; `pages` are others that are known to be there."""
        if self.is_exact:
            return exact_ulinks(sample, self.k, self.m)
        return chosen_ulinks(sample, self.k, self.m, is_page=lambda urls: [url in pages for url in urls])


def ulinks_of(collection: Collection, wanted: Wanted, site: str | None) -> list[SiteUlinks]:
    """The links of a site, or of the largest ones. Raises `UsageError` if the collection has no such site."""
    if collection.config.sitemaps.only:
        with TemporaryDirectory(prefix=SCRATCH) as scratch:
            sample = sampled(collection, Path(scratch), repairs=not wanted.is_exact)
        name = str(site_of(collection.seeds[0]))
        tree = tree_statistics(one.url for one in sample.urls)
        return [SiteUlinks(name, "sitemaps", sample.total, wanted.of(sample), tree)]
    with asked(collection) as views:
        groups = grouped(sites_of(views))
        chosen = [names_of(groups, site, collection.folder)] if site else list(groups.values())[:SITES_SHOWN]
        found = []
        for names in chosen:
            sample = Sample(pages_of(views, names), repairs=not wanted.is_exact)
            links = entitled(wanted.of(sample), views)
            tree = tree_statistics(one.url for one in sample.urls)
            found.append(SiteUlinks(names[0], "crawl", sample.total, links, tree))
        return found


def asked(collection: Collection) -> Views:
    """Its tables, in SQL. DuckDB is loaded here: a crawl freezes what is loaded before it, and it complains of that."""
    from periplus.insight.views import Views

    return Views(collection.folder, spooled=collection.layout.spooled)


def sampled(collection: Collection, folder: Path, *, repairs: bool = True) -> Sample:
    """A sample of what the sitemaps of a collection list and a crawl would fetch."""
    spooled = collection.layout.spooled
    with TemporaryDirectory(dir=folder) as scratch, states(collection.layout) as opened:
        judging = Judging(collection, opened)
        listed = listed_urls(collection.layout.tables, Path(scratch), judging.names, spooled=spooled)
        return Sample(
            (Listed(one.url, one.priority, one.lastmod) for one in listed if not judging.judge(one).reason),
            repairs=repairs,
        )
