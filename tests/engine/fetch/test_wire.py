"""The wire against real servers: what is sent, what comes back, and who waits for whom."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import msgspec
import pycurl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.each_case import each_case
from tests.engine.fetch.raw_servers import RawServer
from tests.hypothesis_depth import examples
from tests.lab.loopback_guard import LoopbackGuard
from tests.typed_seeds import guard_of

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import AddressGuard, CrawlerIdentity, CurlWire, Resolver, ResolverSettings, WireSettings
from periplus.engine.fetch.head import WantedTypes
from periplus.engine.fetch.poller import Poller
from periplus.engine.fetch.request import Requests
from periplus.engine.fetch.transfer import LARGE, Buffers, Transfer
from periplus.formats.headers import Headers, validators_of
from periplus.model import (
    ConfigError,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    InvariantError,
    Lane,
    Located,
    NotModified,
    Purpose,
    Redirected,
    Validators,
)
from periplus.urls import canonical, host_of, site_of
from periplus_lab import World
from periplus_lab.server import RunningClock, RunningLab, Server, SteppedClock

HOME = "127.0.0.1"
MakeWire = Callable[..., CurlWire]


def task(
    url: str,
    purpose: Purpose = Purpose.PAGE,
    *,
    ip: str | None = HOME,
    validators: Validators | None = None,
    attempt: int = 1,
) -> FetchTask:
    found = canonical(url)
    assert found
    return FetchTask(found, site_of(found), purpose, Lane.DISCOVERY, 0.0, validators, attempt, ip)


def outcomes(wire: CurlWire, *tasks: FetchTask) -> list[FetchOutcome]:
    for one in tasks:
        wire.start(one)
    found: list[FetchOutcome] = []
    until = time.monotonic() + 300
    while len(found) < len(tasks) and time.monotonic() < until:
        found += wire.finished(1.0)
    return found


def fetch(wire: CurlWire, one: FetchTask) -> FetchOutcome:
    [outcome] = outcomes(wire, one)
    return outcome


@pytest.fixture
def make_wire() -> Iterator[MakeWire]:
    """A wire that may visit loopback, with a table of hosts; closed when the test ends."""
    with contextlib.ExitStack() as stack:

        def make(
            hosts: dict[str, str] | None = None, *, guard: AddressGuard | None = None, **settings: object
        ) -> CurlWire:
            clock = SystemClock()
            wire = CurlWire(
                WireSettings(**settings),  # type: ignore[arg-type]
                identity=CrawlerIdentity("me@example.org"),
                clock=clock,
                resolver=Resolver(ResolverSettings(hosts=hosts or {}), clock=clock),
                guard=guard or LoopbackGuard(),
            )
            stack.callback(wire.close)
            return wire

        yield make


class Scripted:
    """A server that says what it was told to, whatever it is asked, and keeps what it heard."""

    def __init__(self, *answers: bytes, closes: bool = True, delay: float = 0.0) -> None:
        self.heard: list[bytes] = []
        self.connections = 0
        self.answers = answers
        self._closes = closes
        self._delay = delay
        self._listener = socket.create_server((HOME, 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def url(self, target: str = "/") -> str:
        return f"http://a.test:{self.port}{target}"

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                with sock, contextlib.suppress(OSError):
                    self._converse(sock)

    def _converse(self, sock: socket.socket) -> None:
        while request := sock.recv(65536):
            self.heard.append(request)
            time.sleep(self._delay)
            for answer in self.answers:
                sock.sendall(answer)
            if self._closes:
                return

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    world = World(sites=12)
    with RunningLab(Server(world, RunningClock(world.epoch), pace=0.1)) as lab:
        yield lab


# What is sent.


@pytest.mark.parametrize("purpose", Purpose)
def test_the_request_is_sent_as_it_will_be_archived(make_wire: MakeWire, purpose: Purpose) -> None:
    """`request_bytes` is what the server received, byte by byte, with and without validators."""
    with Scripted(OK, closes=False) as server:
        wire = make_wire(accept_language="en")
        known = Validators('"x"', "Mon, 05 Jan 2026 00:00:00 GMT")
        tasks = [
            task(server.url("/a%20b//c/?q=%C3%BC|{}&x"), purpose, validators=known),
            task(server.url("/~b?"), purpose),
            task(server.url("/c"), purpose, validators=known, attempt=2),
        ]
        for one in tasks:
            assert isinstance(fetch(wire, one), Fetched)
        assert server.heard == [wire.request_bytes(one) for one in tasks]


def test_every_character_is_sent_as_it_is_spelt(make_wire: MakeWire) -> None:
    """libcurl rewrites nothing: not in path or query, not the dots of a path or at the end of a host."""
    printable = "".join(map(chr, range(0x20, 0x7F)))
    with Scripted(OK) as server:
        wire = make_wire()
        tasks = [
            task(server.url(f"/{printable.replace('#', '').replace('?', '')}?{printable.replace('#', '')}")),
            task(server.url("/a//b/..c/.%2E%2e/%2F%zz%?a=../..&b=%")),
            task(f"http://a.test.:{server.port}/"),
            task(f"http://xn--bcher-kva.test:{server.port}/?"),
            task(f"http://a_b-.test:{server.port}/;p"),
        ]
        for one in tasks:
            assert isinstance(fetch(wire, one), Fetched)
        assert server.heard == [wire.request_bytes(one) for one in tasks]


def test_user_name_and_password_stay_here(make_wire: MakeWire) -> None:
    """No Authorization field from a URL found on a page."""
    with Scripted(OK) as server:
        wire = make_wire()
        one = task(f"http://user:secret@a.test:{server.port}/x")
        assert isinstance(fetch(wire, one), Fetched)
        assert server.heard == [wire.request_bytes(one)]
        assert b"uthorization" not in server.heard[0]


def test_nothing_of_the_environment_is_used(make_wire: MakeWire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies are set in our settings or not at all."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with Scripted(OK) as server:
        assert isinstance(fetch(make_wire(), task(server.url())), Fetched)


def test_cookies_are_not_kept(make_wire: MakeWire) -> None:
    """The second request is as plain as the first."""
    answer = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n")
    with Scripted(answer, closes=False) as server:
        wire = make_wire()
        one = task(server.url())
        fetch(wire, one)
        fetch(wire, one)
        assert server.heard == [wire.request_bytes(one)] * 2


# What comes back.


def test_an_answer_as_it_came(make_wire: MakeWire) -> None:
    """Status, fields in order, the raw body of a chunked and coded answer, and where it came from."""
    answer = (
        b"HTTP/1.1 404 Gone Fishing\r\nX-B: 1\r\nx-a: 2\r\nX-B: 3\r\nContent-Encoding: gzip\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: no\r\n\r\n"
    )
    with Scripted(answer) as server:
        before = time.time()
        outcome = fetch(make_wire(), task(server.url()))
        assert isinstance(outcome, Fetched)
        assert (outcome.status, outcome.body, outcome.is_truncated, outcome.ip) == (404, b"abcde", False, HOME)
        assert outcome.headers == (
            ("X-B", "1"),
            ("x-a", "2"),
            ("X-B", "3"),
            ("Content-Encoding", "gzip"),
            ("Transfer-Encoding", "chunked"),
        )
        assert before - 1 < outcome.started_at < time.time() + 1
        assert outcome.duration > 0


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (b"/b?c#d", "http://a.test:PORT/b?c"),
        (b"//other.test/", "http://other.test/"),
        (b"HTTP://OTHER.test:80/%7Ex", "http://other.test/~x"),
        (b"/caf\xc3\xa9", "http://a.test:PORT/caf%C3%A9"),
        (b"/caf\xe9", "http://a.test:PORT/caf%C3%A9"),
        (b"", None),
        (b"mailto:me@example.org", None),
        (b"http://[broken/", None),
    ],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(make_wire: MakeWire, status: int, location: bytes, target: str | None) -> None:
    """The target is canonical; a redirect to nowhere has failed."""
    answer = b"HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 2\r\n\r\nhi" % (status, location)
    with Scripted(answer) as server:
        outcome = fetch(make_wire(), task(server.url("/a")))
        if target is None:
            assert isinstance(outcome, Failed)
            assert (outcome.reason, outcome.status) == ("bad-redirect", status)
        else:
            assert isinstance(outcome, Redirected)
            assert outcome.target == target.replace("PORT", str(server.port))
            assert (outcome.status, outcome.body) == (status, b"hi")


def test_conditional_requests(make_wire: MakeWire, lab: RunningLab) -> None:
    """What a page said of itself comes back as 304, from a site that is honest about it."""
    wire = make_wire()
    found = []
    for host in lab.world.hosts:
        first = fetch(wire, task(lab.url(host), ip=lab.resolver[host]))
        if isinstance(first, Fetched) and (known := validators_of(Headers(first.headers))):
            again = task(lab.url(host), ip=lab.resolver[host], validators=known)
            found.append(type(fetch(wire, again)))
    assert found.count(NotModified) >= 1
    assert set(found) <= {NotModified, Fetched}


def test_304_to_a_plain_request_is_nonsense(make_wire: MakeWire) -> None:
    """There is nothing that could be unmodified."""
    with Scripted(b"HTTP/1.1 304 Not Modified\r\n\r\n") as server:
        outcome = fetch(make_wire(), task(server.url()))
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.status) == ("bad-response", 304)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"220 mail.test ESMTP\r\n", "bad-response"),
        (b"HTTP/1.1 abc\r\n\r\n", "bad-response"),
        (b"HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n", "bad-response"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello", "bad-response"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad-response"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "closed-early"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", "bad-response"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", "too-many-headers"),
        (b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 2000 + b"\r\n", "too-many-headers"),
        (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" * 20_000, "too-many-headers"),
        (b"", "closed-early"),
    ],
)
def test_broken_answers(make_wire: MakeWire, answer: bytes, reason: str) -> None:
    """What is not HTTP has a reason, and never raises."""
    with Scripted(answer) as server:
        outcome = fetch(make_wire(), task(server.url()))
        assert isinstance(outcome, Failed)
        assert outcome.reason == reason


FRAGMENTS = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 302 Found\r\n",
    b"HTTP/1.1 304 Not Modified\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    b"HTTP/2 200\r\n",
    b"ICY 200 OK\r\n",
    b"Location: //\xff[::1/\r\n",
    b"Location: /a\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Encoding: gzip, br\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Content-Type: text/html; charset=\r\n",
    b"Content-Type: image/png\r\n",
    b"Set-Cookie: a=b\r\n",
    b"Connection: upgrade, close\r\n",
    b" folded\r\n",
    b": no name\r\n",
    b"no colon\r\n",
    b"\r\n",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"\0",
]


@settings(max_examples=examples(30))
@given(answer=st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=9), max_size=12).map(b"".join))
def test_no_answer_is_too_strange(mad: tuple[Scripted, CurlWire], answer: bytes) -> None:
    """Whatever a server says: one outcome, of a documented kind, and no exception."""
    server, wire = mad
    server.answers = (answer,)
    outcome = fetch(wire, task(server.url()))
    assert isinstance(outcome, Fetched | Redirected | Failed)
    assert getattr(outcome, "reason", "") != "other"
    assert isinstance(outcome, Failed) or outcome.status >= 200
    assert (wire.under_way, wire.buffered_bytes) == (0, len(getattr(outcome, "body", b"")))


@pytest.fixture(scope="module")
def mad() -> Iterator[tuple[Scripted, CurlWire]]:
    clock = SystemClock()
    wire = CurlWire(
        WireSettings(timeout=5.0),
        identity=CrawlerIdentity(),
        clock=clock,
        resolver=Resolver(clock=clock),
        guard=LoopbackGuard(),
    )
    with Scripted() as server:
        yield server, wire
    wire.close()


def test_unwanted_types_are_not_downloaded(make_wire: MakeWire) -> None:
    """Decided from the head: the body, which is endless here, is left where it is."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 100000000\r\n\r\n"
    with Scripted(head, closes=False) as server:  # and not a byte of the body
        wire = make_wire(timeout=300.0)
        outcome = fetch(wire, task(server.url()))
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.status, outcome.detail) == ("unwanted-type", 200, "image/png")


