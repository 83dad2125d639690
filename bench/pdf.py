"""How fast PDFs are read, and what hostile ones do: `python -m bench.pdf [FOLDER]`.

The files of FOLDER (or made ones) are read for their pages a second of processor time of the process that reads them.
Then 1,000 mutations of them and every hostile file of the tests are read: none may raise or take longer than the limit,
and the memory of the reading process is bounded. The result is 1 if one of that does not hold.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from tests.store.export.made_pdfs import HOSTILE, made_files, mutated

from periplus.content.pdf import PdfText, html_of
from periplus.store.export.pdf_reader import MAX_SECONDS, PdfReader
from periplus.store.export.pdf_worker import MEMORY

FASTEST = 200
"""Pages a second that are promised."""


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="a folder with PDFs")
    parser.add_argument("--mutations", type=int, default=1000)
    options = parser.parse_args()
    files = [path.read_bytes() for path in sorted(options.folder.rglob("*.pdf"))] if options.folder else made_files()
    pages = _speed(files)
    mutations = [mutated(files[seed % len(files)], seed) for seed in range(options.mutations)]
    slowest = max(_attacked("mutated", mutations), _attacked("hostile", [make() for make in HOSTILE.values()]))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    print(f"largest memory of a reading process: {most / 2**20:.0f} MiB; slowest file: {slowest:.1f} s")
    return int(pages < FASTEST or slowest > MAX_SECONDS + 2 or most > MEMORY)


def _speed(files: list[bytes]) -> float:
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    started, reader = time.perf_counter(), PdfReader()
    pages = sum(len(reader.read(file).pages) for file in files)
    taken = time.perf_counter() - started
    reader.close()
    spent = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before
    print(f"{len(files)} files, {pages} pages: {pages / spent:.0f} pages a CPU second, {pages / taken:.0f} a second")
    return pages / spent


def _attacked(kind: str, files: list[bytes]) -> float:
    """Read files that are not what they should be; the time that the slowest took."""
    reader, ends, slowest = PdfReader(), Counter[str](), 0.0
    for file in files:
        started = time.perf_counter()
        found = reader.read(file)
        html_of(found)
        slowest = max(slowest, time.perf_counter() - started)
        ends[_end(found)] += 1
    reader.close()
    print(f"{len(files)} {kind}: {', '.join(f'{number} {end}' for end, number in ends.most_common())}")
    return slowest


def _end(found: PdfText) -> str:
    reasons = "+".join(dict.fromkeys(each.reason for each in found.problems))
    return f"{reasons} with text" if reasons and any(found.pages) else reasons or "read"


if __name__ == "__main__":
    sys.exit(main())
