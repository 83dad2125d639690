"""HTTP/3: asked for where a server offers it, given up for a day where it fails, and never at another address."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.engine.fetch.raw_fetching import fetch_all, task_for
from tests.lab.loopback_guard import LoopbackGuard

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import AddressGuard, CrawlerIdentity, CurlWire, Resolver, WireSettings
from periplus.engine.fetch.http3 import Http3, is_supported, offered_for
from periplus.model import Excluded, Fetched, FetchOutcome, Site

NOW = 1_800_000_000.0
SITE = Site("example.org")


@pytest.mark.parametrize(
    ("field", "site", "seconds"),
    [
        ('h3=":443"; ma=3600', "example.org", 3600),
        ('h3=":443"', "example.org", 86_400),
        ('h3-29=":443"; ma=60, h3=":443"; ma=90; persist=1', "example.org", 90),
        ('h2="alt.example.org:443", h3="example.org:443";ma="7"', "example.org", 7),
        ('h3=":8443"; ma=60', "example.org:8443", 60),
        ('h3="[::1]:8443"; ma=60', "[::1]:8443", 60),
        ('h3=":8443"; ma=60', "example.org", 0),
        ('h3="other.example.org:443"', "example.org", 0),
        ('h2=":443"', "example.org", 0),
        ("clear", "example.org", 0),
        ("", "example.org", 0),
        ('h3=":443', "example.org", 0),
        ('h3=":443"; ma=soon', "example.org", 86_400),
        ('h3=":443",' * 1000, "example.org", 0),
    ],
)
def test_offers_of_the_same_host_and_port_count(field: str, site: str, seconds: int) -> None:
    """For as long as they say."""
    assert offered_for(field, Site(site)) == seconds


def test_an_offer_holds_until_it_ends_or_fails() -> None:
    """A failure counts for a day, whatever is offered meanwhile."""
    known = Http3()
    assert not known.is_offered(SITE, NOW)
    known.learn(SITE, 'h3=":443"; ma=100', NOW)
    known.learn(SITE, None, NOW)
    assert [known.is_offered(SITE, NOW + after) for after in (0, 99, 100)] == [True, True, False]
    known.fail(SITE, NOW)
    known.learn(SITE, 'h3=":443"; ma=1000000', NOW)
    assert [known.is_offered(SITE, NOW + after) for after in (0, 86_399, 86_400)] == [False, False, True]
    known.learn(SITE, "clear", NOW)
    assert not known.is_offered(SITE, NOW + 86_400)


# a server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for a.test that trusts itself, with its key, in one file."""
    x509 = pytest.importorskip("cryptography.x509", reason="certificates need the extra `lab`")
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a.test")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("a.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "a.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    return path


