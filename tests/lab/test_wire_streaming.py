"""The wire while a body arrives: what can be had of it before it is whole, and of which bodies."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.lab.loopback_guard import LoopbackGuard

from periplus.crawl.clock import SystemClock
from periplus.crawl.fetch import CurlWire, Identity, Resolver, ResolverSettings, WireSettings
from periplus.crawl.intake import Intake
from periplus.formats.sitemap import Entry, Kind
from periplus.model import Failed, Fetched, FetchOutcome, FetchTask, Lane, Purpose
from periplus.urls import canonical, site_of

HOME = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n%s\r\n"
STREAMED = [Purpose.SITEMAP, Purpose.FEED, Purpose.ARCHIVE]
MakeWire = Callable[..., CurlWire]


class Paused:
    """A server that sends its parts one by one, each when it is told to."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts
        self._go = threading.Semaphore(0)
        self._listener = socket.create_server((HOME, 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def go(self, count: int = 1) -> None:
        """Send so many more parts."""
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
                identity=Identity("me@example.org"),
                clock=clock,
                resolver=Resolver(ResolverSettings(), clock=clock),
                guard=LoopbackGuard(),
            )
            stack.callback(wire.close)
            return wire

        yield make


def watch(wire: CurlWire, until: Callable[[bytes, list[FetchOutcome]], bool]) -> tuple[bytes, list[FetchOutcome]]:
    """All that arrived and ended until so."""
    parts = b""
    done: list[FetchOutcome] = []
    end = time.monotonic() + 20
    while not until(parts, done) and time.monotonic() < end:
        done += wire.finished(20.0)
        parts += b"".join(part for _, part in wire.arrived())
    return parts, done


def whole(wire: CurlWire, server: Paused, purpose: Purpose = Purpose.SITEMAP) -> tuple[bytes, FetchOutcome]:
    """What arrived until the end, and the end."""
    server.go(99)
    wire.start(server.task(purpose))
    parts, [outcome] = watch(wire, lambda _, done: bool(done))
    return parts, outcome


def ok(body: bytes, fields: bytes = b"", length: int | None = None) -> bytes:
    return OK % (len(body) if length is None else length, fields) + body


@pytest.mark.parametrize("purpose", STREAMED)
def test_parts_are_had_before_the_whole(make_wire: MakeWire, purpose: Purpose) -> None:
    """`finished` returns, with nothing, when something arrived; and the outcome still has the whole body."""
    wire = make_wire()
    with Paused(ok(b"one", length=9), b"two", b"end") as server:
        task = server.task(purpose)
        wire.start(task)
        for part in (b"one", b"two"):
            server.go()
            assert watch(wire, lambda parts, _, part=part: parts == part) == (part, [])  # type: ignore[misc]
        assert wire.arrived() == []
        assert wire.under_way == 1
        server.go()
        parts, [outcome] = watch(wire, lambda _, done: bool(done))
    assert parts == b"end"
    assert isinstance(outcome, Fetched)
    assert (outcome.body, outcome.is_truncated) == (b"onetwoend", False)
    assert (wire.buffered_bytes, wire.arrived()) == (0, [])


def test_parts_come_with_their_task(make_wire: MakeWire) -> None:
    """Of several bodies at once, each in its own order, and all of it before its outcome is told."""
    wire = make_wire()
    bodies = [bytes([65 + number]) * 300_000 for number in range(3)]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Paused(ok(body))) for body in bodies]
        tasks = [server.task() for server in servers]
        for server, task in zip(servers, tasks, strict=True):
            server.go()
            wire.start(task)
        parts: dict[FetchTask, bytes] = dict.fromkeys(tasks, b"")
        done: list[FetchOutcome] = []
        while len(done) < 3:
            ended = wire.finished(20.0)
            for task, part in wire.arrived():
                assert task not in [outcome.task for outcome in done]
                parts[task] += part
            for outcome in ended:
                assert isinstance(outcome, Fetched)
                assert parts[outcome.task] == outcome.body
            done += ended
    assert list(parts.values()) == bodies


@pytest.mark.parametrize("purpose", [purpose for purpose in Purpose if purpose not in STREAMED])
def test_pages_come_whole(make_wire: MakeWire, purpose: Purpose) -> None:
    """Nothing is had of them before, and nobody is woken for them."""
    with Paused(ok(b"page", b"Content-Type: text/html\r\n")) as server:
        parts, outcome = whole(make_wire(accept_types=("*/*",)), server, purpose)
    assert isinstance(outcome, Fetched)
    assert (parts, outcome.body) == (b"", b"page")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\npart",
        b"HTTP/1.1 503 Later\r\nContent-Length: 5\r\n\r\nlater",
        b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 4\r\n\r\ngone",
        ok(b"not to be read as it is", b"Content-Encoding: br\r\n"),
        ok(b"nor this", b"content-encoding:  gzip, zstd\r\n"),
    ],
)
def test_only_good_answers_are_shown(make_wire: MakeWire, answer: bytes) -> None:
    """The words of an error are no list; what is encoded otherwise than with gzip must be decoded first."""
    with Paused(answer) as server:
        parts, outcome = whole(make_wire(), server)
    assert parts == b""
    assert not isinstance(outcome, Failed)