@pytest.mark.parametrize(
    ("head", "purpose"),
    [
        (b"HTTP/1.1 200 OK\r\n", Purpose.PAGE),
        (b"HTTP/1.1 404 OK\r\nContent-Type: image/png\r\n", Purpose.PAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n", Purpose.SITEMAP),
    ],
)
def test_bodies_that_are_read_whatever_their_type(make_wire: MakeWire, head: bytes, purpose: Purpose) -> None:
    """No type at all, error pages, and what is not a page."""
    with Scripted(head + b"Content-Length: 2\r\n\r\nhi") as server:
        outcome = fetch(make_wire(), task(server.url(), purpose))
        assert isinstance(outcome, Fetched)
        assert outcome.body == b"hi"


@pytest.mark.parametrize(("size", "is_truncated"), [(1000, False), (1001, True)])
def test_the_limit_of_a_body_is_exact(make_wire: MakeWire, size: int, is_truncated: bool) -> None:
    """The last allowed byte truncates nothing, the next one does; a long Content-Length is not a reason to give up."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size
    with Scripted(answer) as server:
        outcome = fetch(make_wire(max_page_bytes=1000), task(server.url()))
        assert isinstance(outcome, Fetched)
        assert (len(outcome.body), outcome.is_truncated) == (1000, is_truncated)


def test_all_bodies_together_are_bounded(make_wire: MakeWire) -> None:
    """Only a request that needs more than the shared budget fails; then all is free again."""
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 90_000
    with Scripted(start, closes=False) as holder, Scripted(start + b"x" * 10_000) as other:
        wire = make_wire(max_buffered_bytes=100_000)
        wire.start(task(holder.url()))
        until = time.monotonic() + 300
        while wire.buffered_bytes < 90_000 and time.monotonic() < until:
            assert wire.finished(0.01) == []
        assert wire.free_slots == 0  # most of it is in use
        outcome = fetch(wire, task(other.url()))
        assert isinstance(outcome, Failed)
        assert outcome.reason == "over-budget"
        wire.cancel_all()
        assert [getattr(one, "reason", "") for one in wire.finished(0)] == ["cancelled"]
        assert wire.buffered_bytes == 0
        assert wire.free_slots > 0


def test_large_answers_hold_up_no_small_one(make_wire: MakeWire, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has arrived together is returned at once if it is small, and one by one if it is large."""
    for module in ("wire", "transfer"):
        monkeypatch.setattr(f"periplus.engine.fetch.{module}.LARGE", 1000)
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size for size in (1000, 999)]
    with Scripted(answers[0]) as large, Scripted(answers[1]) as small:
        wire = make_wire()
        for number in range(3):
            wire.start(task(large.url(f"/{number}")))
            wire.start(task(small.url(f"/{number}")))
        found: list[list[int]] = []
        until = time.monotonic() + 300
        while wire.under_way and time.monotonic() < until:
            time.sleep(0.1)  # everything arrives meanwhile
            found.append([len(one.body) for one in wire.finished(0.1) if isinstance(one, Fetched)])
        assert sorted(size for sizes in found for size in sizes) == [999] * 3 + [1000] * 3
        assert all(sizes.count(1000) <= 1 for sizes in found)
        assert wire.finished(0) == []
        assert wire.buffered_bytes == 0


