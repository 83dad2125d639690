"""Reading pages: everything `read_pages` finds, with either scanner, against parsers that only look for links.

The pages are real: a sample of the documentation that `bench.crawl` serves, or of this machine's, evenly spaced in the
order of the paths, each file once whatever links lead to it. Where there is neither, pages of the same shape are
generated.

    python -m bench.pages [pages]

prints microseconds of CPU time a page by stage: removing the content coding, the scan, and the rest of `read_pages`.
Run it at the same time with two versions on one core to compare them.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from bench.harness import Group, Target, race

ROOTS = {
    "that the crawl bench serves": Path(__file__).parent / ".peers" / "docs",
    "in /usr/share/doc": Path("/usr/share/doc"),
}
"""Where real pages may be, the preferred place first."""
FULL, QUICK = 1000, 150
URL = "http://docs.example.org/library/page.html"
CONTENT_TYPE = "text/html; charset=utf-8"
NATIVE, PURE = "periplus read_pages, native scanner, complete", "periplus read_pages, Python scanner, complete"
PEER = "resiliparse, links only"
TOGETHER = 16
"""Pages that are read by one call, as in a crawl."""


def measure(quick: bool) -> list[Group]:
    """One table: complete pages a second by us, bare links by each parser."""
    from periplus.content.scan import READER

    pages, where = sample_pages(QUICK if quick else FULL)
    readers = {PEER: _resiliparse, "lxml, iterlinks": _lxml}
    contestants: dict[str, Callable[[], object]] = {
        name: partial(_read_all, read, pages) for name, read in readers.items()
    }
    contestants[PURE] = partial(_read_pure, pages)
    if READER == "native":
        contestants[NATIVE] = partial(_read_pages, pages)
    rates = race(contestants, units=len(pages), rounds=2 if quick else 4, clock=time.process_time)
    links = sum(len(_resiliparse(page)) for page in pages)
    facts = {
        "pages": f"{len(pages)} {where}",
        "mean size": f"{sum(map(len, pages)) / len(pages) / 1024:.1f} KiB",
        "mean links": f"{links / len(pages):.0f}",
    }
    notes = (
        "Complete: links with texts, resources, relations, forms, directives, text, main text, sketch, digests.",
        "The others: the href of every anchor, unresolved; lxml: every link of any element.",
    )
    targets = (Target(NATIVE, PEER, 1.2),) if READER == "native" else ()
    return [Group("Reading pages", "pages/s", rates, targets, notes, facts)]


def sample_pages(count: int) -> tuple[list[bytes], str]:
    """A deterministic sample of real pages, and what they are; generated ones where there are too few."""
    for where, root in ROOTS.items():
        paths = _pages_below(root)
        if len(paths) >= count:
            step = len(paths) / count
            return [paths[int(number * step)].read_bytes() for number in range(count)], f"of {len(paths):,} {where}"
    return [_generated(number) for number in range(count)], "generated"


def _pages_below(root: Path) -> list[Path]:
    found = {
        (Path(folder) / name).resolve()
        for folder, _, names in os.walk(root, followlinks=True)
        for name in names
        if name.endswith(".html")
    }
    return sorted(found)


def _generated(number: int) -> bytes:
    chance = random.Random(number)
    words = [f"word{chance.randrange(5000)}" for _ in range(2000)]
    menu = "".join(f"<li><a href='/section/{item}.html'>Section {item}</a></li>\n" for item in range(20))
    body = []
    for start in range(0, len(words), 40):
        text = " ".join(words[start : start + 40])
        body.append(f"<h2 id=s{start}>Part {start}</h2>\n<p>{text} <a href='page{start}.html#x'>more</a>.</p>\n")
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page {number}</title></head>"
        f"<body><nav><ul>{menu}</ul></nav><main>{''.join(body)}</main><footer>12:30</footer></body></html>"
    ).encode()


def _read_all(read: Callable[[bytes], object], pages: list[bytes]) -> None:
    for page in pages:
        read(page)


def _read_pages(pages: list[bytes]) -> None:
    from periplus.content import RawPage, read_pages

    for at in range(0, len(pages), TOGETHER):
        read_pages([RawPage(page, URL, CONTENT_TYPE) for page in pages[at : at + TOGETHER]])


def _read_pure(pages: list[bytes]) -> None:
    with pure_reader():
        _read_pages(pages)


@contextmanager
def pure_reader() -> Iterator[None]:
    """Read pages with the Python scanner and the Python twin of every native function."""
    from periplus.content import digests, masking, mime, scan, statistics
    from periplus.content.scan import python

    with (
        patch.multiple(scan, _SCAN=python.scan, _RESOLVE=python.resolve),
        patch.object(digests, "_masked", masking.masked_in_python),
        patch.object(statistics, "_text_counts", statistics.text_counts_in_python),
        patch.object(mime, "_count_controls", mime.count_controls_in_python),
    ):
        yield


def stages(pages: list[bytes], rounds: int) -> dict[str, float]:
    """Microseconds of CPU time a page: the best round of each group of pages, which has the least noise in it."""
    from deflate import gzip_compress

    from periplus.content import RawPage, decode_body, read_pages
    from periplus.content.scan import scan

    urls = [f"http://docs.example.org/library/{number // 20}/page{number}.html" for number in range(len(pages))]
    coded = [bytes(gzip_compress(page, 6)) for page in pages]
    raw = [RawPage(page, url, "text/html") for page, url in zip(pages, urls, strict=True)]
    parts: dict[str, Callable[[slice], object]] = {
        "content coding": lambda group: [decode_body(body, "gzip") for body in coded[group]],
        "scan": lambda group: [scan(page, url) for page, url in zip(pages[group], urls[group], strict=True)],
        "read_pages": lambda group: read_pages(raw[group]),
    }
    groups = [slice(start, start + TOGETHER) for start in range(0, len(pages), TOGETHER)]
    best = {name: [float("inf")] * len(groups) for name in parts}
    for _ in range(rounds):
        for number, group in enumerate(groups):
            for name, run in parts.items():
                started = time.process_time()
                run(group)
                best[name][number] = min(best[name][number], time.process_time() - started)
    found = {name: sum(seconds) / len(pages) * 1e6 for name, seconds in best.items()}
    return {
        "content coding": found["content coding"],
        "scan": found["scan"],
        "the rest of read_pages": found["read_pages"] - found["scan"],
    }


def main(count: int) -> None:
    """Print the stages."""
    pages, where = sample_pages(count)
    print(f"{len(pages)} pages {where}, {sum(map(len, pages)) / len(pages):,.0f} bytes on average; microseconds a page")
    for name, microseconds in stages(pages, rounds=10).items():
        print(f"{name:24}{microseconds:8.1f}")


def _resiliparse(page: bytes) -> list[str]:
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse_from_bytes(page)
    return [anchor.getattr("href") for anchor in tree.document.query_selector_all("a[href]")]


def _lxml(page: bytes) -> list[object]:
    from lxml.html import HtmlElement, HTMLParser, document_fromstring

    document: HtmlElement = document_fromstring(page, parser=HTMLParser(encoding="utf-8"))
    return [link for _, _, link, _ in document.iterlinks()]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FULL)
