"""A collection on disk, exported: the last good version of every URL, from the archive."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.each_case import each_case
from warcio.archiveiterator import ArchiveIterator

from periplus.model import (
    Fetched,
    FetchEnded,
    FetchTask,
    Lane,
    Preferences,
    Purpose,
    Site,
    Stored,
    Url,
    UsageError,
)
from periplus.store import Archive, MemoryPayloads, Tables, WarcEnd, WarcSettings
from periplus.store.export import FOLDERS, Committed, Selection, export_folder, export_stream
from periplus.store.export.bulk import PageFacts, index_lines
from periplus.store.export.documents import last_document
from periplus.store.export.records import file_of, other_file_of
from periplus.store.tables import SCHEMAS, Spooled
from periplus.urls import site_of

NOW = 1_800_000_000.0
HTML = (("Content-Type", "text/html; charset=utf-8"),)


class Collection:
    """A small crawl by hand: what it is told to fetch is in its archive and its tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = Archive(
            folder / "warc", WarcSettings(), shard=0, software="Periplus", fields={}, end=None,
            payloads=MemoryPayloads(),
        )  # fmt: skip
        self.tables = Tables(folder / "tables", folder / "spool", shard=0, mark=None)
        self.at = NOW

    def fetch(
        self, url: str, body: bytes, status: int = 200, headers: Any = HTML, purpose: Any = Purpose.PAGE
    ) -> Stored:
        self.at += 1
        task = FetchTask(Url(url), Site(site_of(Url(url))), purpose, Lane.DISCOVERY, self.at + 60)
        outcome = Fetched(task, status, headers, body, self.at, 0.1, "192.0.2.1")
        stored, _ = self.archive.write(outcome, b"GET / HTTP/1.1\r\n\r\n")
        self.tables.record([FetchEnded(outcome, self.at, stored)])
        return stored

    def settle(self) -> None:
        self.archive.sync()
        self.tables.settle()
        self.tables.close()
        self.archive.close()

    def lines(self, committed: Committed | None = None, *, wants_markdown: bool = False) -> list[dict[str, Any]]:
        out = BytesIO()
        export_stream(self.folder, "jsonl", out, committed, wants_markdown=wants_markdown)
        return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection(tmp_path / "collection")


def test_the_last_good_version_of_each_url_is_exported(collection: Collection) -> None:
    """Older versions, errors and what is not a page stay in the archive."""
    collection.fetch("https://example.org/a", b"<title>Old</title><p>old")
    collection.fetch("https://example.org/b", b"<title>B</title><p>b text")
    collection.fetch(
        "https://example.org/a",
        b"<html lang=en><title>New</title><nav>n</nav><main>The main text of this page, at length</main>",
    )
    collection.fetch("https://example.org/a", b"gone", status=404)
    collection.fetch("https://example.org/robots.txt", b"User-agent: *", purpose=Purpose.ROBOTS)
    collection.settle()
    first, second = collection.lines()
    assert (first["url"], first["title"]) == ("https://example.org/b", "B")
    assert second["url"] == "https://example.org/a"
    assert (second["title"], second["language"], second["status"]) == ("New", "en", 200)
    assert second["text"] == "n The main text of this page, at length"
    assert second["main_text"] == "The main text of this page, at length"
    assert second["fetched_at"] == "2027-01-15T08:00:03Z"


def test_compressed_and_repeated_bodies_are_read(collection: Collection) -> None:
    """A body comes out without its content coding, and a revisit with the body that it refers to."""
    packed = gzip.compress(b"<title>Packed</title>" + b"<p>word " * 50)
    headers = (*HTML, ("Content-Encoding", "gzip"))
    collection.fetch("https://example.org/a", packed, headers=headers)
    again = collection.fetch("https://example.org/copy", packed, headers=headers)
    assert again.is_revisit
    collection.settle()
    assert [(line["url"], line["title"]) for line in collection.lines()] == [
        ("https://example.org/a", "Packed"),
        ("https://example.org/copy", "Packed"),
    ]


