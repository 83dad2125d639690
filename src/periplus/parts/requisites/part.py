"""Queues the files that pages need, and what those need in turn (`parts.requisites`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from periplus.content import decode_body
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers
from periplus.model import DOCUMENT_TYPE, Discovery, Fetched, Lane, Purpose, Redirected, Source, Url

from .finding import file_requisites, page_requisites
from .settings import RequisiteSettings, RequisiteTables

_MAX_REDIRECTS: Final = 5
"""Redirects in a row that lead to a file."""


class Requisites(Part):
    """Finds files in pages, style sheets and manifests."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, if the settings want files of pages."""
        settings = setup.settings.some(RequisiteTables).requisites
        return [cls(desk, settings, setup.settings.value("reading.max_decoded_bytes"))] if settings.enabled else []

    def __init__(self, desk: Desk, settings: RequisiteSettings, max_decoded: int) -> None:
        self._settings = settings
        self._max_decoded = max_decoded
        self._router = desk.router
        self._queue = desk.frontier.queue_embedded
        desk.frontier.embeds = True

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Take files that pages of other shards need."""
        self._queue([each for each in discoveries if each.purpose is Purpose.FILE], now)

    def passed_on(self, processed: Processed, now: float) -> None:
        """Find the files that a page, or another file, needs."""
        outcome = processed.answer.outcome
        task = outcome.task
        if isinstance(outcome, Redirected):
            if task.lane is Lane.EMBEDDED and task.redirects < _MAX_REDIRECTS:
                self._need([outcome.target], task.url, task.depth, now, task.redirects + 1)
        elif isinstance(outcome, Fetched) and processed.answer.is_read and 200 <= outcome.status < 300:
            if processed.page is not None:
                content_type = DOCUMENT_TYPE if outcome.is_rendered else _type(outcome)
                body, limit = self._body(outcome), self._settings.max_per_page
                self._need(page_requisites(body, content_type, processed.page.base, limit), task.url, 1, now)
            elif task.lane is Lane.EMBEDDED and task.depth < self._settings.max_depth:
                found = file_requisites(self._body(outcome), _type(outcome), task.url, self._settings.max_per_page)
                self._need(found, task.url, task.depth + 1, now)

    def _body(self, outcome: Fetched) -> bytes:
        codings = "" if outcome.is_rendered else ",".join(Headers(outcome.headers).all("content-encoding"))
        return decode_body(outcome.body, codings, max_size=self._max_decoded)[0]

    def _need(self, urls: Sequence[Url], by: Url, depth: int, now: float, redirects: int = 0) -> None:
        """Queue files, each with the shard that has its site."""
        files = [Discovery(url, Source.LINK, now, depth, by, redirects=redirects, purpose=Purpose.FILE) for url in urls]
        self._queue(self._router.send(files), now)


def _type(outcome: Fetched) -> str | None:
    return Headers(outcome.headers).get("content-type")
