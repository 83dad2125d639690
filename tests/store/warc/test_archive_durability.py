"""The archive over time: files that fill up, and what a crash leaves behind."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from periplus.model import CollectionDamaged, CollectionError, Fetched, FetchTask, Lane, Purpose, Site, Url
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcEnd, WarcSettings, merge_indexes, read_records, write_index
from periplus.store.warc.reading import WarcRecord

AT = 1_800_000_000.0


def page(number: int, at: float = AT) -> Fetched:
    url = Url(f"https://example.org/{number}")
    task = FetchTask(url, Site("example.org"), Purpose.PAGE, Lane.DISCOVERY, lease_ends_at=AT + 60.0)
    return Fetched(task, 200, (("Content-Type", "text/html"),), os.urandom(2000), at + number, 0.1, "192.0.2.7")


def opened(
    folder: Path, end: WarcEnd | None = None, *, shard: int = 0, size: int = 500_000_000, captures: int = 200_000
) -> Archive:
    settings = WarcSettings(max_file_size=size, max_file_captures=captures)
    return Archive(folder, settings, shard=shard, software="Periplus", fields={}, end=end, payloads=MemoryPayloads())


def urls_in(path: Path) -> list[str]:
    """The URLs of all responses, read by warcio from end to end."""
    with path.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        read = [
            (record.rec_type, record.rec_headers["WARC-Target-URI"], record.raw_stream.read()) for record in records
        ]
    return [url for kind, url, _ in read if kind == "response"]


def all_urls(folder: Path) -> list[str]:
    return [url for path in sorted(folder.glob("*.warc.gz")) for url in urls_in(path)]


def named(*numbers: int) -> list[str]:
    return [f"https://example.org/{number}" for number in numbers]


@pytest.fixture
def written(tmp_path: Path) -> Iterator[tuple[Path, WarcEnd]]:
    """Three pages that are committed, and two that are not: the process died without closing."""
    archive = opened(tmp_path)
    for number in range(3):
        archive.write(page(number), b"GET / HTTP/1.1\r\n\r\n")
    archive.sync()
    end = archive.end
    for number in (3, 4):
        archive.write(page(number), b"GET / HTTP/1.1\r\n\r\n")
    archive.sync()
    yield tmp_path, end
    archive.close()


def test_names_say_whose_and_when_and_sort(tmp_path: Path) -> None:
    """Shard, time of the first record, and a serial number."""
    archive = opened(tmp_path, shard=7)
    stored, _ = archive.write(page(0), b"")
    archive.close()
    assert stored.file == "periplus-07-20270115080000-00001.warc.gz"


def test_a_new_archive_has_no_file_until_something_is_written(tmp_path: Path) -> None:
    """A shard without pages leaves no empty files."""
    archive = opened(tmp_path / "warc")
    assert archive.end == WarcEnd("", 0)
    archive.sync()
    archive.close()
    assert list((tmp_path / "warc").iterdir()) == []


@pytest.mark.parametrize(("size", "captures"), [(5000, 10**6), (10**9, 2)], ids=["by size", "by count"])
def test_a_full_file_is_followed_by_the_next(tmp_path: Path, size: int, captures: int) -> None:
    """Every file begins with its own warcinfo and has its index; no record is split or lost."""
    archive = opened(tmp_path, size=size, captures=captures)
    stored = [archive.write(page(number), b"")[0] for number in range(6)]
    archive.close()
    paths = sorted(tmp_path.glob("*.warc.gz"))
    assert len(paths) == 3
    assert sorted({place.file for place in stored}) == [path.name for path in paths]
    assert all_urls(tmp_path) == named(*range(6))
    for path in paths:
        first = next(read_records(path))
        assert isinstance(first, WarcRecord)
        assert first.type == "warcinfo"
        assert path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj").exists()


def test_end_is_the_length_of_the_file(tmp_path: Path) -> None:
    """`end` moves with every write, and names the file that grows."""
    archive = opened(tmp_path)
    for number in range(3):
        stored, _ = archive.write(page(number), b"x")
        assert archive.end == WarcEnd(stored.file, (tmp_path / stored.file).stat().st_size)
    before = archive.end
    archive.close()
    assert archive.end == before


@pytest.mark.parametrize("garbage", [b"", b"WARC/1.1\r\n", b"\x1f\x8b\x08torn", os.urandom(100_000)])
def test_what_lies_beyond_the_end_is_cut_off(written: tuple[Path, WarcEnd], garbage: bytes) -> None:
    """After a crash only what was committed is there, then what is written next; whatever the tail held."""
    folder, end = written
    with (folder / end.file).open("ab") as file:
        file.write(garbage)
    archive = opened(folder, end)
    assert archive.end == end
    archive.write(page(9), b"")
    archive.close()
    assert all_urls(folder) == named(0, 1, 2, 9)


def test_later_files_of_this_shard_are_deleted(tmp_path: Path) -> None:
    """Files begun after the committed end go, with their indexes; those of other shards and of others stay."""
    archive = opened(tmp_path, captures=1)
    archive.write(page(0), b"")
    end = archive.end
    for number in (1, 2):
        archive.write(page(number), b"")
    archive.close()
    other = opened(tmp_path, shard=1)
    other.write(page(3), b"")
    other.close()
    (tmp_path / "mine.warc.gz").write_bytes(b"")
    opened(tmp_path, end).close()
    left = sorted(path.name for path in tmp_path.glob("*"))
    assert [name for name in left if name.endswith(".warc.gz")] == [
        "mine.warc.gz",
        end.file,
        "periplus-01-20270115080003-00001.warc.gz",
    ]
    assert len([name for name in left if name.endswith(".cdxj")]) == 2


def test_a_clock_set_back_does_not_matter(tmp_path: Path) -> None:
    """Which file is the later one is told by the serial number, not by the time."""
    archive = opened(tmp_path, captures=1)
    archive.write(page(0), b"")
    end = archive.end
    archive.write(page(1, at=AT - 10**6), b"")
    archive.close()
    opened(tmp_path, end).close()
    assert all_urls(tmp_path) == named(0)


def test_records_after_a_resume_name_the_files_warcinfo(written: tuple[Path, WarcEnd]) -> None:
    """All records of a file belong to its first."""
    folder, end = written
    archive = opened(folder, end)
    archive.write(page(9), b"")
    archive.close()
    first, *others = (record for record in read_records(folder / end.file) if isinstance(record, WarcRecord))
    assert {record.fields["warc-warcinfo-id"] for record in others} == {first.fields["warc-record-id"]}


def test_the_index_after_a_crash_is_that_of_the_file(written: tuple[Path, WarcEnd]) -> None:
    """Lines from before the crash are read from the file, and no line of what was cut off survives."""
    folder, end = written
    stale = write_index(folder / end.file)
    archive = opened(folder, end)
    assert not stale.exists()
    archive.write(page(9), b"")
    archive.close()
    lines = stale.read_bytes()
    assert lines.count(b"\n") == 4
    assert write_index(folder / end.file).read_bytes() == lines


def test_the_index_after_a_clean_stop_is_that_of_the_file(tmp_path: Path) -> None:
    """What was closed is continued without reading it again, and the index is complete all the same."""
    archive = opened(tmp_path)
    archive.write(page(5), b"")
    archive.close()
    for number in (1, 8):
        archive = opened(tmp_path, archive.end)
        archive.write(page(number), b"")
        archive.close()
    (path,) = tmp_path.glob("*.warc.gz")
    (index,) = tmp_path.glob("*.cdxj")
    lines = index.read_bytes()
    assert lines.count(b"\n") == 3
    assert write_index(path).read_bytes() == lines


def test_where_there_is_no_room_for_the_index_it_is_made_later(tmp_path: Path) -> None:
    """A disk that is full has its error already; closing adds none, and leaves nothing half written."""
    archive = opened(tmp_path)
    archive.write(page(0), b"")
    [path] = tmp_path.glob("*.warc.gz")
    in_the_way = path.with_name(path.name.removesuffix(".warc.gz") + ".cdxj.part")
    in_the_way.mkdir()
    archive.close()
    in_the_way.rmdir()
    assert [each.suffix for each in tmp_path.iterdir()] == [".gz"]
    assert merge_indexes(tmp_path).read_bytes().count(b"\n") == 1


def test_a_file_that_ends_too_early_is_damage(written: tuple[Path, WarcEnd]) -> None:
    """What was committed must be there; we do not go on as if it were."""
    folder, end = written
    os.truncate(folder / end.file, end.length - 1)
    with pytest.raises(CollectionDamaged, match="bytes"):
        opened(folder, end)


def test_a_file_that_is_missing_is_damage(tmp_path: Path) -> None:
    """The state points to a file that somebody took away."""
    with pytest.raises(CollectionDamaged, match="missing"):
        opened(tmp_path, WarcEnd("periplus-00-20270115080000-00001.warc.gz", 10))


def test_an_end_of_another_shard_is_damage(tmp_path: Path) -> None:
    """A shard never writes into the files of another."""
    with pytest.raises(CollectionDamaged, match="shard 0"):
        opened(tmp_path, WarcEnd("periplus-01-20270115080000-00001.warc.gz", 10))


def test_a_file_without_warcinfo_is_damage(tmp_path: Path) -> None:
    """Something else under our name is not appended to."""
    name = "periplus-00-20270115080000-00001.warc.gz"
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(CollectionDamaged, match="warcinfo"):
        opened(tmp_path, WarcEnd(name, 14))


def test_files_that_the_state_does_not_know_are_set_aside(written: tuple[Path, WarcEnd]) -> None:
    """A state that knows of nothing may be a first crash or a lost state: bytes are kept, under another name."""
    folder, end = written
    content = (folder / end.file).read_bytes()
    archive = opened(folder, None)
    stored, _ = archive.write(page(9), b"")
    archive.close()
    assert stored.file != end.file
    assert all_urls(folder) == named(9)
    assert (folder / f"{end.file}.orphan").read_bytes() == content


def test_a_full_disk_leaves_the_last_whole_record(tmp_path: Path) -> None:
    """A write that fails half-way is undone, and says what to do."""
    archive = opened(tmp_path)
    archive.write(page(0), b"")
    end = archive.end
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (end.length + 1000, limits[1]))
    try:
        with pytest.raises(CollectionError) as raised:
            archive.write(page(1), b"")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.hint
    assert archive.end == end
    assert (tmp_path / end.file).stat().st_size == end.length
    archive.write(page(2), b"")
    archive.close()
    assert all_urls(tmp_path) == named(0, 2)


@pytest.mark.parametrize("captures", [100, 3, 1], ids=["one file", "files end inside the group", "a file each"])
def test_a_group_is_kept_like_single_answers(tmp_path: Path, captures: int) -> None:
    """Places, `end` and indexes of a group are those that writing its answers one by one gives."""
    pages = [replace(page(number), body=b"\x1f\x8b" + os.urandom(2000)) for number in range(7)]  # no length by chance
    single, group = (opened(tmp_path / name, captures=captures) for name in ("single", "group"))
    for answers in (pages[:2], pages[2:]):
        alone = [single.write(answer, b"GET / HTTP/1.1\r\n\r\n")[0] for answer in answers]
        together = [
            stored for stored, _ in group.write_all([(answer, b"GET / HTTP/1.1\r\n\r\n") for answer in answers])
        ]
        assert together == alone
        assert group.end == single.end
        assert (tmp_path / "group" / group.end.file).stat().st_size == group.end.length
    single.close()
    group.close()
    assert all_urls(tmp_path / "group") == named(*range(7))
    for index in (tmp_path / "single").glob("*.cdxj"):
        assert (tmp_path / "group" / index.name).read_bytes() == index.read_bytes()


def test_a_group_writes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system is called once a group, however many answers it has."""
    archive = opened(tmp_path)
    sizes: list[int] = []
    write = os.write

    def counted(fd: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(fd, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", counted)
        archive.write_all([])
        assert sizes == []
        archive.write_all([(page(number), b"") for number in range(5)])
    assert sizes == [archive.end.length]
    archive.close()


def test_a_group_that_does_not_fit_on_the_disk_is_not_there(tmp_path: Path) -> None:
    """None of its answers is kept, not in the file and not in the index; the next group is."""
    archive = opened(tmp_path)
    archive.write(page(0), b"")
    end = archive.end
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (end.length + 5000, limits[1]))
    try:
        with pytest.raises(CollectionError):
            archive.write_all([(page(number), b"") for number in (1, 2, 3)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert archive.end == end
    assert (tmp_path / end.file).stat().st_size == end.length
    kept = archive.write_all([(page(number), b"") for number in (4, 5)])
    archive.close()
    assert kept[0][0].offset == end.length
    assert all_urls(tmp_path) == named(0, 4, 5)
    assert merge_indexes(tmp_path).read_bytes().count(b"\n") == 3
