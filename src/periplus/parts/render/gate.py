"""The only way out for the browser: a proxy on loopback, with our resolver and our rules for addresses.

Each browser context has a `GatePassage`, a port of its own, so that what a page loads can be counted, and cut off.
Every request names a host; its address is looked up by our resolver and judged by the `AddressGuard` as those of the
crawl are. So a page cannot reach this machine or its network, however it spells the address, and a name that changes
its address between two lookups gains nothing, because the address that was judged is the one that is connected to.

Plain requests are forwarded one for each connection, so that a later request on the same connection cannot reach a host
that was not judged. Tunnels (CONNECT) are for TLS alone: one that does not begin with a TLS handshake is closed, which
refuses WebSockets without TLS.

If the crawl itself uses a proxy, everything is forwarded to that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from periplus.engine.fetch import AddressGuard, HostAddress, Resolver
from periplus.model import Url
from periplus.urls import canonical, site_of

log = logging.getLogger(__name__)

_MAX_HEAD: Final = 128 * 1024
"""Bytes of the head of a request or an answer."""
_MAX_CONNECTIONS: Final = 128
"""Connections of one context at the same time, to the browser and to servers: browsers open 32 to a proxy."""
_CONNECT_TIMEOUT: Final = 10.0
"""Seconds to look up a host and connect to it."""
_CHUNK: Final = 64 * 1024
"""Bytes that are forwarded at a time."""
_TLS_HANDSHAKE: Final = 0x16
"""The first byte of TLS (RFC 8446 section 5.1)."""
_MAX_REFUSALS: Final = 100
"""Refused hosts that are remembered of a page."""
_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,20}) (\S{1,65536}) HTTP/1\.[01]")
_PROXY: Final = re.compile(r"http://(?:[^@/]*@)?(\[[^\]]+\]|[^:/]+):(\d+)/?")
_DROPPED: Final = frozenset({b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization", b"upgrade"})


class Target(Struct, frozen=True):
    """Where a request wants to go: the host, the port, and what is sent to it in place of the first line."""

    url: Url
    host: str
    port: int
    line: bytes = b""


class GatePassage:
    """The way out of one browser context: what it received, and what was refused, since `reset`."""

    def __init__(self, max_bytes: int) -> None:
        self.port = 0
        self.received = 0
        self.refused: list[tuple[str, str]] = []
        self.max_bytes = max_bytes
        self.connections: set[asyncio.StreamWriter] = set()
        self.server: asyncio.Server | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether the page has received all that it may."""
        return self.received >= self.max_bytes

    def reset(self) -> None:
        """Begin with another page."""
        self.received = 0
        self.refused = []

    def refuse(self, host: str, reason: str) -> None:
        """Remember that a host was refused."""
        log.info("a page in the browser may not connect to %s: %s", host, reason)
        if len(self.refused) < _MAX_REFUSALS:
            self.refused.append((host, reason))

    def hang_up(self) -> None:
        """End every connection."""
        for writer in list(self.connections):
            writer.close()

    async def close(self) -> None:
        """Stop listening, and end every connection."""
        if self.server is not None:
            self.server.close()
        self.hang_up()


class Names:
    """Looks up hosts in an event loop, by a resolver that answers from its own threads."""

    def __init__(self, resolver: Resolver, loop: asyncio.AbstractEventLoop) -> None:
        self._resolver = resolver
        self._waiting: dict[str, list[asyncio.Future[str | None]]] = {}
        resolver.on_answer = lambda: _call(loop, self._collect)

    async def address(self, host: str) -> str | None:
        """The address of a host; `None` if it has none."""
        known = self._resolver.known(host)
        if known is not None:
            return known.ip if isinstance(known, HostAddress) else None
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host, []).append(future)
        self._resolver.ask(host)
        return await future

    def _collect(self) -> None:
        for host, answer in self._resolver.answered():
            for future in self._waiting.pop(host, ()):
                if not future.done():
                    future.set_result(answer.ip if isinstance(answer, HostAddress) else None)

    def close(self) -> None:
        """Stop the threads of the resolver."""
        self._resolver.close()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(function)


