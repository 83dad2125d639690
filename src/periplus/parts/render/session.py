"""One page in the browser, from opening to its document: when is it complete?

After `load` a page is complete when the network was quiet and the document unchanged for a moment, and no timer waits;
pages that never rest, because they ask for news every second, are taken as they are some seconds after `load`. Then the
page is scrolled to its end, as long as it grows. Nothing is clicked.

A page whose main thread does not answer for some seconds runs a loop: its script is stopped, and if the page still does
not answer, it is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from .interception import Visit
from .settings import RenderSettings

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Dialog, Page

TIMEOUT: Final = "render-timeout"
HUNG: Final = "render-hung"
CRASHED: Final = "render-crashed"
OVER_BUDGET: Final = "render-budget"

_STOP_TIMEOUT: Final = 1.0
"""Seconds for the browser to stop a script, and for the page to answer then."""
_KEEPING: Final = 5.0
"""Seconds for what a complete page has loaded to be kept, for the next page of its site or for the archive."""
_POLL: Final = 0.05
"""Seconds between two looks at a page."""
_GROWTH_WAIT: Final = 0.25
"""Seconds after a scroll in which the page must ask for something or change, or it is complete."""
_BLANK: Final = "about:blank"
"""Where a new page is until it was opened."""
_MAX_DOCUMENT: Final = 16 << 20
"""Characters of a document that are taken, as many as are read of a page."""

_LOOK: Final = """() => {
  const state = window[Symbol.for('periplus')];
  const root = document.scrollingElement || document.documentElement;
  const now = performance.now(), timers = state ? [...state.timers.values()].filter(at => at > now - 100) : [];
  return [document.readyState === 'complete', now - (state ? state.changed : 0), Math.min(...timers, 1e9) - now,
          root ? root.scrollHeight : 0, window.innerHeight];
}"""
_SCROLL: Final = """async isFirst => {
  const end = (document.scrollingElement || document.documentElement).scrollHeight;
  const step = Math.max(window.innerHeight, end / 20);
  for (let y = step; isFirst && y < end; y += step) {
    window.scrollTo(0, y);
    await new Promise(done => { requestAnimationFrame(done); setTimeout(done, 100); });
  }
  window.scrollTo(0, end);
}"""
"""To the end; the first time through the whole page, parts of which may be loaded when they come into view."""


class Opened(Struct, frozen=True):
    """The document of a page; `None` if there is none. `reason`: why it was stopped early, or given up."""

    document: str | None
    reason: str = ""


class _NoAnswerError(Exception):
    """The page does not answer."""


async def open_page(context: BrowserContext, visit: Visit, settings: RenderSettings, timeout: float) -> Opened:
    """Open a page, wait until it is complete, and take its document; the page is closed afterwards."""
    page = await context.new_page()
    session = _Session(page, visit, settings, time.monotonic() + timeout)
    try:
        return await session.run(context)
    finally:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(page.close(), 2 * _STOP_TIMEOUT)


class _Session:
    """A page that is open until `deadline`, by `time.monotonic`."""

    def __init__(self, page: Page, visit: Visit, settings: RenderSettings, deadline: float) -> None:
        self._page = page
        self._visit = visit
        self._settings = settings
        self._deadline = deadline
        self._crashed = asyncio.Event()
        page.on("crash", lambda _page: self._crashed.set())
        page.on("dialog", _dismiss)

    async def run(self, context: BrowserContext) -> Opened:
        """Open the page, and take its document."""
        debugger = await context.new_cdp_session(self._page)
        reason = ""
        try:
            is_complete = await self._until_complete()
            reason = "" if is_complete else TIMEOUT
        except _NoAnswerError:
            reason = HUNG
            await _stop_script(debugger)
        if self._crashed.is_set():
            return Opened(None, CRASHED)
        if self._visit.is_over_budget and not reason:
            reason = OVER_BUDGET
        if self._page.url == _BLANK:
            return Opened(None, reason or TIMEOUT)
        try:
            timeout = _STOP_TIMEOUT if reason == HUNG else self._settings.max_busy
            document = await self._answer(self._page.content(), timeout)
        except _NoAnswerError:
            if reason != HUNG:
                await _stop_script(debugger)
            return Opened(None, CRASHED if self._crashed.is_set() else HUNG)
        await self._visit.settled(_STOP_TIMEOUT if reason else _KEEPING)
        return Opened(document[:_MAX_DOCUMENT], reason)

    async def _until_complete(self) -> bool:
        """Wait until the page is complete; `False` if its time was over before."""
        remaining = max(0.1, self._deadline - time.monotonic())
        with contextlib.suppress(Exception):  # a navigation that was refused; what is there is taken
            await asyncio.wait_for(self._page.goto(self._visit.address, wait_until="commit"), remaining)
        loaded_at, scrolls, height, scrolled_at = None, 0, 0, (0.0, 0.0)
        while (now := time.monotonic()) < self._deadline:
            is_loaded, still, timer, grown, visible = await self._look()
            if is_loaded and loaded_at is None:
                loaded_at = now
            if loaded_at is not None and self._is_complete(now, loaded_at, still, timer, scrolled_at):
                is_longer = grown > max(height, visible)
                is_late = now - loaded_at >= self._settings.settle
                if is_late or not is_longer or scrolls >= self._settings.max_scrolls:
                    return True
                await self._evaluate(_SCROLL, scrolls == 0)
                height, scrolls, scrolled_at = grown, scrolls + 1, (now, time.monotonic())
            await asyncio.sleep(_POLL)
        return False

    def _is_complete(
        self, now: float, loaded_at: float, still: float, timer: float, scrolled_at: tuple[float, float]
    ) -> bool:
        """`scrolled_at` is when the last scroll began and ended."""
        settings, quiet = self._settings, self._visit.quiet_for(now)
        left = loaded_at + settings.settle - now
        if left <= 0:
            return True
        if timer < left:
            return False
        began_at, ended_at = scrolled_at
        if ended_at and now - ended_at < settings.quiet:  # nothing began since the scroll: it does not grow
            has_begun = self._visit.active_at > began_at or still < now - began_at
            return now - ended_at >= _GROWTH_WAIT and not has_begun
        return quiet >= settings.quiet and still >= settings.still

    async def _look(self) -> tuple[bool, float, float, int, int]:
        """Whether the page is loaded, seconds since it changed and to its next timer, its and the window's height."""
        found = await self._evaluate(_LOOK)
        loaded, still, timer, height, visible = (False, 0.0, 0.0, 0, 0) if found is None else found
        return bool(loaded), float(still) / 1000, float(timer) / 1000, int(height), int(visible)

    async def _evaluate(self, script: str, given: object = None) -> Any:
        """What a script returns; `None` if its context was replaced by a navigation in this moment."""
        try:
            return await self._answer(self._page.evaluate(script, given), self._settings.max_busy)
        except _NoAnswerError:
            raise
        except Exception:
            return None

    async def _answer(self, question: Any, timeout: float) -> Any:
        """The answer of the page to a question; raises `_NoAnswerError` if it does not answer in time, or crashes."""
        asked = asyncio.ensure_future(question)
        crashed = asyncio.ensure_future(self._crashed.wait())
        try:
            await asyncio.wait({asked, crashed}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise _NoAnswerError
            return asked.result()
        finally:
            for task in (asked, crashed):
                task.cancel()
            await asyncio.gather(asked, crashed, return_exceptions=True)


async def _stop_script(debugger: CDPSession) -> None:
    with contextlib.suppress(Exception):
        await asyncio.wait_for(debugger.send("Runtime.terminateExecution"), _STOP_TIMEOUT)


def _dismiss(dialog: Dialog) -> None:
    async def end() -> None:
        with contextlib.suppress(Exception):
            await dialog.dismiss()

    task = asyncio.ensure_future(end())
    _dismissing.add(task)
    task.add_done_callback(_dismissing.discard)


_dismissing: set[asyncio.Task[None]] = set()
"""Dialogs that are being dismissed: the event loop itself keeps no reference to tasks."""
