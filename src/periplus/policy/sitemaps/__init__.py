"""Sitemaps: which files to read and when, which of their entries changed, and how much an entry is worth.

Every sitemap file that is known is a node of the forest (`trees`). It is born when a robots.txt, a guess, a person, a
ping or an index names it (`follow` says which children of an index are taken, and why others are not). Once read, it
may list some hosts and not others (`SitemapAuthority`). Between two readings its entries are remembered as fingerprints
and times, so that the next reading returns only what was added, removed, or moved (`difference`), and which of the
moves are signs of a change. The result of a visit updates its node (`visits`), and with it the time of the next visit
(`revisit`); a file that is dead or useless retires with a reason. Its entries are scored by priority, by links, or by
both (`scores`), by priority only where a site's priorities differ.

Everything here is a value or a pure function of values and of the time given; nothing grows with a site but what lies
on disk. Not here: reading a file (`formats.sitemap`), keeping nodes and memories (`store`), and how much of a site's
budget sitemaps get (`policy.balance`).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .difference import (
        NOTHING,
        Change,
        Compared,
        Comparison,
        FileMemory,
        SignalSettings,
        floor_to,
        is_appended,
        is_plausible,
        is_signal,
        prints_of,
        times_at,
        unpack,
    )
    from .revisit import IndexTrust, Rate, RevisitSettings, interval
    from .scores import (
        DEFAULT_PRIORITY,
        UNRANKED,
        Priorities,
        RankOf,
        SitemapScore,
        entry_ranks,
        sitemap_score,
    )
    from .settings import DifferenceSettings, ScoreSettings
    from .trees import WELL_KNOWN, Followed, Origin, SitemapNode, TreeLimits, TreeSpending, follow, twin_key
    from .visits import (
        NO_SITEMAP,
        AuthoritySettings,
        FileReading,
        RetirementSettings,
        SitemapAuthority,
        after_failure,
        after_reading,
        after_same,
        dated,
        is_dead,
        is_doubted,
        trust_after,
        unlisted,
        unread,
        vouched_for,
        woken,
    )
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DEFAULT_PRIORITY",
    "NOTHING",
    "NO_SITEMAP",
    "UNRANKED",
    "WELL_KNOWN",
    "AuthoritySettings",
    "Change",
    "Compared",
    "Comparison",
    "DifferenceSettings",
    "FileMemory",
    "FileReading",
    "Followed",
    "IndexTrust",
    "Origin",
    "Priorities",
    "RankOf",
    "Rate",
    "RetirementSettings",
    "RevisitSettings",
    "ScoreSettings",
    "SignalSettings",
    "SitemapAuthority",
    "SitemapNode",
    "SitemapScore",
    "TreeLimits",
    "TreeSpending",
    "after_failure",
    "after_reading",
    "after_same",
    "dated",
    "entry_ranks",
    "floor_to",
    "follow",
    "interval",
    "is_appended",
    "is_dead",
    "is_doubted",
    "is_plausible",
    "is_signal",
    "prints_of",
    "sitemap_score",
    "times_at",
    "trust_after",
    "twin_key",
    "unlisted",
    "unpack",
    "unread",
    "vouched_for",
    "woken",
]
