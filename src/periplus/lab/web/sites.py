"""Which sites there are, and what each of them is like: sizes, names, addresses, habits.

Sizes follow Zipf: a few sites of ten thousands of pages, most of ten to a hundred. Everything else about a site is
drawn from the world's seed and the site's number, but for the profile of what it says about itself (`Profile`), which
the first sites take in a fixed order, so that small worlds have all of them.

A site's pages are numbered slots: the home page, then hubs that tell what is new, then listings, then articles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from math import sqrt

from msgspec import Struct

from .change import Pattern
from .life import DAY, HOUR
from .randomness import at, key_of
from .vocabulary import host_label, topics


class Profile(Enum):
    """What a site says about itself in sitemaps; see `sitemaps`."""

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
    """A site's part in the bow-tie of the web (Broder et al. 2000): who links to whom."""

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
        """As of when the site speaks at `tick`: a built site of its last build, any other of now."""
        if self.profile is not Profile.BUILD:
            return tick
        return (tick - self.nightly) // self.build_every * self.build_every + self.nightly

    def surfaced(self, tick: int) -> int:
        """When something that happened at `tick` could first be seen."""
        moment = self.moment(tick)
        return moment if moment == tick else moment + self.build_every


class Host(Struct, frozen=True):
    """A name that answers: a site's own, or another for the same pages (`kind`: "twin", "mirror", "redirect")."""

    name: str
    site: int
    kind: str = "own"


DOMAIN = "lab.test"
LARGEST, SMALLEST = 60_000, 10
_LISTED = 20
_SMALL = 400
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
_FEEDS = ("", "", "", "rss", "rss", "atom", "", "")
_CHURN = (0, 0, 0, 0, DAY, HOUR, 600, 60)
_SPREAD = {name: number for number, name in enumerate(
    ("profile", "role", "pattern", "validation", "style", "robots", "feed", "alias", "churn", "gone", "host", "address",
     "sections", "canonical", "records", "nightly", "build", "names")
)}  # fmt: skip


def sizes(count: int, pages: int | None) -> list[int]:
    """Zipf's law with exponent 3/2, by square roots, which are exact everywhere."""
    weights = [1.0 / ((rank + 1) * sqrt(rank + 1)) for rank in range(count)]
    largest = float(LARGEST) if pages is None else pages / sum(weights)
    return [max(SMALLEST, int(largest * weight)) for weight in weights]


def plan(seed: int, count: int, pages: int | None, profiles: Sequence[Profile], *, replays: bool) -> list[Site]:
    """All sites of a world, the largest first. `profiles`, if given, are taken in turn."""
    taken: set[str] = set()
    return [_site(seed, number, size, profiles, taken, replays) for number, size in enumerate(sizes(count, pages))]


def _site(seed: int, number: int, size: int, profiles: Sequence[Profile], taken: set[str], replays: bool) -> Site:
    key = key_of(seed, "site", number)

    def draw(what: str) -> int:
        return at(key, -1 - _SPREAD[what]) >> 16

    profile = _profile(number, draw("profile"), profiles)
    hubs = min(max(size // 3000, 1), 32)
    listings = max(size // _LISTED, 1)
    pattern = Pattern.REPLAYED if replays and number % 4 == 3 else _PATTERNS[draw("pattern") % len(_PATTERNS)]
    return Site(
        number=number,
        host=_host(seed, number, draw("host"), taken),
        key=key,
        size=size,
        hubs=hubs,
        listings=listings,
        profile=profile,
        role=_ROLES[draw("role") % len(_ROLES)] if number else Role.CORE,
        pattern=pattern,
        validation=_VALIDATIONS[draw("validation") % len(_VALIDATIONS)] if number else Validation.HONEST,
        style=_STYLES.get(profile, tuple(Style)[draw("style") % len(Style)]),
        sections=_sections(draw("sections"), min(12, listings)),
        address=_address(number, draw("address")),
        nightly=draw("nightly") % (6 * HOUR),
        build_every=DAY if draw("build") % 2 else 7 * DAY,
        churn_every=_CHURN[draw("churn") % len(_CHURN)],
        gone=(404, 404, 404, 404, 410, 410, 200, 404)[draw("gone") % 8],
        robots="dirty" if profile is Profile.DIRTY else _ROBOTS[draw("robots") % (len(_ROBOTS) - (number < 20))],
        feed="rss" if profile is Profile.NEWS else _FEEDS[draw("feed") % len(_FEEDS)],
        alias=_ALIASES[draw("alias") % len(_ALIASES)],
        names_canonical=draw("canonical") % 2 == 0,
        names_index=draw("canonical") % 4 >= 2,
        records=200 + draw("records") % 2000 if number % 10 == 2 else 0,
    )


def _profile(number: int, bits: int, profiles: Sequence[Profile]) -> Profile:
    if profiles:
        return profiles[number % len(profiles)]
    return _FIRST_PROFILES[number] if number < len(_FIRST_PROFILES) else _PROFILES[bits % len(_PROFILES)]


def _host(seed: int, number: int, bits: int, taken: set[str]) -> str:
    """A name nobody has; of every 16 sites, three live under one name."""
    group, place = divmod(number, 16)
    if 5 <= place <= 7:
        family = host_label(key_of(seed, "family", group) >> 1)
        name = f"{'abc'[place - 5]}.{family}{group}.{DOMAIN}"
    else:
        name = f"{host_label(bits)}.{DOMAIN}"
    while name in taken:
        bits += 0x9E3779B1
        name = f"{host_label(bits)}{number}.{DOMAIN}"
    taken.add(name)
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
    """Twins with and without www that serve or redirect, and mirrors on names of their own."""
    for site in sites:
        bits = at(site.key, -100) >> 16
        if bits % 8 == 0:
            yield Host(f"www.{site.host}", site.number, "redirect")
        elif bits % 16 == 1 and site.size < _SMALL:
            yield Host(f"www.{site.host}", site.number, "twin")
        elif bits % 16 == 2 and site.size < _SMALL:
            yield Host(f"{site.host.removesuffix('.' + DOMAIN)}-mirror.{DOMAIN}", site.number, "mirror")
