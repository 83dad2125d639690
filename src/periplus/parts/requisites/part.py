"""Queues the files that pages need, and what those need in turn (`parts.requisites`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter
from typing import Final

from msgspec import Struct

from periplus.content import decode_body
from periplus.engine.frontier.selection import embedded_name
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers
from periplus.model import (
    DOCUMENT_TYPE,
    Discovery,
    Fetched,
    FetchOutcome,
    Lane,
    Purpose,
    Redirected,
    Source,
    Url,
    UrlRecord,
)
from periplus.policy.filters import FilterSettings, MediaTypes

from .finding import file_requisites, page_media, page_requisites
from .settings import RequisiteSettings, RequisiteTables

_MAX_REDIRECTS: Final = 5
"""Redirects in a row that lead to a file."""
_SCRIPTS: Final = (".js", ".mjs")
"""Ends of the names of scripts, which pages may have as well: `/wiki/Node.js`."""
_COUNTED: Final = 4096
"""Pages whose bytes are counted: the last that needed files."""


class RequisiteState(Struct):
    """The bytes of the files of pages, by the times at which they were found; no two pages have the same, `last`."""

    bytes: dict[float, int] = {}
    last: float = 0.0


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
        self._records = desk.state.records
        self._state = desk.saved(RequisiteState) or RequisiteState()
        self._router = desk.router
        self._queue = desk.frontier.queue_embedded
        desk.frontier.embeds = True
        desk.frontier.selector.refuses_embedded = self._refusal
        desk.on_received.append(self._received)

    def _received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Take files that pages of other shards need."""
        self._queue([each for each in discoveries if each.purpose is Purpose.FILE], now)

    def _refusal(self, record: UrlRecord) -> str:
        """Why a file is not fetched: its page has too many bytes."""
        most = self._settings.max_bytes_per_page
        return "page-bytes" if self._state.bytes.get(_page_of(record), 0) >= most else ""

    def flush(self) -> RequisiteState:
        """The state to commit."""
        return self._state

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:  # noqa: ARG002
        """Leave out links to scripts that this page or one before needs: they are fetched once, as files."""
        scripts = [each.url for each in found if each.url.partition("?")[0].endswith(_SCRIPTS)]
        if not scripts:
            return found
        records = self._records.get([embedded_name(url) for url in scripts])
        files = {url for url, record in zip(scripts, records, strict=True) if record is not None}
        files.update(self._needed(processed))
        return [each for each in found if each.url not in files or each.url not in scripts]

    def _needed(self, processed: Processed) -> list[Url]:
        """The files that a page needs."""
        outcome, page = processed.answer.outcome, processed.page
        if page is None or not isinstance(outcome, Fetched) or not 200 <= outcome.status < 300:
            return []
        body = _body(outcome, self._max_decoded)
        return page_requisites(body, _type(outcome), page.base, self._settings.max_per_page)

    def passed_on(self, processed: Processed, now: float) -> None:
        """Find the files that a page, or another file, needs."""
        outcome = processed.answer.outcome
        task = outcome.task
        page = self._counted(outcome, now)
        if isinstance(outcome, Redirected):
            if task.lane is Lane.EMBEDDED and task.redirects < _MAX_REDIRECTS:
                self._need([outcome.target], task.url, task.depth, page, now, task.redirects + 1)
        elif isinstance(outcome, Fetched) and processed.answer.is_read and 200 <= outcome.status < 300:
            if processed.page is not None:
                self._need(self._needed(processed), task.url, 1, page, now)
            elif task.lane is Lane.EMBEDDED and task.depth < self._settings.max_depth:
                found = file_requisites(
                    _body(outcome, self._max_decoded), _type(outcome), task.url, self._settings.max_per_page
                )
                self._need(found, task.url, task.depth + 1, page, now)

    def _counted(self, outcome: FetchOutcome, now: float) -> float:
        """Count the bytes of a file; the time that stands for its page, which for a page is one of its own."""
        state, task = self._state, outcome.task
        if task.lane is not Lane.EMBEDDED:
            state.last = max(now, nextafter(state.last, inf))
            return state.last
        [record] = self._records.get([embedded_name(task.url)])
        page = now if record is None else _page_of(record)
        if isinstance(outcome, Fetched):
            state.bytes[page] = state.bytes.get(page, 0) + len(outcome.body)
            if len(state.bytes) > _COUNTED:
                del state.bytes[next(iter(state.bytes))]
        return page

    def _need(self, urls: Sequence[Url], by: Url, depth: int, page: float, now: float, redirects: int = 0) -> None:
        """Queue files, each with the shard that has its site."""
        files = [
            Discovery(url, Source.LINK, page, depth, by, redirects=redirects, purpose=Purpose.FILE) for url in urls
        ]
        self._queue(self._router.send(files), now)


class EmbeddedMedia(Part):
    """Finds files of the wanted types in a crawl for files: pictures that are loaded later, or that styles name."""

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, in a crawl for files."""
        media = MediaTypes(setup.settings.some(FilterSettings).media)
        return [cls(desk, media, setup.settings.value("reading.max_decoded_bytes"))] if media else []

    def __init__(self, desk: Desk, media: MediaTypes, max_decoded: int) -> None:
        self._records = desk.state.records
        self._media = media
        self._max_decoded = max_decoded

    def lead(self, processed: Processed, found: list[Discovery], now: float) -> list[Discovery]:
        """Add the files that are not known yet, and that reading the page did not find."""
        outcome, page = processed.answer.outcome, processed.page
        if page is None or not isinstance(outcome, Fetched):
            return found
        body = _body(outcome, self._max_decoded)
        known = {each.url for each in found}.union(page.links.urls, (each.url for each in page.resources))
        media = page_media(body, _type(outcome), page.base, self._media.wants_url)
        urls = [url for url in media if url not in known]
        new = [url for url, record in zip(urls, self._records.get(urls), strict=True) if record is None]
        return [*found, *(Discovery(url, Source.LINK, now, outcome.task.depth + 1, page.url) for url in new)]


def _page_of(record: UrlRecord) -> float:
    return record.first_seen[0].at


def _type(outcome: Fetched) -> str | None:
    return DOCUMENT_TYPE if outcome.is_rendered else Headers(outcome.headers).get("content-type")


def _body(outcome: Fetched, max_decoded: int) -> bytes:
    codings = "" if outcome.is_rendered else ",".join(Headers(outcome.headers).all("content-encoding"))
    return decode_body(outcome.body, codings, max_size=max_decoded)[0]
