"""One connection of one client: heads in, answers out, in order, one at a time (RFC 9112 section 9.3.2).

An answer with all its bytes leaves at once, which is the fast path. A streamed body or a hostile script is handed to a
`Player`; where the lab has a latency, every answer waits before its first byte. Requests that arrive meanwhile wait.
Nothing here grows with what a client sends or refuses to read: the input is bounded by pausing the socket, the output
by the socket's own buffer, and time by the server's sweep. A stream is played as fast as the client reads, no faster,
and fair to the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol, cast

from msgspec import Struct

from periplus.model import Clock

from .channel import Channel, ContextOf
from .hostile import Action, Reset, Script, Wait
from .http import LONGEST_HEAD, Answer, Head, Refusal, Request, frame, host_name, read_head, write_head
from .index import Reply
from .log import RequestLog, Visit
from .sites import DOMAIN

IN_A_ROW = 8
"""After this many pieces the other connections have their turn."""


class Player:
    """Plays one script or one streamed body; `on_end(was_reset)` is called once, unless it is stopped before."""

    def __init__(
        self,
        actions: Iterator[Action],
        send: Callable[[bytes], None],
        on_end: Callable[[bool], None],
        *,
        pace: float = 1.0,
    ) -> None:
        """`pace` scales every wait: 0.01 makes a test a hundred times as quick."""
        self._actions = actions
        self._send = send
        self._on_end = on_end
        self._pace = pace
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.Handle | None = None
        self._is_held = False

    def start(self) -> None:
        """Begin, or go on."""
        self._next = None
        for _ in range(IN_A_ROW):
            if self._is_held:
                return
            match self._next_action():
                case bytes() as piece:
                    self._send(piece)
                case Wait(seconds):
                    self._next = self._loop.call_later(seconds * self._pace, self.start)
                    return
                case Reset():
                    self._on_end(True)
                    return
                case None:
                    self._on_end(False)
                    return
        self._next = self._loop.call_soon(self.start)

    def _next_action(self) -> Action | None:
        """The next action. A bug of ours in a script is a reset, so that the client does not wait."""
        try:
            return next(self._actions, None)
        except Exception as error:
            self._loop.call_exception_handler({"message": "a script of the lab failed", "exception": error})
            return Reset()

    def hold(self) -> None:
        """The client does not keep up: send nothing more for now."""
        self._is_held = True

    def release(self) -> None:
        """The client has caught up."""
        self._is_held = False
        if self._next is None:
            self._next = self._loop.call_soon(self.start)

    def stop(self) -> None:
        """The client has left: nothing more, not even `on_end`."""
        self._is_held = True
        if self._next:
            self._next.cancel()
            self._next = None


_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_HANDSHAKE = b"\x16"
"""The first byte of a TLS record that begins a handshake (RFC 8446 section 5.1)."""
_OUR_FAULT = Answer(500, (("Content-Type", "text/plain"),), b"The lab itself failed; its log says why.\n")
_SECURE = (("x-forwarded-proto", "https"),)


class Replier(Protocol):
    """Answers requests for a host: see `Hosts` in `index`."""

    def __call__(self, request: Request, *, is_proxied: bool) -> Reply:
        """The reply to a request."""


class ConnectionLimits(Struct, frozen=True):
    """What clients may take of the lab: connections, and real seconds for one answer or for silence."""

    most_connections: int = 4096
    longest_answer: float = 600.0
    longest_idle: float = 60.0


Latency = Callable[[Request], float]
"""Real seconds until the first byte of the answer to a request."""


class Service(Struct, frozen=True):
    """What every connection of a server shares. `pace` scales the waits of hostile scripts, not the `latency`."""

    reply: Replier
    clock: Clock
    log: RequestLog
    limits: ConnectionLimits
    pace: float
    context_of: ContextOf | None
    latency: Latency | None = None


class _Exchange(Struct):
    """The request being answered, for the log."""

    head: Head
    started_at: float
    real_started_at: float
    status: int = 0
    sent: int = 0
    closes: bool = False


class Connection(asyncio.Protocol):
    """The server's end of a connection. `deadline` is the loop's time when the server loses patience with it."""

    _channel: Channel

    def __init__(self, service: Service, number: int, on_lost: Callable[[Connection], None], *, secure: bool) -> None:
        self._service = service
        self._number = number
        self._on_lost = on_lost
        self._begins_secure = secure
        self._tunnel = ""
        self._buffer = b""
        self._to_skip = 0
        self._exchange: _Exchange | None = None
        self._player: Player | None = None
        self._later: asyncio.TimerHandle | None = None
        self._is_held = False
        self._loop = asyncio.get_running_loop()
        self.deadline = self._loop.time() + service.limits.longest_idle

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._channel = Channel(cast("asyncio.Transport", transport))
        self._ip = self._channel.ip
        if self._begins_secure:
            self._begin_tls()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed, by the client or by us."""
        del exc
        self._channel.is_closing = True
        if self._player:
            self._player.stop()
        if self._later:
            self._later.cancel()
        if self._exchange:
            self._note(self._exchange, is_complete=False)
        self._on_lost(self)

    def eof_received(self) -> bool:
        """The client has finished sending; pending answers are sent before we close."""
        if self._exchange is None or self._channel.is_secure:
            return False
        self._exchange.closes = True
        return True

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
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
        if self._tunnel and not self._channel.is_secure and not self._buffer and data[:1] == _HANDSHAKE:
            self._begin_tls()
        data = self._channel.receive(data)
        self._buffer = self._buffer + data if self._buffer else data
        self._serve()

    # Requests.

    def _serve(self) -> None:
        """Answer every complete request in the buffer, until one takes longer or the client must read first."""
        while self._buffer and not (self._exchange or self._is_held or self._channel.is_closing):
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
                break
            self._buffer = rest
            self._take(block)
        self._channel.read_on(len(self._buffer) <= LONGEST_HEAD)

    def _take(self, block: bytes) -> None:
        head = read_head(block.lstrip(b"\r\n"))
        if isinstance(head, Refusal):
            self._refuse(head)
        elif head.method == "CONNECT":
            self._tunnel = host_name(head.target)
            self._channel.send(_CONNECTED)
        else:
            self._answer(head)

    def _refuse(self, refusal: Refusal) -> None:
        text = f"{refusal.reason}\n".encode()
        fields = (("Content-Type", "text/plain"), ("Content-Length", str(len(text))), ("Connection", "close"))
        self._channel.send(write_head(refusal.status, fields) + text)
        self._channel.close()

    def _begin_tls(self) -> None:
        """On the secure port at once; in a proxy's tunnel when the client begins a handshake."""
        if self._service.context_of:
            self._channel.begin_tls(self._service.context_of, self._tunnel or DOMAIN)
        else:
            self._channel.close()

    # Answers.

    def _answer(self, head: Head) -> None:
        at = self._service.clock.now()
        exchange = self._exchange = _Exchange(head, at, time.time())
        self.deadline = self._loop.time() + self._service.limits.longest_answer
        self._to_skip = head.body_length
        if head.expects_continue:
            self._channel.send(_CONTINUE)
        request = self._request(head, at)
        reply = self._ask(request, is_proxied=head.is_proxied)
        exchange.status = reply.status
        wait = 0.0 if self._service.latency is None else self._service.latency(request)
        if wait > 0:
            self._later = self._loop.call_later(wait, self._give_later, exchange, reply)
        else:
            self._give(exchange, reply)

    def _give_later(self, exchange: _Exchange, reply: Reply) -> None:
        """Send a delayed reply, then handle pending requests."""
        self._later = None
        self._give(exchange, reply)
        if self._player is None:
            self._serve()

    def _give(self, exchange: _Exchange, reply: Reply) -> None:
        head = exchange.head
        if isinstance(reply, Script):
            exchange.closes |= reply.closes or not head.keeps_alive
            self._play(reply.actions)
            return
        framed = frame(reply, head, exchange.started_at)
        exchange.closes |= framed.closes
        if framed.rest is None:
            self._print(exchange, framed.start)
        else:
            self._play(chain((framed.start,), framed.rest))

    def _request(self, head: Head, at: float) -> Request:
        method = "GET" if head.method == "HEAD" else head.method
        fields = head.fields + _SECURE if self._channel.is_secure else head.fields
        return Request(method, head.host, head.target, fields, at, self._ip)

    def _ask(self, request: Request, *, is_proxied: bool) -> Reply:
        """The host's answer. A bug of ours is a 500, and reported to the event loop."""
        try:
            return self._service.reply(request, is_proxied=is_proxied)
        except Exception as error:
            self._loop.call_exception_handler({"message": "the lab could not answer", "exception": error})
            return _OUR_FAULT

    def _print(self, exchange: _Exchange, data: bytes) -> None:
        """Send the whole answer at once; logged first, so that a client that has it finds it in the log."""
        exchange.sent = len(data)
        self._note(exchange)
        self._channel.send(data)
        self._rest(exchange)

    def _play(self, actions: Iterator[Action]) -> None:
        self._player = Player(actions, self._send, self._played, pace=self._service.pace)
        self._player.start()

    def _send(self, data: bytes) -> None:
        if self._exchange:
            self._exchange.sent += len(data)
        self._channel.send(data)

    def _played(self, was_reset: bool) -> None:
        self._player = None
        exchange = self._exchange
        if exchange is None:
            return
        self._note(exchange, is_complete=not was_reset)
        if was_reset:
            self._channel.reset()
            return
        self._rest(exchange)
        self._loop.call_soon(self._serve)

    def _rest(self, exchange: _Exchange) -> None:
        """Wait for the next request, or close if this was the last."""
        self.deadline = self._loop.time() + self._service.limits.longest_idle
        if exchange.closes:
            self._channel.close()

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
            self._channel.is_secure,
            self._channel.address,
            head.fields,
        )
        self._service.log.note(visit)

    def end_now(self) -> None:
        """The server's sweep found it beyond its time, or the lab ends."""
        self._channel.abort()
