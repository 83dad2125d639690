"""What ten honest hosts get of a crawl beside thirty hostile ones, and what they get alone.

    python -m bench.fairness                       ten minutes, with one worker and with two
    python -m bench.fairness --minutes 1.5 --workers 1

All hosts are on loopback, each at its own address. Eight name sitemaps of 45 MB full of entities, eight name sitemaps
of a million URLs, four name sitemaps of gzip that unpack to a hundred times their size, three have bodies without end,
three send a byte a second, and four lead to ever more names of their domain. Honest hosts have 200 pages and a sitemap.
It ends with 1 if an honest host gets less than 80 % of what it gets alone, or 20 % less than another, or waits for more
than five seconds beyond its delay, or if the state takes more than three times the size of the archive.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from zlib import crc32

from msgspec import Struct

PAGES, DELAY = 200, 1.0
HONEST = [f"honest{number}.test" for number in range(10)]
KINDS = {"entities": 8, "million": 8, "zipped": 4, "endless": 3, "slow": 3, "names": 4}
HOSTILE = [f"{kind}{number}.test" for kind, count in KINDS.items() for number in range(count)]
ADDRESSES = {host: f"127.77.0.{number + 1}" for number, host in enumerate(HONEST + HOSTILE)}
FILES = 8
"""Sitemaps of a host that has large ones."""
_HEAD = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
_ENTITIES = "&amp;&lt;&#97;&gt;&quot;&#x62;" * 12
_KILO = {
    "entities": "".join(f"<url><loc>http://HOST/FILE/PART{n}?a={_ENTITIES}</loc></url>" for n in range(1000)).encode(),
    "million": "".join(f"<url><loc>http://HOST/FILE/PART{n:x}</loc></url>" for n in range(1000)).encode(),
    "zipped": b"<url><loc>http://HOST/FILE/PART</loc>" + b" " * 10_000 + b"</url>",
}
"""A piece of a sitemap of each kind."""
_PIECES = {"entities": 120, "million": 1000, "zipped": 4500}
"""How many pieces a sitemap has."""


@cache
def _zipped(host: bytes) -> bytes:
    return gzip.compress(_HEAD + _KILO["zipped"].replace(b"HOST", host) * _PIECES["zipped"], 6)


def _sitemap(kind: str, host: bytes, path: bytes) -> Iterator[bytes]:
    """A sitemap, piece by piece."""
    if kind == "honest":
        yield _HEAD + b"".join(b"<url><loc>http://%s/%d</loc></url>" % (host, n) for n in range(PAGES))
    elif kind == "zipped":
        yield _zipped(host)
        return
    else:
        piece = _KILO[kind].replace(b"HOST", host).replace(b"FILE", path[1:])
        yield _HEAD
        yield from (piece.replace(b"PART", b"%d-" % number) for number in range(_PIECES[kind]))
    yield b"</urlset>"


def _page(kind: str, host: str, path: str) -> bytes:
    if kind == "honest":
        links = [f"/{(int(path[1:] or 0) + step) % PAGES}" for step in range(5)]
    else:  # ever more names
        links = [
            f"http://n{crc32(f'{host}{path}{step}'.encode())}.{host.split('.', host.count('.') - 1)[-1]}/"
            for step in range(30)
        ]
    text = f"Page {path} of {host} says {crc32(path.encode())}. " * 20
    return f"<title>{text[:40]}</title><p>{text}</p>{''.join(f'<a href={link}>on</a>' for link in links)}".encode()


async def _body(host: bytes, path: bytes) -> AsyncIterator[bytes]:
    """What a host answers, piece by piece."""
    kind = host.split(b".")[-2].rstrip(b"0123456789").decode()
    if path == b"/robots.txt":
        for number in range(FILES if kind in _KILO else kind == "honest"):
            yield b"Sitemap: http://%s/sitemap%d.xml\n" % (host, number)
        yield b"User-agent: *\nAllow: /\n"
    elif path.startswith(b"/sitemap") and (kind in _KILO or kind == "honest"):
        for piece in _sitemap(kind, host, path):
            yield piece
    elif kind in ("endless", "slow"):
        while True:
            yield b"<p>more</p>" * (6000 if kind == "endless" else 1)
            await asyncio.sleep(0.01 if kind == "endless" else 1.0)
    else:
        yield _page(kind, host.decode(), path.decode())


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, times: dict[str, list[float]]) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            host, path = head.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0], head.split(b" ", 2)[1]
            if (name := host.partition(b":")[0].decode()) in times:
                times[name].append(time.time())
            kind = b"gzip" if b"zipped" in host and path.startswith(b"/sitemap") else b"xml" if b"xml" in path else b""
            kind = b"application/" + kind if kind else b"text/plain" if b"robots" in path else b"text/html"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % kind)
            async for piece in _body(host, path.partition(b"?")[0]):
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


def _serve(pipe: Connection, hosts: list[str], port: int) -> None:
    """Answer for some hosts; whenever asked, sends the times of their requests."""
    times: dict[str, list[float]] = {host: [] for host in hosts}

    async def run() -> None:
        await asyncio.start_server(
            lambda r, w: _answer(r, w, times), [ADDRESSES[host] for host in hosts], port, backlog=1000
        )
        pipe.send(None)
        while await asyncio.to_thread(pipe.recv):
            pipe.send(times)
            for each in times.values():
                each.clear()

    asyncio.run(run())


class Run(Struct, frozen=True):
    """Requests and longest gap of each honest host; bytes of the state, and of the archive."""

    requests: list[int]
    gaps: list[float]
    state: int
    warc: int


def crawled(hosts: list[str], pipe: Connection, port: int, seconds: float, workers: int) -> Run:
    """Crawl hosts for some seconds; a gap lasts to the end of the run at the latest, or of the site."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "periplus", "crawl", *(f"http://{host}:{port}/" for host in hosts)]
        command += ["-o", folder, "--for", f"{seconds:.0f}s", "--delay", f"{DELAY}s", "--workers", str(workers)]
        for host, address in ADDRESSES.items():
            command += ["--resolve", f"{host}={address}", "--resolve", f"*.{host}={address}"]
        ended = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if ended.returncode:
            print(f"the crawl ended with {ended.returncode}: {ended.stderr[-500:]}")
        pipe.send(True)
        times = pipe.recv().values()
        begin = min(each[0] for each in times if each)
        gaps = [
            max(after - before for before, after in pairwise([begin, *each, *[begin + seconds][len(each) >= PAGES :]]))
            for each in times
        ]
        sizes = [
            sum(path.stat().st_blocks * 512 for path in (Path(folder) / name).rglob("*") if path.is_file())
            for name in ("state", "warc")
        ]
        return Run([len(each) for each in times], gaps, *sizes)