def test_what_cannot_be_read_is_counted_and_the_rest_goes_on(collection: Collection) -> None:
    """A lost file and a picture are reasons in the summary, not the end of the export."""
    collection.fetch("https://example.org/a", b"<p>a")
    lost = collection.fetch("https://example.org/lost", b"<p>lost " + bytes(range(32, 127)))
    collection.fetch(
        "https://example.org/p.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, headers=(("Content-Type", "image/png"),)
    )
    collection.settle()
    path = collection.folder / "warc" / lost.file
    data = bytearray(path.read_bytes())
    data[lost.offset : lost.offset + lost.length] = b"\0" * lost.length
    path.write_bytes(data)
    summary = export_folder(collection.folder, "text", collection.folder.parent / "out")
    assert summary.written == 1
    assert summary.left_out == {"damaged": 1, "no-text": 1}


def test_files_are_where_one_looks_for_them(collection: Collection, tmp_path: Path) -> None:
    """`host/path.md`, with front matter; `http` and `https` of one path are two files."""
    collection.fetch("https://example.org/", b'<title>Home: "q"</title><h1>Home</h1>')
    collection.fetch("http://example.org/", b"<h1>Plain</h1>")
    collection.fetch("https://example.org/guide/start.html", b"<h1>Start</h1><a href=next>n</a>")
    collection.fetch("https://example.org/guide/start.html.md/x", b"<p>in the way")
    collection.settle()
    assert export_folder(collection.folder, "markdown", tmp_path / "out").written == 4
    home = (tmp_path / "out" / "example.org" / "index.md").read_text()
    assert home == (
        '---\nurl: "https://example.org/"\ntitle: "Home: \\"q\\""\nfetched_at: "2027-01-15T08:00:01Z"\n---\n\n# Home\n'
    )
    start = (tmp_path / "out" / "example.org" / "guide" / "start.html.md").read_text()
    assert start.endswith("# Start\n\n[n](https://example.org/guide/next)\n")
    assert len(list((tmp_path / "out").rglob("*.md"))) == 4


def test_markdown_is_a_field_of_json_lines_if_asked_for(collection: Collection) -> None:
    """In the encoding of the page, with links relative to its base; plain text keeps its lines."""
    page = "<base href=/b/><h1>\u00dcber</h1><p>siehe <a href='x?\u00fc#y'>dort</a>"
    latin = (("Content-Type", "text/html; charset=iso-8859-1"),)
    collection.fetch("https://example.org/a", page.encode("latin-1"), headers=latin)
    collection.fetch("https://example.org/b", b"one\r\n  two\n", headers=(("Content-Type", "text/plain"),))
    collection.settle()
    assert all("markdown" not in line for line in collection.lines())
    first, second = collection.lines(wants_markdown=True)
    assert first["markdown"] == "# \u00dcber\n\nsiehe [dort](https://example.org/b/x?%FC#y)"
    assert second["markdown"] == "one\n  two"
    assert second["text"] == "one two"


def test_what_is_hidden_is_a_field_of_json_lines_where_there_is_such(collection: Collection, tmp_path: Path) -> None:
    """How many characters, and by which tricks; the texts are without it. Tables have no such column."""
    collection.fetch("https://example.org/a", b"<p>seen text of a page</p><p style='display:none'>not seen</p>")
    collection.fetch("https://example.org/b", b"<p>all of this is seen</p>")
    collection.settle()
    first, second = collection.lines()
    assert first["hidden_text"] == {"characters": 8, "tricks": ["display"]}
    assert "not seen" not in first["text"] + first["main_text"]
    assert "hidden_text" not in second
    out = BytesIO()
    export_stream(collection.folder, "csv", out)
    export_folder(collection.folder, "parquet", tmp_path / "out")
    assert b"hidden_text" not in out.getvalue()


def test_a_page_that_is_gone_says_since_when(collection: Collection, tmp_path: Path) -> None:
    """The first answer that it is gone after the last that it was there, in every format; no failure means that."""
    for name in ("gone", "back", "down"):
        collection.fetch(f"https://example.org/{name}", b"<p>the text of a page")
    for _ in range(2):
        collection.fetch("https://example.org/gone", b"", status=410)
    collection.fetch("https://example.org/back", b"", status=404)
    collection.fetch("https://example.org/back", b"<p>the text of a page, again")
    collection.fetch("https://example.org/down", b"", status=500)
    collection.fetch("https://example.org/never", b"", status=404)
    collection.settle()
    at = "2027-01-15T08:00:04Z"
    assert {line["url"][20:]: line["vanished_at"] for line in collection.lines()} == {
        "gone": at,
        "back": None,
        "down": None,
    }
    out = BytesIO()
    export_stream(collection.folder, "csv", out)
    assert [row["vanished_at"] for row in csv.DictReader(StringIO(out.getvalue().decode()))] == [at, "", ""]
    export_folder(collection.folder, "markdown", tmp_path / "out")
    pages = (tmp_path / "out" / "example.org").iterdir()
    assert [page.stem for page in pages if f'vanished_at: "{at}"' in page.read_text()] == ["gone"]


