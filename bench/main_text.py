"""Main text beside what others extract: sentences found and left out on real pages.

    python -m bench.main_text FOLDER

On the pages of `text_segments`, in the folder of corpora, people marked sentences that belong to the main text and
sentences that do not: F1 is over both, white space folded. Peers take part if they are installed: trafilatura,
readability-lxml, resiliparse, justext (`pip install trafilatura readability-lxml resiliparse justext`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.corpus.marked_pages import Found, MarkedPage, judge, marked_pages, ours

from periplus.content import read_page

OURS = "periplus"
URL = "http://docs.example.org/manual/page.html"

Extractor = Callable[[bytes, str], str]
"""From the bytes and the URL of a page to its main text."""


def extractors() -> dict[str, Extractor]:
    """Ours and those of the peers that are installed, by name."""
    found: dict[str, Extractor] = {OURS: ours}
    for add in (_trafilatura, _readability, _resiliparse, _justext):
        try:
            found.update(add())
        except ImportError as missing:
            sys.stderr.write(f"{missing.name} is not installed\n")
    return found


def _trafilatura() -> dict[str, Extractor]:
    from trafilatura import extract  # type: ignore[import-not-found, unused-ignore]

    def full(body: bytes, _: str) -> str:
        return extract(body, include_comments=False) or ""

    def fast(body: bytes, _: str) -> str:
        return extract(body, include_comments=False, fast=True) or ""

    return {"trafilatura": full, "trafilatura, fast": fast}


def _readability() -> dict[str, Extractor]:
    from lxml import html
    from readability import Document  # type: ignore[import-not-found, unused-ignore]

    def extract(body: bytes, _: str) -> str:
        summary: Any = html.fromstring(Document(_decoded(body)).summary())
        return str(summary.text_content())

    return {"readability-lxml": extract}


def _resiliparse() -> dict[str, Extractor]:
    from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-not-found, unused-ignore]

    def extract(body: bytes, _: str) -> str:
        return str(extract_plain_text(_decoded(body), main_content=True))

    return {"resiliparse": extract}


def _justext() -> dict[str, Extractor]:
    import justext  # type: ignore[import-not-found, unused-ignore]

    stops: Any = justext.get_stoplist("English") | justext.get_stoplist("German")

    def extract(body: bytes, _: str) -> str:
        paragraphs = justext.justext(_decoded(body).encode(), stops, encoding="utf-8")
        return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)

    return {"justext, English and German": extract}


def _decoded(body: bytes) -> str:
    """A page as our reader decodes it, for peers that want text."""
    charset = read_page(body, URL, "text/html").charset
    return body.decode(charset, "replace")


def safely(extract: Extractor, body: bytes, url: str) -> str:
    """The main text; nothing if the extractor fails, which some do on pages without text."""
    try:
        return extract(body, url)
    except Exception as failure:
        sys.stderr.write(f"{url}: {failure!r}\n")
        return ""


def table(pages: Sequence[MarkedPage], others: Mapping[str, Extractor]) -> Iterator[str]:
    """One row an extractor, as Markdown."""
    yield f"| {len(pages)} pages | F1 | precision | recall |"
    yield "|---|---:|---:|---:|"
    for name, extract in others.items():
        total = sum((judge(page, safely(extract, page.body, page.url)) for page in pages), Found())
        yield f"| {name} | {total.f1:.3f} | {total.precision:.3f} | {total.recall:.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.main_text", description="Compare extractors of main text.")
    parser.add_argument("corpus", type=Path, help="folder of the corpus")
    for line in table(list(marked_pages(parser.parse_args().corpus)), extractors()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
