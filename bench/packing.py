"""The same answers archived with gzip and with Zstandard: bytes on the disk, and CPU time to write and to read them.

    python -m bench.packing

Answers are the manuals in /usr/share/doc, as they are and as most servers send them, which is gzipped, each with its
request and metadata. Of each way, several rounds are made in turn, and the fastest counts. Times are of the answers
after the first `UNTIMED`, when the dictionary is there; it is trained once in the life of a shard.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec.structs import replace

from bench.warc import FIELDS, REQUEST
from periplus.model import Fetched, FetchTask, Lane, Purpose, Site, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcSettings, read_record

MANUALS = Path("/usr/share/doc")
PAGES = 3_000
LONGEST = 100_000
TOGETHER = 50
UNTIMED = 400
ROUNDS = 3
AT = 1_800_000_000.0
PROTOCOLS = "h2 tls/1.3 TLS_AES_128_GCM_SHA256"
Compression = Literal["gzip", "zstd"]


def pages() -> list[Fetched]:
    """Manuals in HTML and text, each once."""
    found = [path for path in sorted(MANUALS.rglob("*")) if path.suffix in (".html", ".txt") and path.is_file()]
    bodies = list(dict.fromkeys(path.read_bytes()[:LONGEST] for path in found))[:PAGES]
    return [page(number, body) for number, body in enumerate(bodies) if body]


def page(number: int, body: bytes) -> Fetched:
    """An answer with this body."""
    task = FetchTask(
        Url(f"https://docs.example.org/{number}"), Site("docs.example.org"), Purpose.PAGE, Lane.DISCOVERY, AT
    )
    return Fetched(task, 200, FIELDS, body, AT + number, 0.1, "192.0.2.7", protocols=PROTOCOLS)


def coded(answer: Fetched) -> Fetched:
    """The same answer, gzipped."""
    return replace(answer, headers=(*FIELDS, ("Content-Encoding", "gzip")), body=gzip.compress(answer.body, 6, mtime=0))


def archived(answers: Sequence[Fetched], compression: Compression) -> tuple[int, float, float]:
    """Bytes of all files, and seconds of CPU to write them and to read every answer by its place."""
    with TemporaryDirectory(prefix="bench-packing-") as name:
        folder = Path(name)
        archive = Archive(
            folder,
            WarcSettings(compression=compression),
            shard=0,
            software="bench",
            fields={},
            end=None,
            payloads=MemoryPayloads(),
        )
        began, places = 0.0, []
        for first in range(0, len(answers), TOGETHER):
            began = time.process_time() if first == UNTIMED else began
            places += archive.write_all([(answer, REQUEST) for answer in answers[first : first + TOGETHER]])
        written = time.process_time()
        archive.close()
        for stored, _ in places[UNTIMED:]:
            read_record(folder, stored)
        read = time.process_time() - written
        size = sum(path.stat().st_size for path in folder.glob("*.warc.*"))
    return size, written - began, read


def main() -> None:
    """Print a table."""
    plain = pages()
    print(f"{len(plain):,} answers, {sum(len(answer.body) for answer in plain):,} bytes of bodies")
    print("| bodies | compression | bytes | write, us an answer | read |\n|---|---|---:|---:|---:|")
    kinds: tuple[Compression, ...] = ("gzip", "zstd")
    for sent, answers in (("as they are", plain), ("gzipped", [coded(answer) for answer in plain])):
        rounds = [[archived(answers, kind) for kind in kinds] for _ in range(ROUNDS)]
        for kind, results in zip(kinds, zip(*rounds, strict=True), strict=True):
            write, read = (
                min(result[place] for result in results) / (len(answers) - UNTIMED) * 1e6 for place in (1, 2)
            )
            print(f"| {sent} | {kind} | {results[0][0]:,} | {write:.0f} | {read:.0f} |")


if __name__ == "__main__":
    main()
