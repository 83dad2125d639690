"""The bytes of one connection, in the clear or under TLS, and the ways to end it: in order, or with a reset.

HTTP is one layer above, in `connection`, which need not know whether it is encrypted.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable

from .tls import HandshakeCut, TlsLayer

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