def test_a_folder_that_holds_something_is_refused(collection: Collection, tmp_path: Path) -> None:
    """Nothing is overwritten, and a stranger's format is named."""
    collection.settle()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    for form in FOLDERS:
        with pytest.raises(UsageError):
            export_folder(collection.folder, form, tmp_path / "out")
    with pytest.raises(UsageError, match="wacz"):
        export_stream(collection.folder, "wacz", BytesIO())


def test_parquet_is_one_file_a_table(collection: Collection, tmp_path: Path) -> None:
    """Files of several shards and runs become one each."""
    import pandas

    for number in range(3):
        collection.fetch(f"https://example.org/{number}", b"<p>x")
        collection.tables.settle()
    collection.settle()
    assert export_folder(collection.folder, "parquet", tmp_path / "out").written == 3 + 3
    files = {f"{name}.parquet" for name in (*SCHEMAS, "documents")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    assert len(pandas.read_parquet(tmp_path / "out" / "fetches.parquet")) == 3


SITES = {
    "https://example.org/docs/a": b"<html lang=de-AT><title>A</title><main>Ein langer Text aus W\xc3\xb6rtern</main>",
    "https://www.example.org/docs/b": b"<html lang=en><title>B</title><main>A long text of many words</main>",
    "https://www.example.org/copy": b"<html lang=en><title>C</title><nav>x</nav><main>A long text of many words</main>",
    "https://notexample.org/docs/d": b"<title>D</title><main>Another text, of another site</main>",
}


@pytest.fixture
def sites(collection: Collection) -> Collection:
    for url, body in SITES.items():
        collection.fetch(url, body)
    collection.settle()
    return collection


def test_csv_has_the_fields_of_json_lines(sites: Collection) -> None:
    """A header and a row a page, in UTF-8; Markdown is a column if asked for."""
    out = BytesIO()
    assert export_stream(sites.folder, "csv", out, wants_markdown=True).written == 4
    rows = list(csv.DictReader(StringIO(out.getvalue().decode(), newline="")))
    lines = sites.lines(wants_markdown=True)
    assert [row["url"] for row in rows] == list(SITES)
    assert rows == [{name: "" if value is None else str(value) for name, value in line.items()} for line in lines]
    out = BytesIO()
    export_stream(sites.folder, "csv", out)
    assert b"markdown" not in out.getvalue()


def test_parquet_has_the_texts_of_pages(sites: Collection, tmp_path: Path) -> None:
    """`documents.parquet` has the fields of JSON lines; Markdown is a column if asked for."""
    import pandas

    export_folder(sites.folder, "parquet", tmp_path / "plain")
    assert "markdown" not in pandas.read_parquet(tmp_path / "plain" / "documents.parquet")
    export_folder(sites.folder, "parquet", tmp_path / "out", wants_markdown=True)
    table = pandas.read_parquet(tmp_path / "out" / "documents.parquet")
    lines = sites.lines(wants_markdown=True)
    for name in ("url", "title", "text", "main_text", "markdown", "warc_offset"):
        assert list(table[name]) == [line[name] for line in lines]
    assert table["fetched_at"][0] == pandas.Timestamp(lines[0]["fetched_at"])


@pytest.mark.parametrize(
    ("selection", "titles", "left_out"),
    [
        (Selection(), "ABCD", {}),
        (Selection(sites=("Example.org",)), "ABC", {"other-site": 1}),
        (Selection(sites=("www.example.org", "notexample.org")), "BCD", {"other-site": 1}),
        (Selection(include=("/docs/*",)), "ABD", {"not-included": 1}),
        (Selection(include=("re:/docs/[ab]$", "*/copy")), "ABC", {"not-included": 1}),
        (Selection(languages=("DE",)), "A", {"other-language": 2, "unknown-language": 1}),
        (Selection(languages=("de-at", "en")), "ABC", {"unknown-language": 1}),
        (Selection(dedupe=True), "ABD", {"duplicate": 1}),
        (
            Selection(sites=("example.org",), include=("/copy",), dedupe=True),
            "C",
            {"other-site": 1, "not-included": 2},
        ),
    ],
)
def test_pages_are_selected(
    sites: Collection, tmp_path: Path, selection: Selection, titles: str, left_out: dict[str, int]
) -> None:
    """By site with its subdomains, by URL, by language, and each text once: in every format of pages."""
    import pandas

    for form in ("jsonl", "csv"):
        exported = export_stream(sites.folder, form, BytesIO(), selection=selection)
        assert (exported.written, exported.left_out) == (len(titles), left_out)
    urls = [url for url, body in SITES.items() if body.split(b"<title>")[1][:1].decode() in titles]
    export_folder(sites.folder, "markdown", tmp_path / "files", selection=selection)
    assert len(list((tmp_path / "files").rglob("*.md"))) == len(urls)
    export_folder(sites.folder, "parquet", tmp_path / "tables", selection=selection)
    assert list(pandas.read_parquet(tmp_path / "tables" / "documents.parquet")["url"]) == urls
    assert (tmp_path / "tables" / "fetches.parquet").exists() is not bool(selection)


def test_a_page_that_declares_no_language_has_that_of_its_text(collection: Collection) -> None:
    """A filter, the field of a line and what is left out go by the text; a wrong declaration does not count."""
    english = "The crawler reads the pages of a site and follows the links that it finds in them."
    collection.fetch("https://example.org/undeclared", f"<main>{english}".encode())
    collection.fetch("https://example.org/wrong", f"<html lang=de><main>{english}".encode())
    collection.fetch("https://example.org/code", b"<main>x = 1; y = 2</main>")
    collection.settle()
    out = BytesIO()
    exported = export_stream(collection.folder, "jsonl", out, selection=Selection(languages=("en",)))
    assert [json.loads(line)["language"] for line in out.getvalue().splitlines()] == ["en", "en"]
    assert exported.left_out == {"unknown-language": 1}


def test_the_archive_is_not_selected_from(sites: Collection) -> None:
    """A WARC export is the whole archive: a selection is refused, not ignored."""
    with pytest.raises(UsageError, match="archive"):
        export_stream(sites.folder, "warc", BytesIO(), selection=Selection(dedupe=True))


def test_a_killed_collection_is_exported_as_it_was_committed(collection: Collection, tmp_path: Path) -> None:
    """Spools count, and what lies beyond the marks does not, neither in tables nor in the archive."""
    collection.fetch("https://example.org/a", b"<p>a")
    collection.archive.sync()
    committed = Committed(
        (Spooled(0, collection.folder / "spool", collection.tables.checkpoint()),), (collection.archive.end,)
    )
    collection.fetch("https://example.org/b", b"<p>b")
    collection.settle()
    assert len(collection.lines()) == 2
    assert [line["url"] for line in collection.lines(committed)] == ["https://example.org/a"]
    out = BytesIO()
    assert export_stream(collection.folder, "warc", out, committed).written == 1
    assert responses(out) == ["https://example.org/a"]


def test_warc_is_all_files_as_one(collection: Collection) -> None:
    """warcio reads the whole from end to end."""
    for name in "abc":
        collection.fetch(f"https://example.org/{name}", f"<p>{name}".encode())
    collection.settle()
    out = BytesIO()
    export_stream(collection.folder, "warc", out)
    assert responses(out) == [f"https://example.org/{name}" for name in "abc"]


def responses(out: BytesIO) -> list[str]:
    out.seek(0)
    return [
        record.rec_headers.get_header("WARC-Target-URI")
        for record in ArchiveIterator(out)
        if record.rec_type == "response"
    ]


@each_case(
    ("url", "wanted"),
    [
        ("https://example.org/", "example.org/index.txt"),
        ("https://example.org:8443/a/b.html", "example.org_8443/a/b.html.txt"),
        ("https://example.org/a/", "example.org/a/index.txt"),
        ("https://example.org/%C3%A9", "example.org/%C3%A9.txt"),
        ("http://[::1]/x", "___1_/x.txt"),
    ],
)
def test_paths_are_those_of_the_url(url: str, wanted: str) -> None:
    """What one would guess."""
    assert str(file_of(Url(url), ".txt")) == wanted


@each_case(
    "path", ["/../x", "/a?b=c", "/.hidden", "/a//b", "/" + "x" * 300, "/d" * 40, "/con:*|", "/a/..%2f..", "/x.", "/\\"]
)
def test_paths_that_must_be_changed_carry_the_fingerprint(path: str) -> None:
    """No URL leaves the folder, hides in it, or is too long for it; and no two changed ones meet."""
    for file in (
        file_of(Url("https://example.org" + path), ".md"),
        other_file_of(Url("https://example.org" + path), ".md"),
    ):
        assert not file.is_absolute()
        assert all(not part.startswith(".") and 0 < len(part) < 140 for part in file.parts)
        assert "~" in file.name
        assert len(file.parts) < 20


def test_warc_ends_of_shards_that_wrote_nothing(collection: Collection) -> None:
    """A shard that has no file yet does not exclude those of others."""
    collection.fetch("https://example.org/a", b"<p>a")
    collection.settle()
    out = BytesIO()
    export_stream(collection.folder, "warc", out, Committed(archive=(WarcEnd(), collection.archive.end)))
    assert responses(out) == ["https://example.org/a"]


def test_pages_that_may_not_be_used_are_left_out_and_counted(collection: Collection) -> None:
    """By what is known of their permissions; without that nothing is explained."""
    for name in ("open", "closed", "paid"):
        collection.fetch(f"https://example.org/{name}", b"<p>" + name.encode())
    collection.settle()
    reasons = {"https://example.org/closed": "not-for-training", "https://example.org/paid": "not-licensed"}
    training, out = Selection(purpose="training"), BytesIO()
    summary = export_stream(
        collection.folder, "jsonl", out, selection=training, refuses=lambda url, _: reasons.get(url, "")
    )
    assert [json.loads(line)["url"] for line in out.getvalue().splitlines()] == ["https://example.org/open"]
    assert summary.left_out == {"not-for-training": 1, "not-licensed": 1}
    assert export_stream(collection.folder, "jsonl", BytesIO(), selection=training).left_out == {"unexplained": 3}
    assert len(collection.lines()) == 3


@pytest.mark.parametrize(
    ("purpose", "name", "value"),
    [
        ("training", "X-Robots-Tag", "noai"),
        ("training", "tdm-reservation", "1"),
        ("search", "X-Robots-Tag", "noindex"),
        ("search", "X-Robots-Tag", "unavailable_after: 2010-06-25"),
        ("search", "Content-Usage", "search=n"),
        ("archive", "X-Robots-Tag", "noarchive"),
        ("archive", "Content-Signal", "use=immediate"),
        ("retrieval", "Content-Signal", "ai-input=no"),
    ],
)
def test_what_a_page_says_itself_counts(collection: Collection, purpose: str, name: str, value: str) -> None:
    """Whatever else is known of it: the exported version may say more than those before."""
    collection.fetch("https://example.org/a", b"<p>Before")
    collection.fetch("https://example.org/a", b"<p>After", headers=(*HTML, (name, value)))
    collection.settle()
    asked = Selection(purpose=purpose)
    summary = export_stream(collection.folder, "jsonl", BytesIO(), selection=asked, refuses=lambda *_: "")
    assert (summary.written, summary.left_out) == (0, {f"not-for-{purpose}": 1})


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("Tue, 14 Nov 2023 23:03:20 GMT", datetime(2023, 11, 14, 23, 3, 20, tzinfo=UTC)),
        ("Fri, 15 Jan 2027 08:00:00 GMT", None),  # that of the request
        ("yesterday", None),
    ],
)
def test_a_document_was_modified_when_the_server_says(
    collection: Collection, field: str, expected: datetime | None
) -> None:
    """A page that is made for each request has the date of the request, which says nothing."""
    collection.fetch("https://example.org/a", b"<p>A text", headers=(*HTML, ("Last-Modified", field)))
    collection.settle()
    found = last_document(collection.folder / "tables", (), collection.folder / "warc", "https://example.org/a")
    assert found is not None
    assert found.modified_at == expected
    line = index_lines("pages", found, PageFacts(), Preferences()).splitlines()[1]
    shown = json.loads(line)["modified_at"]
    assert shown == (None if expected is None else "2023-11-14T23:03:20Z")
