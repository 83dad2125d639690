"""What `bench.politeness` finds out at a kill: which answers a crawl has kept, from the archive alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.politeness import KeptAnswers, LostRecordsError
from bench.politeness_rules import Answered
from tests.store.warc.test_archive import REQUEST, open_archive, page, warcs

from periplus.engine.engine import ANSWERS_PER_INPUT as UNSURE
from periplus.store.warc import Archive, WarcEnd


def write(archive: Archive, first: int, count: int, status: int = 200) -> None:
    for number in range(first, first + count):
        archive.write(page(b"<p>%d</p>" % number, f"/{number}", status=status), REQUEST)


def answers(first: int, count: int, status: int = 200) -> list[Answered]:
    return [Answered("example.org", f"/{number}", status) for number in range(first, first + count)]


def test_all_but_the_last_answers_of_a_shard_are_kept(tmp_path: Path) -> None:
    """The last ones may be in the archive without their input in the log; they are counted once others follow."""
    archive = open_archive(tmp_path)
    kept = KeptAnswers(tmp_path, 2)
    assert list(kept.new()) == []
    write(archive, 0, UNSURE + 3)
    assert list(kept.new()) == answers(0, 3)
    write(archive, 100, 2, status=503)
    assert list(kept.new()) == answers(3, 2)
    write(archive, 200, UNSURE)
    assert list(kept.new()) == [*answers(5, UNSURE - 2), *answers(100, 2, 503)]
    archive.close()


def test_another_run_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    """Also in the files that were begun since, and for each shard by itself."""
    archive, other = open_archive(tmp_path, max_file_size=20_000), open_archive(tmp_path, shard=1)
    write(archive, 0, 2 * UNSURE)
    write(other, 500, UNSURE + 1)
    first = KeptAnswers(tmp_path, 2)
    assert list(first.new()) == [*answers(0, UNSURE), *answers(500, 1)]
    write(archive, 2 * UNSURE, 2 * UNSURE)
    assert len(warcs(tmp_path)) > 3
    assert list(KeptAnswers(tmp_path, 2, first.places).new()) == answers(UNSURE, 2 * UNSURE)
    archive.close()
    other.close()


def test_records_that_a_recovery_may_not_cut_off_are_missed(tmp_path: Path) -> None:
    """What may be cut off is replaced by what comes next; with one answer more a kept page would be fetched again."""
    archive = open_archive(tmp_path)
    write(archive, 0, 10)
    may_end_at = archive.end
    write(archive, 10, UNSURE)
    archive.close()
    kept = KeptAnswers(tmp_path, 1)
    assert list(kept.new()) == answers(0, 10)
    archive = open_archive(tmp_path, end=may_end_at)
    write(archive, 300, UNSURE)
    assert list(kept.new()) == []
    write(archive, 400, 1)
    assert list(kept.new()) == answers(300, 1)
    archive.close()
    _, size = kept.places[0]
    for more in (0, 2 * UNSURE):
        archive = open_archive(tmp_path, end=WarcEnd(may_end_at.file, size - 1))
        write(archive, 500, more)
        archive.close()
        with pytest.raises(LostRecordsError, match="cannot be cut off"):
            list(KeptAnswers(tmp_path, 1, kept.places).new())
