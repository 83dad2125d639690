"""`python -m bench.bridges`: the frontier over gRPC, chunks and documents for retrieval, and spiders over an archive.

Not part of `python -m bench`: there is no peer that does the same here. Server and clients of the frontier share the
machine, so its rates are what both manage together. Pages are the manuals of this machine with their words exchanged,
so that no two are near-duplicates.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from periplus.apps.export.retrieval import export_bulk, export_chunks
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.store.export import Committed, Selection

ADDRESS = "127.0.0.1:7399"
BATCH = 83
"""URLs of a batch: the links of a page."""
SECONDS = 4.0
"""How long each kind of `GetURLs` is asked."""
SMALLEST, LARGEST = 2_000, 200_000
"""Bytes of a page."""
_TEXT = re.compile(rb">[^<]+<")
_WORD = re.compile(rb"\b[a-z]{3,12}\b")


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000, help="URLs to discover; 0: none")
    parser.add_argument("--queues", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=2_000, help="pages to export and to replay; 0: none")
    parser.add_argument("--replay", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.replay:
        _replay(asked.replay)
        return
    with TemporaryDirectory(prefix="bench-bridges-") as name:
        if asked.urls:
            _frontier(Path(name) / "frontier", asked.urls, asked.queues)
        if asked.pages:
            _exports(Path(name), asked.pages)


# the frontier


def _frontier(folder: Path, urls: int, queues: int) -> None:
    command = [sys.executable, "-m", "periplus", "frontier", str(folder), "--grpc", ADDRESS]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        assert server.stderr is not None
        server.stderr.readline()
        try:
            asyncio.run(_clients(urls, queues, server.pid))
        finally:
            server.send_signal(signal.SIGINT)


async def _clients(urls: int, queues: int, server: int) -> None:
    import grpc

    from periplus_urlfrontier.messages import MESSAGES, SERVICE

    async with grpc.aio.insecure_channel(ADDRESS) as channel:
        put = channel.stream_stream(f"/{SERVICE}/PutDiscovered")

        async def discover(part: int) -> None:
            async def batches() -> AsyncIterator[bytes]:
                for number, batch in enumerate(_batches(MESSAGES, urls, queues)):
                    if number % 2 == part:
                        yield batch

            async for _ in put(batches()):
                pass

        started, busy = time.perf_counter(), _cpu(server)
        await asyncio.gather(discover(0), discover(1))
        rate, cpu_rate = urls / (time.perf_counter() - started), urls / (_cpu(server) - busy)
        print(
            f"frontier: {rate:,.0f} discovered/s, durable ({cpu_rate:,.0f} for a second of the server's CPU); "
            f"memory {_memory(server)} MB"
        )
        get = channel.unary_stream(f"/{SERVICE}/GetURLs", request_serializer=MESSAGES["GetParams"].SerializeToString)
        for queues_each, urls_each in ((1, 1), (10, 10), (100, 50)):
            params = MESSAGES["GetParams"](max_queues=queues_each, max_urls_per_queue=urls_each, delay_requestable=3600)
            busy = _cpu(server)
            calls, found, seconds = await _asked(get, params)
            cpu = _cpu(server) - busy
            print(
                f"frontier: {calls / seconds:,.0f} GetURLs/s for {queues_each} queues, {urls_each} URLs each: "
                f"{found / seconds:,.0f} URLs/s (of the server's CPU {calls / cpu:,.0f} and {found / cpu:,.0f}); "
                f"memory {_memory(server)} MB"
            )


async def _asked(get: Any, params: Any) -> tuple[int, int, float]:
    """Calls, URLs and seconds of four clients."""
    started = time.perf_counter()
    counts = [0, 0]

    async def ask() -> None:
        while time.perf_counter() < started + SECONDS:
            counts[0] += 1
            async for _ in get(params):
                counts[1] += 1

    await asyncio.gather(*(ask() for _ in range(4)))
    return counts[0], counts[1], time.perf_counter() - started


def _batches(messages: dict[str, Any], urls: int, queues: int) -> Iterator[bytes]:
    for start in range(0, urls, BATCH):
        host = f"www.host{start // BATCH * 7919 % queues}.example.org"
        items = [
            messages["URLInfo"](url=f"https://{host}/section/{number % 17}/page-{number}.html")
            for number in range(start, min(urls, start + BATCH))
        ]
        yield messages["DiscoveredBatch"](ID=str(start), items=items).SerializeToString()


def _cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> int:
    """Megabytes that a process has for itself: pages of files that the system can drop do not count."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) // 1024


# exports and replay


def _exports(scratch: Path, count: int) -> None:
    _write_archive(scratch / "pages.warc.gz", count)
    import_archives(scratch / "pages", [scratch / "pages.warc.gz"])
    collection = existing(scratch / "pages")
    for export in (export_chunks, export_chunks, export_bulk):  # the second has kept chunks
        out = io.BytesIO()
        started = time.process_time()
        exported = export(collection, Committed(), Selection(), out)
        seconds = time.process_time() - started
        print(
            f"{export.__name__}: {exported.written:,} pages, {exported.written / seconds:,.0f} pages/s of CPU, "
            f"{len(out.getvalue()) / seconds / 1e6:.1f} MB/s"
        )
    subprocess.run([sys.executable, "-m", "bench.bridges", "--replay", str(scratch / "pages")], check=True)


def _write_archive(path: Path, count: int) -> None:
    folder = Path("/usr/share/doc")
    paths = sorted(
        each for each in folder.rglob("*.html") if each.is_file() and SMALLEST < each.stat().st_size < LARGEST
    )
    words = sorted(
        {word for each in paths for text in _TEXT.findall(each.read_bytes()) for word in _WORD.findall(text)}
    )
    with path.open("wb") as file:
        for number in range(count):
            body = _other_words(paths[number % len(paths)].read_bytes(), words, Random(number))
            answer = (
                f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
            at = datetime.fromtimestamp(1.7e9 + number, UTC).isoformat().replace("+00:00", "Z")
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h{number % 40}.test/{number}.html\r\n"
                f"WARC-Date: {at}\r\nWARC-Record-ID: <urn:uuid:{number:032x}>\r\n"
                f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
            )
            file.write(gzip.compress(head.encode() + answer + b"\r\n\r\n", 1))


def _other_words(body: bytes, words: list[bytes], random: Random) -> bytes:
    return _TEXT.sub(lambda text: _WORD.sub(lambda _: random.choice(words), text[0]), body)


def _replay(folder: Path) -> None:
    """A spider over all pages, in a process of its own."""
    from scrapy.crawler import CrawlerProcess
    from scrapy.http import Response

    from periplus_scrapy import CollectionSpider

    began: list[tuple[float, float]] = []
    pages: list[str] = []

    class Reading(CollectionSpider):
        name = "reading"

        def parse(self, response: Response, **_: Any) -> None:
            if not began:
                began.append((time.perf_counter(), time.process_time()))
            pages.append(response.url)

    process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "PERIPLUS_DIR": str(folder)})
    process.crawl(Reading)
    process.start()
    wall, cpu = time.perf_counter() - began[0][0], time.process_time() - began[0][1]
    print(f"replay: {len(pages) / cpu:,.0f} responses/s of CPU, {len(pages) / wall:,.0f} by the clock")


if __name__ == "__main__":
    main()
