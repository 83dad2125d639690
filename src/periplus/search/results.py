"""What a search returns, and what is shown beside the pages: counts and sitelinks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from .ranking import Ranked, is_name_of

EXACT_COUNT = 1_000
"""Up to this number pages are counted; above it the number is rounded, as people read it."""
MAX_SITELINKS = 6
"""Links shown below a home page: two columns of three."""
_LEAD = 1.3
"""The score of a home page over that of the next result from which its site is what was looked for."""


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


class Sitelink(Struct, frozen=True):
    """A useful page of the site that was looked for."""

    url: str
    title: str


class Results(Struct, frozen=True):
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


def rounded(total: int) -> int:
    """A count as it is shown: exact up to `EXACT_COUNT`, above it with two figures."""
    if total <= EXACT_COUNT:
        return total
    unit: int = 10 ** (len(str(total)) - 2)
    return round(total / unit) * unit
