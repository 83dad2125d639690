"""Hosts with several addresses, in a network of their own: every page is crawled as long as one address works."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from periplus.apps.lab.conformance import enclosure
from periplus.apps.lab.conformance.name_server import NameServer

HOST = "www.example.com"
FOUR, OTHER, SIX = "93.184.215.14", "93.184.215.15", "2606:2800:21f::1"
PRIVATE = "10.0.0.1"
PAGES = 5
NO_IPV4 = "ip route del local 0.0.0.0/0 dev lo"


class Site:
    """A site at some addresses. `moves_to`: after the second page it is there, and nowhere else."""

    def __init__(self, addresses: str, moves_to: str = "") -> None:
        self.addresses = addresses
        self._moves_to = moves_to
        self._listeners: list[asyncio.Server] = []
        self.answered: list[str] = []

    async def listen(self, address: str) -> None:
        """Answer at an address."""
        self._listeners.append(await asyncio.start_server(self._serve, address, 80))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
        links = "".join(f"<a href='/{number}'>{number}</a>" for number in range(PAGES)) if target == "/" else target
        page = f"<title>{target}</title>{links}".encode()
        status = b"404 Not Found" if target == "/robots.txt" else b"200 OK"
        fields = b"Content-Type: text/html\r\nConnection: close\r\nContent-Length: %d" % len(page)
        writer.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, fields, page))
        await writer.drain()
        writer.close()
        self.answered.append(f"{writer.get_extra_info('sockname')[0]} {target}")
        if self._moves_to and target == "/1":
            for listener in self._listeners:
                listener.close()
            self.addresses = self._moves_to
            await self.listen(self._moves_to)


def _be_silent(address: str, stack: ExitStack) -> None:
    """Answer no connection at an address: the queue of its listener is full."""
    listener = stack.enter_context(socket.create_server((address, 80), backlog=0))
    listener.settimeout(1)
    for _ in range(3):
        client = stack.enter_context(socket.socket())
        client.setblocking(False)
        client.connect_ex((address, 80))


CASES: dict[str, tuple[Site, str, str, str]] = {  # where it listens, what is silent, what is done to the network
    "refused": (Site(f"{FOUR} {OTHER}"), OTHER, "", ""),
    "silent": (Site(f"{FOUR} {OTHER}"), OTHER, FOUR, ""),
    "ipv4-refused": (Site(f"{FOUR} {SIX}"), SIX, "", ""),
    "ipv6-only": (Site(f"{FOUR} {SIX}"), SIX, "", NO_IPV4),
    "moved": (Site(FOUR, moves_to=OTHER), FOUR, "", ""),
    "private": (Site(f"{PRIVATE} {FOUR}"), f"{PRIVATE} {FOUR}", "", ""),
}


@pytest.mark.skipif(not enclosure.entrance(), reason=enclosure.WHY_NOT)
@pytest.mark.parametrize("case", CASES)
def test_every_page_is_crawled(case: str, tmp_path: Path) -> None:
    """With default retries, and no page given up; no connection is made to a private address."""
    command = [*enclosure.entrance(), sys.executable, "-m", __name__, case, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


async def crawl(case: str, folder: Path) -> None:
    """Inside an enclosure: crawl a site, and check what was fetched."""
    enclosure.furnish(folder)
    subprocess.run(["ip", "address", "add", f"{SIX}/128", "dev", "lo"], check=True)
    site, listens, silent, change = CASES[case]
    names = NameServer(lambda name: site.addresses if name == HOST else "")
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: names, ("127.0.0.1", 53))
    with ExitStack() as stack:
        if silent:
            _be_silent(silent, stack)
        for address in listens.split():
            await site.listen(address)
        if change:
            subprocess.run(change.split(), check=True)
            with pytest.raises(OSError, match="unreachable"):
                socket.create_connection((FOUR, 80))
        options = ["--delay", "0.1s", "--set", "wire.connect_timeout=1", "--set", "retries.backoff=0.5"]
        command = [sys.executable, "-m", "periplus", "crawl", f"http://{HOST}/", "-o", f"{folder}/crawl", *options]
        crawler = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL)
        assert await crawler.wait() == 0
    pages = ["/", *(f"/{number}" for number in range(PAGES))]
    fetched = [answer.partition(" ")[2] for answer in site.answered]
    assert [fetched.count(page) for page in pages] == [1] * len(pages), site.answered
    assert not [answer for answer in site.answered if answer.startswith(PRIVATE)]


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], Path(sys.argv[2])))
