"""`export --format chunks` and `--format bulk`, and documents sent to a server that has its troubles."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any, cast

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.bridges.bulk_server import bulk_server
from tests.bridges.small_crawl import HOME

from periplus.apps.export import retrieval
from periplus.apps.export.exporting import Export, ExportOptions, committed_of
from periplus.apps.export.retrieval import check_index_name, export_bulk
from periplus.bridges import bulk
from periplus.bridges.bulk import BulkFailed, BulkTarget
from periplus.cli.app import app
from periplus.collection.collection import existing
from periplus.content import read_texts
from periplus.model import Problem, UsageError
from periplus.store.export import Selection
from periplus.store.export.bulk import id_of
from periplus.store.export.captures import Capture
from periplus.store.export.documents import DecodedCapture, read_document


def exported_lines(folder: Path, form: str, selection: Selection | None = None, **options: Any) -> list[dict[str, Any]]:
    out = BytesIO()
    Export(existing(folder), ExportOptions(form, selection or Selection(), **options)).to_stream(out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_chunks_of_representatives(crawled: Path) -> None:
    """One page of each cluster, in several parts if it is long; `--for retrieval` has none if nothing is known."""
    lines = exported_lines(crawled, "chunks")
    urls = {line["url"] for line in lines}
    assert len(urls & {f"{HOME}copy", f"{HOME}copy2"}) == 1
    assert f"{HOME}quiet" in urls
    long = [line for line in lines if line["url"] == f"{HOME}long"]
    assert len(long) > 1
    assert all(line["headings"][0] == "Harbours" for line in long)
    assert all(isinstance(line["cluster"], int) for line in lines)
    assert exported_lines(crawled, "chunks", Selection(purpose="retrieval")) == []


def test_bulk_lines(crawled: Path) -> None:
    """An action and a document for every page of the index; nothing is new or gone since tomorrow."""
    lines = exported_lines(crawled, "bulk", index="web")
    actions, documents = lines[::2], lines[1::2]
    assert {action["index"]["_index"] for action in actions} == {"web"}
    assert [action["index"]["_id"] for action in actions] == [id_of(document["url"]) for document in documents]
    quiet = next(document for document in documents if document["url"] == f"{HOME}quiet")
    assert quiet["preferences"] == {"ai_input": "disallow"}
    assert quiet["anchors"] == ["to quiet"]
    assert quiet["depth"] == 1
    assert quiet["pagerank"] > 0
    assert len(id_of(HOME)) == 22
    assert exported_lines(crawled, "bulk", since=4e9) == []
    since = exported_lines(crawled, "bulk", since=0.0)
    gone = {next(iter(line.values()))["_id"] for line in since if "delete" in line}
    copies = {id_of(f"{HOME}copy"), id_of(f"{HOME}copy2")}
    assert len(gone) == 1
    assert gone < copies
    assert {next(iter(line)) for line in since[:-1:2]} == {"index"}


def test_documents_are_sent_again_until_they_are_taken(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """429 and 5xx are tried again after longer and longer pauses; sending all twice changes nothing."""
    monkeypatch.setattr(bulk, "BATCH_BYTES", 6_000)
    found = existing(crawled)
    with bulk_server() as server:
        for _ in range(2):
            pauses: list[float] = []
            server.troubles = [429, 503]
            target = BulkTarget(server.url.replace("//", "//user:p%40ss@"), "web", wait=pauses.append)
            target.make_index(b"{}")
            export_bulk(found, committed_of(found.layout), Selection(), cast("Any", target), index="web")
            sent = target.finish()
            assert pauses == [3.0, 2.0]
            assert (sent.done, sent.refused) == (len(server.documents), 0)
            assert {document["url"] for document in server.documents.values()} >= {HOME, f"{HOME}long"}
        assert len([request for request in server.requests if request[1] == "/_bulk"]) > 6
        assert {request[2] for request in server.requests} == {"Basic dXNlcjpwQHNz"}
        server.refused = {id_of(HOME)}
        target = BulkTarget(server.url, "web", wait=pauses.append)
        export_bulk(found, committed_of(found.layout), Selection(), cast("Any", target), index="web")
        sent = target.finish()
        assert sent.refused == 1
        assert sent.errors == (f"{id_of(HOME)}: mapper_parsing_exception: no",)
        server.troubles = [500] * bulk.ATTEMPTS
        target.write(b'{"delete":{"_index":"web","_id":"x"}}\n')
        with pytest.raises(BulkFailed, match="does not answer"):
            target.finish()
        server.troubles = [403]
        target.write(b'{"delete":{"_index":"web","_id":"x"}}\n')
        with pytest.raises(BulkFailed, match="refuses documents: status 403"):
            target.finish()


def test_the_command_writes_and_sends(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bulk file has its mapping beside it; `--to` makes the index first; options of bulk are of bulk alone."""
    monkeypatch.setenv(bulk.AUTHORIZATION, "ApiKey abc")
    run = CliRunner()
    written = run.invoke(app, ["export", str(crawled), "--format", "bulk", "-o", str(tmp_path / "x.ndjson")])
    assert written.exit_code == 0, written.output
    mapping = json.loads((tmp_path / "x.ndjson.mapping.json").read_bytes())
    assert mapping["mappings"]["properties"]["main_text"] == {"type": "text"}
    with bulk_server() as server:
        sent = run.invoke(app, ["export", str(crawled), "--format", "bulk", "--to", server.url, "--index", "web"])
        assert sent.exit_code == 0, sent.output
        assert server.indexes == {"web": mapping}
        assert len(server.documents) == len((tmp_path / "x.ndjson").read_bytes().splitlines()) // 2
        assert server.requests[0] == ("PUT", "/web", "ApiKey abc")
    for options in (["--format", "jsonl", "--to", "http://x"], ["--format", "bulk", "--index", "No"]):
        assert isinstance(run.invoke(app, ["export", str(crawled), *options]).exception, UsageError)
    with pytest.raises(UsageError):
        BulkTarget("localhost:9200", "web")
    for name in ("a/b", "_a", "", "a b"):
        with pytest.raises(UsageError):
            check_index_name(name)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> list[Capture]:
    """The pages that exports of chunks read from the archive, as they read them."""
    read: list[Capture] = []

    def counted(archive: Path, capture: Capture, **how: bool) -> DecodedCapture | str:
        read.append(capture)
        return read_document(archive, capture, **how)

    monkeypatch.setattr(retrieval, "read_document", counted)
    return read


