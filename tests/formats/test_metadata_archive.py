"""Metadata archives: the scheme of Brandman et al. (2000), with its own figures as check values."""

from __future__ import annotations

import gzip
import zlib
from random import Random

import pytest
from tests.each_case import each_case

from periplus.formats import metadata_archive as archives
from periplus.formats.metadata_archive import ArchiveEntry, ArchiveName, ListedArchive
from periplus.model import Problem

DAY = 86400.0
MIMES = ("text/html", "image/gif", "image/jpeg", "application/pdf", "text/plain")
VOCABULARY = """people pics line index home page news research papers student course spring autumn winter group project
photo image archive data report figure table draft thesis lecture notes homework solution exam syllabus staff faculty
events seminar talk slides demo software manual guide intro chapter appendix map campus library history contact"""
WORDS = VOCABULARY.split()


def site(pages: int, mimes: tuple[str, ...] = MIMES, seed: int = 1) -> list[ArchiveEntry]:
    """Pages as the paper assumes them: paths of about 30 characters, sizes of 5 digits, arbitrary dates, 5 types."""
    random = Random(seed)
    entries = []
    for number in range(pages):
        mime = mimes[number % len(mimes)]
        path = "/".join(random.choice(WORDS) for _ in range(2)) + f"/{random.choice(WORDS)}{random.randrange(1000)}"
        path = f"{path}.{mime.partition('/')[2][:4]}"
        entries.append(
            ArchiveEntry(
                path, float(random.randrange(800_000_000, 950_000_000)), random.randrange(10_000, 99_999), mime
            )
        )
    return entries


def read_back(written: list[archives.MetadataArchive]) -> list[ArchiveEntry | Problem]:
    return [entry for archive in written for entry in archives.read(archive.name, archive.body)]


def by_date(entries: list[ArchiveEntry]) -> list[ArchiveEntry]:
    return sorted(entries, key=lambda entry: (entry.modified_at, entry.path, entry.size, entry.mime))


def test_the_papers_example_line() -> None:
    """Section 3.2: a description takes 64 bytes, with its line end (the paper counts the same entry so)."""
    line = b"05/Feb/1999:16:01:30 -0800 people/pics/line/colorbars.gif 99999\n"
    assert len(line) == 64
    name = "2.5.1999-2.6.1999.GIF.gz"
    assert list(archives.read(name, gzip.compress(line))) == [
        ArchiveEntry("people/pics/line/colorbars.gif", 918259290.0, 99999, "image/gif")
    ]


def test_the_papers_sizes() -> None:
    """64 B a page raw, a third of it compressed, about 42 KB for 2,000, 0.16 % of pages of 13 KB.

    Measured here: 61.4 B, 18.0 B, 35.9 KB, 0.14 %. Made-up paths share more words than real ones do, so that gzip gains
    somewhat more than the paper's factor of three; the tolerance is that of made-up data.
    """
    [archive] = archives.write(site(2_000, ("text/html",)))
    raw = gzip.decompress(archive.body)
    assert 58 <= len(raw) / 2_000 <= 66
    assert 16 <= len(archive.body) / 2_000 <= 23
    assert 32_000 <= len(archive.body) <= 46_000
    assert 0.0012 <= len(archive.body) / 2_000 / 13_000 <= 0.0018


@pytest.mark.slow
def test_a_hundred_thousand_pages_are_about_250_archives() -> None:
    """Section 3.3: 50 segments of five types."""
    written = list(archives.write(site(100_000)))
    assert len(written) == 250
    assert len({archive.name for archive in written}) == 250
    assert max(len(archive.body) for archive in written) < 42_000


def test_every_page_is_in_exactly_one_archive() -> None:
    """Nothing is lost, nothing told twice, and each archive keeps its promise."""
    entries = site(3_000, (*MIMES, "audio/x-rare"))
    written = list(archives.write(entries))
    assert by_date([entry for entry in read_back(written) if isinstance(entry, ArchiveEntry)]) == by_date(entries)
    assert not [problem for problem in read_back(written) if isinstance(problem, Problem)]


