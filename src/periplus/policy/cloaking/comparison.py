"""Whether a page shows crawlers something else than browsers: copies of it compared.

The C are copies of the crawl, the B those of requests with a browser's name. A page whose own copies differ as much as
the browser's is not cloaked: it rotates advertisements or tests two versions (Wu & Davison, "Cloaking and redirection:
a preliminary study", 2005, and "Detecting semantic cloaking on the web", 2006). Terms are the words of the visible
text, volatile ones masked; links are targets without fragments:

    dCC = max |Ci ^ Cj|   dBC = min |Ci ^ Bj|           (terms; lCC and lBC the same for links)
    cloaked if dBC > dCC + max(10, .25 |C | B|)  or  lBC > lCC + max(3, .5 |links|)

One C and one B acquit most pages. A page that they do not acquit is fetched further, until `copies` of each agree: a
test of two versions, shown to every other visitor, gives C C B once in four times, and three of each once in 32.

A page that crawlers get as plain HTML while browsers get a shell that scripts fill in is `dynamic-serving`: not an
offence. A copy is kept as hashes, at most `MAX_TERMS` of them, the smallest: of larger pages, a sample.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import combinations
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from ...content.volatile import masked
from ...model import Page, Url
from ...urls import domain_of
from .settings import CloakingSettings

MAX_TERMS: Final = 2000
"""Hashes of words kept of a copy: 8 KB, and nearly all words of nearly all pages."""
MAX_LINKS: Final = 1000
"""Hashes of links kept of a copy: 4 KB."""
_WORD: Final = re.compile(r"\w+")
_FAST: Final = 3.0
"""Seconds within which a meta refresh is a redirect to a reader."""
_SHELL_TERMS: Final = 60
"""Words below which a page with scripts counts as a shell that they fill in."""
_NUMBERS: Final = np.dtype("<u4")


class Kind(Enum):
    """What differs. `DYNAMIC_SERVING` is not an offence."""

    HIDES = "hides"
    SHOWS = "shows"
    SWAPS = "swaps"
    REDIRECTS = "redirects"
    DYNAMIC_SERVING = "dynamic-serving"


class Copy(Struct, frozen=True, array_like=True):
    """One copy of a page: sorted hashes of its words and of its links, packed; where it redirects, if it does.

    `needs_scripts`: it has scripts and hardly a text.
    """

    terms: bytes = b""
    links: bytes = b""
    target: str = ""
    needs_scripts: bool = False


class CloakingFound(Struct, frozen=True):
    """The result of a comparison that found a difference. `score` is how far it is beyond the threshold."""

    kind: Kind
    score: float
    evidence: tuple[str, ...]

    @property
    def is_offence(self) -> bool:
        """Whether the page is cloaked; dynamic serving is not."""
        return self.kind is not Kind.DYNAMIC_SERVING


def copy_of(page: Page | None, *, target: Url | None = None, has_scripts: bool = False) -> Copy:
    """The copy that is kept of a page, or of a redirect to `target`."""
    if page is None:
        return Copy(target=target or "")
    refresh = page.refresh.url if page.refresh is not None and page.refresh.delay <= _FAST else None
    away = target or refresh or page.script_redirect
    text = masked(page.text.encode("utf-8", "replace")).decode("utf-8", "replace").lower()
    terms = _hashes(set(_WORD.findall(text)), MAX_TERMS)
    links = _hashes({url.partition("#")[0] for url in page.links.urls}, MAX_LINKS)
    return Copy(terms, links, away or "", has_scripts and len(terms) < _SHELL_TERMS * _NUMBERS.itemsize)


def compare(
    crawlers: Sequence[Copy], browsers: Sequence[Copy], settings: CloakingSettings, suffixes: tuple[str, ...] = ()
) -> CloakingFound | None:
    """What was found in copies of a page, at least one of each; `None` if nothing differs that should not."""
    away = browsers[0].target
    if away and all(browser.target and _leaves(own, browser, suffixes) for own in crawlers for browser in browsers):
        return CloakingFound(Kind.REDIRECTS, 1.0, (f"browsers are redirected to {away}",))
    terms, links = (_Difference.of(crawlers, browsers, name) for name in ("terms", "links"))
    least_terms = max(float(settings.least_terms), settings.least_term_share * terms.either)
    least_links = max(float(settings.least_links), settings.least_link_share * links.either)
    beyond_terms, beyond_links = terms.beyond / least_terms, links.beyond / least_links
    if beyond_terms <= 1.0 and beyond_links <= 1.0:
        return None
    kind = _kind(terms if beyond_terms >= beyond_links else links)
    is_shell = all(browser.needs_scripts for browser in browsers)
    if kind is Kind.HIDES and is_shell and terms.browser < settings.shell_share * terms.crawler:
        kind = Kind.DYNAMIC_SERVING
    return CloakingFound(kind, max(beyond_terms, beyond_links), (*terms.words("words"), *links.words("links")))


class _Difference(Struct, frozen=True):
    """Counts of one kind of feature: of each copy, of those in one copy only, and between two copies of the crawl."""

    crawler: int
    browser: int
    either: int
    only_crawler: int
    only_browser: int
    between_own: int

    @classmethod
    def of(cls, crawlers: Sequence[Copy], browsers: Sequence[Copy], name: str) -> _Difference:
        """Of the terms, or of the links: copies of both sides that differ least, and how far our own differ at most."""
        ours, theirs = ([_numbers(getattr(copy, name)) for copy in copies] for copies in (crawlers, browsers))
        own = max((_apart(one, two) for one, two in combinations(ours, 2)), default=0)
        nearest = min(((one, other) for one in ours for other in theirs), key=lambda pair: _apart(*pair))
        one, other = nearest
        common = len(np.intersect1d(one, other, assume_unique=True))
        return cls(len(one), len(other), len(one) + len(other) - common, len(one) - common, len(other) - common, own)

    @property
    def beyond(self) -> int:
        """How many more differ between crawler and browser than between two copies of the crawl."""
        return self.only_crawler + self.only_browser - self.between_own

    def words(self, name: str) -> tuple[str, ...]:
        """What differs, in words, if it does."""
        if not self.only_crawler and not self.only_browser:
            return ()
        return (
            f"of {self.either} {name}, {self.only_crawler} only for crawlers and {self.only_browser} only for "
            f"browsers; {self.between_own} differ between two copies for crawlers",
        )


def _kind(difference: _Difference) -> Kind:
    """By which copy has more that the other lacks."""
    if difference.only_browser * 3 < difference.only_crawler:
        return Kind.HIDES
    return Kind.SHOWS if difference.only_crawler * 3 < difference.only_browser else Kind.SWAPS


def _leaves(own: Copy, browser: Copy, suffixes: tuple[str, ...]) -> bool:
    """Whether the browser is sent to a domain that this copy is not sent to."""
    return not own.target or domain_of(own.target, suffixes) != domain_of(browser.target, suffixes)


def _apart(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> int:
    """The number of features in one copy only."""
    return len(one) + len(other) - 2 * len(np.intersect1d(one, other, assume_unique=True))


def _hashes(texts: set[str], limit: int) -> bytes:
    """The smallest hashes, sorted: of two copies the same texts are in both samples."""
    numbers = np.array([xxh3_64_intdigest(text.encode()) >> 32 for text in texts], _NUMBERS)
    return np.unique(numbers)[:limit].tobytes()


def _numbers(packed: bytes) -> NDArray[np.uint32]:
    return np.frombuffer(packed, _NUMBERS)
