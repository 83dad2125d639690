"""Pages on which people marked sentences that belong to the main text, and sentences that do not (`text_segments`)."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from periplus.content import read_page


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
