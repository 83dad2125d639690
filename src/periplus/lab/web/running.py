"""A lab in a separate thread, for tests and notebooks that are not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Thread
from types import TracebackType
from typing import Self

from .hostile import REGISTRY
from .loopback import HOME
from .server import Server

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
        """Where plain HTTP is spoken; also a proxy for every host of the lab."""
        return self.server.port

    @property
    def tls_port(self) -> int | None:
        """Where TLS is spoken, if it is; its authority is `server.authority_pem`."""
        return self.server.tls_port

    @property
    def base(self) -> str:
        """The index page; given as a proxy (`http_proxy`), it leads to every host of the lab."""
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
