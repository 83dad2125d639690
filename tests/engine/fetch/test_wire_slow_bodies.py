"""Bodies that arrive slowly: they come whole, or the transfer has failed."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.lab.loopback_guard import LoopbackGuard

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, CurlWire, Resolver, ResolverSettings, WireSettings
from periplus.model import Failed, Fetched, FetchOutcome, FetchTask, Lane, Purpose
from periplus.urls import canonical, site_of

HOME = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n%s\r\n"
MakeWire = Callable[..., CurlWire]


class Paused:
    """A server that sends its parts one by one, each when `go` is called."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts
        self._go = threading.Semaphore(0)
        self._listener = socket.create_server((HOME, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def go(self, count: int = 1) -> None:
        """Send this many more parts."""
        self._go.release(count)

    def task(self, purpose: Purpose = Purpose.SITEMAP) -> FetchTask:
        url = canonical(f"http://a.test:{self.port}/map.xml")
        assert url
        return FetchTask(url, site_of(url), purpose, Lane.SITEMAPS, 0.0, ip=HOME)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            sock, _ = self._listener.accept()
            with sock:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.recv(65536)
                for part in self._parts:
                    self._go.acquire()
                    sock.sendall(part)

    def __enter__(self) -> Paused:
        return self

    def __exit__(self, *_: object) -> None:
        self.go(len(self._parts))
        self._listener.close()


@pytest.fixture
def make_wire() -> Iterator[MakeWire]:
    with contextlib.ExitStack() as stack:

        def make(**settings: object) -> CurlWire:
            clock = SystemClock()
            wire = CurlWire(
                WireSettings(**settings),  # type: ignore[arg-type]
                identity=CrawlerIdentity("me@example.org"),
                clock=clock,
                resolver=Resolver(ResolverSettings(), clock=clock),
                guard=LoopbackGuard(),
            )
            stack.callback(wire.close)
            return wire

        yield make


def ended(wire: CurlWire) -> FetchOutcome:
    """The outcome of the task under way."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if done := wire.finished(20.0):
            [outcome] = done
            return outcome
    pytest.fail("no task ended")


def ok(body: bytes, fields: bytes = b"", length: int | None = None) -> bytes:
    return OK % (len(body) if length is None else length, fields) + body


@pytest.mark.parametrize("purpose", list(Purpose))
def test_body_comes_whole(make_wire: MakeWire, purpose: Purpose) -> None:
    """`finished` waits while parts arrive, whatever they are parts of."""
    wire = make_wire(accept_types=("*/*",))
    with Paused(ok(b"one", length=9), b"two", b"end") as server:
        wire.start(server.task(purpose))
        for _ in range(2):
            server.go()
            assert wire.finished(0.05) == []
            assert wire.under_way == 1
        server.go()
        outcome = ended(wire)
    assert isinstance(outcome, Fetched)
    assert (outcome.body, outcome.is_truncated) == (b"onetwoend", False)
    assert wire.buffered_bytes == 9, "until the caller is done with it"
    assert wire.finished(0.0) == []
    assert wire.buffered_bytes == 0


def test_long_list_is_cut_off(make_wire: MakeWire) -> None:
    """At `max_sitemap_bytes`; what came before is kept."""
    with Paused(ok(b"x" * 100_000)) as server:
        server.go()
        wire = make_wire(max_sitemap_bytes=65_536)
        wire.start(server.task())
        outcome = ended(wire)
    assert isinstance(outcome, Fetched)
    assert outcome.is_truncated
    assert outcome.body == b"x" * 65_536


def test_many_lists_one_after_another_are_not_over_budget(make_wire: MakeWire) -> None:
    """The bound of all buffers holds for what is under way, not for what has ended."""
    wire = make_wire(max_buffered_bytes=100_000)
    for _ in range(4):
        with Paused(ok(b"x" * 60_000)) as server:
            server.go()
            wire.start(server.task())
            assert isinstance(ended(wire), Fetched)


def test_list_may_take_longer_than_a_page(make_wire: MakeWire) -> None:
    """Fifty megabytes take longer than a page may; one handle is used for both in turn."""
    wire = make_wire(timeout=0.2, sitemap_timeout=300.0, accept_types=("*/*",))
    kinds: list[type[FetchOutcome]] = []
    for purpose in (Purpose.SITEMAP, Purpose.PAGE, Purpose.SITEMAP):
        with Paused(ok(b"half", length=8), b"more") as server:
            server.go()
            wire.start(server.task(purpose))
            pause = threading.Timer(0.4, server.go)
            if purpose is Purpose.SITEMAP:  # the rest of a page never comes
                pause.start()
            kinds.append(type(ended(wire)))
            pause.cancel()
    assert kinds == [Fetched, Failed, Fetched]


def test_body_that_breaks_is_a_failure(make_wire: MakeWire) -> None:
    """What had arrived does not count."""
    wire = make_wire()
    with Paused(ok(b"half", length=8)) as server:
        server.go()
        wire.start(server.task())
        outcome = ended(wire)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "closed-early"


def test_closed_wire_cancels_what_is_arriving(make_wire: MakeWire) -> None:
    """It waits for nothing more."""
    wire = make_wire()
    with Paused(ok(b"half", length=8), b"more") as server:
        server.go()
        wire.start(server.task())
        assert wire.finished(0.05) == []
        wire.close()
        [outcome] = wire.finished(20.0)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "cancelled"