def exported_chunks(folder: Path, **options: Any) -> bytes:
    out = BytesIO()
    Export(existing(folder), ExportOptions("chunks", **options)).to_stream(out)
    return out.getvalue()


def test_chunks_are_read_once(crawled: Path, reading: list[Capture]) -> None:
    """A second export has the same bytes and reads no page; a changed shape or a damaged file reads them again."""
    kept = existing(crawled).layout.kept_chunks
    rmtree(kept, ignore_errors=True)
    first = exported_chunks(crawled)
    pages = len(reading)
    assert pages > 2
    assert exported_chunks(crawled) == first
    assert len(reading) == pages
    assert exported_chunks(crawled, size=100) != first
    assert len(reading) == 2 * pages
    for path in kept.glob("*/*.arrow"):
        path.write_bytes(path.read_bytes()[:-1])
    assert exported_chunks(crawled) == first
    assert len(reading) == 3 * pages
    rmtree(kept)
    assert exported_chunks(crawled) == first


@pytest.mark.proof
@pytest.mark.parametrize(
    ("options", "is_part"),
    [
        ({"selection": Selection(dedupe=True)}, False),
        ({"selection": Selection(languages=("en",))}, False),
        ({"selection": Selection(languages=("de",))}, True),
        ({"selection": Selection(sites=("a.test",))}, False),
        ({"selection": Selection(include=("*/long", "*/hidden"))}, True),
        ({"selection": Selection(purpose="training")}, True),
        ({"selection": Selection(purpose="retrieval", unknown="drop")}, True),
        ({"since": 0.0}, False),
        ({"changed": True, "name": "never"}, False),
        ({"size": 50, "overlap": 10}, False),
        ({"size": 300, "unit": "characters"}, False),
    ],
)
def test_kept_chunks_change_no_export(
    crawled: Path, reading: list[Capture], options: dict[str, Any], *, is_part: bool
) -> None:
    """Every selection writes the same with chunks of earlier exports, with some of them, and without any."""
    kept = existing(crawled).layout.kept_chunks
    rmtree(kept, ignore_errors=True)
    alone = exported_chunks(crawled, **options)
    rmtree(kept, ignore_errors=True)
    whole = {key: value for key, value in options.items() if key in ("size", "unit", "overlap")}
    everything = exported_chunks(crawled, **whole)
    assert is_part == (len(alone) < len(everything))
    reading.clear()
    assert exported_chunks(crawled, **options) == alone
    assert reading == []
    rmtree(kept, ignore_errors=True)
    some = exported_chunks(crawled, **whole, selection=Selection(include=("*/long", "*/copy*")))
    assert 0 < len(some) < len(everything)
    assert exported_chunks(crawled, **options) == alone
    assert exported_chunks(crawled, **whole) == everything


def test_pages_that_were_not_read_to_their_end_are_read_again(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF that took too long on a busy machine has more text the next time."""
    is_busy = True

    def read(archive: Path, capture: Capture, **how: bool) -> DecodedCapture | str:
        found = read_document(archive, capture, **how)
        if is_busy and capture.url == f"{HOME}long" and isinstance(found, DecodedCapture):
            cut = found.body[: len(found.body) // 2]
            page = replace(read_texts(cut, capture.url, "text/html"), problems=(Problem("pdf-timeout", at=2),))
            return replace(found, body=cut, page=page)
        return found

    rmtree(existing(crawled).layout.kept_chunks, ignore_errors=True)
    whole = exported_chunks(crawled)
    rmtree(existing(crawled).layout.kept_chunks)
    monkeypatch.setattr(retrieval, "read_document", read)
    assert len(exported_chunks(crawled)) < len(whole)
    is_busy = False
    assert exported_chunks(crawled) == whole


def test_records_that_were_removed_from_the_archive(crawled: Path, tmp_path: Path) -> None:
    """Pages that an archive does not hold any more are in no export, whatever was kept of them."""
    folder = tmp_path / "site"
    copytree(crawled, folder)
    assert exported_chunks(folder)
    assert exported_chunks(folder)
    for path in (folder / "warc").glob("*.warc.gz"):
        path.unlink()
    assert exported_chunks(folder) == b""
