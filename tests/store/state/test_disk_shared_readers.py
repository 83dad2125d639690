"""Several readers of one state in one process: threads of a server read while another process, or none, writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from periplus.model import CollectionInUse, FirstSeen, Source, Url, UrlRecord
from periplus.store import DiskState
from periplus.store.state.files import _SHARED

READERS = 8


def filled(folder: Path, pages: int = 50) -> list[Url]:
    state = DiskState(folder)
    urls = [Url(f"http://a.test/{number}") for number in range(pages)]
    state.records.add_new([UrlRecord(url, (FirstSeen(Source.LINK, 5.0),)) for url in urls])
    state.commit()
    state.close()
    return urls


def test_threads_read_one_state_at_once(tmp_path: Path) -> None:
    """Each has its own transaction, and what LMDB has open is closed with the last of them."""
    urls = filled(tmp_path)
    together = Barrier(READERS)

    def read(_: int) -> int:
        state = DiskState.read_only(tmp_path)
        together.wait(timeout=600)
        found = sum(record is not None for record in state.records.get(urls))
        together.wait(timeout=600)
        state.close()
        return found

    with ThreadPoolExecutor(READERS) as threads:
        assert list(threads.map(read, range(READERS))) == [len(urls)] * READERS
    assert not _SHARED


def test_reader_that_closes_leaves_the_others_reading(tmp_path: Path) -> None:
    urls = filled(tmp_path)
    first, second = DiskState.read_only(tmp_path), DiskState.read_only(tmp_path)
    first.close()
    assert all(record is not None for record in second.records.get(urls))
    second.close()
    assert not _SHARED


def test_reader_beside_a_writer_of_this_process_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    writer = DiskState(tmp_path)
    with pytest.raises(CollectionInUse, match="open in this process"):
        DiskState.read_only(tmp_path)
    assert not _SHARED
    writer.close()
