"""The server over real sockets: order, keep-alive, bounds, the proxy, the clock and the log."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest

from periplus.model import UsageError
from periplus_lab.http import Answer, Request
from periplus_lab.log import RequestLog
from periplus_lab.server import ConnectionLimits, RunningClock, RunningLab, Server, SteppedClock
from periplus_lab.world import World

pytest_plugins = ["periplus_lab.pytest_plugin"]
StartLab = Callable[[Server], RunningLab]


class Echo(World):
    """A world that tells what it was asked, so that the server is seen alone."""

    def answer(self, request: Request) -> Answer:
        text = f"{request.method} {request.host}{request.target} at {request.at}".encode()
        match request.target.partition("?")[0]:
            case "/stream":
                return Answer(200, (), (text for _ in range(3)))
            case "/large":
                return Answer(200, (), bytes(2_000_000))
            case "/bug":
                raise RuntimeError("a bug")
            case "/late-bug":
                return Answer(200, (), (text if number else 1 // number for number in (1, 1, 0)))  # type: ignore[misc]
            case _:
                return Answer(200, (("content-type", "text/plain"),), text)


@pytest.fixture(scope="session")
def lab_world() -> World:
    return Echo(sites=2)


def open_socket(lab: RunningLab) -> socket.socket:
    return socket.create_connection(("127.0.0.1", lab.port), timeout=60)


def read_to_end(sock: socket.socket) -> bytes:
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def ask(lab: RunningLab, head: str) -> bytes:
    with open_socket(lab) as sock:
        sock.sendall(head.replace("\n", "\r\n").encode())
        return read_to_end(sock)


def test_pipelined_requests_are_answered_in_order(lab: RunningLab) -> None:
    """Also when a streamed answer stands between two quick ones, and heads arrive in pieces."""
    heads = "".join(f"GET /{path} HTTP/1.1\r\nHost: a.lab.test\r\n\r\n" for path in ("one", "stream", "two"))
    last = "GET /three HTTP/1.1\r\nHost: a.lab.test\r\nConnection: close\r\n\r\n"
    with open_socket(lab) as sock:
        sock.sendall((heads + last[:20]).encode())
        time.sleep(0.05)
        sock.sendall(last[20:].encode())
        wire = read_to_end(sock)
    places = [wire.index(b"a.lab.test/" + path) for path in (b"one", b"stream", b"two", b"three")]
    assert places == sorted(places)
    assert wire.count(b"HTTP/1.1 200 OK") == 4


def test_one_connection_serves_many_requests(lab: RunningLab) -> None:
    """Keep-alive: the log shows one connection."""
    client = HTTPConnection("127.0.0.1", lab.port)
    for number in range(5):
        client.request("GET", f"/{number}", headers={"Host": "a.lab.test"})
        assert client.getresponse().read().startswith(f"GET a.lab.test/{number}".encode())
    client.close()
    assert [visit.target for visit in lab.log.visits()] == [f"/{number}" for number in range(5)]
    assert len({visit.connection for visit in lab.log.visits()}) == 1


def test_head_asks_the_world_for_a_page(lab: RunningLab) -> None:
    """HEAD tells the length that GET would have, and the log knows the difference."""
    client = HTTPConnection("127.0.0.1", lab.port)
    client.request("HEAD", "/x", headers={"Host": "a.lab.test"})
    response = client.getresponse()
    assert int(response.headers["Content-Length"]) > 0
    assert response.read() == b""
    client.close()
    assert lab.log.visits()[0].method == "HEAD"


@pytest.mark.parametrize("line", ["DELETE / HTTP/1.1", "OPTIONS * HTTP/1.1"])
def test_other_methods_are_not_allowed(lab: RunningLab, line: str) -> None:
    """The world is read, not written."""
    wire = ask(lab, f"{line}\nHost: a.lab.test\nConnection: close\n\n")
    assert wire.startswith(b"HTTP/1.1 405")
    assert b"Allow: GET, HEAD" in wire


def test_a_client_that_closes_its_side_is_still_answered(lab: RunningLab) -> None:
    """A half-closed connection gets the rest of a stream."""
    with open_socket(lab) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: slow-first-byte.hostile.lab.test\r\n\r\n")
        time.sleep(0.05)
        sock.shutdown(socket.SHUT_WR)
        assert b"ready all along" in read_to_end(sock)


def test_a_posted_body_is_dropped_and_the_next_request_read(lab: RunningLab) -> None:
    """The bytes of a body are not taken for a request."""
    body = "GET /evil HTTP/1.1\n\n"
    wire = ask(
        lab,
        f"POST /form HTTP/1.1\nHost: a.lab.test\nExpect: 100-continue\nContent-Length: {len(body) + 2}\n\n{body}"
        "GET /next HTTP/1.1\nHost: a.lab.test\nConnection: close\n\n",
    )
    assert wire.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert b"HTTP/1.1 405" in wire
    assert b"/evil" not in wire
    assert b"GET a.lab.test/next" in wire


def test_any_host_through_the_proxy(lab: RunningLab) -> None:
    """An absolute URL reaches its host; an unknown one is a failed lookup."""
    wire = ask(lab, "GET http://a.lab.test/x HTTP/1.1\nHost: whatever\nConnection: close\n\n")
    assert b"GET a.lab.test/x" in wire
    assert ask(lab, "GET http://example.test/ HTTP/1.1\nHost: x\nConnection: close\n\n").startswith(b"HTTP/1.1 502")
    assert ask(lab, "GET / HTTP/1.1\nHost: example.test\nConnection: close\n\n").startswith(b"HTTP/1.1 421")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux answers on all of 127.0.0.0/8")
def test_every_site_is_at_its_own_address(lab: RunningLab) -> None:
    """The log and a client that resolves by the lab's mapping agree on which machine a site stands."""
    host = lab.world.hosts[0]
    address = lab.resolver[host]
    assert address.startswith("127.")
    with socket.create_connection((address, lab.port), timeout=60) as sock:
        sock.sendall(f"GET /x HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        assert host.encode() in read_to_end(sock)


def test_a_head_that_never_ends_is_refused(lab: RunningLab) -> None:
    """The input is bounded."""
    with open_socket(lab) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000)
        assert sock.recv(100).startswith(b"HTTP/1.1 431")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_of_ours_is_a_500_and_not_the_end(lab: RunningLab, caplog: pytest.LogCaptureFixture) -> None:
    """The lab outlives an exception in the world, and tells it."""
    assert ask(lab, "GET /bug HTTP/1.1\nHost: a.lab.test\nConnection: close\n\n").startswith(b"HTTP/1.1 500")
    assert ask(lab, "GET /ok HTTP/1.1\nHost: a.lab.test\nConnection: close\n\n").startswith(b"HTTP/1.1 200")
    assert "the lab could not answer" in caplog.text


