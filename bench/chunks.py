"""Chunks of real manuals beside their pages: signs of permalinks, code as it is written, headings; and pages a second.

    python -m bench.chunks --manuals bench/.peers/docs/python3.11-doc --count 500

Pages are read by Python's own HTML parser, too: every `<pre>` of their body must be in one chunk, byte by byte but for
empty lines around it, below the heading or term that the page has before it. Every chunk whose first words the page has
once must have the heading before them in its path. `--show N` prints chunks to read.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import NamedTuple

from periplus.model import Stored, Url
from periplus.store.export.captures import Capture
from periplus.store.export.chunks import HARD_BOUND, Chunk, ChunkShape, chunks_of
from periplus.store.export.documents import DecodedCapture, read_body

LARGEST = 1 << 20
FIRST = 60
"""Letters by which the beginning of a chunk is found in the page."""
_LEADING = re.compile(r"\A(?:#{1,6} .*\n+)+")
_TARGET = re.compile(r"\]\([^)\s]*\)")
TYPE = (("Content-Type", "text/html"),)
_SPACE = re.compile(r"\s+")
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
_UNSEEN = dict.fromkeys((*range(9), *range(11, 32), 0x7F, 0x200B, 0xFEFF))
_SIGNS = "\u00b6#\u00a7"


class Code(NamedTuple):
    """The text of a `<pre>`, and the heading before it."""

    text: str
    heading: str


class CodeReader(HTMLParser):
    """Collects the code of a page, and the letters of its text by the heading before them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Code] = []
        self.letters = ""
        self.headings: list[tuple[int, str]] = []
        """Where in the letters each heading ends, and what it says."""
        self._heading = ""
        self._texts: list[str] | None = None
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag begins."""
        del attrs
        if re.fullmatch("h[1-6]", tag):
            self._heading, self._in_heading = "", True
        elif tag == "pre":
            self._texts = []
        elif tag == "br" and self._texts is not None:
            self._texts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """A tag ends."""
        if re.fullmatch("h[1-6]", tag):
            self._in_heading = False
            self.headings.append((len(self.letters), words(self._heading)))
        elif tag == "pre" and self._texts is not None:
            lines = "".join(self._texts).translate(_UNSEEN).split("\n")
            while lines and not lines[0].strip():
                del lines[0]
            while lines and not lines[-1].strip():
                del lines[-1]
            if lines:
                self.found.append(Code("\n".join(lines), words(self._heading)))
            self._texts = None

    def handle_data(self, data: str) -> None:
        """Text."""
        self.letters += words(data)
        if self._in_heading:
            self._heading += data
        if self._texts is not None:
            self._texts.append(data)


def words(text: str) -> str:
    """Letters and digits of a heading, for a comparison."""
    return "".join(filter(str.isalnum, text))


def document_of(path: Path, root: Path) -> DecodedCapture:
    """A file as if it had been crawled."""
    url = Url(f"http://docs.example.org/{path.relative_to(root).as_posix()}")
    capture = Capture(url, 200, datetime(2026, 1, 1, tzinfo=UTC), "text/html", Stored("f", 0, 1, "", False))
    body = path.read_bytes()
    page, made_html, shown, hidden = read_body(body, url, TYPE, texts_only=True)
    return DecodedCapture(capture, page, body, None, made_html, shown, hidden)


def judged(document: DecodedCapture, chunks: Sequence[Chunk], shape: ChunkShape) -> Counter[str]:
    """What is right and wrong in the chunks of a page."""
    counts = Counter[str](pages=1, chunks=len(chunks))
    counts["chunks without a permalink sign"] = sum("\u00b6" not in chunk.text for chunk in chunks)
    reader = CodeReader()
    reader.feed((document.html or b"").decode("utf-8", "replace"))
    text = _SPACE.sub("", document.page.main_text)
    for code in reader.found:
        if _SPACE.sub("", code.text) not in text:
            counts["code that is not main text"] += 1
            continue
        counts["code"] += 1
        holding = [chunk for chunk in chunks if f"\n{code.text}\n" in chunk.text]
        if shape.weigh(code.text) > shape.size * HARD_BOUND:
            counts["code that is too long"] += 1
        elif not holding:
            counts["code that is not in one chunk"] += 1
        else:
            counts["code in one chunk"] += 1
            counts["code below its heading"] += any(is_below(chunk, code) for chunk in holding)
    for chunk in chunks:
        first = words(_TARGET.sub("]", _LEADING.sub("", chunk.text)))[:FIRST]
        if len(first) == FIRST and reader.letters.count(first) == 1:
            at = reader.letters.find(first)
            heading = next((name for end, name in reversed(reader.headings) if end <= at), "")
            counts["chunks whose first words are once in the page"] += 1
            counts["below the heading before them"] += is_in_path(chunk, heading)
    return counts


def is_below(chunk: Chunk, code: Code) -> bool:
    """Whether the last heading before the code, in the chunk or in its path, is that of the page."""
    for found in re.finditer(re.escape(f"\n{code.text}\n"), chunk.text):
        inside = _HEADING.findall(re.sub(r"(?ms)^(`{3,}).*?^\1$", "", chunk.text[: found.start()]))
        heading = words(re.sub(r"\]\([^)]*\)", "", inside[-1])) if inside else ""
        if (heading or code.heading) == code.heading and (inside or is_in_path(chunk, code.heading)):
            return True
    return False


def is_in_path(chunk: Chunk, heading: str) -> bool:
    """Whether a heading is in the path of a chunk; terms may be below it."""
    return not heading or any(words(title) == heading for title in chunk.headings)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the chunks of manuals, and time them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--manuals", type=Path, default=Path("/usr/share/doc"))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--show", type=int, default=0, help="chunks of the sample to print")
    given = parser.parse_args(arguments)
    paths = [path for path in sorted(given.manuals.rglob("*.html")) if path.is_file() and not path.is_symlink()]
    paths = [path for path in paths if path.stat().st_size <= LARGEST]
    chance = Random(1)
    chance.shuffle(paths)
    documents = [document_of(path, given.manuals) for path in paths[: given.count]]
    shape = ChunkShape()
    begin = time.process_time()
    found = [list(chunks_of(document, None, shape)) for document in documents]
    cutting = time.process_time() - begin
    begin = time.process_time()
    for document in documents:
        read_body(document.body, document.capture.url, TYPE, texts_only=True)
    reading = time.process_time() - begin
    counts = sum((judged(one, chunks, shape) for one, chunks in zip(documents, found, strict=True)), Counter[str]())
    lines = [f"| {name} | {number:,} |" for name, number in counts.items()]
    rate = f"{len(documents) / cutting:,.0f} pages a second, {len(documents) / (cutting + reading):,.0f} with reading"
    sys.stdout.write("\n".join(["| of manuals | |", "|---|---:|", *lines, "", rate, ""]))
    show(chance.sample([chunk for chunks in found for chunk in chunks], given.show))


def show(chunks: Iterable[Chunk]) -> None:
    """Print the beginnings of chunks."""
    for chunk in chunks:
        sys.stdout.write(f"\n{chunk.url}\n{' > '.join(chunk.headings)}\n{chunk.text[:160]!r}\n")


if __name__ == "__main__":
    main()