def test_small_groups_are_merged_and_keep_their_types() -> None:
    """Below 50 of a type in a segment they go to "other", which tells the type of each."""
    entries = site(100, ("text/html",)) + site(49, ("image/gif",)) + site(1, ("audio/mpeg",)) + site(1, ("",))
    written = list(archives.write(entries))
    types = [archives.read_name(archive.name) for archive in written]
    assert [told.mime for told in types if told] == ["text/html", "other"]
    assert by_date([entry for entry in read_back(written) if isinstance(entry, ArchiveEntry)]) == by_date(entries)


def test_the_same_site_is_the_same_files() -> None:
    """No clock and no order of the input shows in what is published."""
    entries = site(3_000)
    assert list(archives.write(entries)) == list(archives.write(reversed(entries)))


def test_one_second_may_fill_many_archives() -> None:
    """A site that was copied in one second still has a name for each archive."""
    entries = [ArchiveEntry(f"/{number}", 9e8, 1, "text/html") for number in range(5_000)]
    names = [archive.name for archive in archives.write(entries)]
    assert names == [
        "19980709T160000Z-19980709T160000Z.text_html.gz",
        "19980709T160000Z-19980709T160000Z~2.text_html.gz",
        "19980709T160000Z-19980709T160000Z~3.text_html.gz",
    ]
    assert {archives.read_name(name) for name in names} == {ArchiveName(9e8, 9e8, "text/html")}


@each_case(
    ("name", "told"),
    [
        ("20000104T000000Z-20000122T101500Z.text_html.gz", ArchiveName(946944000.0, 948536100.0, "text/html")),
        (
            "https://e.com/a/20000104T000000Z-20000104T000000Z.other.gz?x=/",
            ArchiveName(946944000.0, 946944000.0, "other"),
        ),
        ("1.4.2000-1.22.2000.HTML.gz", ArchiveName(946944000.0, 948585599.0, "text/html")),
        ("20000104T000000Z-20000104T000000Z.image_svg+xml.gz", ArchiveName(946944000.0, 946944000.0, "image/svg+xml")),
        ("20000122T000000Z-20000104T000000Z.text_html.gz", None),
        ("20000230T000000Z-20000304T000000Z.text_html.gz", None),
        ("20000104T000000Z-20000104T000000Z.html.gz", None),
        ("13.4.2000-14.22.2000.HTML.gz", None),
        ("sitemap.xml.gz", None),
        ("", None),
    ],
)
def test_names(name: str, told: ArchiveName | None) -> None:
    """Our names to the second, the paper's to the day, and nothing else."""
    assert archives.read_name(name) == told


def test_only_what_is_needed() -> None:
    """Exactly the archives that end at or after the moment, of the wanted type or of mixed ones."""
    entries = site(8_000, (*MIMES, "audio/x-rare"))
    written = list(archives.write(entries))
    names = [archive.name for archive in written]
    since = 930_000_000.0
    wanted = archives.needed(names, since, {"text/html"})
    told = [found for found in map(archives.read_name, wanted) if found is not None]
    assert {found.mime for found in told} <= {"text/html", "other"}
    assert all(found.to_at >= since for found in told)
    assert sum(found.from_at < since for found in told if found.mime == "text/html") <= 1
    bodies = {archive.name: archive.body for archive in written}
    found_paths = {
        entry.path
        for name in wanted
        for entry in archives.read(name, bodies[name])
        if isinstance(entry, ArchiveEntry) and entry.modified_at >= since and entry.mime == "text/html"
    }
    assert found_paths == {e.path for e in entries if e.modified_at >= since and e.mime == "text/html"}
    assert archives.needed(names, float("-inf")) == names
    assert archives.needed(names, float("inf")) == []
    assert archives.needed(["x"], 0.0) == []
    images = archives.needed(names, 0.0, {"image/*"})
    assert {found.mime for found in map(archives.read_name, images) if found} == {"image/gif", "image/jpeg"}


