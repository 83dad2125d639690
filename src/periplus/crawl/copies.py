"""Which of the pages that were just read say what another page says already, or what they said before.

Pages are put with those that they resemble as soon as they are read (`Sketches`; `policy.duplicates` decides who
resembles whom), and a page that came after another of its cluster is a copy. A page with hardly a sentence resembles
anything and nothing: it is a copy only if its text is, word by word, that of another URL. One without any text is no
copy of others without any.

A page that is gone leaves its cluster. What was noted first is done first, so that whoever goes through the same notes
again after a crash puts every page where it was. How much a page has changed is for the `Comparer` to say, which learns
from every visit, also from one that brought no page because nothing changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from periplus.content import version_of
from periplus.model import (
    Fetched,
    FetchOutcome,
    NotModified,
    Page,
    Payload,
    Purpose,
    Reading,
    Redirected,
    Sketched,
    Source,
    State,
    Url,
    UrlRecord,
)

from .frontier import Compared, Comparer

_GONE = frozenset({404, 410})
"""RFC 9110 sections 15.5.5 and 15.5.11: not found, and gone."""


class Answer(Struct, frozen=True):
    """How a fetch ended, when, and the page that was read; `None`: there was none to read."""

    outcome: FetchOutcome
    at: float
    page: Page | None = None


class _Read(NamedTuple):
    """A page, when it was noted, what was known of it before, and how it compares with that."""

    page: Page
    at: float
    record: UrlRecord | None
    compared: Compared


class Copies:
    """Puts pages with those that say the same. `knows_worth`: the state keeps what links make of each URL."""

    def __init__(self, state: State, comparer: Comparer | None = None, *, knows_worth: bool = False) -> None:
        self._state = state
        self._comparer = comparer or Comparer()
        self._knows_worth = knows_worth

    def judge(self, answers: Sequence[Answer]) -> list[Reading | None]:
        """What was made of each page, aligned with `answers`; `None` where there is no page."""
        readings: list[Reading | None] = []
        for is_gone, portion in groupby(answers, _is_gone):
            some = list(portion)
            if is_gone:
                self._state.sketches.remove([answer.outcome.task.url for answer in some])
                readings += [None] * len(some)
            else:
                readings += self._judge(some)
        self._comparer.keep()
        return readings

    def _judge(self, answers: Sequence[Answer]) -> list[Reading | None]:
        telling = [answer for answer in answers if answer.page is not None or _is_unmodified(answer)]
        records = self._state.records.get([answer.outcome.task.url for answer in telling]) if telling else []
        read = []
        for answer, record in zip(telling, records, strict=True):
            if answer.page is None:
                self._comparer.unmodified(record, _began_at(answer))
            else:
                compared = self._comparer.compare(record, answer.page, _began_at(answer))
                read.append(_Read(answer.page, answer.at, record, compared))
        readings = iter(self._readings(read))
        return [None if answer.page is None else next(readings) for answer in answers]

    def _readings(self, read: Sequence[_Read]) -> list[Reading]:
        if not read:
            return []
        placements = self._state.sketches.add(self._sketched([each.page for each in read], [e.record for e in read]))
        return [
            Reading(
                page.digests,
                self._is_repeated(page, at) if placement is None else placement.is_copy,
                not page.directives.noindex,
                compared.level,
                version_of(page),
                compared.blocks,
            )
            for (page, at, _, compared), placement in zip(read, placements, strict=True)
        ]

    def _sketched(self, pages: Sequence[Page], records: Sequence[UrlRecord | None]) -> list[Sketched]:
        worth = self._worth([page.url for page in pages])
        return [
            Sketched(page.url, page.sketch, _is_listed(record), value, page.canonical, page.digests.links)
            for page, record, value in zip(pages, records, worth, strict=True)
        ]

    def _worth(self, urls: Sequence[Url]) -> list[float]:
        if not self._knows_worth:
            return [0.0] * len(urls)
        return [0.0 if standing is None else standing.worth for standing in self._state.standings.get(urls)]

    def _is_repeated(self, page: Page, at: float) -> bool:
        """Whether what a page says in hardly a sentence is known, word by word, by another URL."""
        if not page.main_text:
            return False
        digest = b"text" + page.digests.main.to_bytes(8, "big")
        first = self._state.payloads.add_new(Payload(digest, page.url, at, ""))
        return first is not None and first.url != page.url


def _is_gone(answer: Answer) -> bool:
    """Whether a page was there, and is no more: only then somebody may have to be told."""
    outcome = answer.outcome
    if outcome.task.visited_at is None or outcome.task.purpose is not Purpose.PAGE:
        return False
    return isinstance(outcome, Redirected) or (isinstance(outcome, Fetched) and outcome.status in _GONE)


def _is_unmodified(answer: Answer) -> bool:
    return isinstance(answer.outcome, NotModified) and answer.outcome.task.purpose is Purpose.PAGE


def _began_at(answer: Answer) -> float:
    """When a page was as it is told: what records know of earlier visits, too."""
    return answer.outcome.started_at if isinstance(answer.outcome, Fetched | NotModified) else answer.at


def _is_listed(record: UrlRecord | None) -> bool:
    return record is not None and any(seen.source is Source.SITEMAP for seen in record.first_seen)
