"""Settings of the comparison with a browser's name."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ...model import ConfigError

BROWSER: Final = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
"""The `User-Agent` of a common browser on a large screen: mobile pages are another page, not a cloaked one."""
BROWSER_PROBE: Final = "cloaking-browser"
"""The kind of a probe that is sent with a browser's name."""
CRAWLER_PROBE: Final = "cloaking-crawler"
"""The kind of a probe that is sent with our own."""


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
