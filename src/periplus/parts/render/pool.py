"""A browser in a thread of its own: pages in, documents out, whatever happens to the browser.

There is one browser at a time, with some contexts, each for one site, so that no site sees the cookies of another and
scripts need not be loaded for every page. Pages are shown in at most `tabs` of them at the same time. The browser is
started with the first page, started again after some pages or when it takes too much memory, and whenever it dies. A
page that was open when the browser died is opened once more; then it is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import tempfile
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.engine.fetch import AddressGuard, Resolver, WireSettings
from periplus.model import Clock, Site, SubResponse, Url
from periplus.urls import site_of

from .browser import kill, launch, memory_of, new_context, processes_of, profiles_of
from .gate import Gate, GatePassage, Names
from .interception import FetchedDocument, Interception, Visit
from .pages import unescaped
from .session import CRASHED, open_page
from .settings import UNAVAILABLE, RenderSettings

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

log = logging.getLogger(__name__)

_LOST: Final = "lost"
"""The browser died, or was killed, while a page was open: it is opened again."""
_MAX_CONTEXTS: Final = 16
"""Sites whose contexts are kept: each has its cookies, its scripts and a port."""
_MAX_STARTS: Final = 3
"""Failed starts of the browser in a row after which pages are no longer rendered."""
_WATCH_EVERY: Final = 1.0
"""Seconds between two measurements of the browser's memory, while it is in use."""
_START_TIMEOUT: Final = 30.0
"""Seconds for the browser to start, on a machine that is busy."""
_END_TIMEOUT: Final = 5.0
"""Seconds for the browser to end by itself."""
_CLEANING: Final = 0.3
"""Seconds for Playwright to remove the files of a browser that died."""
_DEADLY: Final = 2.0
"""Multiple of the time limit of a page, or of the memory of the browser, at which the browser is killed."""
_ATTEMPTS: Final = 2
"""Times that a page is opened if the browser dies meanwhile."""


class RenderJob(Struct, frozen=True):
    """A page that is to be rendered, as it was fetched; the body is without content codings."""

    number: int
    document: FetchedDocument


class Rendered(Struct, frozen=True):
    """The result of rendering a page. Without a document, the page is to be read as it was fetched."""

    number: int
    document: str | None
    reason: str
    requests: int
    same_site: int
    received: int
    seconds: float
    target: Url | None = None
    responses: tuple[SubResponse, ...] = ()


class _Room(Struct):
    """A context for one site, with its way to the network. It shows one page at a time."""

    site: Site
    context: BrowserContext
    passage: GatePassage
    interception: Interception
    pages: int = 0
    is_busy: bool = False


class BrowserPool:
    """Renders pages. Used from one thread; `on_done` is called in another whenever a page is ready for `done`."""

    def __init__(
        self,
        settings: RenderSettings,
        *,
        wire: WireSettings,
        agent: str,
        resolver: Resolver,
        guard: AddressGuard,
        clock: Clock,
        processes: int = 1,
        on_done: Callable[[], object] = lambda: None,
    ) -> None:
        """`processes` is how many of these share the machine."""
        self._settings = settings
        self._wire = wire
        self._agent = agent
        self._resolver = resolver
        self._guard = guard
        self._clock = clock
        self.on_done = on_done
        self.tabs = settings.tabs or max(1, min(4, os.cpu_count() or 1) // max(processes, 1))
        self.under_way = 0
        self.starts = 0
        """How often the browser was started."""
        self.mark = uuid.uuid4().hex
        """Identifies the processes of this pool's browser."""
        self._finished: deque[Rendered] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._work: _Work | None = None

    def submit(self, job: RenderJob) -> None:
        """Start rendering a page."""
        if self._loop is None:
            self._begin()
        self.under_way += 1
        loop, work = self._loop, self._work
        if loop is not None and work is not None:
            loop.call_soon_threadsafe(work.begin, job)

    def done(self) -> list[Rendered]:
        """Pages that are ready since the last call."""
        found = []
        while self._finished:
            found.append(self._finished.popleft())
        self.under_way -= len(found)
        return found

    def close(self) -> None:
        """End the browser and the thread; pages that are open have no outcome any more."""
        loop, thread, work = self._loop, self._thread, self._work
        self._loop = self._thread = self._work = None
        if loop is None or thread is None or work is None:
            return
        asyncio.run_coroutine_threadsafe(work.close(), loop)
        thread.join(_START_TIMEOUT)
        if thread.is_alive():
            log.warning("the browser did not end in time and was killed")
            kill(processes_of(self.mark))

    def _begin(self) -> None:
        ready: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(ready,), name="periplus-render", daemon=True)
        self._thread.start()
        ready.result(_START_TIMEOUT)

    def _run(self, ready: Future[None]) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            names = Names(self._resolver, self._loop)
            gate = Gate(names, self._guard, self._wire.proxy)
            self._work = work = _Work(self, gate)
            ready.set_result(None)
            await work.closed.wait()
            names.close()

        asyncio.run(main())

    # for the other thread

    def _finish(self, rendered: Rendered) -> None:
        self._finished.append(rendered)
        self.on_done()


