"""What a search returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct


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

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]
