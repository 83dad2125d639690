"""A browser for tests, on the lab: pages are given as HTML, or as the lab would send them."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Sequence
from threading import Event

import pytest
from tests.typed_seeds import guard_of

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import Resolver, ResolverSettings, WireSettings
from periplus.model import Url
from periplus.parts.render.interception import FetchedDocument
from periplus.parts.render.pool import BrowserPool, Rendered, RenderJob
from periplus.parts.render.settings import RenderSettings
from periplus_lab.server import RunningLab

LONGEST = 300.0
"""Seconds after which a test does not wait any longer for a page."""
PATIENT = RenderSettings(
    mode="always", sandbox=False, quiet=0.2, still=0.1, timeout=200.0, first_timeout=200.0, max_busy=20
)
"""For any machine, however busy; without the sandbox, which root cannot have."""
IMPATIENT = RenderSettings(
    mode="always", sandbox=False, timeout=4.0, first_timeout=4.0, max_busy=2.0, steady=True, recycle_pages=2
)
"""For pages that never end."""

needs_browser = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None
    or not any(map(shutil.which, ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser"))),
    reason="needs the extra `render` and Chromium",
)


class OpenedPool:
    """A pool whose pages are waited for."""

    def __init__(
        self,
        lab: RunningLab,
        seeds: Sequence[str],
        settings: RenderSettings = PATIENT,
        look_up: Callable[[str], Sequence[str]] = lambda _host: (),
    ) -> None:
        clock, hosts = SystemClock(), dict(lab.resolver)
        self._ready = Event()
        self.pool = BrowserPool(
            settings,
            wire=WireSettings(verify_tls=False),
            agent="Periplus/test",
            resolver=Resolver(ResolverSettings(hosts=hosts), clock=clock, look_up=look_up),
            guard=guard_of([Url(seed) for seed in seeds], hosts=hosts),
            clock=clock,
            on_done=self._ready.set,
        )

    def show(self, url: str, html: str | bytes, headers: tuple[tuple[str, str], ...] = ()) -> Rendered:
        """Open a page, and wait for what comes of it."""
        body = html.encode() if isinstance(html, str) else html
        kind = ("Content-Type", "text/html; charset=utf-8")
        self.begin(url, body, (kind, *headers))
        return self.wait()

    def begin(self, url: str, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """Open a page."""
        self._ready.clear()
        self.pool.submit(RenderJob(1, FetchedDocument(Url(url), 200, headers, body)))

    def wait(self) -> Rendered:
        """What came of the page."""
        assert self._ready.wait(LONGEST)
        (rendered,) = self.pool.done()
        return rendered
