"""What a site is, everything about it that does not change, and which sites a world has.

A site's pages are numbered slots: the home page, then hubs that list what is new, then listings, then articles.

Sizes follow Zipf: a few sites of tens of thousands of pages, most of ten to a hundred. Everything else about a site is
derived from the world's seed and the site's number, except the kind of its sitemaps (`Profile`), which the first sites
take in a fixed order, so that small worlds have all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from math import sqrt
from typing import TypeVar

from msgspec import Struct

from .change import DAY, HOUR, Pattern
from .randomness import at, host_label, key_of, topics

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
        """Whether its sitemaps list pages that no page links to."""
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


LARGEST, SMALLEST = 60_000, 10
_SHOWN_BY_LISTING = 20
_LISTED_BY_HUB, _MOST_HUBS, _MOST_SECTIONS = 3000, 32, 12
_DOUBLED = 0.015
"""The share of all pages that are also to be had under another host name."""

_FIRST_PROFILES = (
    Profile.SHOP, Profile.NONE, Profile.NEWS, Profile.STALE, Profile.ARCHIVE, Profile.DIRTY, Profile.BUILD,
    Profile.ALWAYS_NOW, Profile.PARTIAL, Profile.NONE, Profile.SHOP, Profile.NONE,
)  # fmt: skip
_PROFILES = (
    *[Profile.NONE] * 30, *[Profile.BUILD] * 7, *[Profile.ALWAYS_NOW] * 6, *[Profile.PARTIAL] * 7, *[Profile.STALE] * 5,
    *[Profile.NEWS] * 4, *[Profile.SHOP] * 3, Profile.DIRTY, Profile.ARCHIVE,
)  # fmt: skip
_ROLES = (*[Role.CORE] * 9, *[Role.IN] * 3, *[Role.OUT] * 3, Role.ISLAND)
_PATTERNS = (*[Pattern.POISSON] * 11, *[Pattern.REGULAR] * 2, *[Pattern.BURSTY] * 3)
_VALIDATIONS = (
    *[Validation.HONEST] * 8, *[Validation.MISSING] * 4, *[Validation.WEAK] * 2, Validation.RANDOM, Validation.STUCK,
)  # fmt: skip
_STYLES = {Profile.SHOP: Style.PRODUCT, Profile.NEWS: Style.DATED, Profile.ARCHIVE: Style.ARTICLE}
_ALIASES = ("showViewpoints=1", "sid=4f2a9c1e7b", "ref=home", "sort=price", "utm_source=feed", "filterBy=addFiveStar")
_ROBOTS = (
    "missing", "empty", "open", "open", "open", "private", "private", "wildcards", "wildcards", "delay", "agents",
    "agents", "late", "encoded", "many-groups", "closed",
)  # fmt: skip
_FEEDS = ("", "", "", "", "", "rss", "rss", "atom")
_CHURN = (0, 0, 0, 0, DAY, HOUR, 600, 60)
_GONE = (404, 404, 404, 404, 404, 410, 410, 200)

Thing = TypeVar("Thing")


class _Lot:
    """The random choices of a site, independent for every name."""

    def __init__(self, seed: int, number: int) -> None:
        self.key = key_of(seed, "site", number)

    def bits(self, word: str) -> int:
        return key_of(self.key, word)

    def of(self, things: Sequence[Thing], word: str) -> Thing:
        return things[self.bits(word) % len(things)]


def sizes(count: int, pages: int | None) -> list[int]:
    """Zipf's law with exponent 3/2, by square roots, which are exact everywhere."""
    weights = [1.0 / ((rank + 1) * sqrt(rank + 1)) for rank in range(count)]
    largest = float(LARGEST) if pages is None else pages / sum(weights)
    return [max(SMALLEST, int(largest * weight)) for weight in weights]


def plan(seed: int, count: int, pages: int | None, profiles: Sequence[Profile], *, replays: bool) -> list[Site]:
    """All sites of a world, the largest first. `profiles`, if given, are taken in turn."""
    taken: set[str] = set()
    sites = []
    for number, size in enumerate(sizes(count, pages)):
        lot = _Lot(seed, number)
        host = _host(seed, number, lot.bits("host"), taken)
        taken.add(host)
        sites.append(_site(lot, number, host, size, _profile(lot, number, profiles), replays=replays))
    return sites


