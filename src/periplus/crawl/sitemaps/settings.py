"""Settings of discovery: which sitemaps and feeds are read."""

from __future__ import annotations

from msgspec import Struct

from periplus.policy.filters import MediaSettings
from periplus.policy.sitemaps import (
    AuthoritySettings,
    DifferenceSettings,
    RetirementSettings,
    RevisitSettings,
    ScoreSettings,
    TreeLimits,
)


class SitemapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What sites publish about themselves, and whether it is read."""

    follow: bool = True
    """Read the sitemaps that robots.txt names, and crawl what they list."""
    well_known: bool = True
    """Look in the usual places if robots.txt names no sitemap."""
    feeds: bool = True
    """Read feeds that pages link to."""
    archives: bool = True
    """Read metadata archives that robots.txt names."""
    llms_txt: bool = False
    """Read `/llms.txt` of each site, and crawl the pages it links to."""
    submitted: tuple[str, ...] = ()
    """Additional sitemaps."""
    only: bool = False
    """Fetch no pages: only read robots.txt files and sitemaps into the tables."""


class SitemapRules(Struct, frozen=True):
    """The settings of everything about sitemaps, together."""

    sitemaps: SitemapSettings = SitemapSettings()
    forest: TreeLimits = TreeLimits()
    authority: AuthoritySettings = AuthoritySettings()
    revisit: RevisitSettings = RevisitSettings()
    retirement: RetirementSettings = RetirementSettings()
    difference: DifferenceSettings = DifferenceSettings()
    scores: ScoreSettings = ScoreSettings()
    media: MediaSettings = MediaSettings()
