"""What people searched for in a collection, without who they are: JSON lines in `queries.jsonl`.

    {"at": 1767225600.0, "query": "lru_cache", "total": 3, "corrected": ""}

A search box asks while people type, so a query that continues another one of the last seconds replaces it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from periplus.store.durable import replace_file

FILE: Final = "queries.jsonl"
MAX_BYTES: Final = 10_000_000
"""Of the file: some 100,000 queries. Then the older half is dropped."""
TYPED_WITHIN: Final = 10.0
"""Seconds for which a query may still be continued."""
_MAX_QUERY: Final = 200
"""Characters of a query that are kept."""
_MAX_WAITING: Final = 1_000


class LoggedQuery(Struct, frozen=True):
    """A query: when (seconds since 1970), what was typed, the pages with all its words, and what was shown instead."""

    at: float
    query: str
    total: int
    corrected: str = ""


class QueryLog:
    """Writes the queries of one collection. Any thread may add one."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._waiting: list[LoggedQuery] = []

    def add(self, query: LoggedQuery) -> None:
        """Keep a query; it is written when nobody continues it any more."""
        query = msgspec.structs.replace(query, query=query.query[:_MAX_QUERY])
        with self._lock:
            self._waiting = [each for each in self._waiting if not _continues(query, each)]
            self._waiting.append(query)
            is_full = len(self._waiting) > _MAX_WAITING
            self._write([each for each in self._waiting if is_full or query.at - each.at > TYPED_WITHIN])

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write(list(self._waiting))

    def _write(self, queries: list[LoggedQuery]) -> None:
        if not queries:
            return
        self._waiting = [each for each in self._waiting if each not in queries]
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in queries)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, lines)
            size = os.fstat(file).st_size
        finally:
            os.close(file)
        if size > MAX_BYTES:
            self._shorten()

    def _shorten(self) -> None:
        kept = self._path.read_bytes()[-MAX_BYTES // 2 :].partition(b"\n")[2]
        draft = self._path.with_suffix(".new")
        draft.touch(0o600)
        draft.write_bytes(kept)
        replace_file(draft, self._path)


def read_queries(folder: Path) -> Iterator[LoggedQuery]:
    """The queries of a collection, the oldest first; lines that cannot be read are left out."""
    try:
        lines = (folder / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=LoggedQuery)
        except msgspec.DecodeError:
            continue


def _continues(query: LoggedQuery, before: LoggedQuery) -> bool:
    """Whether a query is one that was just typed, with letters more or less."""
    new, old = query.query.lower(), before.query.lower()
    return query.at - before.at <= TYPED_WITHIN and (new.startswith(old) or old.startswith(new))
