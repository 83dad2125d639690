"""The lab's HTTP server: one port in the clear, one for TLS, every host name of the lab behind both.

It listens on loopback only (see `loopback`). Connections are bounded in number and in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from periplus.model import Clock, UsageError

from .channel import ContextOf
from .clock import RunningClock
from .connection import Connection, Latency, Limits, Service
from .hosts import Hosts
from .index import Index
from .log import RequestLog
from .loopback import HOME, open_loopback
from .world import World

__all__ = ["Latency", "Limits", "Server"]

_BACKLOG = 1024
_SWEEP_EVERY = 0.5


class Server:
    """A running lab, inside an event loop: `async with Server(world) as server: ...`."""

    def __init__(
        self,
        world: World,
        clock: Clock | None = None,
        log: RequestLog | None = None,
        *,
        port: int = 0,
        tls_port: int | None = None,
        limits: Limits | None = None,
        pace: float = 1.0,
        latency: Latency | None = None,
    ) -> None:
        """Port 0 is any free one; without a `tls_port` there is no TLS (and `cryptography` is not needed).

        `pace` scales the waits of hostile hosts: a test of a 30-second silence need not take 30 seconds. `latency` says
        how many seconds each request waits for the first byte of its answer; without it none waits.
        """
        self.world = world
        self.clock = clock or RunningClock(world.epoch)
        self.log = log if log is not None else RequestLog()
        self.port = port
        self.tls_port = tls_port
        self.authority_pem = b""
        self._limits = limits or Limits()
        self._pace = pace
        self._latency = latency
        self._connections: set[Connection] = set()
        self._numbers = count(1)
        self._has_all_addresses = False
        self._stack = contextlib.AsyncExitStack()

    def address(self, host: str) -> str:
        """The address of a host, as a name server would return it: each site at its own address, if that works."""
        return self.world.address(host) if self._has_all_addresses else HOME

    async def __aenter__(self) -> Self:
        """Listen."""
        async with contextlib.AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening, and end every connection."""
        await self._stack.aclose()

    async def _start(self, stack: contextlib.AsyncExitStack) -> None:
        context_of = self._certificates(stack) if self.tls_port is not None else None
        service = Service(
            Hosts(self.world, Index(self)).reply,
            self.clock,
            self.log,
            self._limits,
            self._pace,
            context_of,
            self._latency,
        )
        self.port = await self._listen(stack, service, self.port, secure=False)
        if self.tls_port is not None:
            self.tls_port = await self._listen(stack, service, self.tls_port, secure=True)
        stack.push_async_callback(_cancel, asyncio.create_task(self._sweep()))

    def _certificates(self, stack: contextlib.AsyncExitStack) -> ContextOf:
        try:
            from .certificates import Authority
        except ImportError as error:
            raise UsageError(
                "TLS needs the package cryptography", hint="Install the extra: pip install 'periplus[lab]'"
            ) from error
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="periplus-lab-")))
        authority = Authority(folder)
        self.authority_pem = authority.pem
        return authority.context

    async def _listen(self, stack: contextlib.AsyncExitStack, service: Service, port: int, *, secure: bool) -> int:
        loop = asyncio.get_running_loop()

        def accept() -> asyncio.Protocol:
            if len(self._connections) >= self._limits.most_connections:
                return _TurnedAway()
            connection = Connection(service, next(self._numbers), self._connections.discard, secure=secure)
            self._connections.add(connection)
            return connection

        sock, self._has_all_addresses = open_loopback(port)
        listener = await loop.create_server(accept, sock=sock, backlog=_BACKLOG)
        stack.push_async_callback(self._stop, listener)
        return int(sock.getsockname()[1])

    async def _sweep(self) -> None:
        """End connections that have exceeded their time."""
        while True:
            await asyncio.sleep(_SWEEP_EVERY)
            now = asyncio.get_running_loop().time()
            for connection in [one for one in self._connections if one.deadline < now]:
                connection.end_now()

    async def _stop(self, listener: asyncio.Server) -> None:
        listener.close()
        for connection in list(self._connections):
            connection.end_now()
        while self._connections:  # each leaves in the loop's next turns: no socket outlives the lab
            await asyncio.sleep(0)
        await listener.wait_closed()


class _TurnedAway(asyncio.Protocol):
    """One connection too many: closed immediately."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hang up."""
        transport.close()


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
