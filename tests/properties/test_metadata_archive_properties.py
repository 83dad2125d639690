"""Metadata archives under any bytes and any site."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats import metadata_archive as archives
from periplus.formats.metadata_archive import ArchiveEntry, ListedArchive
from periplus.model import Problem

NAMES = st.sampled_from(["20000104T000000Z-20000122T101500Z.text_html.gz", "1.4.2000-1.22.2000.HTML.gz", "x"])
PIECES = st.lists(
    st.sampled_from(
        [b"05/Feb/1999:16:01:30 -0800", b" ", b"/a", b"99999", b"\n", b"\x1f", b"\x8b", b"\xff", b"31/Feb/"]
    ),
    max_size=20,
).map(b"".join)
ENTRIES = st.lists(
    st.builds(
        ArchiveEntry,
        path=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
        modified_at=st.integers(-(10**9), 10**10).map(float),
        size=st.integers(0, 10**12),
        mime=st.sampled_from(["text/html", "image/svg+xml", "application/vnd.ms-excel", ""]),
    ),
    max_size=60,
)


def key(entry: ArchiveEntry) -> tuple[float, str, int, str]:
    return entry.modified_at, entry.path, entry.size, entry.mime


@given(NAMES | st.text(), st.binary() | PIECES | PIECES.map(gzip.compress))
def test_no_bytes_make_a_reader_raise(name: str, body: bytes) -> None:
    """Whatever a site publishes as an archive or a list, there are values."""
    read = list(archives.read(name, body))
    assert all(isinstance(value, ArchiveEntry | Problem) for value in read)
    assert list(archives.read(name, [body[:3], b"", body[3:]])) == read
    assert all(isinstance(value, ListedArchive | Problem) for value in archives.read_list(body, "https://e.com/"))
    archives.needed([name], 0.0, {"text/html"})


@given(ENTRIES, st.integers(1, 20), st.integers(0, 10))
def test_round_trip(entries: list[ArchiveEntry], segment: int, smallest: int) -> None:
    """Every description survives, in exactly one archive, whose name does not lie."""
    written = list(archives.write(entries, segment=segment, smallest_group=smallest))
    read = [value for archive in written for value in archives.read(archive.name, archive.body)]
    assert not [value for value in read if isinstance(value, Problem)]
    assert sorted((value for value in read if isinstance(value, ArchiveEntry)), key=key) == sorted(entries, key=key)
    assert len({archive.name for archive in written}) == len(written)


@given(ENTRIES, st.integers(-(10**9), 10**10).map(float))
def test_needed_is_complete_and_no_more(entries: list[ArchiveEntry], since: float) -> None:
    """No change after the moment is missed, and every archive fetched has one."""
    written = {archive.name: archive.body for archive in archives.write(entries, segment=5, smallest_group=2)}
    wanted = archives.needed(written, since)
    recent = [
        [
            entry
            for entry in archives.read(name, written[name])
            if isinstance(entry, ArchiveEntry) and entry.modified_at >= since
        ]
        for name in wanted
    ]
    assert all(recent)
    assert sum(map(len, recent)) == sum(entry.modified_at >= since for entry in entries)
