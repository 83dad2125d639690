"""The proxy of the browser: where requests want to go, what is forwarded, and what is refused."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.each_case import each_case
from tests.typed_seeds import guard_of

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import Resolver, ResolverSettings
from periplus.model import Url
from periplus.parts.render.gate import Gate, GatePassage, Names, Target, is_supported_proxy, read_target

HOST = "open.example"


@each_case(
    ("head", "target"),
    [
        (b"GET http://a.test/x?y#z HTTP/1.1", Target(Url("http://a.test/x?y"), "a.test", 80, b"GET /x?y HTTP/1.1")),
        (b"POST http://a.test:81 HTTP/1.1", Target(Url("http://a.test:81/"), "a.test", 81, b"POST / HTTP/1.1")),
        (b"GET http://[::1]:8/ HTTP/1.1", Target(Url("http://[::1]:8/"), "::1", 8, b"GET / HTTP/1.1")),
        (b"GET http://0x7f.1/ HTTP/1.1", Target(Url("http://127.0.0.1/"), "127.0.0.1", 80, b"GET / HTTP/1.1")),
        (b"CONNECT a.test:443 HTTP/1.1", Target(Url("https://a.test/"), "a.test", 443)),
        (b"CONNECT a.test:8443 HTTP/1.1", Target(Url("https://a.test:8443/"), "a.test", 8443)),
        (b"GET /x HTTP/1.1", None),
        (b"GET https://a.test/ HTTP/1.1", None),
        (b"GET ftp://a.test/ HTTP/1.1", None),
        (b"CONNECT a.test:99999 HTTP/1.1", None),
        (b"nonsense", None),
        (b"", None),
    ],
)
def test_targets_are_read(head: bytes, target: Target | None) -> None:
    """Addresses in any spelling become the address; what is not a request to a proxy is not read."""
    assert read_target(head + b"\r\nHost: other.test\r\n\r\n") == target


@each_case(
    ("proxy", "is_supported"),
    [("", True), ("http://127.0.0.1:3128", True), ("proxy.test:3128", True), ("socks5h://127.0.0.1:1080", False)],
)
def test_only_proxies_for_http_are_supported(proxy: str, is_supported: bool) -> None:
    """Others would need another protocol."""
    assert is_supported_proxy(proxy) is is_supported


@contextmanager
def server(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback that gives every connection one answer; what it was asked."""
    asked: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(answer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1]), asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def sent(port: int, *requests: bytes, max_bytes: int = 10_000) -> tuple[list[bytes], GatePassage]:
    """The answers of a gate to requests, each on a connection of its own; `HOST` leads to this machine."""

    async def run() -> tuple[list[bytes], GatePassage]:
        clock = SystemClock()
        table = {HOST: "127.0.0.1"}
        resolver = Resolver(ResolverSettings(hosts=table), clock=clock, look_up=lambda _host: ["127.0.0.1"])
        names = Names(resolver, asyncio.get_running_loop())
        guard = guard_of([Url(f"http://{HOST}:{port}/")], hosts=table)
        passage = await Gate(names, guard).open(max_bytes)
        answers = []
        for request in requests:
            reader, writer = await asyncio.open_connection("127.0.0.1", passage.port)
            writer.write(request)
            answers.append(await asyncio.wait_for(reader.read(), 20))
            writer.close()
        await passage.close()
        names.close()
        return answers, passage

    return asyncio.run(run())


def get(place: str, rest: bytes = b"") -> bytes:
    return f"GET http://{place}/page HTTP/1.1\r\nHost: {place}\r\nProxy-Connection: keep-alive\r\n\r\n".encode() + rest


OK = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"


def test_one_request_is_forwarded_and_the_connection_ends() -> None:
    """A second request on the same connection, to whatever host, reaches nothing."""
    with server(OK) as (port, asked):
        smuggled = get("169.254.169.254")
        (answer,), passage = sent(port, get(f"{HOST}:{port}", smuggled))
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    assert len(asked) == 1
    assert asked[0].startswith(b"GET /page HTTP/1.1\r\n")
    assert b"169.254" not in asked[0]
    assert b"Proxy-Connection" not in asked[0]
    assert passage.received > 0


def test_private_places_are_refused() -> None:
    """By address, by name, by a name whose DNS leads here, and on another port than the one that was opened."""
    with server(OK) as (port, asked):
        places = [f"127.0.0.1:{port}", f"localhost:{port}", f"rebound.example:{port}", f"{HOST}:1", "169.254.169.254"]
        answers, passage = sent(port, *map(get, places), f"CONNECT rebound.example:{port} HTTP/1.1\r\n\r\n".encode())
    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 403"] * 6
    assert asked == []
    assert {reason for _, reason in passage.refused} == {"private-address"}


def test_a_tunnel_is_for_tls() -> None:
    """What does not begin with a handshake is not forwarded: a WebSocket without TLS, for example."""
    connect = f"CONNECT {HOST}:{{}} HTTP/1.1\r\n\r\n"
    with server(b"\x16answer") as (port, asked):
        head = connect.format(port).encode()
        (refused, passed), _ = sent(port, head + b"GET / HTTP/1.1\r\n\r\n", head + b"\x16\x03hello")
    established = b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert refused == established
    assert passed == established + b"\x16answer"
    assert b"".join(asked) == b"\x16\x03hello"


def test_a_page_cannot_receive_more_than_its_budget() -> None:
    """The connection ends there, and the next is refused."""
    body = b"x" * 300_000
    with server(b"HTTP/1.1 200 OK\r\n\r\n" + body) as (port, asked):
        (first, second), passage = sent(port, get(f"{HOST}:{port}"), get(f"{HOST}:{port}"), max_bytes=100_000)
    assert len(first) < 200_000
    assert second.startswith(b"HTTP/1.1 429")
    assert len(asked) == 1
    assert passage.is_exhausted
