"""Reads a version of a page from the archive.

A version that cannot be read is a value with a reason: `not-kept` (a simulation, or an archive that was deleted), and
those of `store.export.documents`: `damaged`, `no-original`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from periplus.model import Url
from periplus.store.export.captures import Capture
from periplus.store.export.documents import Document, read_document

from .values import Version

NOT_KEPT: Final = "not-kept"


def document_of(archive: Path, url: Url, version: Version | None) -> Document | str:
    """A version as it was fetched, or the reason why it cannot be read."""
    if version is None or version.stored is None:
        return NOT_KEPT
    original = version.body if version.stored.is_revisit else None
    at = datetime.fromtimestamp(version.at, UTC)
    return read_document(archive, Capture(url, 200, at, None, version.stored, original))
