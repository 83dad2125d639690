"""What a site is: the words for its habits, and everything about it that does not change.

A site's pages are numbered slots: the home page, then hubs that tell what is new, then listings, then articles. How the
sites of a world come to be what they are is in `plan`.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from .change import Pattern

DOMAIN = "lab.test"


class Profile(Enum):
    """The kind of sitemaps of a site; see `sitemaps`."""

    SHOP = "shop"
    NEWS = "news"
    ARCHIVE = "archive"
    BUILD = "build"
    ALWAYS_NOW = "always-now"
    PARTIAL = "partial"
    STALE = "stale"
    DIRTY = "dirty"
    NONE = "none"


class Role(Enum):
    """A site's part in the bow-tie of the web (Broder et al. 2000), which decides what it links to."""

    CORE = "core"
    IN = "in"
    OUT = "out"
    ISLAND = "island"


class Validation(Enum):
    """How far ETag and Last-Modified can be trusted.

    `RANDOM` never repeats itself, so that nothing is ever unmodified; `STUCK` always does: nothing ever changes.
    """

    HONEST = "honest"
    MISSING = "missing"
    WEAK = "weak"
    RANDOM = "random"
    STUCK = "stuck"


class Style(Enum):
    """How the URL of an article is spelt."""

    SLUG = "slug"
    PRODUCT = "product"
    QUERY = "query"
    DATED = "dated"
    ARTICLE = "article"
    PLAIN = "plain"


class Site(Struct, frozen=True):
    """One site: everything about it that does not change.

    `robots` is a kind of `exclusion`, `feed` "rss", "atom" or "", `gone` the status of what is not there (200: an
    apology), `alias` a parameter that changes nothing, `records` the size of the database behind its form. Pages name
    their canonical URL, or the home page as `index.html`, on some sites.
    """

    number: int
    host: str
    key: int
    size: int
    hubs: int
    listings: int
    profile: Profile
    role: Role
    pattern: Pattern
    validation: Validation
    style: Style
    sections: tuple[str, ...]
    address: str
    nightly: int
    build_every: int
    churn_every: int
    gone: int
    robots: str
    feed: str
    alias: str
    names_canonical: bool
    names_index: bool
    records: int

    @property
    def first_listing(self) -> int:
        """The slot after the last hub."""
        return 1 + self.hubs

    @property
    def first_article(self) -> int:
        """The slot after the last listing."""
        return 1 + self.hubs + self.listings

    @property
    def url(self) -> str:
        """The home page."""
        return f"http://{self.host}/"

    @property
    def has_orphans(self) -> bool:
        """Whether its sitemaps show pages that no link leads to."""
        return self.profile not in (Profile.NONE, Profile.PARTIAL, Profile.STALE)

    def moment(self, tick: int) -> int:
        """The moment that the site shows at `tick`: its last build for a built site, else now."""
        if self.profile is not Profile.BUILD:
            return tick
        return (tick - self.nightly) // self.build_every * self.build_every + self.nightly

    def surfaced(self, tick: int) -> int:
        """When something that happened at `tick` could first be seen."""
        moment = self.moment(tick)
        return moment if moment == tick else moment + self.build_every


class Host(Struct, frozen=True):
    """A host name: a site's own, or another for the same pages (`kind`: "twin", "mirror", "redirect")."""

    name: str
    site: int
    kind: str = "own"
