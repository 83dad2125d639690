"""A receiver of messages on loopback that answers as it is told and keeps what it got."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Got(NamedTuple):
    method: str
    path: str
    content_type: str
    body: bytes


class Receiver:
    def __init__(self) -> None:
        self.got: list[Got] = []
        self.statuses: list[int] = []
        """Statuses of the next answers; 200 after that."""
        self.headers: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        file = self.files.get(handler.path)
        if file is None:
            got = Got(handler.command, handler.path, handler.headers.get("Content-Type", ""), body)
            self.got.append(got)
        status = 200 if file is not None or not self.statuses else self.statuses.pop(0)
        handler.send_response(status)
        handler.send_header("Content-Type", "text/plain")
        handler.send_header("Content-Length", str(len(file or b"")))
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(file or b"")


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            receiver.answer(self)

        do_POST = do_GET  # noqa: N815 - named by the library

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
