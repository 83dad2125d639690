"""A server on loopback that takes bulk requests as a search engine does: documents by id, and trouble on demand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class BulkServer(ThreadingHTTPServer):
    """`documents` by id; `troubles` are statuses that the next requests get; ids in `refused` are not taken."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.documents: dict[str, dict[str, Any]] = {}
        self.indexes: dict[str, Any] = {}
        self.troubles: list[int] = []
        self.refused: set[str] = set()
        self.requests: list[tuple[str, str, str | None]] = []
        self.largest = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: BulkServer

    def log_message(self, *_: object) -> None:
        pass

    def do_PUT(self) -> None:
        body = self._body()
        name = self.path.strip("/")
        if name in self.server.indexes:
            self._answer(400, {"error": {"type": "resource_already_exists_exception"}})
        else:
            self.server.indexes[name] = json.loads(body)
            self._answer(200, {"acknowledged": True})

    def do_POST(self) -> None:
        body = self._body()
        if self.server.troubles:
            self._answer(self.server.troubles.pop(0), {})
            return
        self.server.largest = max(self.server.largest, len(body))
        lines = [json.loads(line) for line in body.splitlines()]
        self._answer(200, {"took": 1, "items": list(self._apply(lines))})

    def _apply(self, lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        rest = iter(lines)
        for line in rest:
            ((action, about),) = line.items()
            known = about["_id"] in self.server.documents
            if action == "delete":
                self.server.documents.pop(about["_id"], None)
                yield {"delete": {"_id": about["_id"], "status": 200 if known else 404}}
            elif about["_id"] in self.server.refused:
                next(rest)
                error = {"type": "mapper_parsing_exception", "reason": "no"}
                yield {"index": {"_id": about["_id"], "status": 400, "error": error}}
            else:
                self.server.documents[about["_id"]] = next(rest)
                yield {"index": {"_id": about["_id"], "status": 200 if known else 201}}

    def _body(self) -> bytes:
        self.server.requests.append((self.command, self.path, self.headers.get("Authorization")))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "3")
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def bulk_server() -> Iterator[BulkServer]:
    """Run one."""
    server = BulkServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