def main() -> int:
    """Crawl the honest hosts alone, and all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind((ADDRESSES[HONEST[0]], 0))
        port = probe.getsockname()[1]
    for hosts in (HOSTILE, HONEST):  # in processes of their own: a busy server delays no other
        pipe, theirs = multiprocessing.Pipe()
        multiprocessing.Process(target=_serve, args=(theirs, hosts, port), daemon=True).start()
        pipe.recv()
    is_fair = True
    for workers in options.workers:
        alone = crawled(HONEST, pipe, port, options.minutes * 60, workers)
        among = crawled([*HOSTILE, *HONEST], pipe, port, options.minutes * 60, workers)
        print(
            f"{workers} workers: requests of each honest host (longest gap in seconds), alone and among hostile hosts"
        )
        for name, run in (("alone", alone), ("among", among)):
            print(f"  {name:8}", *(f"{n:4} ({gap:.1f})" for n, gap in zip(run.requests, run.gaps, strict=True)))
            print(f"           state {run.state / 1e6:.1f} MB, archive {run.warc / 1e6:.1f} MB")
        is_fair &= (
            min(among.requests) >= 0.8 * max(min(alone.requests), *among.requests)
            and max(among.gaps) <= DELAY + 5
            and among.state <= 3 * among.warc
        )
    print("fair" if is_fair else "not fair")
    return 0 if is_fair else 1


if __name__ == "__main__":
    sys.exit(main())
