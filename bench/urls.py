"""URLs: all links of a page, and single URLs, against the standard library and the bare parser underneath.

The pages are real ones where the machine has documentation installed, else pages made to look like them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from bench.harness import Group, Target, race

DOCS = Path("/usr/share/doc")

Pages = list[tuple[str, list[str]]]


def measure(quick: bool) -> list[Group]:
    """Two tables: links of pages, and absolute URLs as sitemaps have them."""
    pages = found_pages(120 if quick else 500) or made_pages(200)
    rounds = 5 if quick else 7
    return [links_of_pages(pages, rounds), single_urls(pages, rounds)]


def links_of_pages(pages: Pages, rounds: int) -> Group:
    """What reading a page costs: every link to its canonical URL."""
    from ada_url import join_url

    from periplus.urls import canonical, resolve_all

    def one_by_one(hrefs: Iterable[str], base: str) -> None:
        for href in hrefs:
            canonical(href, base)

    def bare_parser(hrefs: Iterable[str], base: str) -> None:
        for href in hrefs:
            with suppress(ValueError):
                join_url(base, href)

    def bare_parser_without_repeats(hrefs: Iterable[str], base: str) -> None:
        bare_parser({href.partition("#")[0] for href in hrefs}, base)

    def standard_library(hrefs: Iterable[str], base: str) -> None:
        for href in hrefs:
            with suppress(ValueError):
                urljoin(base, href)

    links = sum(len(hrefs) for _, hrefs in pages)
    rates = race(
        {
            "periplus resolve_all": _page_by_page(resolve_all, pages),
            "periplus canonical": _page_by_page(one_by_one, pages),
            "ada-url join": _page_by_page(bare_parser, pages),
            "ada-url join, repeats removed": _page_by_page(bare_parser_without_repeats, pages),
            "urllib urljoin": _page_by_page(standard_library, pages),
        },
        units=links,
        rounds=rounds,
    )
    each = links / len(pages)
    return Group(
        title="Links of a page",
        unit="links/s",
        rates=rates,
        targets=(
            Target("periplus resolve_all", "ada-url join", 5.0),
            Target("periplus resolve_all", "ada-url join, repeats removed", 1.3),
            Target("periplus resolve_all", "urllib urljoin", 10.0),
        ),
        notes=("only periplus drops fragments, respells escapes and refuses other schemes",),
        facts={
            "pages": f"{len(pages)}",
            "links a page": f"{each:.0f}",
            "resolve_all": f"{each / rates['periplus resolve_all'] * 1e6:.0f} us a page",
        },
    )


def _page_by_page(resolve: Callable[[list[str], str], object], pages: Pages) -> Callable[[], None]:
    def run() -> None:
        for base, hrefs in pages:
            resolve(hrefs, base)

    return run


def single_urls(pages: Pages, rounds: int) -> Group:
    """Absolute URLs, each different, as a sitemap brings them."""
    from ada_url import normalize_url

    from periplus.urls import canonical, fingerprints, resolve_all, site_of

    urls = sorted({url for base, hrefs in pages for url in resolve_all(hrefs, base) if url is not None})
    rates = race(
        {
            "periplus canonical": lambda: [canonical(url) for url in urls],
            "periplus site_of": lambda: [site_of(url) for url in urls],
            "periplus fingerprints": lambda: fingerprints(urls),
            "ada-url normalize": lambda: [normalize_url(url) for url in urls],
            "urllib urlsplit": lambda: [urlsplit(url) for url in urls],
        },
        units=len(urls),
        rounds=rounds,
    )
    return Group(
        title="Absolute URLs",
        unit="URLs/s",
        rates=rates,
        targets=(Target("periplus canonical", "ada-url normalize", 2.0),),
        facts={"URLs": f"{len(urls)}"},
    )


def found_pages(count: int) -> Pages:
    """The links of installed documentation, the same sample on every run; empty where there is none."""
    from lxml.html import HtmlElement, HTMLParser, document_fromstring

    files = sorted(islice(DOCS.glob("*/**/*.html"), 20_000))
    if len(files) < count:
        return []
    pages = []
    for file in random.Random(1).sample(files, count):
        page: HtmlElement = document_fromstring(file.read_bytes(), parser=HTMLParser(encoding="utf-8"))
        hrefs = [link for element, attribute, link, _ in page.iterlinks() if (element.tag, attribute) == ("a", "href")]
        package, *path = file.relative_to(DOCS).parts
        pages.append((f"https://{package.lower()}.example.org/{'/'.join(path)}", hrefs))
    return pages


def made_pages(count: int) -> Pages:
    """Pages with navigation that repeats, sections within the page, and a few links elsewhere."""
    chance = random.Random(1)
    pages = []
    for page in range(count):
        hrefs = ["../index.html", "../genindex.html", "index.html", f"page{page + 1}.html"] * 3
        hrefs += [f"#section-{section}" for section in range(30)]
        hrefs += [f"page{chance.randrange(count)}.html#s{chance.randrange(9)}" for _ in range(30)]
        hrefs += [f"https://site{chance.randrange(300)}.example.com/a/b?c={chance.randrange(99)}" for _ in range(10)]
        pages.append((f"https://docs.example.org/manual/part{page % 9}/page{page}.html", hrefs))
    return pages
