"""How often verdicts on duplicate URLs, traps and canonical links are right, and how many are found.

Precision is the share of the verdicts that are right, recall the share of what there is that was found. The sites come
from a generator of their own (`spelled_sites`), on which nothing was tuned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from tests.verdicts.spelled_sites import HOME, SpelledSite, TrapSite, spellings, text
from tests.verdicts.world_crawl import WorldCrawl, hurried

from periplus.content import resemblance, sketch_of
from periplus.model import Url
from periplus.policy.duplicates import Hint, HintKind, HintTarget, believe
from periplus.policy.settings import DuplicateSettings

SITES: Final = 3
"""Sites of each spelling and trap."""
_TRAPPED: Final = 700
"""Requests beyond its honest pages after which a crawl has not got out of a trap."""


class Rate(Struct, frozen=True):
    """Verdicts: how many are right, of how many that were made and how many there ought to be."""

    kind: str
    data: str
    right: int
    made: int
    true: int

    @property
    def precision(self) -> float:
        """The share of the verdicts that are right; 1 if there are none."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """The share of what there is that was found."""
        return self.right / self.true if self.true else 1.0


def rules(sites: int = SITES, pages: int = 120) -> Iterator[Rate]:
    """Rules for duplicate URLs, by site: right if all URLs that are renamed show what their new names show."""
    deceptive = wrong = lost = 0
    for name, spelling in spellings().items():
        right = made = requests = there = 0
        for number in range(sites):
            site = SpelledSite(f"{name} {number}", pages + 30 * number, spelling)
            crawl = _crawled(site, is_on=True)
            renamed, shown = crawl.renamed(), {site.shown(url) for url, _ in crawl.fetched}
            made += bool(renamed)
            right += bool(renamed) and all(site.shown(old) == site.shown(new) for old, new in renamed)
            requests, there = requests + len(crawl.fetched), there + len(shown)
            if not spelling.is_idle:
                lost += len({site.shown(url) for url, _ in _crawled(site, is_on=False).fetched} - shown)
        if spelling.is_idle:
            yield Rate(f"rule: {name}", f"{sites} sites; {requests / there:.2f} requests a page", right, made, sites)
        else:
            deceptive, wrong = deceptive + sites, wrong + made
    yield Rate("rule where none is true", f"{deceptive} deceptive sites; {lost} pages lost", 0, wrong, 0)


def _crawled(site: SpelledSite, *, is_on: bool) -> WorldCrawl:
    return WorldCrawl(site, [HOME], hurried(scope__kind="host", dust__enabled=is_on), limit=30 * site.pages).run()


def traps(sites: int = SITES) -> Iterator[Rate]:
    """Traps are left, and no honest page beside them is lost; an archive that ends is not a trap."""
    for trap in ("calendar", "same text", "archive"):
        left = lost = 0
        for number in range(sites):
            site = TrapSite(f"{trap} {number}", 60 + 20 * number, trap)
            honest = {HOME + path[1:] for path in site.honest()}
            crawl = WorldCrawl(site, [HOME], hurried(scope__kind="host"), limit=len(honest) + _TRAPPED).run()
            fetched = {url for url, _ in crawl.fetched}
            left += len(crawl.fetched) < len(honest) + _TRAPPED
            lost += len(honest - fetched)
        data = f"{sites} sites; {lost} honest pages lost"
        if trap == "archive":
            yield Rate("trap where none is", data, 0, lost, 0)
        else:
            yield Rate(f"trap: {trap}", data, left, left + lost, sites)


def canonicals(pages: int = 200) -> Iterator[Rate]:
    """Canonical links: right ones (with a parameter, printed) and wrong ones (home, next page, error, elsewhere)."""
    texts = [text(f"canonical {number}", 150) for number in range(pages)]
    sketches = [sketch_of(each) for each in texts]
    settings, right, made, site = DuplicateSettings(), 0, 0, "http://hints.test"
    for number, sketch in enumerate(sketches):
        other = sketches[(number + 1) % len(sketches)]
        copy = sketch_of(texts[number] + " Printed from our site.")
        cases = (
            (f"{site}/p/{number}", copy, False, True),
            (f"{site}/", sketches[0], False, number == 0),
            (f"{site}/p/{number + 1}", other, False, False),
            (f"{site}/gone", None, True, False),
            (f"http://elsewhere.test/p/{number}", None, False, False),
        )
        for target, known, is_gone, is_true in cases:
            likes = None if known is None else resemblance(sketch, known) >= settings.least_likeness
            facts = HintTarget(known is not None or is_gone, likes, is_gone)
            hint = Hint(Url(f"{site}/p/{number}?view=1"), Url(target), HintKind.CANONICAL)
            is_believed = believe(hint, facts).is_believed
            made += is_believed
            right += is_believed and is_true
    yield Rate("canonical link is believed", f"{pages} generated pages, five links each", right, made, len(texts) + 1)
