"""The lab's HTTP server: one port in the clear, one for TLS, every host name of the lab behind both. And its clock.

It listens on loopback only, and its connections are bounded in number and in time. `RunningLab` runs it in a thread,
for tests and notebooks that are not asynchronous.

`RunningClock` is `epoch` plus `speed` times the wall clock (86,400: a day a second); `SteppedClock` moves only when a
test says so. Both are a `model.Clock`: they never run backwards. Everything that the server says about time is read
here, so that Date, Last-Modified and a sitemap's lastmod agree with each other. What changes at which time is the
world's business.

The world gives each site an address of its own in 127.0.0.0/8, so that politeness by address can be seen. Linux
answers on all of them; one socket that is bound to the loopback device, and so deaf to the network, serves them all.
Elsewhere the lab is at 127.0.0.1 alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Self

from periplus.model import Clock, UsageError

from .channel import ContextOf
from .connection import Connection, ConnectionLimits, Latency, Service
from .hostile import REGISTRY
from .index import Hosts, LabIndex
from .log import RequestLog
from .world import World

__all__ = ["ConnectionLimits", "Latency", "Server"]


class RunningClock:
    """Time that passes by itself, `speed` virtual seconds for each real one."""

    def __init__(self, epoch: float, speed: float = 1.0) -> None:
        if not 0 <= speed < float("inf"):
            raise UsageError(f"a clock cannot run at speed {speed}", hint="Give a number of 0 or more: --speed 3600")
        self.epoch = epoch
        self.speed = speed
        self._started = time.monotonic()

    def now(self) -> float:
        """The virtual time, as POSIX seconds."""
        return self.epoch + self.speed * (time.monotonic() - self._started)


class SteppedClock:
    """Time that stands still until a test advances it; thread-safe."""

    def __init__(self, epoch: float) -> None:
        self.epoch = epoch
        self._now = epoch
        self._moving = Lock()

    def now(self) -> float:
        """The virtual time, as POSIX seconds."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Let `seconds` pass at once; the new time."""
        if seconds < 0:
            raise UsageError(f"time does not run backwards: {seconds} s")
        with self._moving:
            self._now += seconds
            return self._now

    def move_to(self, at: float) -> None:
        """Let time pass until `at`."""
        with self._moving:
            if at < self._now:
                raise UsageError(f"time does not run backwards: it is {self._now}, not {at}")
            self._now = at


HOME = "127.0.0.1"
_EVERYWHERE = ""
_DEVICE = b"lo"


def open_loopback(port: int) -> tuple[socket.socket, bool]:
    """A socket bound to `port` (0: any), and whether it is reached at every address of 127.0.0.0/8."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        is_wide = _bind_to_device(sock)
        sock.bind((_EVERYWHERE if is_wide else HOME, port))
    except OSError as error:
        sock.close()
        raise UsageError(f"cannot listen on port {port}: {error.strerror}", hint="Try --port 0") from error
    return sock, is_wide


def _bind_to_device(sock: socket.socket) -> bool:
    option: int | None = getattr(socket, "SO_BINDTODEVICE", None)
    with contextlib.suppress(OSError):
        if option is not None:
            sock.setsockopt(socket.SOL_SOCKET, option, _DEVICE)
            return True
    return False


_BACKLOG = 1024
_SWEEP_EVERY = 0.5


class Listeners:
    """The sockets of one service, and the connections that they took: bounded in number and in time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._connections: set[Connection] = set()
        self._numbers = count(1)
        self._listening: list[asyncio.Server] = []

    async def __aenter__(self) -> Self:
        """Begin to end connections that exceed their time."""
        self._sweeping = asyncio.create_task(self._sweep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening, and end every connection."""
        self._sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sweeping
        for listening in self._listening:
            listening.close()
        self.cut()
        while self._connections:  # each leaves in the loop's next turns: no socket outlives the lab
            await asyncio.sleep(0)
        for listening in self._listening:
            await listening.wait_closed()

    async def listen(self, sock: socket.socket, *, secure: bool = False) -> int:
        """Take connections at a bound socket; returns its port."""

        def accept() -> asyncio.Protocol:
            if len(self._connections) >= self._service.limits.most_connections:
                return _TurnedAway()
            connection = Connection(self._service, next(self._numbers), self._connections.discard, secure=secure)
            self._connections.add(connection)
            return connection

        loop = asyncio.get_running_loop()
        self._listening.append(await loop.create_server(accept, sock=sock, backlog=_BACKLOG))
        return int(sock.getsockname()[1])

    def cut(self) -> None:
        """End every connection now."""
        for connection in list(self._connections):
            connection.end_now()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EVERY)
            now = asyncio.get_running_loop().time()
            for connection in [one for one in self._connections if one.deadline < now]:
                connection.end_now()


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
        limits: ConnectionLimits | None = None,
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
        self._limits = limits or ConnectionLimits()
        self._pace = pace
        self._latency = latency
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
            Hosts(self.world, LabIndex(self)).reply,
            self.clock,
            self.log,
            self._limits,
            self._pace,
            context_of,
            self._latency,
        )
        listeners = await stack.enter_async_context(Listeners(service))
        self.port = await self._listen(listeners, self.port, secure=False)
        if self.tls_port is not None:
            self.tls_port = await self._listen(listeners, self.tls_port, secure=True)

    def _certificates(self, stack: contextlib.AsyncExitStack) -> ContextOf:
        try:
            from .certificates import Authority
        except ImportError as error:
            raise UsageError(
                "TLS needs the package cryptography", hint="Install the extra: pip install 'periplus-lab[tls]'"
            ) from error
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="periplus-lab-")))
        authority = Authority(folder)
        self.authority_pem = authority.pem
        return authority.context

    async def _listen(self, listeners: Listeners, port: int, *, secure: bool) -> int:
        sock, self._has_all_addresses = open_loopback(port)
        return await listeners.listen(sock, secure=secure)


class _TurnedAway(asyncio.Protocol):
    """One connection too many: closed immediately."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hang up."""
        transport.close()


_PATIENCE = 60.0


class RunningLab:
    """`with RunningLab(Server(world)) as lab:` serves until the block ends. The loop and its sockets stay in there."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.world = server.world
        self.clock = server.clock
        self.log = server.log
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready: Future[None] = Future()
        self._thread = Thread(target=self._run, name="periplus-lab", daemon=True)

    def __enter__(self) -> Self:
        """Start; returns when it listens."""
        self._thread.start()
        self._ready.result(_PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and wait until every socket is closed."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except Exception as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)  # for the thread that started the lab
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        async with self.server:
            self._ready.set_result(None)
            await self._stopping.wait()

    @property
    def port(self) -> int:
        """The port of plain HTTP; also a proxy for every host of the lab."""
        return self.server.port

    @property
    def tls_port(self) -> int | None:
        """The port of TLS, if there is one; its certificate authority is `server.authority_pem`."""
        return self.server.tls_port

    @property
    def base(self) -> str:
        """The URL of the index page; used as a proxy (`http_proxy`), it reaches every host of the lab."""
        return f"http://{HOME}:{self.port}/"

    @property
    def resolver(self) -> Mapping[str, str]:
        """The address of every host, ordinary and hostile, as a name server returns it; `*.` stands for any name."""
        hostile = {one.host: HOME for one in REGISTRY.values()}
        names = (*self.world.hosts, *self.world.wildcards)
        return {host: self.server.address(host.removeprefix("*.")) for host in names} | hostile

    def url(self, host: str, target: str = "/") -> str:
        """A URL with the lab's port in it, for a client that resolves names by `resolver`."""
        return f"http://{host}:{self.port}{target}"
