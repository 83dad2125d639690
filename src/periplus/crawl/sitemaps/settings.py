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
    """Read the sitemaps that robots.txt files name, and crawl what they list."""
    well_known: bool = True
    """Look in the usual places for sitemaps, if robots.txt names none."""
    feeds: bool = True
    """Read feeds that pages link to, as sitemaps of what is new."""
    archives: bool = True
    """Read metadata archives that a robots.txt names."""
    llms_txt: bool = False
    """Read the guide `/llms.txt` of each site, and crawl the pages that it links to."""
    submitted: tuple[str, ...] = ()
    """Additional sitemaps."""
    only: bool = False
    """Fetch no pages: read robots.txt files and sitemaps into the tables only."""


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