@pytest.mark.parametrize("fields", [b"", b"Content-Encoding: gzip\r\n", b"CONTENT-ENCODING: X-GZIP\r\n"])
def test_gzip_is_shown_as_sent(make_wire: MakeWire, fields: bytes) -> None:
    """Whoever reads it sees by its first bytes what it is."""
    body = gzip.compress(b"http://a.test/\n")
    with Paused(ok(body, fields)) as server:
        parts, outcome = whole(make_wire(), server)
    assert isinstance(outcome, Fetched)
    assert parts == outcome.body == body


def test_what_is_cut_off_is_not_shown(make_wire: MakeWire) -> None:
    """What arrives is bounded as the body is, and is the same."""
    with Paused(ok(b"x" * 100_000)) as server:
        parts, outcome = whole(make_wire(max_sitemap_bytes=65_536), server)
    assert isinstance(outcome, Fetched)
    assert outcome.is_truncated
    assert parts == outcome.body == b"x" * 65_536


def test_a_body_that_breaks_is_a_failure_after_all(make_wire: MakeWire) -> None:
    """What was shown was a preview: its outcome says what it is worth."""
    with Paused(ok(b"half", length=8)) as server:
        parts, outcome = whole(make_wire(), server)
    assert parts == b"half"
    assert isinstance(outcome, Failed)
    assert outcome.reason == "closed-early"


def test_what_nobody_asks_for_has_a_bound(make_wire: MakeWire) -> None:
    """Parts that are not fetched do not pile up for ever; pages are not touched by it."""
    wire = make_wire(max_buffered_bytes=100_000)
    outcomes: list[FetchOutcome] = []
    for purpose in (Purpose.SITEMAP, Purpose.SITEMAP, Purpose.PAGE):
        with Paused(ok(b"x" * 60_000)) as server:
            server.go()
            wire.start(server.task(purpose))
            while not (done := wire.finished(20.0)):
                pass
            outcomes += done
    assert [outcome.reason for outcome in outcomes if isinstance(outcome, Failed)] == ["over-budget", "unwanted-type"]
    assert 0 < sum(len(part) for _, part in wire.arrived()) <= 100_000
    with Paused(ok(b"x" * 60_000)) as server:
        _, outcome = whole(wire, server)
    assert isinstance(outcome, Fetched)


@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_entries_are_known_before_the_file_is_whole(make_wire: MakeWire, packing: Callable[[bytes], bytes]) -> None:
    """From the socket to entries, in order, each once, while the rest of the file has not been sent yet."""
    wire = make_wire()
    lines = b"".join(b"http://a.test/%d\n" % number for number in range(40_000))
    body = packing(lines)
    half = len(body) // 2
    with Paused(ok(body[:half], length=len(body)), body[half:]) as server:
        intake = Intake(server.task().url)
        values: list[object] = []
        wire.start(server.task())
        server.go()
        while len(values) < 5_000:
            assert wire.finished(20.0) == []
            for _, part in wire.arrived():
                intake.feed(part)
            while intake.is_ready:
                values += intake.take(500)
        server.go()
        parts, [outcome] = watch(wire, lambda _, done: bool(done))
    intake.feed(parts)
    intake.close()
    while not intake.is_over:
        values += intake.take(500)
    assert isinstance(outcome, Fetched)
    assert values == [Entry(line.decode()) for line in lines.split()]
    assert intake.kind == Kind.TEXT.value


def test_a_list_may_take_longer_than_a_page(make_wire: MakeWire) -> None:
    """Fifty megabytes are not there in the time that a page may take; the same handle keeps the two apart."""
    wire = make_wire(timeout=0.2, sitemap_timeout=20.0, connect_timeout=0.2, accept_types=("*/*",))
    kinds: list[type[FetchOutcome]] = []
    for purpose in (Purpose.SITEMAP, Purpose.PAGE, Purpose.SITEMAP):
        with Paused(ok(b"half", length=8), b"more") as server:
            server.go()
            wire.start(server.task(purpose))
            pause = threading.Timer(0.4, server.go)
            pause.start()
            _, [outcome] = watch(wire, lambda _, done: bool(done))
            pause.cancel()
            kinds.append(type(outcome))
    assert kinds == [Fetched, Failed, Fetched]


def test_a_wire_that_is_cancelled_or_closed_shows_what_came(make_wire: MakeWire) -> None:
    """And waits for nothing more."""
    wire = make_wire()
    with Paused(ok(b"half", length=8), b"more") as server:
        server.go()
        wire.start(server.task())
        assert watch(wire, lambda parts, _: parts == b"half") == (b"half", [])
        wire.close()
        [outcome] = wire.finished(20.0)
    assert isinstance(outcome, Failed)
    assert (outcome.reason, wire.arrived()) == ("cancelled", [])
