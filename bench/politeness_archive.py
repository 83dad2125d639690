"""What a crawl has kept of the server's answers, read from its WARC files while none of its processes writes.

A killed process has kept an answer if the archive and the log of inputs have it. Both are written for at most
`ANSWERS_PER_INPUT` answers at a time, first the archive. So of a shard's last answers as many may be without their
input: these are not counted yet. All others have to be there after every recovery.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from periplus.engine.engine import ANSWERS_PER_INPUT
from periplus.store.warc import WarcRecord, read_records
from periplus.store.warc.records import files_of

from .politeness_rules import Answered

_HEAD_BYTES = 4096
"""Bytes of an answer that are looked at: enough for its status line."""


class LostRecordsError(Exception):
    """The archive has less than it had, beyond what a recovery may cut off."""


class KeptAnswers:
    """Reads what was added to the archive of each shard. `places`: how far, by shard: a file and its size."""

    def __init__(self, folder: Path, shards: int, places: dict[int, tuple[str, int]] | None = None) -> None:
        self._folder, self._shards = folder, shards
        self.places = {} if places is None else dict(places)

    def new(self) -> Iterator[Answered]:
        """The answers that were kept since this was last called. Raises `LostRecordsError`."""
        for shard in range(self._shards) if self._folder.is_dir() else ():
            yield from self._new(shard)

    def _new(self, shard: int) -> Iterator[Answered]:
        name, size = self.places.get(shard, ("", 0))
        files = [path for _, path in files_of(self._folder, shard)]
        names = [path.name for path in files]
        if name and (name not in names or not _is_boundary(files[names.index(name)], size)):
            del self.places[shard]
            raise LostRecordsError(f"{name} had {size:,} bytes that cannot be cut off, and other records are there now")
        unsure: deque[tuple[Path, WarcRecord]] = deque()
        for path in files[names.index(name) if name else 0 :]:
            for record in read_records(path, offset=size if path.name == name else 0, max_block=_HEAD_BYTES):
                if isinstance(record, WarcRecord) and record.type in ("response", "revisit"):
                    unsure.append((path, record))
                    if len(unsure) > ANSWERS_PER_INPUT:
                        sure_path, sure = unsure.popleft()
                        self.places[shard] = sure_path.name, sure.offset + sure.length
                        yield _answered(sure)


def _is_boundary(path: Path, size: int) -> bool:
    """Whether a file has records up to this size, as it had once: where it was cut off earlier, others lie across."""
    following = next(read_records(path, offset=size, max_block=_HEAD_BYTES), None)
    is_record = following is None or isinstance(following, WarcRecord) or following.reason == "torn"
    return is_record and path.stat().st_size >= size


def _answered(record: WarcRecord) -> Answered:
    parts = urlsplit(record.url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return Answered(parts.hostname or "", target, record.message().status or 0)
