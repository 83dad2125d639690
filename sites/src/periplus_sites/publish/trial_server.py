"""A small server for a published folder on this machine, with the middleware: to try out what crawlers will see."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from .inventory.application import Wsgi


def folder_app(folders: Sequence[Path], *, clean_urls: bool = False) -> Wsgi:
    """A WSGI application that answers with the files of the first folder that has them; none that begins with a dot."""
    roots = [folder.resolve() for folder in folders]

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = str(environ.get("PATH_INFO", "/")).encode("latin-1").decode("utf-8", "replace")
        found = _find(roots, path, clean_urls=clean_urls)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            start("405 Method Not Allowed", [("Allow", "GET, HEAD"), ("Content-Length", "0")])
            return [b""]
        if found is None:
            body = b"There is no such page.\n"
            start("404 Not Found", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
            return [body]
        mime = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
        body = found.read_bytes()
        charset = "; charset=utf-8" if mime.startswith("text/") else ""
        start("200 OK", [("Content-Type", mime + charset), ("Content-Length", str(len(body)))])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

    return app


def _find(roots: Sequence[Path], path: str, *, clean_urls: bool) -> Path | None:
    parts = path.strip("/").split("/") if path.strip("/") else []
    if "\0" in path or any(part.startswith(".") or not part for part in parts):
        return None
    for root in roots:
        found = root.joinpath(*parts)
        if path.endswith("/"):
            found /= "index.html"
        elif clean_urls and not found.suffix:
            found = found.with_name(found.name + ".html")
        try:
            if found.is_file() and found.resolve().is_relative_to(root):
                return found
        except OSError:
            continue
    return None


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing: crawlers are counted in the ledger."""


def trial_server(app: Wsgi, port: int) -> WSGIServer:
    """A server of an application on loopback; port 0 is any free one."""
    return make_server("127.0.0.1", port, app, _Server, _QuietHandler)