def test_lists() -> None:
    """A list file and robots.txt carry the same names; other lines are passed over."""
    names = [archive.name for archive in archives.write(site(200))]
    expected = [(f"https://e.com/meta/{name}", archives.read_name(name)) for name in names]
    for prefix in ("", "Metadata-archive: "):
        body = "".join(f"{prefix}{name}\n" for name in names).encode()
        dirty = b"User-agent: *\nDisallow: /x\nDisallow : /*.gz\nSitemap: http://e.com/s.xml.gz\n# comment\n\n" + body
        read = list(archives.read_list(dirty, "https://e.com/meta/list"))
        assert [(found.url, found.name) for found in read if isinstance(found, ListedArchive)] == expected
        assert len(read) == len(names)
    assert list(archives.read_list(b"Metadata-archive: /x.gz")) == [Problem("bad-name", "/x.gz")]


def reasons(read: list[ArchiveEntry | Problem]) -> list[str]:
    return [value.reason for value in read if isinstance(value, Problem)]


def test_damage_gives_what_can_be_read() -> None:
    """Cut, garbled, plain, misnamed and lying archives."""
    [archive] = archives.write(site(1_000, ("text/html",)))
    cut = list(archives.read(archive.name, archive.body[:-2000]))
    assert len(cut) > 700
    assert reasons(cut)[-1] == "truncated"
    assert reasons(list(archives.read(archive.name, archive.body[:100] + b"garbage" * 50)))[-1] in (
        "not-gzip",
        "truncated",
    )
    plain = list(archives.read(archive.name, gzip.decompress(archive.body)))
    assert (len(plain), reasons(plain)) == (1_000, [])
    assert reasons(list(archives.read("x.gz", archive.body))) == ["bad-name"]
    lying = list(archives.read("1.1.1990-1.2.1990.HTML.gz", archive.body))
    assert reasons(lying) == ["outside-dates"] * 1_000
    assert len(lying) == 2_000
    assert reasons(list(archives.read(archive.name, b"hello\n\nworld"))) == ["bad-line", "bad-line"]
    chunks = [archive.body[i : i + 1] for i in range(len(archive.body))]
    assert list(archives.read(archive.name, chunks)) == list(archives.read(archive.name, archive.body))


def test_an_archive_may_have_several_members() -> None:
    """RFC 1952: gzip files may be put together; what is not gzip behind them is passed over."""
    first, second = archives.write(site(200, ("text/html",)), segment=100)
    body = first.body + second.body + b"\0\0"
    read = list(archives.read("1.1.1970-1.2.2030.HTML.gz", body))
    assert (len(read), reasons(read)) == (200, [])
    assert list(archives.read("1.1.1970-1.2.2030.HTML.gz", [body[i : i + 1] for i in range(len(body))])) == read


def test_what_is_not_an_archive_is_given_up() -> None:
    """A few bytes of gzip hold millions of lines that say nothing; they are not told one by one."""
    for read in (
        list(archives.read("1.1.1990-1.2.1990.HTML.gz", gzip.compress(b"x\n" * 4_000_000))),
        list(archives.read_list(b"x.gz\n" * 1_000_000, "https://e.com/")),
    ):
        assert len(read) == archives.MOST_PROBLEMS + 1
        assert read[-1] == Problem("more-problems")


def test_bombs_are_bounded() -> None:
    """A small file that grows without end, and a line without end."""
    name = "1.1.1990-1.2.1990.HTML.gz"
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = bomb.compress(b"\n" * 20_000_000) + bomb.flush()
    assert reasons(list(archives.read(name, body))) == ["too-large"]
    assert reasons(list(archives.read(name, gzip.compress(b"x" * 1_000_000 + b"\nx")))) == ["line-too-long", "bad-line"]
