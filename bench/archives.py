"""`python -m bench.archives`: imports of foreign archives, WACZ packages, and look-ups in large CDXJ indexes.

Not part of `python -m bench`: there is no peer that does the same. Rates are for one process, by its CPU time and by
the clock. Pages are the HTML files below FOLDER, by default the manuals of this machine, each taken as often as needed.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from periplus.apps.export.exporting import Export, ExportOptions
from periplus.collection.collection import existing
from periplus.collection.importing import import_archives
from periplus.engine.sharding import tune_garbage_collection
from periplus.store.export import Committed
from periplus.store.export.wacz import PackageFacts, export_wacz
from periplus.store.importing import check_package
from periplus.store.warc.cdx_query import find, make_query

SMALLEST, LARGEST = 2_000, 200_000
"""Bytes of a page: neither frames nor whole books."""
LINES_PER_SITE = 200
PAGES_PER_SECOND = 10
"""Captures a second in the archive that is imported."""
LOOKUPS = 1_000
RANDOM = Random(20261116)


class Timer:
    """CPU time and time by the clock of a block."""

    def __enter__(self) -> Timer:
        self._cpu, self._clock = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._cpu
        self.clock = time.perf_counter() - self._clock


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("/usr/share/doc"))
    parser.add_argument("--pages", type=int, default=3_000, help="pages to import; 0: none")
    parser.add_argument("--megabytes", type=int, default=512, help="size of the package to write; 0: none")
    parser.add_argument("--lines", type=int, default=10_000_000, help="lines of the index; 0: none")
    asked = parser.parse_args()
    tune_garbage_collection()
    with TemporaryDirectory(prefix="bench-archives-") as name:
        scratch = Path(name)
        if asked.pages:
            _importing(scratch, asked.folder, asked.pages)
        if asked.megabytes:
            _packing(scratch, asked.megabytes)
        if asked.lines:
            _lookups(scratch, asked.lines)


def _importing(scratch: Path, folder: Path, count: int) -> None:
    paths = sorted(
        path for path in folder.rglob("*.html") if path.is_file() and SMALLEST < path.stat().st_size < LARGEST
    )
    size = _foreign_warc(scratch / "foreign.warc.gz", folder, paths, count)
    with Timer() as timer:
        done = import_archives(scratch / "imported", [scratch / "foreign.warc.gz"])
    print(
        f"import: {done.captures:,} pages of {len(paths):,} files, {size / 1e6:.0f} MB: "
        f"{done.captures / timer.cpu:,.0f} pages/s of CPU, {done.captures / timer.clock:,.0f} by the clock; "
        f"problems {done.problems}"
    )
    found = existing(scratch / "imported")
    with Timer() as timer:
        exported = Export(found, ExportOptions("cc-index")).to_path(scratch / "columns")
    print(f"cc-index: {exported.written / timer.cpu:,.0f} captures/s of CPU")


def _foreign_warc(path: Path, folder: Path, paths: list[Path], count: int) -> int:
    """A WARC file as another program writes it; the size of its bodies.

    A host has the files of one folder under their own names, so that links lead to each other; copies are other hosts.
    """
    size = 0
    with path.open("wb") as file:
        for number in range(count):
            source = paths[number % len(paths)]
            body = source.read_bytes() + b"<p>copy %d of many</p>" % number
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            at = datetime.fromtimestamp(1.7e9 + number // PAGES_PER_SECOND, UTC).isoformat().replace("+00:00", "Z")
            below = source.relative_to(folder)
            url = f"http://{below.parts[0].lower()}-{number // len(paths)}.test/{'/'.join(below.parts[1:])}"
            fields = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Date: {at}\r\n"
                f"WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(head) + len(body)}\r\n\r\n"
            )
            file.write(gzip.compress(fields.encode() + head + body + b"\r\n\r\n", 6))
            size += len(body)
    return size


def _packing(scratch: Path, megabytes: int) -> None:
    """A collection with one large WARC file, whose content does not matter."""
    warc = scratch / "large" / "warc"
    warc.mkdir(parents=True)
    (scratch / "large" / "tables").mkdir()
    name = "periplus-00-20260101000000-00001"
    with (warc / f"{name}.warc.gz").open("wb") as file:
        for _ in range(megabytes):
            file.write(RANDOM.randbytes(1 << 20))
    (warc / f"{name}.cdxj").write_bytes(b"")
    os.utime(warc / f"{name}.cdxj")
    path = scratch / "large.wacz"
    with Timer() as timer, path.open("wb") as out:
        export_wacz(scratch / "large", out, Committed(), PackageFacts("large", "bench", ()))
    print(
        f"wacz: written with {megabytes / timer.cpu:,.0f} MiB/s of CPU, {timer.cpu / megabytes * 1000:.1f} s for 1 GB"
    )
    with Timer() as timer:
        problems = sum(1 for each in check_package(path) if type(each).__name__ == "Problem")
    print(f"wacz: checked with {megabytes / timer.cpu:,.0f} MiB/s of CPU, {problems} problems")


def _lookups(scratch: Path, lines: int) -> None:
    path = scratch / "index.cdxj"
    with path.open("wb") as file:
        for number in range(lines):
            file.write(_line(number))
    times = []
    for _ in range(LOOKUPS):
        number = RANDOM.randrange(lines)
        url = f"https://example{number // LINES_PER_SITE:07d}.org/a/page-{number:010d}"
        began = time.perf_counter()
        found = list(find([path], make_query({"url": [url]})))
        times.append(time.perf_counter() - began)
        assert len(found) == 1
    times.sort()
    print(
        f"cdx: {lines:,} lines, {path.stat().st_size / 1e9:.1f} GB: one URL in {statistics.median(times) * 1e3:.2f} ms "
        f"(median), {times[len(times) * 99 // 100] * 1e3:.2f} ms (99 of 100)"
    )
    with Timer() as timer:
        count = len(list(find([path], make_query({"url": ["*.org"], "limit": ["100000"]}))))
    print(f"cdx: {count / timer.cpu:,.0f} lines/s of CPU")


def _line(number: int) -> bytes:
    site, page = f"{number // LINES_PER_SITE:07d}", f"{number:010d}"
    return (
        f'org,example{site})/a/page-{page} 20260102030405 {{"url": "https://example{site}.org/a/page-{page}", '
        f'"mime": "text/html", "status": "200", "digest": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "length": "12345", '
        f'"offset": "{number}", "filename": "periplus-00-20260102030405-00001.warc.gz"}}\n'
    ).encode()


if __name__ == "__main__":
    main()
