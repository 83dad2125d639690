"""What is wrong with TLS at a server, in words: certificates, versions, alerts, and servers without TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable

import pytest
from tests.engine.fetch.raw_fetching import fetch_all, impatient_wire, task_for
from tests.engine.fetch.raw_servers import Certificates, Converse, RawServer, answering, wait_for_close

from periplus.engine.fetch import reasons
from periplus.model import Failed, Fetched, FetchOutcome

pytest.importorskip("cryptography", reason="certificates need the extra `lab`")

PAGE = answering([b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\npage"])


def saying(answer: bytes) -> Converse:
    """A server that answers the client's hello with this, and closes."""

    def converse(sock: socket.socket) -> None:
        sock.recv(65536)
        sock.sendall(answer)
        sock.shutdown(socket.SHUT_WR)
        wait_for_close(sock)

    return converse


def alert(number: int) -> Converse:
    return saying(b"\x15\x03\x03\x00\x02\x02" + bytes([number]))


CERTIFICATES: dict[str, tuple[Callable[[Certificates, Certificates], ssl.SSLContext], str]] = {
    "expired": (lambda known, _: known.context("a.test", is_expired=True), reasons.EXPIRED),
    "early": (lambda known, _: known.context("a.test", is_early=True), reasons.NOT_YET_VALID),
    "other host": (lambda known, _: known.context("b.test"), reasons.OTHER_HOST),
    "other host, self-signed": (lambda known, _: known.context("b.test", signs_itself=True), reasons.OTHER_HOST),
    "self-signed": (lambda known, _: known.context("a.test", signs_itself=True), reasons.SELF_SIGNED),
    "unknown authority": (lambda _, other: other.context("a.test"), reasons.UNKNOWN_AUTHORITY),
}
HANDSHAKES: dict[str, tuple[Converse, str]] = {
    "plain HTTP": (saying(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), reasons.NOT_TLS),
    "a mail server": (saying(b"220 mail.test ESMTP\r\n"), reasons.NOT_TLS),
    "an old version": (alert(70), reasons.OLD_TLS),
    "no common cipher": (alert(40), reasons.HANDSHAKE_REFUSED),
    "an unknown name": (alert(112), reasons.UNKNOWN_NAME),
    "an error of the server": (alert(80), reasons.HANDSHAKE_REFUSED),
    "a close": (saying(b""), reasons.HANDSHAKE_CLOSED),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FetchOutcome]:
    """A page of each server, all fetched at once."""
    known = Certificates(tmp_path_factory.mktemp("known"))
    other = Certificates(tmp_path_factory.mktemp("other"), "Another authority")
    servers: dict[str, tuple[Converse, ssl.SSLContext | None]] = {"good": (PAGE, known.context("a.test"))}
    servers |= {name: (PAGE, make(known, other)) for name, (make, _) in CERTIFICATES.items()}
    servers |= {name: (converse, None) for name, (converse, _) in HANDSHAKES.items()}
    wire = impatient_wire(ca_file=str(known.path))
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(RawServer(*each)) for each in servers.values()]
        found = fetch_all(wire, [task_for(f"https://a.test:{server.port}/") for server in opened])
    wire.close()
    return dict(zip(servers, found, strict=True))


@pytest.mark.parametrize("name", [*CERTIFICATES, *HANDSHAKES])
def test_what_is_wrong_is_said(outcomes: dict[str, FetchOutcome], name: str) -> None:
    """The reason is `tls`, and the detail says what."""
    expected = {name: said for name, (_, said) in (*CERTIFICATES.items(), *HANDSHAKES.items())}
    outcome = outcomes[name]
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.detail) == ("tls", expected[name])


def test_a_good_certificate(outcomes: dict[str, FetchOutcome]) -> None:
    """The same way, and nothing is wrong."""
    assert isinstance(outcomes["good"], Fetched)


@pytest.mark.proof
def test_a_handshake_that_stalls() -> None:
    """A connection, half a record, and no more: a timeout that says where."""

    def stalling(sent: bytes) -> Converse:
        def converse(sock: socket.socket) -> None:
            sock.recv(65536)
            sock.sendall(sent)
            wait_for_close(sock)

        return converse

    wire = impatient_wire(connect_timeout=2.0)
    with RawServer(stalling(b"")) as silent, RawServer(stalling(b"\x16\x03\x03\x10\x00")) as half:
        outcomes = fetch_all(wire, [task_for(f"https://a.test:{server.port}/") for server in (silent, half)])
    wire.close()
    for outcome in outcomes:
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.detail) == ("connect-timeout", reasons.HANDSHAKE_STALLED)


def test_an_alert_after_our_side_of_the_handshake() -> None:
    """TLS 1.3: a server that requires a client certificate says so while the answer is read."""
    said = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
    assert reasons.reason_of(56, said, 0, is_connected=True) == "tls"
    assert reasons.tls_problem(said) == reasons.CLIENT_CERTIFICATE


def test_a_message_that_is_not_known_is_kept() -> None:
    """Another version of OpenSSL may have other words."""
    assert reasons.tls_problem("something new") == "something new"
