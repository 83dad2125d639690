"""A client for tests: sends what it is told, header by header, and returns what came."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

HTML = {"Accept": "text/html"}
PATIENCE = 300.0
"""Seconds to wait for an answer: only a server that hangs takes that long."""


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)


class Site:
    """A server, by its URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.origin = url.rstrip("/")
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        self.host, self.port = parts.hostname, parts.port

    def get(self, path: str, headers: dict[str, str] | None = None, /, **parameters: Any) -> Reply:
        """Ask for a page as a browser does."""
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        return self.ask("GET", target, HTML | (headers or {}))

    def post(self, path: str, form: dict[str, str], headers: dict[str, str] | None = None) -> Reply:
        """Send a form."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, HTML | kind | (headers or {}), urlencode(form).encode())

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes | None = None) -> Reply:
        """Send any request."""
        connection = HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, fields, response.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def send(self, data: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    """Everything until the end."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
