"""One connection of one client: heads in, answers out, in order, one at a time (RFC 9112 section 9.3.2).

An answer with all its bytes leaves at once, which is the fast path. A streamed body or a hostile script is handed to a
`Player`; requests that arrive meanwhile wait. Nothing here grows with what a client sends or refuses to read: the
input is bounded by pausing the socket, the output by the socket's own buffer, and time by the server's sweep.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol, cast

from msgspec import Struct

from periplus.model import Clock

from .exchange import Answer, Request
from .framing import frame
from .hostile import Action, Script
from .hosts import Reply
from .http import LONGEST_HEAD, Head, Refusal, host_name, read_head, write_head
from .log import RequestLog, Visit
from .player import Player
from .tls import HandshakeCut, TlsLayer

HIGH_WATER = 256 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_LINGER_ZERO = struct.pack("ii", 1, 0)
_HANDSHAKE = b"\x16"
_OUR_FAULT = Answer(500, (("Content-Type", "text/plain"),), b"The lab itself failed; its log says why.\n")
_SECURE = (("x-forwarded-proto", "https"),)


class Replier(Protocol):
    """Whoever knows what a host says: see `hosts`."""

    def __call__(self, request: Request, *, is_proxied: bool) -> Reply:
        """The reply to a request."""


class Service(Struct, frozen=True):
    """What every connection of a server shares."""

    reply: Replier
    clock: Clock
    log: RequestLog
    context_of: Callable[[str], ssl.SSLContext] | None = None
    pace: float = 1.0
    longest_answer: float = 600.0
    longest_idle: float = 60.0


class _Exchange(Struct):
    """The request being answered: what the log will say of it."""

    head: Head
    started_at: float
    real_started_at: float
    status: int = 0
    sent: int = 0
    closes: bool = False


class Connection(asyncio.Protocol):
    """The server's end of a connection."""

    def __init__(self, service: Service, number: int, on_lost: Callable[[Connection], None], *, secure: bool) -> None:
        self._service = service
        self._number = number
        self._on_lost = on_lost
        self._begins_tls = secure
        self._tls: TlsLayer | None = None
        self._tunnel = ""
        self._buffer = b""
        self._to_skip = 0
        self._exchange: _Exchange | None = None
        self._player: Player | None = None
        self._is_held = self._is_closing = False
        self._loop = asyncio.get_running_loop()
        self.deadline = self._loop.time() + service.longest_idle

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._ip = (transport.get_extra_info("peername") or ("",))[0]

    def connection_lost(self, exc: Exception | None) -> None:
        """They have left, or we have."""
        del exc
        self._is_closing = True
        if self._player:
            self._player.stop()
        if self._exchange:
            self._note(self._exchange, is_complete=False)
        self._on_lost(self)

    def pause_writing(self) -> None:
        """The client does not read as fast as we write."""
        self._is_held = True
        if self._player:
            self._player.hold()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._is_held = False
        if self._player:
            self._player.release()
        else:
            self._serve()

    def data_received(self, data: bytes) -> None:
        """Take what came; serve what is complete."""
        if self._begins_tls or self._tls:
            data = self._decrypt(data)
        self._buffer = self._buffer + data if self._buffer else data
        if self._tunnel and not self._tls and data[:1] == _HANDSHAKE:
            self._tunnel_into_tls()
        if self._exchange is None:
            self._serve()
        elif len(self._buffer) > LONGEST_HEAD:
            self._transport.pause_reading()

    # TLS.

    def _decrypt(self, data: bytes) -> bytes:
        if self._tls is None:
            assert self._service.context_of  # noqa: S101 - a secure port has certificates
            self._tls = TlsLayer(self._service.context_of, self._tunnel or "lab.test")
            self._begins_tls = False
        try:
            plain = self._tls.receive(data)
        except HandshakeCut:
            self._reset()
            return b""
        except ssl.SSLError:
            self._transport.write(self._tls.outgoing())
            self._close()
            return b""
        self._transport.write(self._tls.outgoing())
        return plain

    def _tunnel_into_tls(self) -> None:
        """After CONNECT, the client's first byte says that it begins a handshake."""
        if self._service.context_of is None:
            self._close()
            return
        data, self._buffer = self._buffer, b""
        self._buffer = self._decrypt(data)

    def _send(self, data: bytes) -> None:
        if not self._is_closing:
            self._transport.write(self._tls.protect(data) if self._tls else data)

    # Requests.

    def _serve(self) -> None:
        """Answer every complete request in the buffer, until one takes longer or the client must read first."""
        while self._buffer and not (self._is_closing or self._is_held or self._exchange):
            if self._to_skip:
                dropped = min(self._to_skip, len(self._buffer))
                self._to_skip -= dropped
                self._buffer = self._buffer[dropped:]
                continue
            block, found, rest = self._buffer.partition(b"\r\n\r\n")
            if len(block) > LONGEST_HEAD:
                self._refuse(Refusal(431, "a head too long for the lab"))
                return
            if not found:
                return
            self._buffer = rest
            head = read_head(block.lstrip(b"\r\n"))
            if isinstance(head, Refusal):
                self._refuse(head)
            elif head.method == "CONNECT":
                self._connect(head)
            else:
                self._answer(head)

    def _refuse(self, refusal: Refusal) -> None:
        text = f"{refusal.reason}\n".encode()
        fields = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))), ("Connection", "close"))
        self._buffer = b""
        self._send(write_head(refusal.status, fields) + text)
        self._close()

    def _connect(self, head: Head) -> None:
        self._tunnel = host_name(head.target)
        self._send(_CONNECTED)
        if self._buffer[:1] == _HANDSHAKE:
            self._tunnel_into_tls()

    def _answer(self, head: Head) -> None:
        service = self._service
        at = service.clock.now()
        exchange = self._exchange = _Exchange(head, at, time.time())
        self.deadline = self._loop.time() + service.longest_answer
        self._to_skip = head.body_length
        if head.expects_continue:
            self._send(_CONTINUE)
        reply = self._ask(head, at)
        if isinstance(reply, Script):
            exchange.status = reply.status
            exchange.closes = reply.closes or not head.keeps_alive
            self._play(reply.actions)
            return
        framed = frame(reply, head, at)
        exchange.status = reply.status
        exchange.closes = framed.closes
        if framed.rest is None:
            self._say(exchange, framed.start)
        else:
            self._play(chain((framed.start,), framed.rest))

    def _ask(self, head: Head, at: float) -> Reply:
        """What the host says. A bug of ours must not end the lab: it is a 500, told to whoever runs the loop."""
        method = "GET" if head.method == "HEAD" else head.method
        fields = head.fields + _SECURE if self._tls else head.fields
        try:
            return self._service.reply(
                Request(method, head.host, head.target, fields, at, self._ip), is_proxied=head.is_proxied
            )
        except Exception as error:
            self._loop.call_exception_handler({"message": "the lab could not answer", "exception": error})
            return _OUR_FAULT

    def _say(self, exchange: _Exchange, data: bytes) -> None:
        """The whole answer at once; noted first, so that who has it finds it in the log."""
        exchange.sent += len(data)
        self._note(exchange)
        self._send(data)
        self._rest(exchange)

    def _play(self, actions: Iterator[Action]) -> None:
        self._player = Player(actions, self._send_counted, self._played, pace=self._service.pace)
        self._player.start()

    def _send_counted(self, data: bytes) -> None:
        if self._exchange:
            self._exchange.sent += len(data)
        self._send(data)

    def _played(self, was_reset: bool) -> None:
        self._player = None
        exchange = self._exchange
        if exchange is None:
            return
        self._note(exchange, is_complete=not was_reset)
        if was_reset:
            self._reset()
            return
        self._rest(exchange)
        self._loop.call_soon(self._serve)

    def _rest(self, exchange: _Exchange) -> None:
        """Wait for the next request, or close if this was the last."""
        self.deadline = self._loop.time() + self._service.longest_idle
        if exchange.closes:
            self._close()
        elif not self._transport.is_reading():
            self._transport.resume_reading()

    def _note(self, exchange: _Exchange, *, is_complete: bool = True) -> None:
        self._exchange = None
        head = exchange.head
        visit = Visit(
            self._number,
            self._ip,
            head.method,
            head.host,
            head.target,
            head.agent,
            exchange.status,
            exchange.sent,
            exchange.started_at,
            self._service.clock.now(),
            exchange.real_started_at,
            time.time(),
            is_complete,
            self._tls is not None,
        )
        self._service.log.note(visit)

    # The end.

    def _close(self) -> None:
        """Close in order, after what is still to be sent."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._tls:
            self._transport.write(self._tls.farewell())
        self._transport.close()

    def _reset(self) -> None:
        """Close with a TCP reset."""
        self._is_closing = True
        sock: socket.socket | None = self._transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        self._transport.abort()

    def end_now(self) -> None:
        """The server's sweep found it beyond its time, or the lab ends."""
        self._is_closing = True
        self._transport.abort()
