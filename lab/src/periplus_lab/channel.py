"""The bytes of one connection, in the clear or under TLS, and the ways to end it: in order, or with a reset.

HTTP is one layer above, in `connection`, which need not know whether it is encrypted.

TLS is bytes in, bytes out, so that one connection can begin it whenever it likes: at once, or after CONNECT. asyncio's
own TLS hides the handshake; a hostile host must be able to cut it in the middle, and a proxy begins it after an
exchange in the clear. Which certificate a name gets is the authority's business (`certificates`).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path

from .hostile.connections import CUT

_PLENTY = 256 * 1024


class HandshakeCut(Exception):  # noqa: N818 - an event on the wire, not an error
    """The client requested the host that closes in the middle of the handshake."""


class _NamedObject(ssl.SSLObject):
    """The server side of a TLS connection, with the requested host (SNI) and the certificates."""

    asked_for = ""
    context_of: Callable[[str], ssl.SSLContext]


def _choose(tls: ssl.SSLObject | ssl.SSLSocket, host: str | None, _context: ssl.SSLContext) -> int | None:
    """Serve the certificate of the host that the client names, or fail for the host that hangs up."""
    if host and isinstance(tls, _NamedObject):
        tls.asked_for = host.lower()
        if tls.asked_for == CUT:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        tls.context = tls.context_of(tls.asked_for)
    return None


def server_context(chain: Path) -> ssl.SSLContext:
    """A server's context with the key and certificates of a PEM file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    context.set_alpn_protocols(["http/1.1"])
    context.sslobject_class = _NamedObject
    context.sni_callback = _choose
    return context


class TlsLayer:
    """The server's side of one TLS connection, without a socket."""

    def __init__(self, context_of: Callable[[str], ssl.SSLContext], host: str) -> None:
        """`context_of` gives the certificate of a host; `host` is served when the client names none."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context_of(host).wrap_bio(self._incoming, self._outgoing, server_side=True)
        assert isinstance(self._object, _NamedObject)  # noqa: S101 - what `server_context` makes
        self._object.context_of = context_of
        self._is_shaken = False

    def receive(self, data: bytes) -> bytes:
        """Feed bytes from the wire; return the decrypted data.

        Raises `ssl.SSLError` or `HandshakeCut`; b"" may mean "not yet".
        """
        self._incoming.write(data)
        try:
            if not self._is_shaken:
                self._object.do_handshake()
                self._is_shaken = True
            return self._read_all()
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError:
            if isinstance(self._object, _NamedObject) and self._object.asked_for == CUT:
                raise HandshakeCut from None
            raise

    def _read_all(self) -> bytes:
        parts = []
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while part := self._object.read(_PLENTY):
                parts.append(part)
        return b"".join(parts)

    def protect(self, data: bytes) -> bytes:
        """The bytes to send for `data`."""
        self._object.write(data)
        return self.outgoing()

    def outgoing(self) -> bytes:
        """What the handshake, or its failure, wants on the wire."""
        return self._outgoing.read()

    def farewell(self) -> bytes:
        """The close notification, so that the client can distinguish the end from a cut."""
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        return self.outgoing()


HIGH_WATER = 256 * 1024
"""How many bytes wait for a slow client before it is sent no more."""
_LINGER_ZERO = struct.pack("ii", 1, 0)

ContextOf = Callable[[str], ssl.SSLContext]
"""Which certificate a host has; see `certificates`."""


class Channel:
    """A transport, perhaps with TLS on it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=HIGH_WATER)
        self._transport = transport
        self._tls: TlsLayer | None = None
        self.is_closing = False

    @property
    def is_secure(self) -> bool:
        """Whether TLS has begun."""
        return self._tls is not None

    @property
    def ip(self) -> str:
        """The address of the client."""
        return str((self._transport.get_extra_info("peername") or ("",))[0])

    @property
    def address(self) -> str:
        """The address that the client connected to."""
        return str((self._transport.get_extra_info("sockname") or ("",))[0])

    def begin_tls(self, context_of: ContextOf, host: str) -> None:
        """From here on, bytes are TLS; serve `host` to a client that names none."""
        self._tls = TlsLayer(context_of, host)

    def receive(self, data: bytes) -> bytes:
        """The decrypted bytes; b"" while a handshake goes on, and after it failed."""
        if self._tls is None:
            return data
        try:
            data = self._tls.receive(data)
        except HandshakeCut:
            self.reset()
            return b""
        except ssl.SSLError:
            data = b""
            self.is_closing = True
            self._transport.write(self._tls.outgoing())
            self._transport.close()
        else:
            self._transport.write(self._tls.outgoing())
        return data

    def send(self, data: bytes) -> None:
        """Send bytes, unless the connection is closing."""
        if not self.is_closing:
            self._transport.write(self._tls.protect(data) if self._tls else data)

    def read_on(self, wanted: bool) -> None:
        """Whether more input is wanted now: a client that sends faster than it is served must wait."""
        if self.is_closing or wanted == self._transport.is_reading():
            return
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def close(self) -> None:
        """End in order, after what is still to be sent."""
        if self.is_closing:
            return
        self.is_closing = True
        if self._tls:
            self._transport.write(self._tls.farewell())
        self._transport.close()

    def reset(self) -> None:
        """End with a TCP reset: a socket that lingers for no time drops what it holds."""
        sock: socket.socket | None = self._transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        self.abort()

    def abort(self) -> None:
        """End now; what is still to be sent is lost."""
        self.is_closing = True
        self._transport.abort()
