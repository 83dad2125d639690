"""Crawls in a network of their own: every page is fetched, whichever address of a host works, and whenever a link does.

Hosts with several addresses are crawled as long as one of them works, and several sites through an outage of the link.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from periplus.engine.frontier.reach import SERVERS
from periplus.engine.router import owner_of
from periplus.model import Site as SiteName
from periplus_lab.conformance import enclosure
from periplus_lab.conformance.name_server import NameServer

HOST = "www.example.com"
FOUR, OTHER, SIX = "93.184.215.14", "93.184.215.15", "2606:2800:21f::1"
PRIVATE = "10.0.0.1"
PAGES = 5
LINKED = [f"www.example-{letter}.com" for letter in "abcdefghijkl"]
AWAY = 30.0
"""Seconds without a network: longer than until a worker knows that it is cut off."""
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


@pytest.mark.proof
@pytest.mark.skipif(not enclosure.entrance(), reason=enclosure.WHY_NOT)
@pytest.mark.parametrize("case", CASES)
def test_every_page_is_crawled(case: str, tmp_path: Path) -> None:
    """With default retries, and no page given up; no connection is made to a private address."""
    run_enclosed(case, tmp_path)


@pytest.mark.skipif(not enclosure.entrance(), reason=enclosure.WHY_NOT)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_link_that_is_down_for_a_while_costs_no_page(workers: int, tmp_path: Path) -> None:
    """In the middle of a crawl of several sites. Every worker waits until it is back; none gives anything up."""
    run_enclosed(str(workers), tmp_path)


def run_enclosed(case: str, folder: Path) -> None:
    command = [*enclosure.entrance(), sys.executable, "-m", __name__, case, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


async def crawl(case: str, folder: Path) -> None:
    """Inside an enclosure: crawl a site, and check what was fetched."""
    enclosure.furnish(folder)
    subprocess.run(["ip", "address", "add", f"{SIX}/128", "dev", "lo", "nodad"], check=True)
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


async def crawl_through_an_outage(workers: int, folder: Path) -> None:
    """Inside an enclosure: crawl several sites, for which the network is gone for a while."""
    enclosure.furnish(folder)
    shares = Counter(owner_of(SiteName(name), workers) for name in LINKED)
    assert min(shares[number] for number in range(workers)) > SERVERS
    sites = {name: Site(f"93.184.215.{number}") for number, name in enumerate(LINKED, 1)}
    names = NameServer(lambda name: sites[name].addresses if name in sites else "")
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: names, ("127.0.0.1", 53))
    for site in sites.values():
        await site.listen(site.addresses)
    seeds = [f"http://{name}/" for name in LINKED]
    options = ["--delay", "0.5s", "--workers", str(workers), "--json"]
    options += ["--set", "wire.connect_timeout=1", "--set", "retries.backoff=2"]
    crawler = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "periplus", "crawl", *seeds, "-o", f"{folder}/crawl", *options,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while min(len(site.answered) for site in sites.values()) < 3:
        await asyncio.sleep(0.05)
    await asyncio.to_thread(enclosure.lose_network, AWAY)
    printed, said = await crawler.communicate()
    assert crawler.returncode == 0, said.decode()
    summary = json.loads(printed)
    assert (summary["ended"], summary["excluded"], summary["queued"]) == ("complete", {}, 0), printed.decode()
    assert summary["pages"] == len(LINKED) * (PAGES + 1)
    logged = [said.count(line) for line in (b"cut off: none of", b"servers can be reached again")]
    assert min(logged) >= workers, said.decode()


if __name__ == "__main__":
    case, folder = sys.argv[1], Path(sys.argv[2])
    asyncio.run(crawl_through_an_outage(int(case), folder) if case.isdigit() else crawl(case, folder))
