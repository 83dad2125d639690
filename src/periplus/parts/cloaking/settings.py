"""Settings of comparisons with browsers, and of redirections by pages."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from periplus.model import ConfigError

BROWSER: Final = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
"""The `User-Agent` of a common browser on a large screen: mobile pages are another page, not a cloaked one."""


class CloakingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether and when pages are requested again with a browser's name, and when they count as cloaked."""

    enabled: bool = False
    """Request some pages with a browser's name."""
    agent: str = BROWSER
    """The `User-Agent` of such requests; `From` has our own name."""
    share: float = 0.01
    """Maximum share of such requests, of the crawl and of a site."""
    max_per_site: int = 20
    """Maximum pages of a site that are compared."""
    first_after: int = 10
    """Pages of a site fetched before its home page is compared."""
    copies: int = 3
    """Copies of each side that must agree before a page counts as cloaked."""
    least_terms: int = 10
    """Minimum words by which the browser's copy differs, beyond what two copies of the crawl do..."""
    least_term_share: float = 0.25
    """...and as a share of the words of both."""
    least_links: int = 3
    """The same in links..."""
    least_link_share: float = 0.5
    """...and as a share of the links of both."""
    shell_share: float = 0.2
    """Share of the crawler's words below which the browser's copy may be a shell that scripts fill in."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        for name in ("share", "least_term_share", "least_link_share", "shell_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"cloaking.{name} must be >= 0 and <= 1, got {getattr(self, name)}")


class RedirectionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a host counts as one that only redirects."""

    least_words: int = 100
    """Minimum words of a page for its redirect to another domain to be suspicious."""
    max_delay: float = 3.0
    """Maximum seconds of a meta refresh that leave no time to read."""
    least_share: float = 0.5
    """Share of a site's pages above which it gets a verdict."""
    least_pages: int = 10
    """Minimum pages of a site read before that."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        if not 0.0 < self.least_share <= 1.0:
            raise ConfigError(f"redirections.least_share must be > 0 and <= 1, got {self.least_share}")


class CloakingTables(Struct, frozen=True):
    """Its settings."""

    cloaking: CloakingSettings
    redirections: RedirectionSettings
