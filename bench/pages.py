"""Reading pages: everything `read_pages` finds, with either scanner, against parsers that only look for links."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from tests.content.sample_pages import pure_reader, sample_pages

from bench.harness import Group, Target, race

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


def _resiliparse(page: bytes) -> list[str]:
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse_from_bytes(page)
    return [anchor.getattr("href") for anchor in tree.document.query_selector_all("a[href]")]


def _lxml(page: bytes) -> list[object]:
    from lxml.html import HtmlElement, HTMLParser, document_fromstring

    document: HtmlElement = document_fromstring(page, parser=HTMLParser(encoding="utf-8"))
    return [link for _, _, link, _ in document.iterlinks()]