def test_a_bug_in_a_stream_is_a_reset(lab: RunningLab, caplog: pytest.LogCaptureFixture) -> None:
    """The client sees that the answer is broken, and does not wait for the rest."""
    with pytest.raises(ConnectionResetError):
        ask(lab, "GET /late-bug HTTP/1.1\nHost: a.lab.test\nConnection: close\n\n")
    assert "a script of the lab failed" in caplog.text
    assert [visit.is_complete for visit in lab.log.wait_for(1)] == [False]


def test_who_does_not_read_is_not_written_to(lab: RunningLab) -> None:
    """A client that asks for 200 MB and reads nothing costs a buffer, not 200 MB, and slows no other client."""
    with open_socket(lab) as sock:
        sock.sendall(b"GET /large HTTP/1.1\r\nHost: a.lab.test\r\n\r\n" * 100)
        time.sleep(0.2)
        assert b"200 OK" in ask(lab, "GET /other HTTP/1.1\nHost: b.lab.test\nConnection: close\n\n")
        assert len(lab.log.visits("a.lab.test")) < 10


def test_a_hundred_clients_at_once(lab: RunningLab) -> None:
    """Connections that are all open at the same time are all answered."""
    socks = [open_socket(lab) for _ in range(120)]
    for sock in socks:
        sock.sendall(b"GET /x HTTP/1.1\r\nHost: a.lab.test\r\nConnection: close\r\n\r\n")
    assert all(b"200 OK" in read_to_end(sock) for sock in socks)
    for sock in socks:
        sock.close()
    assert len({visit.connection for visit in lab.log.visits()}) == 120


def test_connections_are_bounded(lab_world: World, start_lab: StartLab) -> None:
    """One too many is closed before a word."""
    lab = start_lab(Server(lab_world, limits=ConnectionLimits(most_connections=3)))
    kept = [open_socket(lab) for _ in range(3)]
    time.sleep(0.1)
    with open_socket(lab) as extra:
        assert extra.recv(10) == b""
    for sock in kept:
        sock.close()


def test_silence_is_bounded(lab_world: World, start_lab: StartLab) -> None:
    """A client that says nothing is hung up on."""
    lab = start_lab(Server(lab_world, limits=ConnectionLimits(longest_idle=0.1)))
    with open_socket(lab) as sock, contextlib.suppress(ConnectionResetError):
        assert sock.recv(10) == b""


def test_a_stepped_clock_rules_everything_said(lab: RunningLab) -> None:
    """Date, the world's time and the log's virtual time move together, when the test says so."""
    assert isinstance(lab.clock, SteppedClock)
    lab.clock.advance(86_400)
    wire = ask(lab, "GET /x HTTP/1.1\nHost: a.lab.test\nConnection: close\n\n")
    assert b"Date: Tue, 06 Jan 2026 00:00:00 GMT" in wire
    assert f"at {lab.world.epoch + 86_400}".encode() in wire
    visit = lab.log.visits()[0]
    assert visit.started_at == visit.ended_at == lab.world.epoch + 86_400
    assert visit.real_started_at <= visit.real_ended_at <= time.time()


