from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.processes import wait_until_gone
from tests.store.export.made_pdfs import HOSTILE, PASSAGE, made_files, mutated, text_pdf

from periplus.content.pdf import html_of, pdf_title
from periplus.store.export import pdf_reader
from periplus.store.export.documents import markdown_of, read_body
from periplus.store.export.pdf_reader import PdfReader
from periplus.store.export.pdf_worker import LEAST_MEMORY, MEMORY, memory_limit

pytest.importorskip("pypdfium2")

PAGES = [["The Ledger of Ships", PASSAGE, PASSAGE], ["Second page", "A word to find: halyard."], ["Third"]]


@pytest.fixture(scope="module")
def reader() -> Iterator[PdfReader]:
    made = PdfReader()
    yield made
    made.close()


def _pid(reader: PdfReader) -> int:
    assert reader._process is not None
    return reader._process.pid


def test_pages_title_and_language(reader: PdfReader) -> None:
    found = reader.read(text_pdf(PAGES, "Of Ships", language="en-GB"))
    assert len(found.pages) == 3
    assert "halyard" in found.pages[1]
    assert (found.title, found.heading, found.language, found.problems) == (
        "Of Ships",
        "The Ledger of Ships",
        "en-GB",
        (),
    )


def test_the_first_large_line_is_the_title_where_the_metadata_have_none(reader: PdfReader) -> None:
    assert pdf_title(reader.read(text_pdf(PAGES))) == "The Ledger of Ships"
    assert pdf_title(reader.read(text_pdf(PAGES, "Microsoft Word - ships.doc"))) == "The Ledger of Ships"


def test_one_process_reads_many_files(reader: PdfReader) -> None:
    reader.read(text_pdf(PAGES))
    first = _pid(reader)
    assert {len(reader.read(text_pdf(PAGES)).pages) for _ in range(5)} == {3}
    assert _pid(reader) == first


def test_a_process_that_was_killed_is_replaced(reader: PdfReader) -> None:
    reader.read(text_pdf(PAGES))
    os.kill(_pid(reader), signal.SIGKILL)
    assert reader.read(text_pdf(PAGES)).problems[0].reason == "pdf-crashed"
    assert reader.read(text_pdf(PAGES)).problems == ()


def test_a_process_that_hangs_is_killed(reader: PdfReader) -> None:
    reader.read(text_pdf(PAGES))
    os.kill(_pid(reader), signal.SIGSTOP)
    started = time.monotonic()
    assert (
        reader.read(text_pdf([[PASSAGE] * 40] * 99, packed=False), max_seconds=0.5).problems[0].reason == "pdf-timeout"
    )
    assert time.monotonic() - started < 25
    assert len(reader.read(text_pdf(PAGES)).pages) == 3


def test_pages_before_a_crash_are_kept(reader: PdfReader) -> None:
    page = (
        b"6 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 7 0 R/Resources<</Font<</F1 3 0 R>>>>>>\n"
        b"endobj\n7 0 obj\n<</Length 42>>\nstream\nBT /F1 12 Tf 72 700 Td (Read before) Tj ET\nendstream\nendobj\n"
    )
    body = HOSTILE["deflate bomb"]().replace(b"/Kids[4 0 R]/Count 1", b"/Kids[6 0 R 4 0 R]/Count 2")
    body = body.replace(b"trailer", page + b"trailer").replace(b"startxref", b"found by searching")
    found = reader.read(body)
    assert found.pages == ("Read before",)
    assert found.problems[0].reason in ("pdf-crashed", "pdf-timeout")
    assert found.problems[0].at == 2


def test_at_most_so_many_pages_are_read(reader: PdfReader) -> None:
    found = reader.read(text_pdf(PAGES), max_pages=2)
    assert (len(found.pages), found.problems[0].reason, found.problems[0].at) == (2, "pdf-cut", 2)


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_reader, "MAX_BYTES", 100)
    reader = PdfReader()
    assert reader.read(text_pdf(PAGES)).problems[0].reason == "pdf-too-large"
    assert reader._process is None


def test_what_to_install_is_said(reader: PdfReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_reader, "has_reader", lambda: False)
    [problem] = reader.read(text_pdf(PAGES)).problems
    assert (problem.reason, "periplus[pdf]" in problem.detail) == ("pdf-no-reader", True)


def test_threads_share_a_process(reader: PdfReader) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(reader.read(text_pdf(PAGES)).pages))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3] * 4


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    program = (
        "import os; from tests.store.export.made_pdfs import text_pdf\n"
        "from periplus.store.export import pdf_reader as p\n"
        "p.read_pdf(text_pdf([['a']])); print(p._READER._process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    wait_until_gone([int(done.stdout)])


@pytest.mark.proof
@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_file_does_harm(reader: PdfReader, name: str) -> None:
    body = HOSTILE[name]()
    started = time.monotonic()
    html_of(reader.read(body, max_seconds=2))
    assert time.monotonic() - started < 25
    assert len(reader.read(text_pdf(PAGES)).pages) == 3


def test_encrypted_and_cut_files_have_a_reason(reader: PdfReader) -> None:
    reasons = {name: reader.read(HOSTILE[name]()).problems[0].reason for name in ("encrypted", "cut", "wide predictor")}
    assert reasons == {"encrypted": "pdf-encrypted", "cut": "pdf-damaged", "wide predictor": "pdf-no-text"}


def test_mutated_files_are_values(reader: PdfReader) -> None:
    files = made_files()
    for seed in range(60):
        found = reader.read(mutated(files[seed % len(files)], seed), max_seconds=5)
        assert found.problems or any(found.pages)
        html_of(found)


def test_a_pdf_is_read_as_a_page_with_sections() -> None:
    body = text_pdf(PAGES, "Of Ships")
    page, made, *_ = read_body(body, "https://example.org/ships.pdf", [("Content-Type", "application/pdf")])
    assert (page.mime, page.title, page.problems) == ("application/pdf", "Of Ships", ())
    assert "halyard" in page.main_text
    assert b'<h2 id="page=2">Page 2</h2>' in made
    assert "## Page 2\n\nSecond page" in markdown_of(page, made)


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/user/crawl\n", {"user/crawl/memory.max": "max", "user/memory.max": f"{2 << 30}"}, 512 << 20),
        ("0::/user/crawl\n", {"user/crawl/memory.max": f"{300 << 20}"}, LEAST_MEMORY),
        ("0::/\n", {"memory.max": f"{1600 << 20}\n"}, 400 << 20),
        ("4:cpu,memory:/of/the/host\n0::/\n", {"memory/memory.limit_in_bytes": f"{2 << 30}"}, 512 << 20),
    ],
)
def test_the_memory_of_the_process_follows_its_control_group(
    tmp_path: Path, groups: str, files: dict[str, str], limit: int
) -> None:
    """The smallest limit above it counts, of either version of control groups."""
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{key}": files[key] for key in files}}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(str(tmp_path)) == min(limit, memory_limit())


def test_a_process_takes_what_the_machine_has_for_it() -> None:
    """Without control groups a quarter of its memory counts, within bounds."""
    assert LEAST_MEMORY <= memory_limit() <= MEMORY
