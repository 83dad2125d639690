"""What the files of an archive are called: `periplus-SHARD-TIMESTAMP-SERIAL.warc.gz`, as the WARC standard advises.

Names sort by shard and then by time. The serial number counts the files of a shard from 1 and alone decides which of
two is the later one, since clocks may be set back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

WARC: Final = ".warc.gz"
CDXJ: Final = ".cdxj"
_NAME: Final = re.compile(r"periplus-(\d{2,9})-(\d{14})-(\d{5,12})\.warc\.gz")


class WarcName(Struct, frozen=True):
    """The parts of a file's name; `timestamp` is UTC, to the second."""

    shard: int
    timestamp: str
    serial: int

    def __str__(self) -> str:
        return f"periplus-{self.shard:02d}-{self.timestamp}-{self.serial:05d}{WARC}"


def read_name(name: str) -> WarcName | None:
    """The parts, or `None` where this is not a file of ours."""
    match = _NAME.fullmatch(name)
    return WarcName(int(match[1]), match[2], int(match[3])) if match else None


def files_of(folder: Path, shard: int) -> Iterator[tuple[WarcName, Path]]:
    """The files of a shard, the earliest first."""
    named = ((read_name(path.name), path) for path in folder.iterdir())
    ours = [(name, path) for name, path in named if name and name.shard == shard]
    yield from sorted(ours, key=lambda item: item[0].serial)


def index_of(path: Path) -> Path:
    """Where the CDXJ lines of a WARC file lie: beside it."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".warc") + CDXJ)