def test_clocks_do_not_run_backwards() -> None:
    """A clock moves forward, or says that it was asked for nonsense."""
    clock = SteppedClock(100.0)
    clock.move_to(150.0)
    with pytest.raises(UsageError):
        clock.move_to(149.0)
    with pytest.raises(UsageError):
        clock.advance(-1)
    assert clock.now() == 150.0
    with pytest.raises(UsageError):
        RunningClock(0.0, speed=-1)


def test_a_running_clock_runs_at_its_speed() -> None:
    """A day a second."""
    clock = RunningClock(1000.0, speed=86_400)
    before = time.monotonic()
    first = clock.now()
    time.sleep(0.02)
    passed = clock.now() - first
    assert 0.02 * 86_400 <= passed <= (time.monotonic() - before) * 86_400


def test_overlaps_and_gaps_are_seen_from_the_server(lab: RunningLab) -> None:
    """An impolite client shows as overlaps, a polite one as gaps."""
    host = "slow-first-byte.hostile.lab.test"
    asking = [open_socket(lab) for _ in range(3)]
    for sock in asking:
        sock.sendall(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
    for sock in asking:
        read_to_end(sock)
        sock.close()
    lab.log.wait_for(3, host)
    assert lab.log.most_at_once(host) == 3
    assert min(lab.log.gaps(host)) < 0
    for _ in range(3):
        ask(lab, "GET /x HTTP/1.0\nHost: a.lab.test\n\n")
        time.sleep(0.03)
    assert lab.log.most_at_once("a.lab.test") == 1
    assert min(lab.log.gaps("a.lab.test")) >= 0.03
    assert lab.log.most_at_once("a.lab.test", host) == 3
    assert len(lab.log.gaps("a.lab.test", host)) == 5


def test_the_lab_ends_with_nothing_left(lab_world: World) -> None:
    """Clients that are still there see the end, and what they were being sent is in the log as cut off."""
    with RunningLab(Server(lab_world)) as lab:
        idle, waiting = open_socket(lab), open_socket(lab)
        waiting.sendall(b"GET / HTTP/1.1\r\nHost: slow-first-byte.hostile.lab.test\r\n\r\n")
        for _ in range(3):  # what was sent before has been read when these are answered
            ask(lab, "GET /x HTTP/1.0\nHost: a.lab.test\n\n")
    for sock in (idle, waiting):
        with contextlib.suppress(ConnectionResetError):
            assert sock.recv(10) == b""
        sock.close()
    cut_off = lab.log.visits("slow-first-byte.hostile.lab.test")
    assert [(visit.sent, visit.is_complete) for visit in cut_off] == [(0, False)]


def test_needless_fetches_are_those_the_truth_calls_so(lab: RunningLab) -> None:
    """The second fetch of a page is needless exactly when the page had not changed between the two."""
    assert isinstance(lab.clock, SteppedClock)
    epoch = lab.world.epoch
    for _ in range(3):
        ask(lab, "GET /x HTTP/1.0\nHost: a.lab.test\nUser-Agent: me\n\n")
        lab.clock.advance(100)
    needless = lab.log.needless(lambda url, t0, t1: t0 < epoch + 150 <= t1)
    assert [(visit.url, visit.started_at) for visit in needless] == [("http://a.lab.test/x", epoch + 100)]


def test_the_log_is_a_ring_and_a_file(lab_world: World, start_lab: StartLab, tmp_path: Path) -> None:
    """Memory holds the latest; the file holds all."""
    path = tmp_path / "visits.jsonl"
    log = RequestLog(capacity=3, path=path)
    lab = start_lab(Server(lab_world, log=log))
    for number in range(5):
        ask(lab, f"GET /{number} HTTP/1.0\nHost: a.lab.test\n\n")
    log.close()
    assert [visit.target for visit in log.visits()] == ["/2", "/3", "/4"]
    assert log.total == 5
    assert len(path.read_text().splitlines()) == 5


def test_a_port_in_use_is_told_at_the_start(lab: RunningLab, lab_world: World) -> None:
    """Who starts a lab on a taken port hears of it, with what to do."""
    with pytest.raises(UsageError, match="cannot listen"), RunningLab(Server(lab_world, port=lab.port)):
        pass


@pytest.mark.slow
def test_it_starts_quickly(lab_world: World) -> None:
    """A fixture must not cost more than the test: not more than a few starts of an interpreter, the best of three."""

    def start_lab() -> None:
        with RunningLab(Server(lab_world, tls_port=0)):
            pass

    def start_python() -> None:
        subprocess.run([sys.executable, "-c", "import ssl, asyncio"], check=True)

    def seconds(start: Callable[[], None]) -> float:
        started = time.perf_counter()
        start()
        return time.perf_counter() - started

    assert min(seconds(start_lab) for _ in range(3)) < 8 * min(seconds(start_python) for _ in range(3))
