"""Reading pages: everything `read_page` finds, alone and several at once, against others who only look for links.

The pages are real: documentation that lies on this machine, every so many-th of all files in the order of their paths,
each file once whatever links lead to it. Where there is none, pages of the same shape are generated.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.harness import Group, Target, race

ROOT = Path("/usr/share/doc")
FULL, QUICK = 1000, 150
URL = "http://docs.example.org/library/page.html"
CONTENT_TYPE = "text/html; charset=utf-8"
OURS, PEER = "periplus read_pages, 16 at once, complete", "resiliparse, links only"
TOGETHER = 16


def measure(quick: bool) -> list[Group]:
    """One table: complete pages a second by us, bare links by each parser."""
    pages, where = sample_pages(QUICK if quick else FULL)
    readers = {
        PEER: _resiliparse,
        "selectolax, links only": _selectolax,
        "lxml, iterlinks": _lxml,
        "periplus read_page, complete": _ours,
    }
    contestants: dict[str, Callable[[], object]] = {
        name: partial(_read_all, read, pages) for name, read in readers.items()
    }
    contestants[OURS] = partial(_together, pages)
    rates = race(contestants, units=len(pages), rounds=2 if quick else 4)
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
    return [Group("Reading pages", "pages/s", rates, (Target(OURS, PEER, 0.5),), notes, facts)]


def sample_pages(count: int) -> tuple[list[bytes], str]:
    """A deterministic sample of real pages, and what they are; generated ones where there are too few."""
    paths = sorted(
        {
            (Path(folder) / name).resolve()
            for folder, _, names in os.walk(ROOT, followlinks=True)
            for name in names
            if name.endswith(".html")
        }
    )
    if len(paths) < count:
        return [_generated(number) for number in range(count)], "generated"
    step = len(paths) / count
    return [paths[int(number * step)].read_bytes() for number in range(count)], f"of {len(paths)} in {ROOT}"


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


def _ours(page: bytes) -> object:
    from periplus.content import read_page

    return read_page(page, URL, CONTENT_TYPE)


def _together(pages: list[bytes]) -> None:
    from periplus.content import RawPage, read_pages

    for at in range(0, len(pages), TOGETHER):
        read_pages([RawPage(page, URL, CONTENT_TYPE) for page in pages[at : at + TOGETHER]])


def _resiliparse(page: bytes) -> list[str]:
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse_from_bytes(page)
    return [anchor.getattr("href") for anchor in tree.document.query_selector_all("a[href]")]


def _selectolax(page: bytes) -> list[str | None]:
    from selectolax.lexbor import LexborHTMLParser

    return [anchor.attrs["href"] for anchor in LexborHTMLParser(page).css("a[href]")]


def _lxml(page: bytes) -> list[object]:
    from lxml.html import HtmlElement, HTMLParser, document_fromstring

    document: HtmlElement = document_fromstring(page, parser=HTMLParser(encoding="utf-8"))
    return [link for _, _, link, _ in document.iterlinks()]
