"""Servers on loopback that send exactly the bytes of a test: over TCP, over TLS, and as frames of HTTP/2."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

HOME = "127.0.0.1"
SILENCE = 60.0
"""Seconds that a server waits at most for a client that never closes; tests end far earlier."""

Converse = Callable[[socket.socket], None]
"""What a server does with a connection; it is closed afterwards."""


class RawServer:
    """Serves every connection in a thread of its own. With a `context`, TLS comes first."""

    def __init__(self, converse: Converse, context: ssl.SSLContext | None = None) -> None:
        self._converse = converse
        self._context = context
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server((HOME, 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            sock.settimeout(SILENCE)
            if self._context is not None:
                sock = self._context.wrap_socket(sock, server_side=True)
            with self._lock:
                self._open.add(sock)
            self._converse(sock)
        with self._lock:
            self._open.discard(sock)
        sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)


def read_head(sock: socket.socket) -> bytes:
    """The head of a request; empty if the client closed."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = sock.recv(65536)
        if not part:
            return b""
        head += part
    return head


def wait_for_close(sock: socket.socket) -> None:
    """Read and drop until the client closes: closing with unread bytes would reset the connection."""
    while sock.recv(65536):
        pass


def answering(parts: Iterable[bytes] | Callable[[], Iterable[bytes]], *, closes: bool = True) -> Converse:
    """A server of HTTP/1.1 that reads one request and sends these parts, without an end if there is none."""

    def converse(sock: socket.socket) -> None:
        if not read_head(sock):
            return
        for part in parts() if callable(parts) else parts:
            sock.sendall(part)
        if closes:
            sock.shutdown(socket.SHUT_WR)
        wait_for_close(sock)

    return converse


# HTTP/2 (RFC 9113), in frames.

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK, PADDED = 1, 4, 1, 8
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def fields(*pairs: tuple[bytes, bytes]) -> bytes:
    """Header fields in HPACK, as literals that are not indexed."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in pairs)


def indexed(name: bytes, value: bytes) -> bytes:
    """A header field in HPACK that enters the dynamic table, where its index is 62."""
    return b"\x40" + _text(name) + _text(value)


def _text(text: bytes) -> bytes:
    """A string of HPACK, not compressed (RFC 7541 sections 5.1 and 5.2)."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, encoded = len(text) - 127, b"\x7f"
    while rest >= 128:
        encoded, rest = encoded + bytes([rest % 128 + 128]), rest // 128
    return encoded + bytes([rest]) + text


OK = b"\x88" + fields((b"content-type", b"text/html"))
"""A status of 200 and a type, in HPACK."""


def framing(
    frames: Iterable[bytes] | Callable[[], Iterable[bytes]], *, settings: bytes = b"", closes: bool = False
) -> Converse:
    """A server of HTTP/2 that waits for the first request (stream 1) and sends these frames."""

    def converse(sock: socket.socket) -> None:
        sock.sendall(frame(SETTINGS, payload=settings))
        if not _read_request(sock):
            return
        for one in frames() if callable(frames) else frames:
            sock.sendall(one)
        if not closes:
            wait_for_close(sock)

    return converse


def _read_request(sock: socket.socket) -> bool:
    """Read until the head of the first request has come."""
    received = b""
    while True:
        part = sock.recv(65536)
        if not part:
            return False
        received += part
        rest = received[len(_PREFACE) :]
        while len(rest) >= 9:
            length = int.from_bytes(rest[:3])
            if rest[3] == HEADERS:
                return True
            rest = rest[9 + length :]


# Certificates.


class Certificates:
    """An authority and what it signs, as files of a folder: each with its key, in PEM."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = name
        self.path = folder / "authority.pem"
        self.path.write_bytes(self._made(name, self._key, is_authority=True)[0])

    def context(
        self,
        host: str,
        *,
        protocols: tuple[str, ...] = (),
        is_expired: bool = False,
        is_early: bool = False,
        signs_itself: bool = False,
    ) -> ssl.SSLContext:
        """A server's side of TLS for a host."""
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        shift = timedelta(days=-30 if is_expired else 30 if is_early else 0)
        certificate, private = self._made(host, key, shift=shift, signs_itself=signs_itself)
        path = self._folder / "server.pem"
        path.write_bytes(private + certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def _made(
        self,
        name: str,
        key: object,
        *,
        shift: timedelta = timedelta(0),
        signs_itself: bool = False,
        is_authority: bool = False,
    ) -> tuple[bytes, bytes]:
        """A certificate and its private key, in PEM."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        assert isinstance(key, ec.EllipticCurvePrivateKey)
        own, issuer = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in (name, self._name))
        now = datetime.now(UTC) + shift
        builder = (
            x509.CertificateBuilder()
            .subject_name(own)
            .issuer_name(own if signs_itself else issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        certificate = builder.sign(key if signs_itself or is_authority else self._key, SHA256())
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return certificate.public_bytes(Encoding.PEM), private
