"""The wire behind proxies that refuse, lie or stay silent: each has a reason, and it is the proxy that is named."""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
from collections.abc import Iterator

import pytest
from tests.engine.fetch.raw_fetching import fetch_all, impatient_wire, task_for
from tests.engine.fetch.raw_servers import HOME, Certificates, Converse, RawServer, answering, read_head, wait_for_close

from periplus.engine.fetch import CurlWire
from periplus.model import Failed, FetchOutcome

ACCEPTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
PORTAL = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n<p>please sign in\n"


def reset(sock: socket.socket) -> None:
    read_head(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def socks(answer: bytes) -> Converse:
    """A SOCKS proxy that answers the greeting with this."""

    def converse(sock: socket.socket) -> None:
        sock.recv(100)
        sock.sendall(answer)
        wait_for_close(sock)

    return converse


def refusing(status: str) -> Converse:
    return answering([f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nno".encode()])


PROXIES: dict[str, tuple[Converse, str]] = {
    "407": (refusing("407 Proxy Authentication Required"), "answered 407: it requires a user name and password"),
    "403": (refusing("403 Forbidden"), "answered 403 to CONNECT"),
    "502": (refusing("502 Bad Gateway"), "answered 502 to CONNECT"),
    "a redirect": (refusing("302 Found\r\nLocation: http://portal.test/"), "answered 302 to CONNECT"),
    "interim answers": (answering(lambda: itertools.repeat(b"HTTP/1.1 102 Wait\r\n\r\n" * 50)), "answered 102"),
    "a page for CONNECT": (answering([PORTAL], closes=False), "does not use TLS"),
    "garbage after CONNECT": (answering([ACCEPTED + b"not TLS at all\r\n" * 9], closes=False), "does not use TLS"),
    "a close": (answering([]), "closed the connection without a valid answer to CONNECT"),
    "a reset": (reset, "closed the connection without a valid answer to CONNECT"),
    "garbage": (answering([b"\0\1\2\3" * 100]), "closed the connection without a valid answer to CONNECT"),
    "HTML without a head": (answering([b"<html>sign in"]), "closed the connection without a valid answer to CONNECT"),
    "an endless head": (
        answering(lambda: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"a: b\r\n" * 200))),
        "header",
    ),
    "an endless line": (
        answering(lambda: itertools.chain([b"HTTP/1.1 200 OK\r\nx: "], itertools.repeat(b"a" * 9000))),
        "too large",
    ),
}
SOCKS: dict[str, bytes] = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no method of ours": b"\x05\xff",
    "a refusal": b"\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00",
}


@contextlib.contextmanager
def behind(scheme: str, port: int, **settings: object) -> Iterator[CurlWire]:
    wire = impatient_wire(proxy=f"{scheme}://user:secret@{HOME}:{port}", **settings)
    yield wire
    wire.close()


def failed(outcome: FetchOutcome, reason: str, port: int) -> str:
    """The detail of a failure, which names the proxy and keeps its password."""
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason, outcome.detail
    assert f"{HOME}:{port}" in outcome.detail
    assert "secret" not in outcome.detail
    return outcome.detail


@pytest.mark.parametrize("name", PROXIES)
def test_a_tunnel_that_is_not_opened(name: str) -> None:
    """For https://, everything before the certificate is the proxy's doing."""
    converse, said = PROXIES[name]
    with RawServer(converse) as server, behind("http", server.port) as wire:
        [outcome] = fetch_all(wire, [task_for("https://a.test/", ip="a.test")])
        assert said in failed(outcome, "proxy", server.port)
        wire.finished(0)
        assert wire.under_way == wire.buffered_bytes == 0


@pytest.mark.parametrize("name", SOCKS)
def test_socks(name: str) -> None:
    """The same for SOCKS."""
    with RawServer(socks(SOCKS[name])) as server, behind("socks5h", server.port) as wire:
        [outcome] = fetch_all(wire, [task_for("http://a.test/", ip="a.test")])
        failed(outcome, "proxy", server.port)


@pytest.mark.proof
def test_a_proxy_that_hangs() -> None:
    """A timeout, which is tried again: a proxy may wait for a slow server; before and after it accepts."""
    for parts in ([], [ACCEPTED]):
        with (
            RawServer(answering(parts, closes=False)) as server,
            behind("http", server.port, connect_timeout=2.0) as wire,
        ):
            [outcome] = fetch_all(wire, [task_for("https://a.test/", ip="a.test")])
            failed(outcome, "connect-timeout", server.port)


def test_a_tunnel_that_breaks() -> None:
    """The server may have closed it as well: the reason is the server's, and the proxy is named."""
    with RawServer(answering([ACCEPTED])) as server, behind("http", server.port) as wire:
        [outcome] = fetch_all(wire, [task_for("https://a.test/", ip="a.test")])
        assert "closed the connection during the TLS handshake" in failed(outcome, "tls", server.port)


def test_a_proxy_that_is_not_there() -> None:
    """The proxy refuses the connection, not the site."""
    with socket.create_server((HOME, 0)) as listener:
        port = listener.getsockname()[1]
    with behind("http", port) as wire:
        for outcome in fetch_all(wire, [task_for(f"{scheme}://a.test/", ip="a.test") for scheme in ("http", "https")]):
            assert "refuses connections" in failed(outcome, "proxy", port)


def test_plain_http_through_a_proxy() -> None:
    """407 is always a proxy's; other failures keep their reason, and the detail says which way the request went."""
    with RawServer(refusing("407 X")) as server, behind("http", server.port) as wire:
        [outcome] = fetch_all(wire, [task_for("http://a.test/", ip="a.test")])
        assert "user name" in failed(outcome, "proxy", server.port)
    for parts, reason in (([], "closed-early"), ([b"<html>sign in"], "bad-response")):
        with RawServer(answering(parts)) as server, behind("http", server.port) as wire:
            [outcome] = fetch_all(wire, [task_for("http://a.test/", ip="a.test")])
            failed(outcome, reason, server.port)


def test_a_proxy_with_a_certificate_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One that opens TLS shows a certificate that is not trusted: that is what is said, and through which proxy."""
    pytest.importorskip("cryptography", reason="certificates need the extra `lab`")
    trusted, own = (Certificates(tmp_path_factory.mktemp(name)) for name in ("trusted", "own"))
    context = own.context("a.test", signs_itself=True)

    def converse(sock: socket.socket) -> None:
        read_head(sock)
        sock.sendall(ACCEPTED)
        with context.wrap_socket(sock, server_side=True) as opened:
            wait_for_close(opened)

    with RawServer(converse) as server, behind("http", server.port, ca_file=str(trusted.path)) as wire:
        [outcome] = fetch_all(wire, [task_for("https://a.test/", ip="a.test")])
        assert "self-signed" in failed(outcome, "tls", server.port)
