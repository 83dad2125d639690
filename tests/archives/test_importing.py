"""Archives of others become collections: every capture a fetch, pages read, links followed, visits remembered."""

from __future__ import annotations

import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.archives.foreign import HOME, Capture, a_site, chunked, html, write_arc, write_warc

import periplus
from periplus.collection.collection import existing, states
from periplus.collection.importing import import_archives
from periplus.model import Url, UsageError
from periplus.store.importing import archive_files, foreign_answers, survey
from periplus.store.warc import FileSlice, WarcRecord, read_records
from periplus.store.warc.copying import CopiedExchange
from periplus.store.warc.http import without_chunks


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The answer of a query."""
    return [tuple(row) for row in periplus.open(folder).query(sql)]


def test_every_capture_is_a_fetch(imported: Path) -> None:
    """With the time, status and purpose it had; a POST is not a page."""
    found = rows(imported, "select url, purpose, outcome, status, started_at::varchar from fetches order by started_at")
    assert [(str(url).removeprefix(HOME), purpose, outcome, status) for url, purpose, outcome, status, _ in found] == [
        ("robots.txt", "robots", "fetched", 200),
        ("sitemap.xml", "sitemap", "fetched", 200),
        ("", "page", "fetched", 200),
        ("one", "page", "fetched", 200),
        ("two", "page", "redirected", 301),
        ("gone", "page", "fetched", 404),
        ("a.png", "file", "fetched", 200),
        ("hidden", "page", "fetched", 200),
        ("", "page", "fetched", 200),
        ("", "page", "fetched", 200),
    ]
    assert str(found[0][4]).startswith("2020-01-01 00:00:00")
    assert str(found[-1][4]).startswith("2022-01-01 00:00:00")


def test_pages_links_sitemaps_and_changes_are_read(imported: Path) -> None:
    """Chunks are gone, the sitemap is listed, and the second version of a page is a change."""
    titles = dict(rows(imported, "select url, last(title order by read_at) from pages group by url"))
    assert titles[HOME] == "home, changed"
    assert titles[f"{HOME}one"] == "one"
    assert (f"{HOME}one", HOME) in rows(imported, "select page, target from links")
    assert rows(imported, "select url from sitemap_entries where kind = 'page'") == [(f"{HOME}one",)]
    changes = rows(imported, "select is_change from changes order by seen_at")
    assert changes == [(True,), (False,)]


def test_the_state_knows_the_visits(imported: Path) -> None:
    """A watch goes on from there."""
    with states(existing(imported).layout) as opened:
        record = opened[0].records.get([Url(HOME)])[0]
    assert record is not None
    assert (record.visits, record.changes) == (3, 1)


def test_the_archive_is_one_of_ours(imported: Path) -> None:
    """Each body is there once; the last answer refers to it."""
    types = [
        record.type
        for path in sorted((imported / "warc").glob("*.warc.gz"))
        for record in read_records(path)
        if isinstance(record, WarcRecord) and record.type in ("response", "revisit")
    ]
    assert types.count("revisit") == 1
    assert len(types) == 10


def test_files_are_merged_in_the_order_of_time(tmp_path: Path) -> None:
    """Also if they overlap, and whatever order they are given in."""
    days = [f"2020-01-{day:02d}T00:00:00Z" for day in range(1, 9)]
    later = write_warc(tmp_path / "b.warc.gz", [Capture(f"{HOME}{day}", html(day), day) for day in days[1::2]])
    earlier = write_warc(
        tmp_path / "a.warc", [Capture(f"{HOME}{day}", html(day), day) for day in days[::2]], is_packed=False
    )
    old = write_arc(tmp_path / "old.arc", f"{HOME}arc", html("arc"))
    files, _ = archive_files([later, earlier, old], tmp_path)
    answers = [each for each in foreign_answers(files, survey(files)) if isinstance(each, CopiedExchange)]
    times = [answer.outcome.started_at for answer in answers]
    assert len(times) == 9
    assert times == sorted(times)
    assert answers[0].outcome.task.url == f"{HOME}arc"


def test_a_package_is_read_in_place(tmp_path: Path, archive: Path) -> None:
    """A stored member without unpacking it, a compressed one by way of a folder; broken packages are counted."""
    package, packed, broken = tmp_path / "a.wacz", tmp_path / "b.wacz", tmp_path / "c.wacz"
    with zipfile.ZipFile(package, "w") as file:
        file.write(archive, "archive/data.warc.gz")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(archive, "archive/data.warc.gz")
    broken.write_bytes(b"PK\x03\x04 and nothing else")
    files, problems = archive_files([package, packed, broken], tmp_path / "scratch")
    assert [type(file.source) for file in files] == [FileSlice, type(tmp_path)]
    assert {problem.reason for problem in problems.values()} == {"not-a-package"}
    plain = [(record.url, len(record.block)) for record in read_records(archive) if isinstance(record, WarcRecord)]
    for each in files:
        found = [
            (record.url, len(record.block)) for record in read_records(each.source) if isinstance(record, WarcRecord)
        ]
        assert found == plain


def test_damage_is_counted_and_never_raised(tmp_path: Path) -> None:
    """Whatever bytes are wrong: an import reads what is left."""
    whole = write_warc(tmp_path / "whole.warc.gz", a_site()).read_bytes()
    chance = Random(7)
    for number in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 40)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path = tmp_path / f"{number}.warc.gz"
        path.write_bytes(bytes(data[: chance.randrange(1, len(data))]))
        files, _ = archive_files([path], tmp_path)
        found = list(foreign_answers(files, survey(files)))
        assert len(found) < 1_500


def test_what_cannot_be_used_has_a_reason(tmp_path: Path) -> None:
    """A date that is none, an answer that is none, a body that is nowhere; the requests for them, too."""
    captures = [
        Capture("dns:old.test", b"", "2020-01-01T00:00:00Z"),
        Capture(HOME, html("a"), "1066-10-14T00:00:00Z"),
        Capture(HOME, html("a"), "2020-01-01T00:00:00Z", "not a status"),
        Capture(HOME, html("b"), "2020-01-02T00:00:00Z", repeats="2019-01-01T00:00:00Z"),
        Capture(HOME, b"", "2020-01-03T00:00:00Z", "304 Not Modified"),
        Capture(HOME, html("c"), "2020-01-04T00:00:00Z"),
    ]
    done = import_archives(tmp_path / "new", [write_warc(tmp_path / "x.warc.gz", captures)])
    assert done.captures == 1
    assert done.problems == {"no-original": 2, "bad-date": 1, "no-status": 1, "capture-left-out": 4}
    assert "x.warc.gz" in done.examples["bad-date"]


def test_an_import_is_whole_or_not_there(tmp_path: Path, archive: Path) -> None:
    """A folder with something in it is refused, and a file without captures leaves nothing behind."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "note.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        import_archives(tmp_path / "taken", [archive])
    (tmp_path / "empty.warc.gz").write_bytes(b"")
    with pytest.raises(UsageError, match="no captures"):
        import_archives(tmp_path / "new", [tmp_path / "empty.warc.gz"])
    with pytest.raises(UsageError, match="does not exist"):
        import_archives(tmp_path / "new", [tmp_path / "absent.warc.gz"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.warc.gz", "taken"]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (chunked(b"The quick brown fox"), b"The quick brown fox"),
        (b"3;name=value\r\nabc\r\n0\r\nTrailer: x\r\n\r\n", b"abc"),
        (b"<html>not in chunks", b"<html>not in chunks"),
        (b"5\r\nabcde\r\n5\r\nfgh", b"abcdefgh"),
        (b"5\r\nabcdeXX", b"5\r\nabcdeXX"),
        (b"", b""),
    ],
)
def test_chunks(body: bytes, left: bytes) -> None:
    """Those that are there go; what has none stays as it is."""
    assert without_chunks((("transfer-encoding", "Chunked"),), body) == left
    assert without_chunks((), body) == body


def test_a_page_that_is_over_is_not_found(tmp_path: Path) -> None:
    """Its date (`unavailable_after`) came after it was read: the next index leaves it out."""
    headers = (("Content-Type", "text/html"), ("X-Robots-Tag", "unavailable_after: 2020-06-25"))
    captures = [
        Capture(HOME, html("concert", "/other"), "2020-01-01T00:00:00Z", headers=headers),
        Capture(f"{HOME}other", html("festival"), "2020-01-01T00:00:01Z"),
        Capture(f"{HOME}late", html("encore"), "2021-01-01T00:00:00Z", headers=headers),
    ]
    import_archives(tmp_path / "new", [write_warc(tmp_path / "x.warc.gz", captures)])
    sql = "select noindex, epoch(unavailable_after) from pages order by url"
    assert rows(tmp_path / "new", sql) == [(False, 1593043200.0), (True, 1593043200.0), (False, None)]
    collection = periplus.open(tmp_path / "new")
    collection.index()
    assert [hit.url for hit in collection.search("festival")] == [f"{HOME}other"]
    assert not [*collection.search("concert"), *collection.search("encore")]
