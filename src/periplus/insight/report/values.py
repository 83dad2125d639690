"""What a report is made of: parts, each a question with its answer, in chapters; and what only a crawl's state knows.

A part holds everything that is shown of it: the numbers, a sentence on what they show, one on what to do about it, and
the SQL (or the command) by which anybody gets the same numbers again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from periplus.insight.ulinks import Ulink

Kind = Literal["text", "url", "count", "share", "seconds", "bytes", "number", "moment"]
Row = dict[str, Any]


class Column(Struct, frozen=True):
    """A column of an answer, what it is called in the report, and how its values are written."""

    name: str
    title: str
    kind: Kind = "count"


class Asked(Struct, frozen=True):
    """A question of the report. `says`: what the answer shows; `advice`: what to do about it.

    `figure` names the drawing; without one the answer is a table. `most` is how many rows are kept.
    """

    name: str
    chapter: str
    title: str
    says: str
    advice: str
    sql: str
    columns: tuple[Column, ...]
    figure: str = ""
    most: int = 50


class Part(Struct, frozen=True):
    """A question with its answer. `sql` or `command` gets the same again; `is_cut`: there are more rows."""

    name: str
    chapter: str
    title: str
    says: str
    advice: str
    columns: tuple[Column, ...]
    rows: list[Row]
    sql: str = ""
    command: str = ""
    figure: str = ""
    is_cut: bool = False


class SiteUseful(Struct, frozen=True):
    """The useful links of a site, chosen from so many pages."""

    site: str
    pages: int
    ulinks: list[Ulink]
    command: str


class KnownFreshness(Struct, frozen=True):
    """How fresh all copies are, most likely: the share, within `low` and `high` with 95 %; seen `age` seconds ago."""

    pages: int
    fresh: float
    low: float
    high: float
    age: float


class Budget(Struct, frozen=True):
    """How many of the next pages of a site either source gets, after how many epochs of judging them."""

    site: str
    sitemaps: int
    links: int
    epochs: int


class Trust(Struct, frozen=True):
    """How far one signal of a site can be believed, in a word and in a sentence."""

    site: str
    signal: str
    verdict: str
    says: str


class Beside(Struct, frozen=True):
    """What the tables do not hold: the crawl's state knows it. `explain` gives a reason's meaning in words."""

    freshness: KnownFreshness | None = None
    budgets: tuple[Budget, ...] = ()
    trusts: tuple[Trust, ...] = ()
    explain: Callable[[str], str] = lambda _: ""


class Report(Struct, frozen=True):
    """All of it. `name` is what the collection is called, `folder` how a shell names it; `made_at` is POSIX time."""

    name: str
    folder: str
    made_at: float
    parts: dict[str, Part]
    useful: list[SiteUseful]
    freshness: KnownFreshness | None = None

    def rows(self, name: str) -> list[Row]:
        """The answer to a question; empty if it was not asked."""
        return self.parts[name].rows if name in self.parts else []

    def row(self, name: str) -> Row:
        """The only row of an answer."""
        return next(iter(self.rows(name)), {})