def test_large_bodies_leave_half_of_the_memory_to_others() -> None:
    """One alone may take all; of several the one that needs more than half fails, and what it held is free again."""
    buffers = Buffers(8 * LARGE)
    assert buffers.take(0, 3 * LARGE)
    assert buffers.take(0, LARGE - 1)  # not a large one
    assert buffers.take(LARGE - 1, LARGE)
    assert not buffers.take(LARGE, LARGE + 1)
    assert buffers.take(0, LARGE - 1)
    buffers.free(LARGE)
    assert buffers.take(3 * LARGE, 7 * LARGE)
    assert not buffers.take(LARGE - 1, 2 * LARGE)
    for size in (7 * LARGE, LARGE - 1):
        buffers.free(size)
    assert (buffers.held, buffers.large) == (0, 0)


# Where to.


def test_dns_lookup_sends_no_request(make_wire: MakeWire) -> None:
    """A task without an address is only looked up."""
    with Scripted(OK) as server:
        wire = make_wire({"a.test": HOME})
        outcome = fetch(wire, task(server.url(), ip=None))
        assert isinstance(outcome, Located)
        assert outcome.ip == HOME
        assert outcome.expires_at > time.time() + 3000
        assert server.connections == 0


def test_lookups_that_fail(make_wire: MakeWire) -> None:
    """A reason each; the other tasks of the host share the answer."""

    def look_up(host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    clock = SystemClock()
    resolver = Resolver(clock=clock, look_up=look_up)
    wire = CurlWire(identity=CrawlerIdentity(), clock=clock, resolver=resolver, guard=AddressGuard())
    found = outcomes(wire, *[task(f"http://nowhere.test/{number}", ip=None) for number in range(3)])
    wire.close()
    assert [getattr(one, "reason", "") for one in found] == ["dns-not-found"] * 3


def test_the_address_of_the_task_is_the_one_that_is_visited(make_wire: MakeWire) -> None:
    """Not what a name server says now; and a connection to another address of the host is not used for it."""
    with Scripted(OK, closes=False) as server:
        listener = socket.create_server(("127.0.0.2", server.port))
        with listener:
            wire = make_wire({"a.test": "127.0.0.9"})
            assert isinstance(fetch(wire, task(server.url())), Fetched)
            wire.start(task(server.url(), ip="127.0.0.2"))
            assert wire.finished(0.2) == []
            listener.settimeout(300)
            with listener.accept()[0] as sock:
                sock.sendall(OK)
                [outcome] = wire.finished(300)
            assert isinstance(outcome, Fetched)
            assert outcome.ip == "127.0.0.2"


def test_private_addresses_are_refused_at_every_door(make_wire: MakeWire) -> None:
    """When a task is looked up, started, and when its connection is opened: for this site, not for another."""
    with Scripted(OK) as server:
        other = f"http://b.test:{server.port}/"
        guard = guard_of([task(other).url], hosts={"b.test": HOME})
        wire = make_wire({"a.test": HOME, "b.test": HOME}, guard=guard)
        for one in (
            task(server.url(), ip=None),
            task(server.url()),
            task(f"http://2130706433:{server.port}/", ip=None),
            msgspec.structs.replace(task(server.url()), site=site_of(task(other).url)),
        ):
            assert fetch(wire, one) == Excluded(one, "private-address", HOME)
        assert server.connections == 0
        assert isinstance(fetch(wire, task(other, ip=None)), Located)
        assert isinstance(fetch(wire, task(other)), Fetched)
        assert server.connections == 1
        settings = WireSettings()
        guarded = Transfer(
            settings, Requests(CrawlerIdentity()), guard, WantedTypes(settings.accept_types), Buffers(1 << 20)
        )
        guarded.begin(task(server.url()), 0.0)
        with pytest.raises(pycurl.error) as error:
            guarded.handle.perform()
        code, message = error.value.args
        assert isinstance(guarded.end(code, message, 0.0), Excluded)
        guarded.begin(task(other), 0.0)
        guarded.handle.perform()
        assert isinstance(guarded.end(0, "", 0.0), Fetched)
        guarded.handle.close()
        assert server.connections == 2


def test_dns_rebinding_is_refused() -> None:
    """A name that was public when it was first looked up, and leads to this machine when it is looked up again."""
    answers = [["93.184.215.14"], [HOME]]
    clock = SteppedClock(1000.0)
    resolver = Resolver(ResolverSettings(lifetime=60.0), clock=clock, look_up=lambda _host: answers.pop(0))
    with Scripted(OK) as server:
        one = task(server.url(), ip=None)
        wire = CurlWire(identity=CrawlerIdentity(), clock=clock, resolver=resolver, guard=guard_of([one.url]))
        assert fetch(wire, one) == Located(one, "93.184.215.14", 1060.0)
        clock.advance(61.0)
        assert fetch(wire, one) == Excluded(one, "private-address", HOME)
        wire.close()
        assert server.connections == 0


@contextlib.contextmanager
def naming(port: int, *addresses: list[str]) -> Iterator[tuple[CurlWire, FetchTask]]:
    """A wire on which a name has these addresses, one list for each lookup, and the task to look it up."""
    clock, left = SystemClock(), list(addresses)
    resolver = Resolver(clock=clock, look_up=lambda _host: left.pop(0))
    guard = AddressGuard(allow_private=[f"*.test:{port}"])
    wire = CurlWire(identity=CrawlerIdentity(), clock=clock, resolver=resolver, guard=guard)
    try:
        yield wire, task(f"http://a.test:{port}/", ip=None)
    finally:
        wire.close()
    assert not left


def at(located: FetchOutcome) -> FetchTask:
    """The task at the address that was found for it."""
    assert isinstance(located, Located)
    return msgspec.structs.replace(located.task, ip=located.ip)


def test_another_address_is_named_after_a_failed_connection() -> None:
    """Each address of an answer once; after the last one the host is looked up again."""
    with Scripted(OK) as server, naming(server.port, ["127.0.0.2", "127.0.0.3"], [HOME]) as (wire, lookup):
        first = at(fetch(wire, lookup))
        second = at(fetch(wire, first))
        assert (first.ip, second.ip) == ("127.0.0.2", "127.0.0.3")
        last = fetch(wire, second)
        assert isinstance(last, Failed)
        assert last.reason == "connect-refused"
        assert isinstance(fetch(wire, at(fetch(wire, lookup))), Fetched)


def test_address_that_failed_for_one_host_is_not_tried_for_the_next() -> None:
    """Its task is answered with the other address, without a connection."""
    with Scripted(OK) as server, naming(server.port, *[["127.0.0.2", HOME]] * 2) as (wire, lookup):
        other = task(f"http://b.test:{server.port}/", ip=None)
        first, second = at(fetch(wire, lookup)), at(fetch(wire, other))
        assert first.ip == second.ip == "127.0.0.2"
        at(fetch(wire, first))
        with socket.create_server(("127.0.0.2", server.port)) as listener:
            assert at(fetch(wire, second)).ip == HOME
            listener.settimeout(0.05)
            with pytest.raises(TimeoutError):
                listener.accept()


def test_private_address_of_a_name_is_never_opened() -> None:
    """Another one of the name is used, and after that has failed no other; private ones alone exclude the URL."""
    private = "169.254.1.1"
    with Scripted(OK) as server, naming(server.port, [private, HOME]) as (wire, lookup):
        assert isinstance(fetch(wire, at(fetch(wire, lookup))), Fetched)
    with socket.create_server((HOME, 0)) as listener:
        port = listener.getsockname()[1]
    with naming(port, [private, HOME], [private]) as (wire, lookup):
        allowed = at(fetch(wire, lookup))
        assert allowed.ip == HOME
        assert isinstance(fetch(wire, allowed), Failed)
        assert fetch(wire, lookup) == Excluded(lookup, "private-address", private)


@pytest.mark.proof
@each_case("needs", [0.03, 0.3])
def test_time_that_we_are_busy_is_not_the_time_of_the_server(make_wire: MakeWire, needs: float) -> None:
    """Other work of 0.3 s at a time: the answers are as long under way as the server needs, and end when they come."""
    busy, wire = 0.3, make_wire()
    took: list[float] = []
    ended: list[float] = []

    def converse(sock: socket.socket) -> None:
        while sock.recv(65536):
            begun = time.monotonic()
            time.sleep(needs)
            took.append(time.monotonic() - begun)
            ended.append(time.time())
            sock.sendall(OK)

    with RawServer(converse) as server:
        found: list[FetchOutcome] = []
        while len(found) < 8:
            if not wire.under_way:
                wire.start(task(f"http://a.test:{server.port}/"))
            found += wire.finished(0.0)
            time.sleep(busy)
    answers = [each for each in found if isinstance(each, Fetched)]
    assert len(answers) == len(found)
    late = [each.started_at + each.duration - at for each, at in zip(answers, ended, strict=False)]
    assert abs(median(late)) < busy / 4
    assert abs(median(each.duration for each in answers) - median(took)) < busy / 4


def test_connection_refused(make_wire: MakeWire) -> None:
    """Refused at once."""
    with socket.create_server((HOME, 0)) as listener:
        port = listener.getsockname()[1]
    outcome = fetch(make_wire(), task(f"http://a.test:{port}/"))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == ("connect-refused", None)


def test_no_response_times_out(make_wire: MakeWire) -> None:
    """A full backlog drops connections as a firewall does."""
    with socket.socket() as listener:
        listener.bind((HOME, 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex((HOME, port))
        outcome = fetch(make_wire(connect_timeout=0.3), task(f"http://a.test:{port}/"))
        for filler in fillers:
            filler.close()
    assert isinstance(outcome, Failed)
    assert outcome.reason == "connect-timeout"


def test_a_url_that_libcurl_does_not_take(make_wire: MakeWire) -> None:
    """The URL standard allows more in a host name than it does."""
    outcome = fetch(make_wire(), task("http://a!b.test/"))
    assert isinstance(outcome, Failed)
    assert outcome.reason == "bad-url"


def test_a_port_of_another_protocol(make_wire: MakeWire) -> None:
    """A link to a mail server is not followed."""
    outcome = fetch(make_wire({"a.test": "11.0.0.1"}), task("http://a.test:25/", ip=None))
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.detail) == ("bad-url", "the port belongs to another protocol")


def test_through_a_proxy(make_wire: MakeWire, lab: RunningLab) -> None:
    """The lab is one. Names are then the proxy's to look up, and private addresses in URLs stay refused."""
    wire = make_wire(proxy=lab.base, guard=AddressGuard())
    host = lab.world.hosts[0]
    located = fetch(wire, task(f"http://{host}/", ip=None))
    assert isinstance(located, Located)
    assert located.ip == host
    outcome = fetch(wire, task(f"http://{host}/", ip=located.ip))
    assert isinstance(outcome, Fetched)
    assert (outcome.status, outcome.ip) == (200, None)
    assert isinstance(fetch(wire, task("http://127.0.0.1/", ip=None)), Excluded)
    with socket.create_server((HOME, 0)) as listener:
        port = listener.getsockname()[1]
    broken = fetch(make_wire(proxy=f"http://{HOME}:{port}"), task(f"http://{host}/", ip=host))
    assert isinstance(broken, Failed)


# Many, and for how long.


def test_connections_are_kept_and_shared(make_wire: MakeWire, lab: RunningLab) -> None:
    """Ten pages of a host one after the other are one connection, by the server's own account."""
    lab.log.clear()
    wire = make_wire()
    host = lab.world.hosts[1]
    for number in range(10):
        assert isinstance(fetch(wire, task(lab.url(host, f"/{number}"), ip=lab.resolver[host])), Fetched)
    visits = lab.log.visits(host)
    assert len(visits) == 10
    assert len({visit.connection for visit in visits}) == 1


def test_five_hundred_hosts_at_once(make_wire: MakeWire, lab: RunningLab) -> None:
    """Each has its own address and connection, each has its own answer, twice.

    The second request of a host follows its first answer: a connection that was idle for 4 s is not used again.
    """
    wire = make_wire(max_transfers=500, max_idle_connections=500)
    tasks = [
        task(
            f"http://127.9.{number // 250}.{number % 250 + 1}:{lab.port}/",
            ip=f"127.9.{number // 250}.{number % 250 + 1}",
        )
        for number in range(500)
    ]
    lab.log.clear()
    assert wire.free_slots == 500
    for one in tasks:
        wire.start(one)
    assert wire.free_slots == 0
    found: list[FetchOutcome] = []
    seen: Counter[str] = Counter()
    until = time.monotonic() + 600
    while len(found) < 1000 and time.monotonic() < until:
        for outcome in wire.finished(1.0):
            found.append(outcome)
            seen[outcome.task.url] += 1
            if seen[outcome.task.url] == 1:
                wire.start(outcome.task)
    assert seen == Counter({one.url: 2 for one in tasks})
    assert all(isinstance(one, Fetched) and one.ip == host_of(one.task.url) for one in found)
    assert len({visit.connection for visit in lab.log.visits()}) == 500


def test_slow_host_delays_no_other(make_wire: MakeWire, lab: RunningLab) -> None:
    """While one server is silent, a hundred pages of another come and go."""
    with Scripted(OK, delay=30.0) as silent:
        wire = make_wire()
        wire.start(task(silent.url()))
        host = lab.world.hosts[2]
        for number in range(100):
            wire.start(task(lab.url(host, f"/{number}"), ip=lab.resolver[host]))
            [outcome] = wire.finished(300)
            assert outcome.task.site == site_of(outcome.task.url) != f"a.test:{silent.port}"
        assert wire.under_way == 1


def test_a_wait_ends_when_its_time_is_over(make_wire: MakeWire) -> None:
    """Also with nothing under way: the engine sleeps here."""
    wire = make_wire()
    started = time.monotonic()
    assert wire.finished(0.05) == []
    assert wire.finished(0) == []
    assert time.monotonic() - started >= 0.05


def test_a_wait_ends_when_it_is_woken(make_wire: MakeWire) -> None:
    """From another thread, from a signal handler, or beforehand; once each."""
    wire = make_wire()
    threading.Timer(0.05, wire.wake).start()
    started = time.monotonic()
    assert wire.finished(300) == []
    before = signal.signal(signal.SIGALRM, lambda *_: wire.wake())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert wire.finished(300) == []
    signal.signal(signal.SIGALRM, before)
    for _ in range(100_000):
        wire.wake()
    assert wire.finished(300) == []
    assert time.monotonic() - started < 300
    assert wire.finished(0.01) == []


def test_everything_started_ends_once_when_the_wire_is_closed(make_wire: MakeWire) -> None:
    """Transfers, lookups and what had ended already: one outcome each, none lost, none twice."""
    release = threading.Event()

    def hang(host: str) -> list[str]:
        release.wait(10)
        return [HOME]

    clock = SystemClock()
    with Scripted(OK, delay=30.0) as silent, Scripted(OK) as quick:
        resolver = Resolver(clock=clock, look_up=hang)
        wire = CurlWire(identity=CrawlerIdentity(), clock=clock, resolver=resolver, guard=LoopbackGuard())
        tasks = [
            task(silent.url("/1")),
            task("http://hangs.test/", ip=None),
            task("http://10.0.0.1/", ip="10.0.0.1"),
            task(quick.url("/2")),
        ]
        for one in tasks:
            wire.start(one)
        found = wire.finished(0) + wire.finished(5)
        wire.close()
        wire.close()
        found += wire.finished(5)
        release.set()
        assert sorted(one.task.url for one in found) == sorted(one.url for one in tasks)
        assert [getattr(one, "reason", "") for one in found].count("cancelled") >= 2
        assert wire.finished(0) == []
        assert wire.free_slots == 0
        wire.wake()
        with pytest.raises(InvariantError):
            wire.start(tasks[0])


def test_after_a_cancellation_the_wire_goes_on(make_wire: MakeWire) -> None:
    """Handles that were stopped in the middle serve the next tasks as if new."""
    with Scripted(OK, delay=30.0) as silent, Scripted(OK) as quick:
        wire = make_wire()
        for number in range(3):
            wire.start(task(silent.url(f"/{number}")))
        wire.finished(0.05)
        wire.cancel_all()
        assert [getattr(one, "reason", "") for one in wire.finished(0)] == ["cancelled"] * 3
        for _ in range(3):
            outcome = fetch(wire, task(quick.url()))
            assert isinstance(outcome, Fetched)
            assert outcome.body == b"hello"


def test_more_than_there_is_room_for_is_our_mistake(make_wire: MakeWire) -> None:
    """`free_slots` says how many."""
    with Scripted(OK, delay=30.0) as silent:
        wire = make_wire(max_transfers=1)
        wire.start(task(silent.url()))
        assert wire.free_slots == 0
        with pytest.raises(InvariantError):
            wire.start(task(silent.url()))


def test_a_file_of_authorities_must_exist(make_wire: MakeWire, tmp_path: Path) -> None:
    """Found before the first page fails, as is a file of something else."""
    (tmp_path / "something.pem").write_text("something")
    for name in ("nothing.pem", "something.pem"):
        with pytest.raises(ConfigError) as error:
            make_wire(ca_file=str(tmp_path / name))
        assert name in str(error.value)
        assert error.value.hint


def test_a_wait_without_epoll_lasts_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """In seconds, as with it: a shorter one would keep the processor busy."""
    monkeypatch.delattr(select, "epoll")
    poller = Poller(pycurl.CurlMulti(), lambda: None)
    before = time.monotonic()
    assert not poller.turn(before + 0.05)
    assert time.monotonic() - before >= 0.05


def test_systems_without_epoll(make_wire: MakeWire, lab: RunningLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """`poll` does the same work: new connections, kept ones, waits and time limits."""
    monkeypatch.delattr(select, "epoll")
    wire = make_wire()
    host = lab.world.hosts[1]
    for _ in range(3):
        assert isinstance(fetch(wire, task(lab.url(host), ip=lab.resolver[host])), Fetched)
    with Scripted(OK, delay=30.0) as silent:
        outcome = fetch(make_wire(timeout=0.3), task(silent.url()))
        assert isinstance(outcome, Failed)
        assert outcome.reason == "timeout"
    assert wire.finished(0.01) == []
