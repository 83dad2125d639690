"""Fetches with a wire of small limits from servers of a test, many at once."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tests.engine.fetch.raw_servers import HOME
from tests.lab.loopback_guard import LoopbackGuard

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, CurlWire, Resolver, WireSettings
from periplus.model import FetchOutcome, FetchTask, Lane, Purpose
from periplus.urls import canonical, site_of

LARGEST_PAGE = 1 << 20
PATIENCE = 300.0
"""Seconds until a missing outcome is a failure: far above the limits of the wire, also on a busy machine."""


def impatient_wire(**settings: object) -> CurlWire:
    """A wire that gives up a silent server soon; all other limits are for busy machines."""
    chosen = {"connect_timeout": 60.0, "low_speed_time": 4, "max_page_bytes": LARGEST_PAGE, **settings}
    clock = SystemClock()
    return CurlWire(
        WireSettings(**chosen),  # type: ignore[arg-type]
        identity=CrawlerIdentity(),
        clock=clock,
        resolver=Resolver(clock=clock),
        guard=LoopbackGuard(),
    )


def task_for(url: str, *, ip: str = HOME, attempt: int = 1, purpose: Purpose = Purpose.PAGE) -> FetchTask:
    """A task for a URL."""
    found = canonical(url)
    assert found
    return FetchTask(found, site_of(found), purpose, Lane.DISCOVERY, 0.0, ip=ip, attempt=attempt)


def fetch_all(wire: CurlWire, tasks: Iterable[FetchTask]) -> list[FetchOutcome]:
    """The outcomes of tasks that are started together, in their order: one each."""
    tasks = list(tasks)
    for one in tasks:
        wire.start(one)
    found: dict[FetchTask, FetchOutcome] = {}
    until = time.monotonic() + PATIENCE
    while len(found) < len(tasks) and time.monotonic() < until:
        for outcome in wire.finished(1.0):
            assert outcome.task not in found
            found[outcome.task] = outcome
    return [found[one] for one in tasks]
