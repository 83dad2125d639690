"""What to type when a part of a collection is missing or damaged, and how a file is recognised as unchanged."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from xxhash import xxh3_128

_PARTS: Final = frozenset({"state", "tables", "warc"})
_CHUNK: Final = 1 << 20
"""Bytes read at a time for a digest: large enough that the calls do not count, small enough to stay in cache."""


def repair_hint(path: Path) -> str:
    """The next step for a person whose collection has this damaged file or folder in it."""
    return f"periplus repair {shlex.quote(str(collection_of(path)))} checks every part and rebuilds what it can"


def collection_of(path: Path) -> Path:
    """The folder of the collection that a file or folder of its state, tables or archive belongs to."""
    for folder in (path, *path.parents):
        if folder.name in _PARTS:
            return folder.parent
    return path


def digest_of(path: Path) -> str:
    """XXH3 (128 bits, hexadecimal) of a file's bytes. It finds damage, not forgery."""
    digest = xxh3_128()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return str(digest.hexdigest())
