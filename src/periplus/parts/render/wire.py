"""The wire of a crawl with rendering: what was fetched is opened in a browser where its scripts are needed.

A page is fetched as any other, with all limits, robots.txt and politeness. If its task allows it (`Render`) and its
HTML needs scripts, its outcome waits until the browser has shown it; the document then takes the place of the body.
Every other outcome passes at once. Whether a page needs scripts depends on its HTML alone, so the machine finds the
same when it reads the page.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.content import decode_body, read_page, sniff_charset
from periplus.engine.fetch import AddressGuard, RequestTables, Resolver
from periplus.engine.part import Setup
from periplus.engine.wire import Wire
from periplus.formats.encodings import decode
from periplus.formats.headers import Headers
from periplus.model import Clock, Failed, Fetched, FetchOutcome, FetchTask, Purpose, Render, Rendering

from .interception import FetchedDocument
from .pages import LEAST_NEEDED_SCORE, script_data, script_need
from .pool import BrowserPool, Rendered, RenderJob
from .settings import RenderTables

_MAX_WAITING: Final = 4
"""Pages that wait for each tab, beyond which nothing more is fetched."""
_PAGE_TYPES: Final = ("text/html", "application/xhtml+xml")


class Plain(Struct, frozen=True):
    """A page as it was fetched: its body without content codings, and what can be read of it without scripts."""

    body: bytes
    characters: int
    links: int
    is_rendered: bool


class RenderingWire:
    """A wire in front of another one, and of a browser."""

    def __init__(self, wire: Wire, pool: BrowserPool, *, max_decoded: int) -> None:
        self._wire = wire
        self._pool = pool
        self._max_decoded = max_decoded
        self._waiting: dict[int, tuple[Fetched, Plain]] = {}
        self._next = 0
        self._cancelled: list[FetchOutcome] = []
        pool.on_done = wire.wake

    @property
    def free_slots(self) -> int:
        """How many more tasks may be started now: none while many pages wait for the browser."""
        if len(self._waiting) >= _MAX_WAITING * self._pool.tabs:
            return 0
        return max(0, self._wire.free_slots - len(self._waiting))

    @property
    def under_way(self) -> int:
        """How many tasks were started and have not ended."""
        return self._wire.under_way + len(self._waiting)

    def start(self, task: FetchTask) -> None:
        """Begin to fetch."""
        self._wire.start(task)

    def finished(self, timeout: float) -> list[FetchOutcome]:
        """Wait at most `timeout` seconds for something to end."""
        ended = self._collect()
        for outcome in self._wire.finished(0.0 if ended else timeout):
            if not self._wait_for_browser(outcome):
                ended.append(outcome)
        return [*ended, *self._collect()]

    def request_bytes(self, task: FetchTask) -> bytes:
        """The head of the request as it was sent."""
        return self._wire.request_bytes(task)

    def wake(self) -> None:
        """Make a waiting `finished` return at once."""
        self._wire.wake()

    def cancel_all(self) -> None:
        """Cancel everything; the outcomes are `cancelled`."""
        self._wire.cancel_all()
        waiting = [answer for answer, _ in self._waiting.values()]
        self._cancelled += [Failed(answer.task, "cancelled", answer.started_at, 0.0) for answer in waiting]
        self._waiting.clear()

    def close(self) -> None:
        """Close every connection, and the browser."""
        self._pool.close()
        self._wire.close()

    def _collect(self) -> list[FetchOutcome]:
        """Pages that the browser has shown."""
        ended, self._cancelled = self._cancelled, []
        for rendered in self._pool.done():
            waited = self._waiting.pop(rendered.number, None)
            if waited is not None:
                ended.append(with_document(*waited, rendered))
        return ended

    def _wait_for_browser(self, outcome: FetchOutcome) -> bool:
        """Hand a page to the browser, if it needs that; whether it was."""
        if not isinstance(outcome, Fetched) or not may_be_rendered(outcome):
            return False
        plain = plain_page(outcome, self._max_decoded)
        if plain is None or not plain.is_rendered:
            return False
        number, self._next = self._next, self._next + 1
        self._waiting[number] = outcome, plain
        document = FetchedDocument(outcome.task.url, outcome.status, outcome.headers, plain.body)
        self._pool.submit(RenderJob(number, document))
        return True


def may_be_rendered(outcome: Fetched) -> bool:
    """Whether an answer is a page that its task allows to be opened in a browser."""
    task = outcome.task
    if task.render is Render.NEVER or task.purpose is not Purpose.PAGE or not 200 <= outcome.status < 300:
        return False
    return bool(outcome.body) and not outcome.is_truncated


def plain_page(outcome: Fetched, max_decoded: int) -> Plain | None:
    """The page without its scripts, and whether it is rendered; `None` if it is not HTML."""
    headers = Headers(outcome.headers)
    content_type = headers.get("content-type") or ""
    if content_type and not content_type.lower().startswith(_PAGE_TYPES):
        return None
    body, _ = decode_body(outcome.body, ",".join(headers.all("content-encoding")), max_size=max_decoded)
    page = read_page(body, outcome.task.url, content_type)
    if page.mime not in _PAGE_TYPES:
        return None
    html = decode(body, sniff_charset(body, content_type).encoding)
    characters, links = len(page.text), len(page.links.to_others())
    if outcome.task.render is Render.ALWAYS:
        return Plain(body, characters, links, is_rendered=True)
    least = LEAST_NEEDED_SCORE[outcome.task.render]
    is_needed = script_need(page, html).score >= least and not script_data(html).is_enough
    return Plain(body, characters, links, is_rendered=is_needed)


def with_document(outcome: Fetched, plain: Plain, rendered: Rendered) -> Fetched:
    """The outcome of a page that was opened in the browser."""
    is_rendered = rendered.document is not None
    rendering = Rendering(
        is_rendered=is_rendered,
        reason=rendered.reason,
        requests=rendered.requests,
        same_site=rendered.same_site,
        received=rendered.received,
        seconds=rendered.seconds,
        plain_characters=plain.characters,
        plain_links=plain.links,
        target=rendered.target,
        document=outcome.body if is_rendered else b"",
        responses=rendered.responses,
    )
    if rendered.document is None:
        return replace(outcome, rendering=rendering)
    return replace(outcome, body=rendered.document.encode("utf-8", "replace"), rendering=rendering)


def rendering_wire(setup: Setup, wire: Wire, guard: AddressGuard, clock: Clock) -> RenderingWire:
    """A wire that opens pages in a browser, in front of one that fetches. All shards share the machine."""
    settings, requests = setup.settings, setup.settings.some(RequestTables)
    pool = BrowserPool(
        settings.some(RenderTables).render,
        wire=requests.wire,
        agent=setup.identity.agent,
        resolver=Resolver(requests.dns, clock=clock),
        guard=guard,
        clock=clock,
        processes=setup.shards,
    )
    return RenderingWire(wire, pool, max_decoded=settings.value("reading.max_decoded_bytes"))
