"""The journal: what was noted comes back whole and in order, however it was cut, and only what the archive has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import xxhash

from periplus.crawl.journal import DEATHS, AnyNote, BatchNote, Journal, Note, with_body
from periplus.model import (
    Batch,
    CollectionDamaged,
    CollectionError,
    Discovery,
    Excluded,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
    Validators,
)
from periplus.store import MemoryPayloads, WarcEnd
from periplus.store.warc import Archive, WarcSettings

AT = 1_800_000_000.0
HTML = (("Content-Type", "text/html"),)


def task(number: int) -> FetchTask:
    url = Url(f"https://example.org/{number}")
    return FetchTask(
        url, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, AT, Validators('"e"'), 2, "192.0.2.1", Source.SEED, 3
    )


def outcomes() -> Iterator[FetchOutcome]:
    chance = Random(1)
    yield Fetched(task(0), 200, HTML, chance.randbytes(900), AT, 0.1, "192.0.2.1")
    yield Failed(task(1), "timeout", AT, 30.0, 503, "too late")
    yield Redirected(task(2), 301, Url("https://example.org/0"), HTML, AT, 0.1, body=b"moved")
    yield NotModified(task(3), HTML, AT, 0.1)
    yield Excluded(task(4), "private-address", "10.0.0.1")
    yield Fetched(task(5), 200, HTML, chance.randbytes(900), AT, 0.1, is_truncated=True)
    yield Fetched(task(6), 200, HTML, b"the same", AT, 0.1)
    yield Fetched(task(7), 200, HTML, b"the same", AT, 0.1)


def archive_in(folder: Path, end: WarcEnd | None = None, size: int = 10**9) -> Archive:
    settings = WarcSettings(max_file_size=size)
    return Archive(folder / "warc", settings, shard=0, software="", fields={}, end=end, payloads=MemoryPayloads())


def noted(folder: Path, size: int = 10**9) -> tuple[Journal, list[AnyNote], list[FetchOutcome]]:
    """A journal of every kind of outcome, and a batch, with the archive that it points to."""
    archive, journal = archive_in(folder, size=size), Journal(folder / "journal", folder / "warc")
    journal.begin(7)
    whole = list(outcomes())
    notes: list[AnyNote] = []
    for number, outcome in enumerate(whole):
        stored = archive.write(outcome, b"") if isinstance(outcome, Fetched | NotModified | Redirected) else None
        notes.append(Note(outcome, AT + number, stored, archive.end))
    notes.insert(3, BatchNote(Batch.of(1, 0, 4, (Discovery(Url("https://a.test/"), Source.LINK, AT),)), AT))
    for note in notes:
        journal.append([note])
    journal.close()
    archive.close()
    return journal, notes, whole


def outcomes_of(journal: Journal, folder: Path) -> list[FetchOutcome]:
    return [with_body(note, folder / "warc")[0] for note in journal.read(7) if isinstance(note, Note)]


def test_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    """Bodies are taken from the archive, or from the note where the archive only refers to an earlier record."""
    journal, notes, whole = noted(tmp_path)
    assert outcomes_of(journal, tmp_path) == whole
    assert [note for note in journal.read(7) if isinstance(note, BatchNote)] == [notes[3]]
    assert [note.at for note in journal.read(7)] == [note.at for note in notes]
    data = (tmp_path / "journal" / "000000000007.journal").read_bytes()
    first = whole[0]
    assert isinstance(first, Fetched)
    assert first.body not in data


def test_a_journal_of_another_commit_is_old(tmp_path: Path) -> None:
    """Only the file of the commit counts, and the next commit removes it."""
    journal, _, _ = noted(tmp_path)
    assert list(journal.read(6)) == list(journal.read(8)) == []
    journal.begin(8)
    journal.close()
    assert list(journal.read(7)) == []
    assert [path.name for path in (tmp_path / "journal").iterdir()] == ["000000000008.journal"]


def test_cut_anywhere_the_whole_notes_remain(tmp_path: Path) -> None:
    """At every byte: a torn note does not count, those before it do."""
    journal, _, _ = noted(tmp_path)
    path = tmp_path / "journal" / "000000000007.journal"
    data, whole = path.read_bytes(), list(journal.read(7))
    assert len(whole) == 9
    counts = []
    for cut in range(len(data), -1, -1):
        os.truncate(path, cut)
        found = list(journal.read(7))
        assert found == whole[: len(found)]
        counts.append(len(found))
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[1], counts[-1]) == (len(whole), len(whole) - 1, 0)


def test_a_changed_byte_ends_the_journal(tmp_path: Path) -> None:
    """Whatever the byte is part of: what comes before is right, and nothing wrong comes out."""
    journal, _, _ = noted(tmp_path)
    path = tmp_path / "journal" / "000000000007.journal"
    data, whole = path.read_bytes(), list(journal.read(7))
    for at in range(0, len(data), 5):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        found = list(journal.read(7))
        assert found == whole[: len(found)]
        assert len(found) < len(whole)


@pytest.mark.parametrize("size", [10**9, 1])
@pytest.mark.parametrize("harm", ["cut", "zeros", "changed"])
def test_a_note_that_outlived_its_records_does_not_count(tmp_path: Path, size: int, harm: str) -> None:
    """A machine that lost its power: wherever the archive is broken, the journal is cut in front of that."""
    journal, notes, whole = noted(tmp_path, size)
    path = tmp_path / "journal" / "000000000007.journal"
    files = {file: file.read_bytes() for file in sorted((tmp_path / "warc").glob("*.warc.gz"))}
    data = path.read_bytes()
    for file, content in files.items():
        for at in range(0, len(content), 97):
            broken = harmed(content, at, harm)
            if broken == content:  # a file may end in zeros itself
                continue
            path.write_bytes(data)
            file.write_bytes(broken)
            end = journal.mend(7, WarcEnd())
            assert journal.mend(7, WarcEnd()) == end
            found = outcomes_of(journal, tmp_path)
            assert found == whole[: len(found)]
            assert len(found) < len(whole) or harm == "changed"  # some bytes of a gzip header mean nothing
            assert (tmp_path / "warc" / end.file).stat().st_size >= end.length or not end.file
        file.write_bytes(content)
    path.write_bytes(data)
    last = notes[-1]
    assert isinstance(last, Note)
    assert journal.mend(7, WarcEnd()) == last.end
    assert len(outcomes_of(journal, tmp_path)) == len(whole)


def harmed(content: bytes, at: int, harm: str) -> bytes:
    if harm == "cut":
        return content[:at]
    if harm == "zeros":
        return content[:at] + bytes(len(content) - at)
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


def test_an_archive_is_opened_where_the_journal_ends(tmp_path: Path) -> None:
    """A file that is gone takes its notes along; the archive goes on behind the last that is whole."""
    journal, _, _ = noted(tmp_path, size=1)
    files = sorted((tmp_path / "warc").glob("*.warc.gz"))
    files[2].unlink()
    end = journal.mend(7, WarcEnd())
    assert end.file == files[1].name
    archive = archive_in(tmp_path, end)
    archive.close()
    assert sorted((tmp_path / "warc").glob("*.warc.gz")) == files[:2]


def test_a_note_at_which_processes_die_is_told(tmp_path: Path) -> None:
    """Three deaths at one note, of whatever number of lives; deaths elsewhere, and ends, are not its fault."""
    journal = Journal(tmp_path, tmp_path)
    assert journal.deadly(7) == frozenset()

    def life(*tried: int | None) -> None:
        for index in tried:
            journal.trying(7, index)
        journal.close()

    for _ in range(DEATHS - 1):
        life(0, 1, 2)
        life(0, 1, 2, 3, None)
    life(0)
    assert journal.deadly(7) == frozenset()
    life(0, 1, 2)
    assert journal.deadly(7) == {2}
    journal.begin(8)
    journal.close()
    assert journal.deadly(7) == journal.deadly(8) == frozenset()


def test_a_journal_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    """A whole note that cannot be understood is said to be so."""
    journal = Journal(tmp_path, tmp_path)
    journal.begin(1)
    journal.append([Note(Excluded(task(0), "robots"), AT, None, WarcEnd())])
    journal.close()
    path = tmp_path / "000000000001.journal"
    body = b"\x93\x01\x02\x03"
    path.write_bytes(len(body).to_bytes(4, "little") + xxhash.xxh3_64_intdigest(body).to_bytes(8, "little") + body)
    with pytest.raises(CollectionDamaged, match="understood"):
        list(journal.read(1))


def test_a_disk_that_takes_no_more_is_our_error(tmp_path: Path) -> None:
    """With a hint, not as a foreign exception."""
    journal = Journal(tmp_path, tmp_path)
    journal._file = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(CollectionError, match="No space left"):
        journal.append([Note(Excluded(task(0), "robots"), AT, None, WarcEnd())])
    journal.close()
