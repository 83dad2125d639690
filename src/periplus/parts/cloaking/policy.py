"""Cloaking: pages that show crawlers something else than browsers, and hosts that redirect their readers elsewhere.

A site that decides by the address of its visitor, not by the name of the program, cannot be found out from one address.
Nothing here fetches: that is `part`.

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

Few pages are compared, where it matters most. A comparison costs a site one request, and up to five where the first was
suspicious. A site's home page is compared once some of its pages were fetched, then pages that redirect their readers,
pages that are worth more than those before and some by chance, until the site is judged. At most 1 % of the pages of a
crawl are requested so.

Redirection spam is found without a probe. A page of many words that sends browsers away at once, by a meta refresh or a
script, shows its text to crawlers only (Wu & Davison 2005). One such page is a feature; a host of which more than half
do so, to one domain, gets a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from itertools import combinations
from typing import Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.content.digests import masked
from periplus.model import Domain, ParsedPage, Url
from periplus.urls import domain_of

from .settings import CloakingSettings, RedirectionSettings

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


class CopyDifference(Enum):
    """The kind of difference between copies. `DYNAMIC_SERVING` is not an offence."""

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

    kind: CopyDifference
    score: float
    evidence: tuple[str, ...]

    @property
    def is_offence(self) -> bool:
        """Whether the page is cloaked; dynamic serving is not."""
        return self.kind is not CopyDifference.DYNAMIC_SERVING


def copy_of(page: ParsedPage | None, *, target: Url | None = None, has_scripts: bool = False) -> Copy:
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
    """Compare the copies of a page, at least one of each; `None` if nothing differs that should not."""
    away = browsers[0].target
    if away and all(browser.target and _leaves(own, browser, suffixes) for own in crawlers for browser in browsers):
        return CloakingFound(CopyDifference.REDIRECTS, 1.0, (f"browsers are redirected to {away}",))
    terms, links = (_Difference.of(crawlers, browsers, name) for name in ("terms", "links"))
    least_terms = max(float(settings.least_terms), settings.least_term_share * terms.either)
    least_links = max(float(settings.least_links), settings.least_link_share * links.either)
    beyond_terms, beyond_links = terms.beyond / least_terms, links.beyond / least_links
    if beyond_terms <= 1.0 and beyond_links <= 1.0:
        return None
    kind = _kind(terms if beyond_terms >= beyond_links else links)
    is_shell = all(browser.needs_scripts for browser in browsers)
    if kind is CopyDifference.HIDES and is_shell and terms.browser < settings.shell_share * terms.crawler:
        kind = CopyDifference.DYNAMIC_SERVING
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
        """How many more terms or links differ between crawler and browser than between two copies of the crawl."""
        return self.only_crawler + self.only_browser - self.between_own

    def words(self, name: str) -> tuple[str, ...]:
        """A description of the difference, if there is one."""
        if not self.only_crawler and not self.only_browser:
            return ()
        return (
            f"of {self.either} {name}, {self.only_crawler} only for crawlers and {self.only_browser} only for "
            f"browsers; {self.between_own} differ between two copies for crawlers",
        )


def _kind(difference: _Difference) -> CopyDifference:
    """The kind of difference, by which copy has more that the other lacks."""
    if difference.only_browser * 3 < difference.only_crawler:
        return CopyDifference.HIDES
    return CopyDifference.SHOWS if difference.only_crawler * 3 < difference.only_browser else CopyDifference.SWAPS


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


class SiteProbes(Struct, array_like=True):
    """The comparisons of a site: how many pages, and the one under way.

    `home` is the crawl's copy of the home page until that is compared. `url` is the page under way, `crawlers` and
    `browsers` are the copies of it that have come, after `asked` requests. `worth` is the highest worth of
    a page so far, `offences` counts cloaked pages. `is_noted`: the site waits for its first comparison, or has had it.
    """

    compared: int = 0
    home: Copy | None = None
    is_noted: bool = False
    url: Url | None = None
    crawlers: list[Copy] = field(default_factory=list)
    browsers: list[Copy] = field(default_factory=list)
    asked: int = 0
    worth: float = 0.0
    offences: int = 0
    is_judged: bool = False


def is_due(probes: SiteProbes, pages: int, settings: CloakingSettings) -> bool:
    """Whether a site of which this many pages were fetched is to have its first comparison."""
    return not probes.is_noted and pages >= settings.first_after


def wants_comparison(
    probes: SiteProbes, pages: int, settings: CloakingSettings, *, worth: float, is_suspect: bool
) -> bool:
    """Whether a page of a site that had its first comparison is compared, too: it is suspect, or of high worth."""
    if probes.is_judged or not probes.compared or probes.url is not None:
        return False
    is_best = worth > probes.worth
    probes.worth = max(probes.worth, worth)
    is_within = probes.compared < settings.max_per_site and probes.compared <= settings.share * pages
    return is_within and (is_suspect or is_best)


def begin_comparison(probes: SiteProbes, url: Url, copy: Copy | None) -> None:
    """Start a comparison: the page is requested as a browser next, or as ourselves first if we have no copy of it."""
    probes.url, probes.crawlers, probes.browsers = url, [] if copy is None else [copy], []
    probes.home = None
    probes.asked = 0
    probes.compared += 1


def end_comparison(probes: SiteProbes) -> None:
    """End a comparison: the page is decided, or a request for it failed."""
    probes.url, probes.crawlers, probes.browsers = None, [], []


def most_requests(settings: CloakingSettings) -> int:
    """The requests of a comparison that ends with an accusation."""
    return 2 * settings.copies


class Step(Enum):
    """The next step of a comparison."""

    ASK_AS_BROWSER = "browser"
    ASK_AS_CRAWLER = "crawler"
    DECIDED = "decided"


def next_step(
    probes: SiteProbes, settings: CloakingSettings, suffixes: tuple[str, ...] = ()
) -> tuple[Step, CloakingFound | None]:
    """After a copy came: whether the page is acquitted, accused, or fetched once more, and as what."""
    if not probes.browsers:
        return Step.ASK_AS_BROWSER, None
    found = compare(probes.crawlers, probes.browsers, settings, suffixes)
    if found is None or min(len(probes.crawlers), len(probes.browsers)) >= settings.copies:
        return Step.DECIDED, found
    if len(probes.crawlers) <= len(probes.browsers):
        return Step.ASK_AS_CRAWLER, found
    return Step.ASK_AS_BROWSER, found


MAX_TARGETS: Final = 8
"""Target domains counted for each site."""


class SiteRedirections(Struct, array_like=True):
    """Counts of a site's pages by the other domain they redirect to, and the domain named in its verdict."""

    targets: dict[str, int] = field(default_factory=dict)
    verdict: str = ""


def leads_away(page: ParsedPage, settings: RedirectionSettings, suffixes: tuple[str, ...] = ()) -> Domain | None:
    """The other domain to which a page of many words sends its readers at once."""
    refresh = page.refresh
    target = refresh.url if refresh is not None and refresh.delay <= settings.max_delay else None
    target = target or page.script_redirect
    if target is None or page.text.count(" ") + 1 < settings.least_words:
        return None
    domain = domain_of(target, suffixes)
    return domain if domain is not None and domain != domain_of(page.url, suffixes) else None


def count_page(known: SiteRedirections, target: str, pages: int, settings: RedirectionSettings) -> tuple[str, ...]:
    """Count a page that leads away, one of `pages` of its site; the evidence, if the site gets its verdict now."""
    if target in known.targets or len(known.targets) < MAX_TARGETS:
        known.targets[target] = known.targets.get(target, 0) + 1
    count = known.targets.get(target, 0)
    if known.verdict == target or pages < settings.least_pages or count <= settings.least_share * pages:
        return ()
    known.verdict = target
    return (f"{count} of {pages} pages send their readers to {target} at once",)
