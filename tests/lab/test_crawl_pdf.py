"""A site with PDFs, crawled with them: search, exports, chunks and the library read their text."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.store.export.made_pdfs import HOSTILE, text_pdf

import periplus
from periplus.apps.export.retrieval import export_chunks
from periplus.apps.search.indexing import open_index, update_index
from periplus.collection.collection import existing
from periplus.store.export import Committed, Selection, export_folder, export_stream, pdf_reader

pytest.importorskip("pypdfium2")

HOME = b"""<!doctype html><title>Ships</title><h1>Ships</h1><p>A page about ships and harbours, with files.</p>
<a href="/ships.pdf">The manual</a> <a href="/rigging.pdf">Rigging</a> <a href="/secret.pdf">Secret</a>
<a href="/hidden.pdf">Hidden</a>"""
SHIPS = text_pdf([["Manual of Ships", "An introduction to vessels."], ["Halyards", "A halyard hoists the mainsail."]])
_QUICK: dict[str, Any] = {"allow_private": ["127.0.0.1"], "delay": 0.01}
RIGGING = text_pdf([["Rigging", "Shrouds and stays hold the mast upright in heavy weather."]], "Rigging of Ships")


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def end_headers(self) -> None:
        if self.path == "/hidden.pdf":
            self.send_header("X-Robots-Tag", "noindex")
        super().end_headers()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_bytes(HOME)
    (folder / "ships.pdf").write_bytes(SHIPS)
    (folder / "rigging.pdf").write_bytes(RIGGING)
    (folder / "secret.pdf").write_bytes(HOSTILE["encrypted"]())
    (folder / "hidden.pdf").write_bytes(text_pdf([["Mainsail", "The mainsail nobody should find."]]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def crawled(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("crawls") / "ships"
    periplus.crawl(base, out=out, pdf=True, **_QUICK).run()
    return out


def test_without_the_setting_no_pdf_is_fetched(base: str, tmp_path: Path) -> None:
    periplus.crawl(base, out=tmp_path / "plain", **_QUICK).run()
    assert [page.url for page in periplus.open(tmp_path / "plain")] == [base]


def test_the_library_reads_text_and_sections(crawled: Path, base: str) -> None:
    pages = {page.url: page for page in periplus.open(crawled)}
    page = pages[f"{base}ships.pdf"]
    assert (page.title, page.content.mime, page.content_type) == (
        "Manual of Ships",
        "application/pdf",
        "application/pdf",
    )
    assert "A halyard hoists the mainsail." in page.text
    assert "## Page 2" in page.markdown
    assert 'id="page=2"' in page.html
    assert page.body == SHIPS
    assert [problem.reason for problem in pages[f"{base}secret.pdf"].content.problems] == ["pdf-encrypted"]


def test_search_finds_the_text(crawled: Path, base: str) -> None:
    collection = existing(crawled)
    update_index(collection)
    with open_index(collection) as index:
        assert [hit.link for hit in index.search("halyard", 5).hits] == [f"{base}ships.pdf#page=2"]
        [hit] = index.search("shrouds", 5).hits
        assert hit.title == "Rigging of Ships"
        assert f"{base}hidden.pdf" not in [hit.url.partition("#")[0] for hit in index.search("mainsail", 5).hits]


def test_exports_and_chunks_have_the_text(crawled: Path, base: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    export_stream(crawled, "jsonl", out)
    records = {row["url"]: row for row in map(msgspec.json.decode, out.getvalue().splitlines())}
    assert "halyard" in records[f"{base}ships.pdf"]["main_text"]
    written = export_folder(crawled, "markdown", tmp_path / "markdown")
    assert written.left_out == {"pdf-encrypted": 1}
    [file] = (tmp_path / "markdown").rglob("ships.pdf.md")
    assert "## Page 2\n\nHalyards" in file.read_text()
    out = io.BytesIO()
    export_chunks(existing(crawled), Committed(), Selection(), out)
    chunks = [msgspec.json.decode(line) for line in out.getvalue().splitlines()]
    assert any(chunk["page_url"] == f"{base}ships.pdf" and "halyard" in chunk["text"] for chunk in chunks)


@pytest.mark.proof
def test_files_of_a_crawl_for_pdfs_are_found_as_well(base: str, tmp_path: Path) -> None:
    periplus.crawl(base, out=tmp_path / "files", media="application/pdf", **_QUICK).run()
    collection = existing(tmp_path / "files")
    update_index(collection)
    with open_index(collection) as index:
        assert [hit.url.partition("#")[0] for hit in index.search("halyard", 5).hits] == [f"{base}ships.pdf"]
        assert f"{base}hidden.pdf" not in [hit.url.partition("#")[0] for hit in index.search("mainsail", 5).hits]


def test_without_the_extra_a_crawl_warns(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At its start, since its exports would have no texts; other crawls do not."""
    monkeypatch.setattr(pdf_reader, "find_spec", lambda _name: None)
    pdf_reader.warn_without_reader.cache_clear()
    periplus.crawl(base, out=tmp_path / "plain", **_QUICK).run()
    assert "pypdfium2" not in caplog.text
    periplus.crawl(base, out=tmp_path / "pdf", pdf=True, **_QUICK).run()
    for page in periplus.open(tmp_path / "pdf"):
        assert page.text or page.url.endswith(".pdf")
    assert caplog.text.count("pip install 'periplus[pdf]'") == 1
