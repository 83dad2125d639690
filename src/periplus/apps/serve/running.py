"""Runs the application in uvicorn: in the foreground for the command, in a thread for programs.

The first Ctrl-C (or SIGTERM) lets requests under way end, the second ends at once. A client that does not finish the
header of a request within `ServeSettings.header_timeout`, or does not read an answer within `timeout`, is disconnected;
uvicorn itself would wait. `connections` decides which connections make room for new ones.

A crawl beside the server is the same command as a person would type, in a process of its own, and the server controls
it through its socket as any crawl. When the server ends in any way, even if it is killed, the crawl ends its requests
and commits everything.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import h11
import uvicorn
from msgspec.structs import replace
from uvicorn.protocols.http.h11_impl import H11Protocol

from periplus.collection.collection import held
from periplus.model import CollectionInUse, UsageError

from .app import make_app
from .connections import Connections
from .served import Served, ServeSettings

STOP_WITHIN = 60.0
"""Seconds for a crawl to end its requests and commit; then it is killed, which loses only the requests under way."""


@contextmanager
def crawling(folders: Sequence[Path], kind: str, say: Callable[[str], None]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run a command (`crawl` or `watch`) on each folder until the block ends; `say` is called if one fails before.

    Raises `CollectionInUse` if a crawl of one of them runs already.
    """
    for folder in folders:
        _check_free(folder, kind)
    processes: list[subprocess.Popen[bytes]] = []
    is_ending = threading.Event()

    def report(process: subprocess.Popen[bytes], folder: Path) -> None:
        if (code := process.wait()) and not is_ending.is_set():
            say(f"periplus {kind} of {folder} ended with exit code {code}; the server goes on without it.")

    try:
        for folder in folders:
            place = ["-o", str(folder.resolve())] if kind == "crawl" else [str(folder.resolve())]
            command = [sys.executable, "-P", "-m", "periplus.cli.stopped_by_parent", kind, *place]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own
            processes.append(process)
            threading.Thread(target=report, args=(process, folder), daemon=True).start()
        yield processes
    finally:
        is_ending.set()
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _check_free(folder: Path, kind: str) -> None:
    try:
        with held(folder):
            pass
    except CollectionInUse as error:
        hint = f"wait until it ends, or serve without --{kind}: the live pages show any crawl that runs"
        raise CollectionInUse(str(error), hint=hint) from error


GRACE = 10
"""Seconds for requests under way to end after the first Ctrl-C."""
_BACKLOG = 128
_MAX_HEADER = 64 * 1024
"""Bytes of a request line with its header: the default of uvicorn."""
_MAX_AHEAD = 64 * 1024
"""Bytes of further requests that may arrive before one is answered. Browsers send none; uvicorn would keep them all."""
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"


class _Protocol(H11Protocol):
    """Closes connections whose request does not arrive or whose client does not read, and those that are too many."""

    settings: ServeSettings
    open_connections: Connections[_Protocol]
    _unread: asyncio.TimerHandle | None = None
    _incomplete: asyncio.TimerHandle | None = None
    _ahead = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `timeout` holds for every byte that is not read
        self._await_header()
        if not self.open_connections.add(self, self.client[0] if self.client else "", _is_waiting):
            transport.write(_TOO_MANY)
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._ahead = self._ahead + len(data) if self.conn.their_state is h11.DONE else 0
        if self._ahead > _MAX_AHEAD:
            self.transport.abort()
            return
        super().data_received(data)
        if _awaits_header(self):
            self._await_header()
        elif self._incomplete is not None:
            self._incomplete.cancel()
            self._incomplete = None

    def _await_header(self) -> None:
        """Close the connection unless a header is complete in time.

        The time is counted from the connection, or from the first byte of a later request.
        """
        if self._incomplete is None:
            self._incomplete = self.loop.call_later(self.settings.header_timeout, self.transport.abort)

    def on_response_complete(self) -> None:
        self.open_connections.waits_again(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self.settings.timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._unread, self._incomplete):
            if timer is not None:
                timer.cancel()
        self.open_connections.remove(self)
        super().connection_lost(exc)

    def make_room(self) -> None:
        """Close the connection for another one."""
        self.transport.abort()


def _awaits_header(connection: _Protocol) -> bool:
    """Whether the next bytes from the client belong to the header of a request."""
    return connection.cycle is None or connection.cycle.response_complete


def _is_waiting(connection: _Protocol) -> bool:
    """Whether a connection waits for a request and its client has the whole answer: nothing is lost if it is closed."""
    return _awaits_header(connection) and connection.transport.get_write_buffer_size() == 0


class _Server(uvicorn.Server):
    """A server that reports when it begins to stop."""

    def __init__(self, config: uvicorn.Config, served: Served, at_once: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._served = served
        self._at_once = at_once

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at signals, in the main thread; elsewhere signals are left alone."""
        if self._at_once is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the interface has it
        """Stop gracefully; at the second signal, at once."""
        if self.should_exit and self._at_once is not None:
            self._at_once()
        self.stop()

    def stop(self) -> None:
        """Begin to stop."""
        self._served.stopping.set()
        self.should_exit = True


def serve(served: Served, started: Callable[[str], None], at_once: Callable[[], None]) -> None:
    """Serve until a signal; `started` is called with the URL, `at_once` at a second signal."""
    listening = _listen(served)
    server = _server(served, listening, at_once)
    started(url_of(served, listening))
    asyncio.run(server.serve([listening]))


@contextmanager
def running(served: Served) -> Iterator[str]:
    """Serve in a thread of its own, until the block ends; the URL."""
    listening = _listen(served)
    server = _server(served, listening, None)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), name="periplus serve", daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield url_of(served, listening)
    finally:
        server.stop()
        thread.join(GRACE + 5)


def url_of(served: Served, listening: socket.socket) -> str:
    """Where a browser finds the server."""
    if served.settings.public_url:
        return served.settings.public_url.rstrip("/") + "/"
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        host = socket.gethostname()
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _server(served: Served, listening: socket.socket, at_once: Callable[[], None] | None) -> _Server:
    settings = served.settings = replace(served.settings, port=listening.getsockname()[1])
    limits = Connections[_Protocol](
        settings.max_connections - 1, settings.max_connections_per_address, _proxies(settings)
    )
    protocol = type("Protocol", (_Protocol,), {"settings": settings, "open_connections": limits})
    options: dict[str, Any] = {
        "http": protocol,
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "log_level": "critical",
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(settings.public_url),
        "limit_concurrency": settings.max_connections,
        "timeout_graceful_shutdown": GRACE,
        "h11_max_incomplete_event_size": _MAX_HEADER,
    }
    return _Server(uvicorn.Config(make_app(served), **options), served, at_once)


def _proxies(settings: ServeSettings) -> frozenset[str]:
    """Addresses that many clients share: those of a reverse proxy on this machine."""
    return frozenset({"127.0.0.1", "::1"}) if settings.public_url else frozenset()


def _listen(served: Served) -> socket.socket:
    """A socket on the address of the settings, so that a port in use is an error of one line."""
    settings = served.settings
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        what = error.strerror or str(error)
        raise UsageError(
            f"cannot listen on {settings.host} port {settings.port}: {what}",
            hint="Choose another port: --port 8601, or 0 for any free one.",
        ) from error
    with suppress(OSError):
        listening.setblocking(False)
    return listening
