"""The surveyed domains over HTTP, on loopback: one server for all hosts, told apart by the Host field, or as a proxy.

    with ServedDomains(count=1000, seed=7) as served:
        served.plan.domains       with the server's port in them
        served.settings           for a crawl that finds every host, by a table of addresses or through the proxy

Bodies leave as they are, without content codings, so that their sizes are those of the plan.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from concurrent.futures import Future
from threading import Thread
from typing import Any, Self

from tests.lab.surveyed_domains import SurveyedDomains
from tests.lab.surveyed_files import Said

HOME = "127.0.0.1"
_LONGEST_HEAD = 64 << 10
_PATIENCE = 10.0


class ServedDomains:
    """Serves a plan until the block ends. As a proxy (`by_proxy`), names carry no port and need no addresses."""

    def __init__(self, count: int = 1000, seed: int = 1, *, by_proxy: bool = False, **plan: Any) -> None:
        self._by_proxy = by_proxy
        self._socket = socket.create_server((HOME, 0), backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        self.plan = SurveyedDomains(count, seed, port=None if by_proxy else self.port, **plan)
        self.requests: Counter[str] = Counter()
        """How often each URL was asked for."""
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready: Future[None] = Future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=self._run, name="surveyed-domains", daemon=True)

    @property
    def addresses(self) -> dict[str, str]:
        """Every host is here."""
        return dict.fromkeys(self.plan.hosts, HOME)

    @property
    def proxy(self) -> str:
        """Where every host is found without its address."""
        return f"http://{HOME}:{self.port}/"

    @property
    def settings(self) -> dict[str, object]:
        """For a crawl that finds them, and is in a hurry: no site rests, and nothing is tried twice.

        Only servers that never answer are given up soon: a busy machine may be late with any other answer.
        """
        is_silent = any(said.trouble == "silent" for said in self.plan.answers.values())
        timeout = 5.0 if is_silent else 300.0
        hurried: dict[str, object] = {
            "politeness.delay": 0.0, "politeness.slow_factor": 0.0, "politeness.ip_delay": 0.0,
            "retries.max_attempts": 1, "retries.backoff": 0.01, "scope.kind": "host",
            "wire.timeout": timeout, "wire.sitemap_timeout": timeout, "wire.low_speed_time": 60,
        }  # fmt: skip
        where: dict[str, object] = {"wire.proxy": self.proxy} if self._by_proxy else {"dns.hosts": self.addresses}
        return hurried | where

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.result(_PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._begin, sock=self._socket, limit=_LONGEST_HEAD)
        self._ready.set_result(None)
        await self._stopping.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                url = _url_of(head.decode("latin-1"))
                self.requests[url] += 1
                said = self.plan.answer(url)
                if said.trouble == "silent":
                    await self._stopping.wait()
                if said.trouble:
                    return
                writer.write(_response(said))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            return
        finally:
            writer.close()


def _url_of(head: str) -> str:
    """The URL that a head asks for, as the plan spells it."""
    request, *fields = head.split("\r\n")
    target = request.split(" ")[1]
    if target.startswith("http://"):
        return target
    named = (field.partition(":") for field in fields)
    host = next((value.strip() for name, _, value in named if name.lower() == "host"), "")
    return f"http://{host}{target}"


def _response(said: Said) -> bytes:
    lines = [
        f"HTTP/1.1 {said.status} As planned",
        f"Content-Type: {said.content_type}",
        f"Content-Length: {len(said.body)}",
        *([f"Location: {said.location}"] if said.location else []),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + said.body
