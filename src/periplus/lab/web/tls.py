"""TLS as bytes in, bytes out, so that one connection can begin it whenever it likes: at once, or after CONNECT.

asyncio's own TLS hides the handshake; a hostile host must be able to cut it in the middle, and a proxy begins it after
an exchange in the clear. Which certificate a name gets is the authority's business (`certificates`).
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

from .hostile.cuts import CUT

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
