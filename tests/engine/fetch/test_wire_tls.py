"""The wire over TLS: certificates of the lab, what is offered to servers, and HTTP/2 where nginx is installed."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.lab.loopback_guard import LoopbackGuard

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, CurlWire, Resolver, WireSettings
from periplus.model import Failed, Fetched, FetchOutcome, FetchTask, Lane, Purpose
from periplus.urls import canonical, site_of
from periplus_lab import World
from periplus_lab.server import RunningLab, Server

x509 = pytest.importorskip("cryptography.x509", reason="certificates need the extra `lab`")

HOME = "127.0.0.1"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def fetch(wire: CurlWire, url: str, attempt: int = 1) -> FetchOutcome:
    found = canonical(url)
    assert found
    wire.start(FetchTask(found, site_of(found), Purpose.PAGE, Lane.DISCOVERY, 0.0, ip=HOME, attempt=attempt))
    [outcome] = wire.finished(10)
    return outcome


@pytest.fixture
def make_wire() -> Iterator[Callable[..., CurlWire]]:
    made: list[CurlWire] = []

    def make(**settings: object) -> CurlWire:
        clock = SystemClock()
        chosen = WireSettings(**settings)  # type: ignore[arg-type]
        guard = LoopbackGuard()
        made.append(
            CurlWire(chosen, identity=CrawlerIdentity(), clock=clock, resolver=Resolver(clock=clock), guard=guard)
        )
        return made[-1]

    yield make
    for wire in made:
        wire.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for a.test that trusts itself, with its key, in one file."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a.test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("a.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("wire-tls") / "a.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return path


def test_pages_of_the_lab_over_tls(make_wire: Callable[..., CurlWire], tmp_path: Path) -> None:
    """With the lab's authority every host is believed; the connection, and so the handshake, is kept."""
    with RunningLab(Server(World(sites=3), tls_port=0)) as lab:
        authority = tmp_path / "ca.pem"
        authority.write_bytes(lab.server.authority_pem)
        wire = make_wire(ca_file=str(authority))
        host = lab.world.hosts[0]
        for _ in range(3):
            outcome = fetch(wire, f"https://{host}:{lab.tls_port}/")
            assert isinstance(outcome, Fetched)
            assert outcome.status == 200
        visits = lab.log.visits(host)
        assert {visit.is_secure for visit in visits} == {True}
        assert len({visit.connection for visit in visits}) == 1
        stranger = fetch(make_wire(), f"https://{host}:{lab.tls_port}/")
        assert isinstance(stranger, Failed)
        assert stranger.reason == "tls"
        assert isinstance(fetch(make_wire(verify_tls=False), f"https://{host}:{lab.tls_port}/"), Fetched)


class Greeter:
    """A TLS server that notes which protocol was agreed upon and says something."""

    def __init__(self, keys: Path, said: bytes) -> None:
        self.agreed: list[str | None] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(keys)
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        self._said = said
        self._listener = socket.create_server((HOME, 0))
        self.url = f"https://a.test:{self._listener.getsockname()[1]}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                with suppress(OSError), self._context.wrap_socket(plain, server_side=True) as sock:
                    self.agreed.append(sock.selected_alpn_protocol())
                    sock.settimeout(60)
                    sock.recv(65536)
                    sock.sendall(self._said)
                    while sock.recv(65536):  # a close with something unread would reset the connection
                        pass

    def close(self) -> None:
        self._listener.close()


@pytest.mark.parametrize(
    ("settings", "attempt", "agreed"),
    [({}, 1, "h2"), ({"http2": False}, 1, "http/1.1"), ({}, 2, "http/1.1")],
)
def test_what_is_offered_to_servers(
    make_wire: Callable[..., CurlWire], keys: Path, settings: dict[str, bool], attempt: int, agreed: str
) -> None:
    """HTTP/2 by ALPN, unless it is switched off or has failed before; what breaks its rules has a reason."""
    greeter = Greeter(keys, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    outcome = fetch(make_wire(ca_file=str(keys), **settings), greeter.url, attempt)
    greeter.close()
    assert greeter.agreed[0] == agreed
    if agreed == "h2":
        assert isinstance(outcome, Failed)
        assert outcome.reason == "http2"
    else:
        assert isinstance(outcome, Fetched)
        assert outcome.body == b"hello"


@pytest.mark.skipif(NGINX is None, reason="HTTP/2 is tested against nginx")
def test_http_2(make_wire: Callable[..., CurlWire], keys: Path, tmp_path: Path) -> None:
    """The same outcomes over HTTP/2, with the same fields sent; and HTTP/1.1 on a second attempt."""
    with socket.create_server((HOME, 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "page.html").write_bytes(b"<p>" + b"x" * 100_000)
    config = tmp_path / "nginx.conf"
    config.write_text(
        f"""{"user root;" if os.geteuid() == 0 else ""} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;
events {{}}
http {{ log_format w '$server_protocol $connection $http_user_agent|$http_accept_encoding'; access_log {tmp_path}/log w;
  types {{ text/html html; image/png png; }}
  client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p; fastcgi_temp_path {tmp_path}/f;
  uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
  server {{ listen {HOME}:{port} ssl http2; server_name a.test; root {tmp_path};
    ssl_certificate {keys}; ssl_certificate_key {keys};
    location = /moved {{ return 301 /page.html; }} }} }}
"""
    )
    server = subprocess.Popen([str(NGINX), "-p", tmp_path, "-e", tmp_path / "error.log", "-c", config], stderr=-3)
    try:
        _wait_for(port)
        wire = make_wire(ca_file=str(keys), max_page_bytes=50_000)
        base = f"https://a.test:{port}"
        found = [fetch(wire, f"{base}{path}") for path in ("/page.html", "/moved", "/nothing")]
        again = fetch(wire, f"{base}/nothing", attempt=2)
        time.sleep(0.1)
    finally:
        server.terminate()
        server.wait(300)
    assert [getattr(one, "status", None) for one in (*found, again)] == [200, 301, 404, 404]
    assert isinstance(found[0], Fetched)
    assert (len(found[0].body), found[0].is_truncated) == (50_000, True)
    assert dict(found[0].headers)["content-type"] == "text/html"
    assert getattr(found[1], "target", "") == f"{base}/page.html"
    log = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[0] for line in log] == ["HTTP/2.0"] * 3 + ["HTTP/1.1"]
    assert all(line.endswith(f"{CrawlerIdentity().agent}|gzip, deflate, br, zstd") for line in log)


def _wait_for(port: int) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((HOME, port)) == 0:
                return
        time.sleep(0.02)
