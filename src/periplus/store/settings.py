"""Settings of the tables and of the WARC files. Cheap to import."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class TableSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much is held, where, before it moves on. Row groups and files end at whichever bound comes first."""

    rows_per_group: int = 100_000
    """Rows of a Parquet row group."""
    bytes_per_group: int = 16 << 20
    """Bytes of a row group in memory; time and memory of a checkpoint grow with it."""
    rows_per_file: int = 2_000_000
    """Rows of a Parquet file."""
    bytes_per_file: int = 128 << 20
    """Bytes of a Parquet file before compression."""
    bytes_in_memory: int = 64 << 20
    """Approximate bytes of rows in memory before they go to the spool."""


class WarcSettings(Struct, frozen=True):
    """How the archive is cut into files, and how hard it is compressed."""

    max_file_size: int = 500_000_000
    """Bytes after which the next file begins."""
    max_file_captures: int = 100_000
    """Captures after which the next file begins; their index lines are held in memory, compressed."""
    compression: Literal["gzip", "zstd"] = "gzip"
    """`zstd` makes smaller files (`.warc.zst`) that fewer programs read; see [store.md](store.md#zstandard)."""
    compression_level: int = 1
    """Of text, 0 (fastest) to 3; compressed bodies are stored as they are."""
