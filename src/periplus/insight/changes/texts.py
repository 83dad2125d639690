"""The main text of a version, with its lines, out of the archive.

What a crawl compares is the main text of a page with all white space folded; a person who reads a difference wants the
lines of the document. So the document is written as text (`store.export`), and those of its lines are taken whose words
stand in the main text.

A version that cannot be read is a value with a reason: `not-kept` (a simulation, or an archive that was thrown away),
and those of `store.export.documents`: `damaged`, `no-original`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from periplus.model import Url
from periplus.store.export import to_text
from periplus.store.export.captures import Capture
from periplus.store.export.documents import Document, read_document

from .values import Version

NOT_KEPT: Final = "not-kept"
_SIGNS: Final = re.compile(r"\W+")
_MOST_MISSES: Final = 2_000
"""Lines that are no main text, after which all count as it: looking for a line takes as long as the text."""


def document_of(archive: Path, url: Url, version: Version | None) -> Document | str:
    """A version as it was fetched, or the reason why it cannot be read."""
    if version is None or version.stored is None:
        return NOT_KEPT
    original = version.body if version.stored.is_revisit else None
    at = datetime.fromtimestamp(version.at, UTC)
    return read_document(archive, Capture(url, 200, at, None, version.stored, original))


def text_of(document: Document) -> str:
    """The main text of a version, with its lines."""
    page = document.page
    if not document.is_html:
        return page.main_text or page.text
    main = _SIGNS.sub("", page.main_text)
    kept, misses = [], 0
    for line in to_text(document.html).splitlines():
        if misses > _MOST_MISSES or _SIGNS.sub("", line) in main:
            kept.append(line)
        else:
            misses += 1
    text = "\n".join(kept)
    return text if text.strip() or not main else page.main_text