class Gate:
    """Opens passages, and forwards what may pass."""

    def __init__(self, names: Names, guard: AddressGuard, proxy: str = "") -> None:
        self._names = names
        self._guard = guard
        self._proxy = _proxy_address(proxy)

    async def open(self, max_bytes: int) -> GatePassage:
        """A new passage; `max_bytes` of 0: nothing may pass."""
        passage = GatePassage(max_bytes)
        passage.server = await asyncio.start_server(
            lambda reader, writer: self._serve(passage, reader, writer), "127.0.0.1", 0, limit=_MAX_HEAD
        )
        passage.port = int(passage.server.sockets[0].getsockname()[1])
        return passage

    async def _serve(self, passage: GatePassage, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passage.connections.add(writer)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                await self._forward(passage, reader, writer)
        finally:
            passage.connections.discard(writer)
            writer.close()

    async def _forward(self, passage: GatePassage, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = read_target(head)
        if target is None:
            _answer(writer, 400)
            return
        if passage.is_exhausted or len(passage.connections) > _MAX_CONNECTIONS:
            passage.refuse(target.host, "budget")
            _answer(writer, 429)
            return
        address = await asyncio.wait_for(self._judged(passage, target), _CONNECT_TIMEOUT)
        if address is None:
            _answer(writer, 403)
            return
        server_reader, server = await asyncio.wait_for(asyncio.open_connection(*address), _CONNECT_TIMEOUT)
        passage.connections.add(server)
        try:
            if target.line:
                await self._exchange(passage, target, head, reader, writer, server_reader, server)
            else:
                await self._tunnel(passage, target, reader, writer, server_reader, server)
        finally:
            passage.connections.discard(server)
            server.close()

    async def _judged(self, passage: GatePassage, target: Target) -> tuple[str, int] | None:
        """Where to connect for a target; `None` if that may not be."""
        site = site_of(target.url)
        if self._proxy is not None:
            if self._guard.allows_by_name(site):
                return self._proxy
            passage.refuse(target.host, "private-address")
            return None
        ip = await self._names.address(target.host)
        if ip is None:
            passage.refuse(target.host, "dns-not-found")
            return None
        if not self._guard.allows(site, ip):
            passage.refuse(target.host, "private-address")
            return None
        return ip, target.port

    async def _exchange(
        self,
        passage: GatePassage,
        target: Target,
        head: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        """Exchange one plain request and its answer; then both connections end."""
        first, _, fields = head.partition(b"\r\n")
        line = first if self._proxy is not None else target.line
        server.write(line + b"\r\n" + _kept_fields(fields) + b"Connection: close\r\n\r\n")
        await _send_body(reader, server, _length(fields))
        answer = await server_reader.readuntil(b"\r\n\r\n")
        while answer.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
            answer = await server_reader.readuntil(b"\r\n\r\n")
        passage.received += len(answer)
        status, _, fields = answer.partition(b"\r\n")
        writer.write(status + b"\r\n" + _kept_fields(fields) + b"Connection: close\r\n\r\n")
        await _pump(server_reader, writer, passage)

    async def _tunnel(
        self,
        passage: GatePassage,
        target: Target,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        """Bytes in both directions, if they are TLS."""
        if self._proxy is not None:
            server.write(f"CONNECT {target.host}:{target.port} HTTP/1.1\r\nHost: {target.host}\r\n\r\n".encode())
            answer = await asyncio.wait_for(server_reader.readuntil(b"\r\n\r\n"), _CONNECT_TIMEOUT)
            if b" 200" not in answer.partition(b"\r\n")[0]:
                _answer(writer, 502)
                return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        first = await asyncio.wait_for(reader.read(_CHUNK), _CONNECT_TIMEOUT)
        if not first or first[0] != _TLS_HANDSHAKE:
            passage.refuse(target.host, "not-tls")
            return
        server.write(first)
        ways = [
            asyncio.ensure_future(_pump(reader, server, None)),
            asyncio.ensure_future(_pump(server_reader, writer, passage)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


def read_target(head: bytes) -> Target | None:
    """Where the head of a request to a proxy wants to go; `None` if that cannot be read."""
    found = _REQUEST_LINE.match(head)
    if found is None:
        return None
    method, place = found[1], found[2].decode("latin-1")
    is_tunnel = method == b"CONNECT"
    if not is_tunnel and not place.lower().startswith("http://"):
        return None
    url = canonical(f"https://{place}/" if is_tunnel else place)
    if url is None:
        return None
    site = site_of(url)
    host, colon, port = site.rpartition(":")
    if not colon or site.endswith("]"):
        host, port = site, "443" if is_tunnel else "80"
    if is_tunnel:
        return Target(url, host.strip("[]"), int(port))
    rest = place.partition("://")[2]
    start = next((at for at, character in enumerate(rest) if character in "/?"), len(rest))
    path = rest[start:].partition("#")[0]
    path = path if path.startswith("/") else "/" + path
    return Target(url, host.strip("[]"), int(port), b"%b %b HTTP/1.1" % (method, path.encode("latin-1")))


def _proxy_address(proxy: str) -> tuple[str, int] | None:
    """Where the proxy of the crawl is; `None` without one."""
    if not proxy:
        return None
    found = _PROXY.fullmatch(proxy if "://" in proxy else f"http://{proxy}")
    if found is None:
        raise ValueError(proxy)
    return found[1].strip("[]"), int(found[2])


def is_supported_proxy(proxy: str) -> bool:
    """Whether the gate can forward to a proxy: one for HTTP."""
    return not proxy or _PROXY.fullmatch(proxy if "://" in proxy else f"http://{proxy}") is not None


def _kept_fields(fields: bytes) -> bytes:
    """The fields that are forwarded, each with its line break; not those for the connection itself."""
    lines = [line for line in fields.split(b"\r\n") if line]
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _DROPPED]
    return b"".join(line + b"\r\n" for line in kept)


def _length(fields: bytes) -> int:
    """The length of a request's body."""
    for line in fields.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return 0


async def _send_body(reader: asyncio.StreamReader, server: asyncio.StreamWriter, length: int) -> None:
    while length > 0:
        part = await reader.read(min(_CHUNK, length))
        if not part:
            return
        server.write(part)
        await server.drain()
        length -= len(part)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passage: GatePassage | None) -> None:
    """Forward until one side ends, or the page has received all that it may."""
    while part := await reader.read(_CHUNK):
        if passage is not None:
            passage.received += len(part)
            if passage.is_exhausted:
                return
        writer.write(part)
        await writer.drain()


def _answer(writer: asyncio.StreamWriter, status: int) -> None:
    writer.write(b"HTTP/1.1 %d Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
