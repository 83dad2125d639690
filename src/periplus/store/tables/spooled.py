"""Which rows of a shard are committed and in no Parquet file yet. Apart from `reader`, which imports Arrow."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Spooled(Struct, frozen=True):
    """The folder of a shard's spools, and its last committed mark."""

    shard: int
    folder: Path
    mark: bytes | None
