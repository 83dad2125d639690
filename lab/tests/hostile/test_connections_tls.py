"""TLS of the lab: honest for ordinary hosts, broken in four ways for hostile ones; directly and through the proxy."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPSConnection

import pytest

from periplus_lab import World
from periplus_lab.hostile import DOMAIN
from periplus_lab.hostile.connections import CUT, EXPIRED, SELF_SIGNED, WRONG_NAME
from periplus_lab.server import RunningLab, Server

pytest.importorskip("cryptography", reason="TLS of the lab needs the extra `lab`")


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    with RunningLab(Server(World(sites=3), tls_port=0, pace=0.01)) as lab:
        yield lab


@pytest.fixture
def trusting(lab: RunningLab) -> ssl.SSLContext:
    """A client that trusts the lab's authority, and looks closely."""
    context = ssl.create_default_context(cadata=lab.server.authority_pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake(lab: RunningLab, host: str, context: ssl.SSLContext) -> bytes:
    """Fetch `/` of a host over TLS."""
    assert lab.server.tls_port
    with (
        socket.create_connection(("127.0.0.1", lab.server.tls_port), timeout=60) as sock,
        context.wrap_socket(sock, server_hostname=host) as tls,
    ):
        tls.sendall(f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        wire = b""
        while part := tls.recv(65536):
            wire += part
        return wire


@pytest.mark.parametrize("host", ["lab.test-home", "deep.under.lab.test", "reset.hostile.lab.test"])
def test_every_name_has_a_good_certificate(lab: RunningLab, trusting: ssl.SSLContext, host: str) -> None:
    """A client that trusts the authority needs no exception for any ordinary name."""
    name = lab.world.hosts[0] if host == "lab.test-home" else host
    assert lab.server.tls_port
    with (
        socket.create_connection(("127.0.0.1", lab.server.tls_port), timeout=60) as sock,
        trusting.wrap_socket(sock, server_hostname=name) as tls,
    ):
        assert tls.version() == "TLSv1.3"


def test_pages_come_over_tls(lab: RunningLab, trusting: ssl.SSLContext) -> None:
    """The same page as in the clear; the log knows the difference."""
    host = lab.world.hosts[0]
    assert shake(lab, host, trusting).startswith(b"HTTP/1.1 200")
    assert lab.log.visits(host)[-1].is_secure
    assert lab.log.visits(host)[-1].url == f"https://{host}/"


@pytest.mark.parametrize(
    ("host", "reason"),
    [(EXPIRED, "certificate has expired"), (WRONG_NAME, "Hostname mismatch"), (SELF_SIGNED, "self-signed certificate")],
)
def test_certificates_that_must_not_be_trusted(
    lab: RunningLab, trusting: ssl.SSLContext, host: str, reason: str
) -> None:
    """Each fails for its own reason and no other."""
    with pytest.raises(ssl.SSLCertVerificationError, match=reason):
        shake(lab, host, trusting)


@pytest.mark.parametrize("host", [EXPIRED, WRONG_NAME, SELF_SIGNED])
def test_who_does_not_look_gets_a_page(lab: RunningLab, host: str) -> None:
    """The page behind a bad certificate says so."""
    careless = ssl.create_default_context()
    careless.check_hostname = False
    careless.verify_mode = ssl.CERT_NONE
    assert b"You did not look" in shake(lab, host, careless)


def test_the_handshake_is_cut(lab: RunningLab, trusting: ssl.SSLContext) -> None:
    """A reset after the client's hello, whatever the client trusts."""
    with pytest.raises((ConnectionResetError, ssl.SSLEOFError)):
        shake(lab, CUT, trusting)


@pytest.mark.parametrize("host", [EXPIRED, WRONG_NAME, SELF_SIGNED, CUT])
def test_in_the_clear_they_lead_to_tls(lab: RunningLab, host: str) -> None:
    """So that a crawler with only http:// seeds meets them."""
    client = HTTPConnection("127.0.0.1", lab.port, timeout=60)
    client.request("GET", "/", headers={"Host": host})
    response = client.getresponse()
    assert (response.status, response.headers["Location"]) == (301, f"https://{host}/")
    client.close()


def test_through_the_proxy(lab: RunningLab, trusting: ssl.SSLContext) -> None:
    """CONNECT on the plain port leads to the host's own TLS."""
    host = lab.world.hosts[1]
    client = HTTPSConnection("127.0.0.1", lab.port, timeout=60, context=trusting)
    client.set_tunnel(host, 443)
    client.request("GET", "/")
    assert client.getresponse().status == 200
    client.close()
    client = HTTPSConnection("127.0.0.1", lab.port, timeout=60, context=trusting)
    client.set_tunnel(f"tls-expired.{DOMAIN}", 443)
    with pytest.raises(ssl.SSLCertVerificationError):
        client.request("GET", "/")
    client.close()


def test_nonsense_instead_of_a_hello(lab: RunningLab) -> None:
    """Plain HTTP on the TLS port ends the connection, not the lab."""
    assert lab.server.tls_port
    with socket.create_connection(("127.0.0.1", lab.server.tls_port), timeout=60) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert not sock.recv(100).startswith(b"HTTP")


def test_without_certificates_the_proxy_refuses_tls() -> None:
    """A lab without TLS hangs up on a handshake in a tunnel."""
    with RunningLab(Server(World(sites=2))) as lab:
        client = HTTPSConnection("127.0.0.1", lab.port, timeout=60)
        client.set_tunnel("site1.lab.test", 443)
        with pytest.raises((ssl.SSLError, OSError)):
            client.request("GET", "/")
        client.close()
