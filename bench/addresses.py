"""`python -m bench.addresses`: crawl 300 virtual hosts at one address, and count what is under way there.

Three servers, a minute each: one that answers in 5 ms, one that takes 5 to 10 seconds, and one that answers once a
second, one request after the other. Everything is counted at the server. `--server NAME` runs one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

DOMAIN = "hosts.test"
LINKS = 20
"""Pages of a host, each linked from its home page."""


class VirtualHosts:
    """An HTTP server for any host, which waits by `wait` before each answer."""

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait
        self.begun = self.answered = self.under_way = self.most = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection. A client that goes away before its answer has abandoned it."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.begun, self.under_way = self.begun + 1, self.under_way + 1
                self.most = max(self.most, self.under_way)
                try:
                    await self._answer(head.split(b" ", 2)[1], reader, writer)
                finally:
                    self.under_way -= 1
        writer.close()

    async def _answer(self, target: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting, gone = asyncio.ensure_future(self._wait()), asyncio.ensure_future(reader.read(1))
        await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        is_gone = gone.done()
        for each in (waiting, gone):
            each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await each
        if is_gone:
            raise ConnectionError
        status, kind, body = b"200 OK", b"text/html", b"<title>Page</title>A page."
        if target == b"/robots.txt":
            status, body = b"404 Not Found", b""
        elif target == b"/":
            body += b"".join(b'<a href="/%d">%d</a>' % (number, number) for number in range(LINKS))
        fields = b"Content-Type: %s\r\nContent-Length: %d" % (kind, len(body))
        writer.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, fields, body))
        await writer.drain()
        self.answered += 1


def servers() -> dict[str, Callable[[], Awaitable[None]]]:
    """How long each server takes."""
    random, one = Random(7), asyncio.Lock()

    async def one_a_second() -> None:
        async with one:
            await asyncio.sleep(1.0)

    return {
        "5 ms": lambda: asyncio.sleep(0.005),
        "5 to 10 s": lambda: asyncio.sleep(random.uniform(5.0, 10.0)),
        "one a second": one_a_second,
    }


async def crawl(name: str, hosts: int, seconds: float, options: list[str]) -> None:
    """Crawl one server for some time, and print what it saw."""
    server = VirtualHosts(servers()[name])
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)
    port = listener.sockets[0].getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder, "seeds.txt")
        seeds.write_text("".join(f"http://h{number}.{DOMAIN}:{port}/\n" for number in range(hosts)))
        command = ["-m", "periplus", "crawl", "--seeds", str(seeds), "-o", f"{folder}/crawl", "--scope", "host"]
        command += ["--resolve", f"*.{DOMAIN}=127.0.0.1", "--allow-private", f"*.{DOMAIN}:{port}", *options]
        pipe, none = asyncio.subprocess.STDOUT, asyncio.subprocess.DEVNULL
        crawler = await asyncio.create_subprocess_exec(sys.executable, *command, stdin=none, stdout=none, stderr=pipe)
        while not server.begun and crawler.returncode is None:
            await asyncio.sleep(0.05)
        await asyncio.sleep(seconds)
        begun, answered, under_way = server.begun, server.answered, server.under_way
        crawler.send_signal(signal.SIGINT)
        await crawler.wait()
    listener.close()
    print(
        f"{name:>12}: at most {server.most} under way, {begun} begun, {answered} answered "
        f"({answered / seconds:.2f} a second), {begun - answered - under_way} abandoned",
        flush=True,
    )


def main() -> None:
    """Run the servers that were asked for."""
    parser = argparse.ArgumentParser(prog="bench.addresses", description=__doc__)
    parser.add_argument("--server", choices=list(servers()), action="append")
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen, options = parser.parse_known_args()
    for name in chosen.server or servers():
        asyncio.run(crawl(name, chosen.hosts, chosen.seconds, options))


if __name__ == "__main__":
    main()
