"""Files of seeds: text, CSV, JSON lines, bookmarks or OPML (`formats.url_lists`), plain or compressed with gzip."""

from __future__ import annotations

import gzip
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from periplus.formats.url_lists import read_urls
from periplus.model import UsageError

MAX_SEEDS: Final = 10_000_000
"""Maximum number of seeds of one collection."""
_GZIP: Final = b"\x1f\x8b"


def read_seeds(file: str | Path) -> list[str]:
    """The seeds of a file; `-` is standard input."""
    name = str(file)
    try:
        if name == "-":
            return list(islice(read_urls(sys.stdin.read().splitlines()), MAX_SEEDS))
        with Path(file).open("rb") as raw, _opened(raw) as data:
            lines = (line.decode("utf-8").rstrip("\r\n") for line in data)
            return list(islice(read_urls(lines), MAX_SEEDS))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        what = "not in UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        raise UsageError(
            f"{name}: {what}", hint="give a file of URLs, one a line, or CSV, JSON lines, bookmarks, OPML"
        ) from error


def _opened(raw: BinaryIO) -> BinaryIO:
    is_packed = raw.read(2) == _GZIP
    raw.seek(0)
    return gzip.open(raw, "rb") if is_packed else raw  # type: ignore[return-value]