def _site(lot: _Lot, number: int, host: str, size: int, profile: Profile, *, replays: bool) -> Site:
    listings = max(size // _SHOWN_BY_LISTING, 1)
    return Site(
        number=number,
        host=host,
        key=lot.key,
        size=size,
        hubs=min(max(size // _LISTED_BY_HUB, 1), _MOST_HUBS),
        listings=listings,
        profile=profile,
        role=lot.of(_ROLES, "role") if number else Role.CORE,
        pattern=Pattern.REPLAYED if replays and number % 4 == 3 else lot.of(_PATTERNS, "pattern"),
        validation=lot.of(_VALIDATIONS, "validation") if number else Validation.HONEST,
        style=_STYLES.get(profile) or lot.of(tuple(Style), "style"),
        sections=_sections(lot.bits("sections"), min(_MOST_SECTIONS, listings)),
        address=_address(number, lot.bits("address")),
        nightly=lot.bits("nightly") % (6 * HOUR),
        build_every=lot.of((DAY, 7 * DAY), "build"),
        churn_every=lot.of(_CHURN, "churn"),
        gone=lot.of(_GONE, "gone"),
        robots="dirty" if profile is Profile.DIRTY else _robots(lot, number),
        feed="rss" if profile is Profile.NEWS else lot.of(_FEEDS, "feed"),
        alias=lot.of(_ALIASES, "alias"),
        names_canonical=lot.bits("canonical") % 2 == 0,
        names_index=lot.bits("index") % 2 == 0,
        records=200 + lot.bits("records") % 2000 if number % 10 == 2 else 0,
    )


def _profile(lot: _Lot, number: int, profiles: Sequence[Profile]) -> Profile:
    if profiles:
        return profiles[number % len(profiles)]
    return _FIRST_PROFILES[number] if number < len(_FIRST_PROFILES) else lot.of(_PROFILES, "profile")


def _robots(lot: _Lot, number: int) -> str:
    """No large site is closed altogether."""
    return lot.of(_ROBOTS[:-1] if number < 20 else _ROBOTS, "robots")


def _host(seed: int, number: int, bits: int, taken: set[str]) -> str:
    """A new name; of every 16 sites, three are under one registrable domain."""
    group, place = divmod(number, 16)
    if 5 <= place <= 7:
        family = host_label(key_of(seed, "family", group) >> 1)
        name = f"{'abc'[place - 5]}.{family}{group}.{DOMAIN}"
    else:
        name = f"{host_label(bits)}.{DOMAIN}"
    while name in taken:
        bits += 0x9E3779B1
        name = f"{host_label(bits)}{number}.{DOMAIN}"
    return name


def _address(number: int, bits: int) -> str:
    """An address in 127.0.0.0/8; a quarter of the sites stand on the machine of a neighbour."""
    machine = number // 8 * 8 if bits % 4 == 0 else number
    return f"127.{1 + machine // 62500}.{1 + machine // 250 % 250}.{1 + machine % 250}"


def _sections(bits: int, count: int) -> tuple[str, ...]:
    words = topics()
    names = dict.fromkeys(words[at(bits, place) % len(words)].decode() for place in range(count * 2))
    return tuple(names)[:count]


def other_hosts(sites: Sequence[Site]) -> Iterator[Host]:
    """Twins with www that serve or redirect, and mirrors on names of their own.

    Each site that answers twice doubles its pages; a budget keeps the duplicates of the world in proportion.
    """
    budget = _DOUBLED * sum(site.size for site in sites)
    for site in sites:
        luck = key_of(site.key, "twin") % 16
        if luck < 2:
            yield Host(f"www.{site.host}", site.number, "redirect")
        elif luck < 4 and site.size <= budget / 2:
            budget -= site.size
            mirror = f"{site.host.removesuffix('.' + DOMAIN)}-mirror.{DOMAIN}"
            yield Host(f"www.{site.host}", site.number, "twin") if luck == 2 else Host(mirror, site.number, "mirror")
