"""Reading sitemaps: all fields of a full file against lxml and ultimate-sitemap-parser, and memory on an endless one.

The peers read from memory what we read from memory. lxml's reader is the one that its users write, made to give the
same values: `iterparse` with a tag filter, one pass over the children, elements cleared. ultimate-sitemap-parser is
given the document past its HTTP client; its pages hold a date, a frequency and a priority too.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from itertools import count, islice
from pathlib import Path

from bench.harness import Group, Target, race
from periplus.formats.sitemap import Entry, read
from periplus.model import ChangeFreq, Granularity, Lastmod, Problem

URL = "https://www.example.com/sitemap.xml"
PEER_NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
END = b"</urlset>\n"
FREQUENCIES = [frequency.value for frequency in ChangeFreq]
FULL = 50_000
FLAT_WITHIN_MB = 30


def records(chance: random.Random, *, shares: tuple[float, float, float] = (1, 1, 1)) -> Iterator[bytes]:
    """Records without end, with fields on these shares of them; every tenth URL has a query of two parameters."""
    for number in count():
        query = "?colour=red&amp;size=4" if number % 10 == 0 else ""
        lines = [f"  <loc>https://www.example.com/shop/section-{number % 97}/product-{number}.html{query}</loc>"]
        if chance.random() < shares[0]:
            moment = datetime.fromtimestamp(chance.randrange(1_500_000_000, 1_700_000_000), UTC)
            lines.append(f"  <lastmod>{moment.isoformat()}</lastmod>")
        if chance.random() < shares[1]:
            lines.append(f"  <changefreq>{chance.choice(FREQUENCIES)}</changefreq>")
        if chance.random() < shares[2]:
            lines.append(f"  <priority>{chance.randrange(11) / 10}</priority>")
        yield "\n".join(["<url>", *lines, "</url>\n"]).encode()


def document(size: int, shares: tuple[float, float, float] = (1, 1, 1)) -> bytes:
    """A sitemap with this number of URLs; the same every time."""
    return b"".join([HEAD, *islice(records(random.Random(7), shares=shares), size), END])


def ours(body: bytes) -> int:
    """How many entries there are, having looked at each."""
    entries = 0
    for _entry in read(body, URL):
        entries += 1
    return entries


def theirs(body: bytes) -> int:
    """The same with lxml."""
    from lxml import etree

    loc, lastmod, changefreq, priority = (
        PEER_NAMESPACE + name for name in ("loc", "lastmod", "changefreq", "priority")
    )
    entries = 0
    for _, element in etree.iterparse(BytesIO(body), tag=PEER_NAMESPACE + "url", no_network=True):
        values: list[object] = [None, None, None, None]
        for child in element:
            text = (child.text or "").strip()
            if child.tag == loc:
                values[0] = text
            elif child.tag == lastmod:
                values[1] = Lastmod(datetime.fromisoformat(text).timestamp(), Granularity.SECOND)
            elif child.tag == changefreq:
                values[2] = ChangeFreq(text.lower())
            elif child.tag == priority:
                values[3] = float(text)
        Entry(*values)  # type: ignore[arg-type]
        entries += 1
        element.clear(keep_tail=False)
    return entries


def usp(body: bytes) -> int:
    """The same with ultimate-sitemap-parser."""
    from usp.fetch_parse import XMLSitemapParser

    parser = XMLSitemapParser(
        url=URL,
        content=body.decode(),
        recursion_level=0,
        web_client=None,  # nothing is fetched
        parent_urls=set(),
    )
    return sum(1 for _ in parser.sitemap().all_pages())


def measure_speed(title: str, body: bytes, size: int, rounds: int, targets: tuple[Target, ...] = ()) -> Group:
    """All contestants on one file."""
    if any(isinstance(value, Problem) for value in read(body, URL)):
        raise AssertionError("a problem in a clean file")
    contestants = {"periplus": ours, "lxml iterparse": theirs}
    if targets:
        contestants["ultimate-sitemap-parser"] = usp
    if {run(body) for run in contestants.values()} != {size}:
        raise AssertionError("the contestants do not read the same")
    runs = {name: partial(run, body) for name, run in contestants.items()}
    rates = race(runs, units=size, rounds=rounds, clock=time.process_time)
    return Group(title, "URLs", rates, targets)


def stream(size: int, *, is_gzipped: bool) -> Iterator[bytes]:
    """A sitemap with this number of URLs in chunks of 64 KB or so, made while it is read."""
    deflater = zlib.compressobj(1, wbits=31)
    block = b"".join(islice(records(random.Random(7)), 300))
    yield deflater.compress(HEAD) if is_gzipped else HEAD
    for _ in range(size // 300):
        yield deflater.compress(block) if is_gzipped else block
    yield deflater.compress(END) + deflater.flush() if is_gzipped else END


def peak(size: int, *, is_gzipped: bool) -> None:
    """Read a stream and print the entries and the most memory that this process ever had, in KB."""
    entries = sum(1 for value in read(stream(size, is_gzipped=is_gzipped), URL) if isinstance(value, Entry))
    print(entries, peak_memory())


def peak_memory() -> int:
    """In KB, and where the system tells it, of this program alone: `ru_maxrss` counts what its parent had before it."""
    import resource

    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_memory(size: int) -> Group:
    """Peak memory of a process that reads a full file, and of one that reads a stream a hundred times as long."""
    peaks = {}
    for is_gzipped in (False, True):
        for urls in (FULL, size // 5 if is_gzipped else size):
            code = f"from bench.sitemaps import peak; peak({urls}, is_gzipped={is_gzipped})"
            ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            entries, kilobytes = map(int, ran.stdout.split())
            if entries < urls - 300:
                raise AssertionError(f"{entries} entries out of {urls}")
            peaks[f"{urls:,} URLs{', gzipped' if is_gzipped else ''}"] = kilobytes / 1024
    growth = max(peaks.values()) - min(peaks.values())
    facts = {name: f"{megabytes:.1f} MB" for name, megabytes in peaks.items()}
    verdict = "flat" if growth <= FLAT_WITHIN_MB else "NOT FLAT"
    facts["growth"] = f"{growth:.1f} MB ({verdict}: {FLAT_WITHIN_MB} MB are allowed)"
    return Group("sitemaps: peak memory of the process", "MB", {}, facts=facts)


def measure(quick: bool) -> list[Group]:
    """Speed on a file as programs write it, on one whose fields come and go, and memory on an endless one."""
    size, rounds = (20_000, 4) if quick else (FULL, 3)
    targets = (Target("periplus", "lxml iterparse", 6), Target("periplus", "ultimate-sitemap-parser", 15))
    return [
        measure_speed("sitemaps: all fields", document(size), size, rounds, targets),
        measure_speed("sitemaps: fields come and go", document(size, (0.58, 0.07, 0.61)), size, rounds),
        measure_memory(1_000_000 if quick else 5_000_000),
    ]
