"""Settings of the WARC files."""

from __future__ import annotations

from msgspec import Struct


class WarcSettings(Struct, frozen=True):
    """How the archive is cut into files, and how hard it is compressed."""

    max_file_size: int = 500_000_000
    """Bytes after which the next file begins; the last records may go beyond."""
    max_file_captures: int = 100_000
    """Captures after which the next file begins: until then their index lines are held in memory."""
    compression_level: int = 1
    """Compression level of text, 0 (fastest) to 3. Compressed bodies are stored as they are."""
