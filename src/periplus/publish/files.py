"""Files that others read while they are written: whole or not at all."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path


def write_file(path: Path, body: bytes) -> None:
    """Write a file whole or not at all, and make sure that it stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    with draft.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def digest_of(body: bytes) -> str:
    """A digest of a file: its entity tag."""
    return sha256(body).hexdigest()[:32]
