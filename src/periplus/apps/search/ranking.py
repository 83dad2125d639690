"""Orders the results of a search, and adds what is shown beside them: counts and sitelinks. Pure functions.

score = text + rank ln(1 + PageRank N) - spam s + fresh 2^(-age / days) + home - listing
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log, log1p

from msgspec import Struct

from periplus.view.notebook import Displayed

from .engine import Match, Weights

DAY = 86_400.0


class Candidate(Struct, frozen=True):
    """A page that matches, and what is known of it apart from its text."""

    match: Match
    url: str
    site: str
    page_rank: float = 1.0
    """PageRank times the number of pages: 1 is the mean."""
    spam: float = 0.0
    """Probability."""
    time: int = 0
    """Seconds since 1970: modified, or fetched where that is unknown."""
    is_home: bool = False
    is_listing: bool = False
    """Whether it mostly lists other pages: an index, an archive, the pages of a tag."""


class Ranked(Struct, frozen=True):
    """A candidate with its score, and what adds up to it by name."""

    candidate: Candidate
    score: float
    parts: Mapping[str, float]


def rank(
    candidates: Sequence[Candidate], words: Sequence[str], *, now: float, weights: Weights, by_time: bool = False
) -> list[Ranked]:
    """The candidates, best first; of equals the one with the shorter URL, then by alphabet. `by_time`: newest first."""
    name = "".join(words)
    ranked = [_scored(candidate, name, now, weights) for candidate in candidates]
    if by_time:
        return sorted(ranked, key=lambda one: (-one.candidate.time, -one.score, one.candidate.url))
    return sorted(ranked, key=lambda one: (-one.score, len(one.candidate.url), one.candidate.url))


def _scored(candidate: Candidate, name: str, now: float, weights: Weights) -> Ranked:
    text, page_rank = candidate.match.score, candidate.page_rank
    rank = weights.rank * log1p(page_rank) if page_rank > 0.0 else 0.0
    spam = -weights.spam * candidate.spam
    fresh = _freshness(candidate.time, now, weights) if weights.fresh else 0.0
    home = weights.home if candidate.is_home and is_name_of(name, candidate.site) else 0.0
    listing = -weights.listing if candidate.is_listing else 0.0
    parts = {"text": text, "rank": rank, "spam": spam, "fresh": fresh, "home": home, "listing": listing}
    return Ranked(candidate, text + rank + spam + fresh + home + listing, parts)


def _freshness(time: int, now: float, weights: Weights) -> float:
    age = max(0.0, now - time) / DAY
    return weights.fresh * 0.5 ** (age / weights.fresh_days) if time else 0.0


def is_name_of(name: str, site: str) -> bool:
    """Whether a query, without blanks, is how people call a site: its host name, or a label of it but the last."""
    host = site.partition(":")[0]
    labels = [label.replace("-", "") for label in host.split(".")]
    named = labels[:-1] if len(labels) > 1 else labels
    return bool(name) and (name in (label for label in named if label != "www") or name == "".join(labels))


def grouped(ranked: Sequence[Ranked], count: int, of_one_site: int = 2) -> tuple[list[Ranked], dict[str, int]]:
    """The first `count` results with at most `of_one_site` of each site, and how many more each site has.

    Where other sites have too few results, the rest of the same sites fill the page.
    """
    seen: dict[str, int] = {}
    first: list[Ranked] = []
    later: list[Ranked] = []
    for one in ranked:
        site = one.candidate.site
        seen[site] = seen.get(site, 0) + 1
        (first if seen[site] <= of_one_site else later).append(one)
    shown = (first + later)[:count]
    more = dict(seen)
    for one in shown:
        more[one.candidate.site] -= 1
    return shown, {site: number for site, number in more.items() if number}


EXACT_COUNT = 1_000
"""Up to this number pages are counted; above it the number is rounded, as people read it."""
MAX_SITELINKS = 6
"""Links shown below a home page: two columns of three."""
_LEAD = 1.3
"""The score of a home page over that of the next result from which its site is what was looked for."""


class SectionHit(Struct, frozen=True):
    """A section of a result that has what was looked for; `url` leads to it."""

    url: str
    anchor: str
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()


class Hit(Struct, frozen=True):
    """One result. `marks` are the places in the snippet of the words that were looked for."""

    url: str
    title: str
    snippet: str
    score: float
    marks: tuple[tuple[int, int], ...] = ()
    site: str = ""
    language: str = ""
    fetched_at: float = 0.0
    modified_at: int | None = None
    parts: Mapping[str, float] = {}
    """What adds up to the score."""
    more_from_site: int = 0
    """Other pages of the site that match, on the last result of the site."""
    may_show_copy: bool = True
    breadcrumbs: tuple[str, ...] = ()
    """The path of the page in its site, by names, as its structured data say."""
    full_title: str = ""
    """The title with what all titles of the site share."""
    link: str = ""
    """Where the result leads: the best section, or the page."""
    sections: tuple[SectionHit, ...] = ()
    """The best sections of the page, the best first."""
    collection: str = ""
    """Of several that were searched, the one that has it."""
    missing: tuple[str, ...] = ()
    """The words that were looked for and that the page does not have."""


class Sitelink(Struct, frozen=True):
    """A useful page of the site that was looked for."""

    url: str
    title: str


class Results(Displayed, frozen=True):
    """The results of one query, best first; a sequence of hits."""

    query: str
    hits: tuple[Hit, ...]
    total: int
    """Pages that have every word; `is_exact` says whether each was counted."""
    is_exact: bool = True
    notes: tuple[str, ...] = ()
    """Sentences about the query for the person who typed it."""
    suggestion: str = ""
    """The query with misspelt words replaced; empty if none seems misspelt."""
    showing: str = ""
    """What the hits are results of, if it is not what was typed: `suggestion`, when a word is on no page."""
    sitelinks: tuple[Sitelink, ...] = ()
    """The most useful pages of the first result's site, if that site is what was looked for."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]


def site_looked_for(ranked: Sequence[Ranked], words: Sequence[str]) -> str:
    """The site whose useful links belong below the first result; empty if none.

    The first result must be a home page, and either the query is the site's name or the score leads clearly.
    """
    if not ranked or not ranked[0].candidate.is_home:
        return ""
    first = ranked[0]
    leads = len(ranked) > 1 and first.score >= _LEAD * ranked[1].score
    return first.candidate.site if leads or is_name_of("".join(words), first.candidate.site) else ""


def sitelinks(links: Sequence[tuple[str, str]], shown: Sequence[str]) -> tuple[Sitelink, ...]:
    """The first few of a site's useful links, given as URL and title, without those that are results already."""
    chosen = [Sitelink(url, title or url) for url, title in links if url not in shown]
    return tuple(chosen[:MAX_SITELINKS])


def rarity(documents: int, total: int) -> float:
    """The inverse document frequency of BM25."""
    return log(1 + (max(0, total - documents) + 0.5) / (documents + 0.5))


def rounded(total: int) -> int:
    """A count as it is shown: exact up to `EXACT_COUNT`, above it with two figures."""
    if total <= EXACT_COUNT:
        return total
    unit: int = 10 ** (len(str(total)) - 2)
    return round(total / unit) * unit
