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
    """Whether pages are requested with a browser's name at all: that is for the person who crawls to decide."""
    agent: str = BROWSER
    """The `User-Agent` of such a request; our own name is in its `From` field."""
    share: float = 0.01
    """Maximum share of such requests, of all pages of the crawl and of a site."""
    max_per_site: int = 20
    """Maximum number of pages of a site that are compared."""
    first_after: int = 10
    """Pages of a site that are fetched before its home page is compared."""
    copies: int = 3
    """Copies for crawlers and for browsers that must agree with each other before a page counts as cloaked."""
    least_terms: int = 10
    """Number of words by which the browser's copy must differ at least, beyond what two copies of the crawl do."""
    least_term_share: float = 0.25
    """The same as a share of the words of both copies."""
    least_links: int = 3
    """Number of links by which the browser's copy must differ at least, beyond what two copies of the crawl do."""
    least_link_share: float = 0.5
    """The same as a share of the links of both copies."""
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
    """Words of a page from which a redirect to another domain is suspicious: a short page is a signpost."""
    max_delay: float = 3.0
    """Seconds of a meta refresh up to which a reader cannot read the page."""
    least_share: float = 0.5
    """Share of the pages of a site above which it gets a verdict."""
    least_pages: int = 10
    """Pages of a site that must have been read before that."""

    def __post_init__(self) -> None:
        """Reject shares that are none."""
        if not 0.0 < self.least_share <= 1.0:
            raise ConfigError(f"redirections.least_share must be > 0 and <= 1, got {self.least_share}")
