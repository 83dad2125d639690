"""What answers came over: as servers that are there show it, and by the names of all cipher suites."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.engine.fetch.raw_fetching import fetch_all, impatient_wire, task_for
from tests.engine.fetch.test_http3 import certificate  # noqa: F401 - a fixture

from periplus.engine.fetch.connections import Connections, iana_name, read_handshake
from periplus.model import Fetched, Redirected, Site

SITE = Site("example.org")


def test_every_name_of_openssl_is_known() -> None:
    """The same as its own table of standard names."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("openssl is not installed")
    told = subprocess.run(
        [tool, "ciphers", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"], capture_output=True, text=True, check=True
    )
    pairs = [(line.split()[2], line.split()[0]) for line in told.stdout.splitlines()]
    assert len(pairs) > 20
    assert [(name, iana_name(name)) for name, _ in pairs] == pairs


@pytest.mark.parametrize("name", ["", "AES", "SOMETHING-NEW", "ECDHE-RSA-AES128-GCM-SHA256-X", "(NONE)"])
def test_unknown_names_are_left_out(name: str) -> None:
    """Rather than guessed."""
    assert iana_name(name) == ""


def test_only_the_line_of_the_handshake_is_read() -> None:
    """Others come before and after it."""
    line = b"SSL connection using TLSv1.2 / ECDHE-RSA-AES128-GCM-SHA256 / x25519 / RSASSA-PSS\n"
    assert read_handshake(line) == "tls/1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
    assert read_handshake(b"SSL connection using TLSv9 / NEW-SUITE\n") == ""
    assert read_handshake(b"SSL certificate verified via OpenSSL.\n") == ""


def test_transfers_listen_until_connections_are_kept() -> None:
    """And again when one was made that nobody heard of, or when the last request is long ago."""
    known = Connections()
    assert known.is_made(SITE, 4, 100.0)
    assert known.note(SITE, 4, 5000, "tls/1.3 X", 100.0, is_new=True) == "tls/1.3 X"
    assert known.is_made(SITE, 4, 101.0)
    assert known.note(SITE, 4, 5000, "", 101.0, is_new=False) == "tls/1.3 X"
    assert not known.is_made(SITE, 4, 102.0)
    assert known.is_made(SITE, 30, 102.0)
    assert known.is_made(SITE, 4, 106.0)
    assert known.note(SITE, 4, 5001, "", 102.0, is_new=True) == ""
    assert known.is_made(SITE, 4, 102.1)


@contextmanager
def server(certificate: Path | None, *, is_kept: bool, version: str = "HTTP/1.1") -> Iterator[str]:  # noqa: F811
    """The address of a server, over TLS if it has a certificate, that keeps connections or not."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = version

        def do_GET(self) -> None:
            body = b"<title>here</title>"
            self.send_response(301 if "moved" in self.path else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Location", "/there")
            self.send_header("Content-Length", str(len(body)))
            if not is_kept:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        running.socket = context.wrap_socket(running.socket, server_side=True)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        yield f"{'https' if certificate else 'http'}://a.test:{running.server_port}/"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.mark.parametrize("is_kept", [True, False])
def test_every_answer_over_tls_is_told(certificate: Path, is_kept: bool) -> None:  # noqa: F811
    """On a connection of its own, or on one that was heard of before; redirects as well."""
    wire = impatient_wire(ca_file=str(certificate))
    with server(certificate, is_kept=is_kept) as address:
        for path in ("1", "2", "moved", "3", "4"):
            [outcome] = fetch_all(wire, [task_for(address + path)])
            assert isinstance(outcome, Fetched | Redirected)
            http, tls, suite = outcome.protocols.split()
            assert (http, tls) == ("http/1.1", "tls/1.3")
            assert suite.startswith("TLS_AES_")
        wire.close()


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_answers_without_tls_are_told(version: str) -> None:
    """By the version of HTTP alone."""
    wire = impatient_wire()
    with server(None, is_kept=True, version=version) as address:
        [outcome] = fetch_all(wire, [task_for(address)])
        assert isinstance(outcome, Fetched)
        assert outcome.protocols == version.lower()
        wire.close()
