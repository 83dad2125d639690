"""Main text beside what others extract: sentences found and left out on real pages, and what is kept of manuals.

Two measures. On the pages of `text_segments` (see the corpus) people marked sentences that belong to the main text and
sentences that do not: F1 is over both, white space folded. On manuals, where nearly everything is main text, it is the
share of visible words that is kept; menus and tables of contents are part of what is lost.

    python -m bench.main_text                      # the corpus of the tests, manuals of /usr/share/doc
    python -m bench.main_text --corpus DIR --manuals DIR --count 400
    python -m bench.main_text --markdown           # Markdown instead, read again as CommonMark

Peers take part if they are installed: trafilatura, readability-lxml, resiliparse, justext (`pip install trafilatura
readability-lxml resiliparse justext`), for Markdown trafilatura and markdownify. Nothing is timed here: `bench.pages`
does that.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from periplus.content import read_page
from periplus.store.export.documents import markdown_of

ROOT = Path(__file__).resolve().parent.parent
CORPUS = Path(os.environ.get("PERIPLUS_CORPUS", ROOT.parent / "shared" / "corpus"))
MANUALS = Path("/usr/share/doc")
LARGEST = 1 << 20
"""Bytes of the largest manual page that is read: peers need minutes for larger ones."""
OURS = "periplus"
URL = "http://docs.example.org/manual/page.html"
_WORD = re.compile(r"\w+")

Extractor = Callable[[bytes, str], str]
"""From the bytes and the URL of a page to its main text."""


class MarkedPage(Struct, frozen=True):
    """A page with sentences of its main text, and others."""

    name: str
    url: str
    body: bytes
    inside: tuple[str, ...]
    outside: tuple[str, ...]


class Found(Struct, frozen=True):
    """Sentences of the main text that were found or missed, and others that were taken for it."""

    found: int = 0
    missed: int = 0
    wrong: int = 0

    def __add__(self, other: Found) -> Found:
        """Both together."""
        return Found(self.found + other.found, self.missed + other.missed, self.wrong + other.wrong)

    @property
    def precision(self) -> float:
        """The share of what was taken that belongs to the main text."""
        return self.found / (self.found + self.wrong) if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the main text that was found."""
        return self.found / (self.found + self.missed) if self.found else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.found / (2 * self.found + self.missed + self.wrong) if self.found else 0.0


def marked_pages(corpus: Path) -> Iterator[MarkedPage]:
    """The pages of `text_segments`, in order."""
    folder = corpus / "text_segments"
    rows = {row["page"]: row for row in json.loads((folder / "segments.json").read_text(encoding="utf-8"))}
    with tarfile.open(folder / "pages.tar.gz") as archive:
        for member in archive:
            file, row = archive.extractfile(member), rows.get(Path(member.name).name)
            if file and row:
                yield MarkedPage(
                    row["page"], row["url"].strip(), file.read(), _marks(row["with"]), _marks(row["without"])
                )


def _marks(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(folded for sentence in sentences if (folded := fold(sentence)))


def fold(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def judge(page: MarkedPage, main_text: str) -> Found:
    """What an extractor found on a page."""
    text = fold(main_text)
    found = sum(sentence in text for sentence in page.inside)
    return Found(found, len(page.inside) - found, sum(sentence in text for sentence in page.outside))


def ours(body: bytes, url: str) -> str:
    """The main text that Periplus finds."""
    return read_page(body, url, "text/html").main_text


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


def markdown_writers() -> dict[str, Extractor]:
    """Writers of Markdown, ours and those of peers that are installed; the words of what they write, without marks."""
    found: dict[str, Extractor] = {"periplus, main_text": ours, "periplus, Markdown": _without_marks(_our_markdown)}
    for add in (_trafilatura_markdown, _markdownify):
        try:
            found.update(add())
        except ImportError as missing:
            sys.stderr.write(f"{missing.name} is not installed\n")
    return found


def _our_markdown(body: bytes, url: str) -> str:
    return markdown_of(read_page(body, url, "text/html"), body)


def _trafilatura_markdown() -> dict[str, Extractor]:
    from trafilatura import extract

    def write(body: bytes, _: str) -> str:
        return extract(body, include_comments=False, output_format="markdown") or ""

    return {"trafilatura, Markdown": _without_marks(write)}


def _markdownify() -> dict[str, Extractor]:
    from markdownify import markdownify  # type: ignore[import-not-found, unused-ignore]

    def write(body: bytes, _: str) -> str:
        return str(markdownify(_decoded(body), strip=["script", "style"]))

    return {"markdownify, whole pages": _without_marks(write)}


def _without_marks(write: Extractor) -> Extractor:
    """Read Markdown as CommonMark with tables, and keep its text."""
    from lxml import html
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")

    def extract(body: bytes, url: str) -> str:
        rendered = reader.render(write(body, url))
        return "".join(map(str, html.fromstring(rendered).itertext())) if rendered.strip() else ""

    return extract


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


def manual_pages(folder: Path, count: int) -> list[bytes]:
    """Manual pages, evenly spaced in the order of their paths; each once, whatever links lead to it."""
    walk = os.walk(folder, followlinks=True)
    paths = sorted({(Path(at) / name).resolve() for at, _, names in walk for name in names if name.endswith(".html")})
    small = [path for path in paths if 0 < path.stat().st_size <= LARGEST]
    step = max(1.0, len(small) / count)
    return [small[int(number * step)].read_bytes() for number in range(min(count, len(small)))]


def kept(extract: Extractor, pages: Sequence[bytes]) -> float:
    """The share of visible words that an extractor keeps of pages, all pages together."""
    words = taken = 0
    for body in pages:
        visible = Counter(_WORD.findall(read_page(body, URL, "text/html").text))
        chosen = Counter(_WORD.findall(safely(extract, body, URL)))
        words += visible.total()
        taken += (visible & chosen).total()
    return taken / words if words else 0.0


def table(pages: Sequence[MarkedPage], manuals: Sequence[bytes], others: Mapping[str, Extractor]) -> Iterator[str]:
    """One row an extractor, as Markdown."""
    yield f"| {len(pages)} pages, {len(manuals)} manuals | F1 | precision | recall | words of manuals kept |"
    yield "|---|---:|---:|---:|---:|"
    for name, extract in others.items():
        total = sum((judge(page, safely(extract, page.body, page.url)) for page in pages), Found())
        share = f"{kept(extract, manuals):.3f}" if manuals else "-"
        yield f"| {name} | {total.f1:.3f} | {total.precision:.3f} | {total.recall:.3f} | {share} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare extractors of main text.")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder of the corpus (%(default)s)")
    parser.add_argument("--manuals", type=Path, default=MANUALS, help="folder of manuals (%(default)s)")
    parser.add_argument("--count", type=int, default=400, help="manual pages at most (%(default)s)")
    parser.add_argument("--markdown", action="store_true", help="compare writers of Markdown")
    options = parser.parse_args()
    pages = list(marked_pages(options.corpus))
    manuals = manual_pages(options.manuals, options.count)
    for line in table(pages, manuals, markdown_writers() if options.markdown else extractors()):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