class _Work:
    """The part of the pool that runs in its thread: the browser, its contexts, and the open pages."""

    def __init__(self, pool: BrowserPool, gate: Gate) -> None:
        self._pool = pool
        self._gate = gate
        self._settings = pool._settings
        self._free = asyncio.Semaphore(pool.tabs)
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._rooms: OrderedDict[Site, _Room] = OrderedDict()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._refusing: GatePassage | None = None
        self._home: Path | None = None
        self._folders: list[Path] = []
        self._lost = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self._open = 0
        self._shown = 0
        self._failed_starts = 0
        self._is_worn = self._is_lost = False
        self.closed = asyncio.Event()

    def begin(self, job: RenderJob) -> None:
        """Render a page, as soon as a tab is free."""
        task = asyncio.ensure_future(self._render(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End everything."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stop()
        if self._refusing is not None:
            await self._refusing.close()
        self.closed.set()

    async def _render(self, job: RenderJob) -> None:
        began_at = time.monotonic()
        rendered = Rendered(job.number, None, CRASHED, 0, 0, 0, 0.0)
        try:
            async with self._free:
                began_at = time.monotonic()
                for _ in range(_ATTEMPTS):
                    rendered = await self._attempt(job, began_at)
                    if rendered.reason != _LOST:
                        break
                else:
                    rendered = replace(rendered, reason=CRASHED)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("%s could not be rendered", job.document.url)
        self._pool._finish(rendered)

    async def _attempt(self, job: RenderJob, began_at: float) -> Rendered:
        """Open a page in the browser, which is started if need be."""
        nothing = Rendered(job.number, None, _LOST, 0, 0, 0, time.monotonic() - began_at)
        room = None
        try:
            room = await self._room(site_of(job.document.url))
            if room is None:
                return Rendered(job.number, None, UNAVAILABLE, 0, 0, 0, time.monotonic() - began_at)
            self._open += 1
            try:
                timeout = self._settings.timeout if room.pages else self._settings.first_timeout
                return await self._unless_lost(self._show(job, room, timeout), _DEADLY * timeout)
            finally:
                self._open -= 1
                room.is_busy = False
                if self._rooms.get(room.site) is not room:  # a second one of its site, which showed another page
                    await self._leave(room)
        except TimeoutError:
            log.warning("the browser did not answer while it showed %s, and was killed", job.document.url)
            kill(await asyncio.to_thread(processes_of, self._pool.mark))
        except Exception as error:  # whatever Playwright raises when a browser dies
            log.info("%s was interrupted in the browser: %s", job.document.url, str(error).partition("\n")[0])
            if room is not None:
                await self._leave(room)
            self._is_lost = not await self._responds()
        return nothing

    async def _unless_lost(self, showing: Coroutine[Any, Any, Rendered], timeout: float) -> Rendered:
        """Wait for a page; raises `TimeoutError` if that takes too long, `ConnectionError` if the browser dies."""
        shown, lost = asyncio.ensure_future(showing), asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait({shown, lost}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if shown.done():
                return shown.result()
            raise ConnectionError("the browser died") if lost.done() else TimeoutError
        finally:
            shown.cancel()
            lost.cancel()
            await asyncio.gather(shown, lost, return_exceptions=True)

    async def _show(self, job: RenderJob, room: _Room, timeout: float) -> Rendered:
        began_at = time.monotonic()
        visit = Visit(job.document, unescaped(job.document.url), self._settings, is_archived=self._settings.archive)
        room.passage.reset()
        room.interception.visit = visit
        room.pages += 1
        self._shown += 1
        try:
            opened = await open_page(room.context, visit, self._settings, timeout)
        finally:
            room.interception.visit = None
            room.passage.hang_up()
        if opened.reason == CRASHED or opened.document is None:
            await self._leave(room)
        return Rendered(
            job.number,
            opened.document,
            opened.reason,
            visit.requests,
            visit.same_site,
            room.passage.received,
            time.monotonic() - began_at,
            visit.target,
            tuple(visit.responses),
        )

    # contexts

    async def _room(self, site: Site) -> _Room | None:
        """An idle context for a site; `None` if no browser runs."""
        async with self._starting:
            if not await self._ready():
                return None
            room = self._rooms.get(site)
            if room is not None and not room.is_busy:
                self._rooms.move_to_end(site)
                room.is_busy = True
                return room
            made = await self._new_room(site)
            if room is None:
                self._rooms[site] = made
            return made

    async def _new_room(self, site: Site) -> _Room:
        while len(self._rooms) >= _MAX_CONTEXTS and (idle := self._idle()) is not None:
            await self._leave(idle)
        assert self._browser is not None  # noqa: S101 - `_ready` was called
        passage = await self._gate.open(self._settings.max_bytes)
        context = await new_context(
            self._browser,
            self._settings,
            port=passage.port,
            agent=self._pool._agent,
            verify=self._pool._wire.verify_tls,
        )
        interception = Interception(self._settings, passage, self._pool._clock)
        await interception.install(context)
        return _Room(site, context, passage, interception, is_busy=True)

    def _idle(self) -> _Room | None:
        return next((room for room in self._rooms.values() if not room.is_busy), None)

    async def _leave(self, room: _Room) -> None:
        """Close a context."""
        if self._rooms.get(room.site) is room:
            del self._rooms[room.site]
        await room.passage.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(room.context.close(), _END_TIMEOUT)

    # the browser

    @property
    def _is_alive(self) -> bool:
        return self._browser is not None and self._browser.is_connected() and not self._is_lost

    async def _responds(self) -> bool:
        """Whether the browser, and what drives it, still answers."""
        try:
            if self._browser is not None:
                session = await asyncio.wait_for(self._browser.new_browser_cdp_session(), _END_TIMEOUT)
                await asyncio.wait_for(session.detach(), _END_TIMEOUT)
        except Exception:
            return False
        return True

    async def _ready(self) -> bool:
        """Whether there is a browser, which is started if need be."""
        is_worn = self._is_worn or self._shown >= self._settings.recycle_pages
        while self._is_alive and is_worn and self._open:  # its last pages
            await asyncio.sleep(_CLEANING)
        if self._is_alive and is_worn:
            await self._stop()
        if self._is_alive:
            return True
        while self._failed_starts < _MAX_STARTS:
            try:
                await asyncio.wait_for(self._start(), _START_TIMEOUT)
            except Exception as error:
                self._failed_starts += 1
                log.warning("the browser does not start: %s", str(error).strip().partition("\n")[0])
                await self._stop()
            else:
                self._failed_starts = 0
                return True
        return False

    async def _start(self) -> None:
        from playwright.async_api import async_playwright

        await self._stop()
        if self._refusing is None:
            self._refusing = await self._gate.open(0)
        self._home = Path(tempfile.mkdtemp(prefix="periplus-browser-"))
        self._folders = [self._home]
        self._playwright = await async_playwright().start()
        self._browser = await launch(
            self._playwright, self._settings, mark=self._pool.mark, port=self._refusing.port, home=self._home
        )
        self._folders = [self._home, *profiles_of(await asyncio.to_thread(processes_of, self._pool.mark))]
        self._lost = lost = asyncio.Event()
        self._browser.on("disconnected", lambda _browser: lost.set())
        self._pool.starts += 1
        self._shown, self._is_worn, self._is_lost = 0, False, False
        self._watcher = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        """Measure the memory of the browser while it is in use."""
        while True:
            await asyncio.sleep(_WATCH_EVERY)
            if not self._open:
                continue
            processes = await asyncio.to_thread(processes_of, self._pool.mark)
            memory = memory_of(processes)
            self._is_worn = self._is_worn or memory > self._settings.max_memory
            if memory > _DEADLY * self._settings.max_memory:
                log.warning("the browser takes %d MB of memory, and was killed", memory // 1_000_000)
                kill(processes)

    async def _stop(self) -> None:
        """End the browser, and remove its files."""
        if self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None
        for room in list(self._rooms.values()):
            await room.passage.close()
        self._rooms.clear()
        browser, playwright, folders = self._browser, self._playwright, self._folders
        self._browser = self._playwright = self._home = None
        self._folders = []
        if browser is not None:
            if not browser.is_connected():
                await asyncio.sleep(_CLEANING)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(browser.close(), _END_TIMEOUT)
        if playwright is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(playwright.stop(), _END_TIMEOUT)
        if folders:
            kill(await asyncio.to_thread(processes_of, self._pool.mark))
        for folder in folders:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
