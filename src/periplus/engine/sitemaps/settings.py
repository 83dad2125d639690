"""Settings of sitemaps: whether they are read, how much of a reading is stored, the order of the pages they list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError
from periplus.model.flags import FAR, FOR_AGENTS, Flag
from periplus.policy.filters import MediaSettings
from periplus.policy.settings import nearest

from .revisit import RevisitSettings
from .trees import TreeLimits
from .visits import AuthoritySettings, RetirementSettings

if TYPE_CHECKING:
    from .scores import Priorities

SCORES: Final = ("pagerank", "priority", "priority_rank")
"""The values of `scores.score`."""


class SitemapCrawlSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What sites publish about themselves, and whether it is read."""

    follow: Annotated[
        bool,
        Flag(
            "--sitemaps/--no-sitemaps",
            "Read robots.txt sitemaps and feeds (the default), or follow links alone.",
            panel=FAR,
        ),
        FOR_AGENTS,
    ] = True
    """Read the sitemaps that robots.txt names, and crawl what they list."""
    well_known: Annotated[
        bool,
        Flag(
            "--well-known",
            "Also look for sitemaps in the usual places if robots.txt names none.",
            panel=FAR,
            verbs=("survey",),
        ),
    ] = True
    """Look in the usual places if robots.txt names no sitemap."""
    feeds: bool = True
    """Read feeds that pages link to."""
    archives: bool = True
    """Read metadata archives that robots.txt names."""
    llms_txt: bool = False
    """Read `/llms.txt` of each site, and crawl the pages it links to."""
    submitted: Annotated[
        tuple[str, ...],
        Flag("--sitemap", "Read this sitemap, too. May be repeated.", "URL", FAR, ("crawl", "map", "audit", "ulinks")),
    ] = ()
    """Additional sitemaps."""
    only: bool = False
    """Fetch no pages: only read robots.txt files and sitemaps into the tables."""


class DifferenceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of a sitemap's last reading is stored."""

    max_remembered: int = 50_000
    """Maximum entries of a file, at 12 bytes each."""

    def __post_init__(self) -> None:
        """Reject a limit of 0."""
        if self.max_remembered < 1:
            raise ConfigError(f"max_remembered must be at least 1, got {self.max_remembered}")


class ScoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How pages that sitemaps list are ordered among each other."""

    score: str = "priority"
    """By what: priority (of the site), pagerank (of links) or priority_rank (both)."""
    least_entropy: float = 0.1
    """Entropy in bits below which a site's priorities are ignored."""
    least_entries: int = 20
    """Minimum entries of a site before its priorities are used."""

    def __post_init__(self) -> None:
        """Refuse a name that is not there."""
        if self.score not in SCORES:
            raise ConfigError(
                f"unknown sitemap score: {self.score[:100]!r}",
                hint=f"did you mean {nearest(self.score, SCORES)!r}? There are {', '.join(sorted(SCORES))}",
            )

    def is_informative(self, of_site: Priorities) -> bool:
        """Whether the priorities of a site differ between pages."""
        return of_site.total >= self.least_entries and of_site.entropy >= self.least_entropy


class SitemapTables(Struct, frozen=True):
    """Its settings."""

    sitemaps: SitemapCrawlSettings = SitemapCrawlSettings()
    forest: TreeLimits = TreeLimits()
    authority: AuthoritySettings = AuthoritySettings()
    revisit: RevisitSettings = RevisitSettings()
    retirement: RetirementSettings = RetirementSettings()
    difference: DifferenceSettings = DifferenceSettings()
    scores: ScoreSettings = ScoreSettings()


class SitemapRules(SitemapTables, frozen=True):
    """The settings of everything about sitemaps, together."""

    media: MediaSettings = MediaSettings()


def implied(asked: Mapping[str, object]) -> dict[str, object]:
    """Whoever names a sitemap wants sitemaps read."""
    return {"sitemaps.follow": True} if asked.get("sitemaps.submitted") else {}
