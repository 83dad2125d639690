"""`export --format chunks` and `--format bulk`, and documents sent to a server that has its troubles."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from typing import Any, cast

import pytest
from tests.bridges.bulk_server import bulk_server
from tests.bridges.small_crawl import HOME
from typer.testing import CliRunner

from periplus.apps.export import retrieval
from periplus.apps.export.exporting import Export, ExportOptions, committed_of
from periplus.apps.export.retrieval import check_index_name, export_bulk
from periplus.bridges import bulk
from periplus.bridges.bulk import BulkFailed, BulkTarget
from periplus.cli.app import app
from periplus.collection.collection import existing
from periplus.model import UsageError
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


def test_chunks_are_read_once(crawled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second export has the same bytes and reads no page; a changed shape or a damaged file reads them again."""

    def exported(**options: Any) -> bytes:
        out = BytesIO()
        Export(existing(crawled), ExportOptions("chunks", **options)).to_stream(out)
        return out.getvalue()

    reading: list[Capture] = []

    def counted(archive: Path, capture: Capture, **how: bool) -> DecodedCapture | str:
        reading.append(capture)
        return read_document(archive, capture, **how)

    monkeypatch.setattr(retrieval, "read_document", counted)
    kept = existing(crawled).layout.kept_chunks
    rmtree(kept, ignore_errors=True)
    first = exported()
    pages = len(reading)
    assert pages > 2
    assert exported() == first
    assert exported(selection=Selection(dedupe=True, include=("*",))) in first
    assert len(reading) == pages
    assert exported(size=100) != first
    assert len(reading) == 2 * pages
    for path in kept.glob("*/*.arrow"):
        path.write_bytes(path.read_bytes()[:-1])
    assert exported() == first
    assert len(reading) == 3 * pages
    rmtree(kept)
    assert exported() == first
