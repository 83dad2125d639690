"""The wire against a bare libcurl loop: the same page from many hosts, over connections that are kept.

A page of the lab is served, canned, by a process of its own on many loopback addresses. What is counted is the CPU time
of the client alone, so that neither the server nor a neighbour takes part in the race. The bare loop does what the
least of programs would: no limits, no guard, no headers read, no outcome made; the distance to it is what those cost.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pycurl

from bench.harness import Group, Target
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import AddressGuard, CrawlerIdentity, CurlWire, Resolver, WireSettings, opened_by
from periplus.model import Fetched, FetchTask, Lane, Purpose
from periplus.urls import canonical, site_of
from periplus_lab import Request, World
from periplus_lab.http import write_head
from periplus_lab.server import open_loopback

HOSTS = (50, 500)
FIELDS = (
    ("Server", "lab"),
    ("Date", "Mon, 05 Jan 2026 00:00:00 GMT"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Last-Modified", "Sun, 04 Jan 2026 00:00:00 GMT"),
    ("ETag", '"5c1-6a1b"'),
    ("Cache-Control", "max-age=600"),
    ("Vary", "Accept-Encoding"),
    ("Connection", "keep-alive"),
)
"""About as many fields as an ordinary server sends."""


def measure(quick: bool) -> list[Group]:
    """Two tables: few hosts and many at once."""
    requests, rounds = (4000, 3) if quick else (20_000, 5)
    with serving() as port:
        return [_measure(hosts, port, requests, rounds) for hosts in HOSTS]


def _measure(hosts: int, port: int, requests: int, rounds: int) -> Group:
    urls = [f"http://127.8.{number // 250}.{number % 250 + 1}:{port}/{number}" for number in range(hosts)]
    contestants: dict[str, Callable[[int], None]] = {"periplus": wire_loop(urls), "bare pycurl": Bare(urls)}
    for run in contestants.values():
        run(2 * hosts)  # connections are made here
    rates = race_cpu(contestants, requests=requests, rounds=rounds)
    cost = ", ".join(f"{name} {1e6 / rate:.0f} us" for name, rate in rates.items())
    return Group(
        f"the wire: {hosts} hosts at once",
        "requests a CPU second",
        rates,
        (Target("periplus", "bare pycurl", 0.4),),
        facts={"a request": cost},
    )


def race_cpu(contestants: Mapping[str, Callable[[int], None]], *, requests: int, rounds: int) -> dict[str, float]:
    """As `harness.race`, by the CPU time of this process."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            gc.collect()
            started = time.process_time()
            run(requests)
            best[name] = min(best[name], time.process_time() - started)
    return {name: requests / seconds for name, seconds in best.items()}


def wire_loop(urls: list[str]) -> Callable[[int], None]:
    """Tasks in, outcomes out, as the engine does."""
    clock = SystemClock()
    wire = CurlWire(
        WireSettings(max_transfers=len(urls), max_idle_connections=len(urls)),
        identity=CrawlerIdentity("me@example.org"),
        clock=clock,
        resolver=Resolver(clock=clock),
        guard=AddressGuard(allow_private=opened_by([found for url in urls if (found := canonical(url))], {}, ())),
    )
    tasks = [_task(url) for url in urls]

    def run(count: int) -> None:
        for task in tasks:
            wire.start(task)
        started, ended = len(tasks), 0
        while ended < count:
            for outcome in wire.finished(10.0):
                if not isinstance(outcome, Fetched):
                    raise RuntimeError(f"the bench's own server failed: {outcome}")
                ended += 1
                if started < count:
                    wire.start(outcome.task)
                    started += 1

    return run


def _task(url: str) -> FetchTask:
    found = canonical(url)
    if found is None:
        raise RuntimeError(url)
    site = site_of(found)
    return FetchTask(found, site, Purpose.PAGE, Lane.DISCOVERY, 0.0, ip=site.partition(":")[0])


class Bare:
    """`perform` and `select`, a handle a host, callbacks that are C functions."""

    def __init__(self, urls: list[str]) -> None:
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, len(urls))
        self._handles: dict[Any, tuple[str, list[bytes], list[bytes]]] = {}
        for url in urls:
            handle = pycurl.Curl()
            parts: list[bytes] = []
            lines: list[bytes] = []
            handle.setopt(pycurl.WRITEFUNCTION, parts.append)
            handle.setopt(pycurl.HEADERFUNCTION, lines.append)
            handle.setopt(pycurl.HTTPHEADER, ["User-Agent: bare", "Accept: text/html", "Accept-Encoding: gzip"])
            self._handles[handle] = (url, parts, lines)

    def __call__(self, count: int) -> None:
        """Fetch so often."""
        for handle in self._handles:
            self._start(handle)
        started, ended = len(self._handles), 0
        while ended < count:
            self._multi.perform()
            for handle in self._done():
                ended += 1
                if started < count:
                    self._start(handle)
                    started += 1
            if ended < count:
                self._multi.select(1.0)

    def _start(self, handle: Any) -> None:
        handle.setopt(pycurl.URL, self._handles[handle][0])
        self._multi.add_handle(handle)

    def _done(self) -> Iterator[Any]:
        more = 1
        while more:
            more, done, failed = self._multi.info_read()
            if failed:
                raise RuntimeError(f"the bench's own server failed: {failed}")
            for handle in done:
                self._multi.remove_handle(handle)
                _, parts, lines = self._handles[handle]
                b"".join(parts)
                parts.clear()
                lines.clear()
                yield handle


class _Canned(asyncio.Protocol):
    """The same answer to every request."""

    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        self._write = transport.write  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        """Requests here have no bodies, and come one at a time."""
        self._write(self.answer * data.count(b"\r\n\r\n"))


async def serve() -> None:
    """Until the pipe to the parent closes."""
    world = World(sites=3)
    page = world.answer(Request("GET", world.hosts[0], "/", (), world.epoch)).body
    body = page if isinstance(page, bytes) else b"".join(page)
    _Canned.answer = write_head(200, (*FIELDS, ("Content-Length", str(len(body))))) + body
    sock, _ = open_loopback(0)
    server = await asyncio.get_running_loop().create_server(_Canned, sock=sock, backlog=1024)
    async with server:
        print(sock.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextmanager
def serving() -> Iterator[int]:
    """The canned page in a process of its own; gives its port."""
    command = [sys.executable, "-m", "bench.wire", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        if server.stdout is None or server.stdin is None:
            raise RuntimeError("a process without its pipes")
        yield int(server.stdout.readline())
        server.stdin.close()


if __name__ == "__main__":
    ask = argparse.ArgumentParser(prog="python -m bench.wire")
    ask.add_argument("--serve", action="store_true", help="only serve the page, until standard input ends")
    if ask.parse_args().serve:
        asyncio.run(serve())
    else:
        for group in measure(quick=True):
            print(group.title, {name: f"{rate:,.0f}" for name, rate in group.rates.items()}, dict(group.facts))