@contextmanager
def over_tcp(certificate: Path) -> Iterator[int]:
    """The port of a server that speaks HTTP/1.1 and offers HTTP/3 at the same port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = b"<title>over TCP</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Alt-Svc", f'h3=":{self.server.server_port}"; ma=3600')  # type: ignore[attr-defined]
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def over_quic(certificate: Path, port: int) -> Iterator[None]:
    """A server that speaks HTTP/3 at a port."""
    aioquic = pytest.importorskip("aioquic.asyncio", reason="a server of HTTP/3 needs aioquic")
    from aioquic.h3.connection import H3_ALPN, H3Connection
    from aioquic.h3.events import HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration

    class Protocol(aioquic.QuicConnectionProtocol):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.http = H3Connection(self._quic)

        def quic_event_received(self, event: Any) -> None:
            for each in self.http.handle_event(event):
                if isinstance(each, HeadersReceived):
                    fields = [(b":status", b"200"), (b"content-type", b"text/html")]
                    self.http.send_headers(each.stream_id, fields)
                    self.http.send_data(each.stream_id, b"<title>over QUIC</title>", end_stream=True)
                    self.transmit()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(certificate)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(
        aioquic.serve("127.0.0.1", port, configuration=configuration, create_protocol=Protocol)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(asyncio.sleep(0.1))  # its connections say goodbye, and its socket is closed
        loop.close()


@pytest.fixture
def make_wire(certificate: Path) -> Iterator[Callable[..., CurlWire]]:
    if not is_supported():
        pytest.skip("this libcurl has no HTTP/3")
    made: list[CurlWire] = []

    def make(guard: AddressGuard | None = None, **settings: object) -> CurlWire:
        clock = SystemClock()
        chosen = WireSettings(ca_file=str(certificate), **settings)  # type: ignore[arg-type]
        made.append(
            CurlWire(
                chosen,
                identity=CrawlerIdentity(),
                clock=clock,
                resolver=Resolver(clock=clock),
                guard=guard or LoopbackGuard(),
            )
        )
        return made[-1]

    yield make
    for wire in made:
        wire.close()


def fetched(wire: CurlWire, port: int, path: str = "") -> FetchOutcome:
    [outcome] = fetch_all(wire, [task_for(f"https://a.test:{port}/{path}")])
    return outcome


def said(outcome: FetchOutcome) -> tuple[bytes, list[str]]:
    assert isinstance(outcome, Fetched), outcome
    return outcome.body, outcome.protocols.split()


def test_a_site_that_offers_http3_is_asked_with_it(make_wire: Callable[..., CurlWire], certificate: Path) -> None:
    """From the second request on; the record says so, with the cipher suite of QUIC."""
    with over_tcp(certificate) as port, over_quic(certificate, port):
        wire = make_wire(http3="advertised")
        body, first = said(fetched(wire, port, "1"))
        assert body == b"<title>over TCP</title>"
        assert first[:2] == ["http/1.1", "tls/1.3"]
        assert first[2].startswith("TLS_")
        for number in range(2, 5):
            body, second = said(fetched(wire, port, str(number)))
            assert body == b"<title>over QUIC</title>"
            assert second[:2] == ["h3", "tls/1.3"]
            assert second[2].startswith("TLS_")


def test_nobody_is_asked_with_http3_by_default(make_wire: Callable[..., CurlWire], certificate: Path) -> None:
    """Whatever is offered."""
    with over_tcp(certificate) as port, over_quic(certificate, port):
        wire = make_wire()
        assert {said(fetched(wire, port, str(number)))[1][0] for number in range(3)} == {"http/1.1"}


def test_where_http3_fails_the_site_is_asked_without(make_wire: Callable[..., CurlWire], certificate: Path) -> None:
    """The page comes all the same, and the next ones without another try."""
    with over_tcp(certificate) as port:
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        silent.bind(("127.0.0.1", port))
        silent.settimeout(0.2)
        wire = make_wire(http3="advertised")
        assert said(fetched(wire, port, "1"))[1][0] == "http/1.1"
        assert said(fetched(wire, port, "2"))[1][0] == "http/1.1"
        assert silent.recv(2000)
        with suppress(TimeoutError):
            while silent.recv(2000):
                pass
        for number in range(3, 6):
            assert said(fetched(wire, port, str(number)))[1][0] == "http/1.1"
        with pytest.raises(TimeoutError):
            silent.recv(2000)
        silent.close()


class ClosedAfter(LoopbackGuard):
    """Allows so many connections."""

    def __init__(self, allowed: int) -> None:
        super().__init__()
        self.allowed = allowed

    def allows(self, site: Site, ip: str) -> bool:
        return self.allowed > 0 and super().allows(site, ip)


def test_addresses_of_quic_are_checked_as_well(make_wire: Callable[..., CurlWire], certificate: Path) -> None:
    """Nothing is sent to an address that is refused when the socket is opened."""
    with over_tcp(certificate) as port:
        quic = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        quic.bind(("127.0.0.1", port))
        quic.settimeout(0.5)
        guard = ClosedAfter(1)
        wire = make_wire(guard, http3="advertised")
        assert said(fetched(wire, port, "1"))[1][0] == "http/1.1"
        wire._may_connect = lambda *_: True  # type: ignore[method-assign] # the check before a transfer is not meant here
        guard.allowed = 0
        assert isinstance(fetched(wire, port, "2"), Excluded)
        with pytest.raises(TimeoutError):
            quic.recv(2000)
        quic.close()
