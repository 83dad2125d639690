"""Settings of the WARC files."""

from __future__ import annotations

from msgspec import Struct


class WarcSettings(Struct, frozen=True):
    """How the archive is cut into files, and how hard it is compressed."""

    max_file_size: int = 500_000_000
    """Bytes after which the next file begins."""
    max_file_captures: int = 100_000
    """Captures after which the next file begins; their index lines are held in memory."""
    compression_level: int = 1
    """Of text, 0 (fastest) to 3; compressed bodies are stored as they are."""
