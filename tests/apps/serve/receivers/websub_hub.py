"""A WebSub hub on loopback, beside a scripted web: takes subscriptions, verifies them, and sends messages."""

from __future__ import annotations

import socket
from http.client import HTTPConnection
from threading import Thread
from urllib.parse import urlsplit

from tests.lab import scripted_web
from tests.lab.scripted_web import ScriptedWeb
from tests.reference.websub_messages import read_request, sign, write_intent

from periplus.formats.websub import Intent, SubscriberRequest

HUB = "http://hub.test/"


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class WebWithHub(ScriptedWeb):
    """A scripted web that takes POST at `HUB`. `status` is what it answers, `lease` what it grants.

    `requests` are all that it got, `answers` those to its questions: status and body.
    """

    def __init__(self, said: dict[str, str | bytes]) -> None:
        super().__init__(said, knows_etags=False)
        self._server.RequestHandlerClass = _Handler
        self.requests: list[SubscriberRequest] = []
        self.answers: list[tuple[int, bytes]] = []
        self.status = 202
        self.lease = 0
        self.challenge = "a challenge & more"

    def verify(self, request: SubscriberRequest, mode: str = "subscribe") -> tuple[int, bytes]:
        """Ask a subscriber whether it meant this; status and body of its answer."""
        intent = Intent(mode, request.topic, self.challenge if mode != "denied" else "", self.lease)
        answer = _send("GET", f"{request.callback}?{write_intent(intent)}")
        self.answers.append(answer)
        return answer

    def send(
        self, request: SubscriberRequest, body: bytes, method: str = "sha256", signature: str | None = None
    ) -> int:
        """Send a message to a subscriber; signed with its secret, unless another signature is given."""
        signed = sign(body, request.secret, method) if signature is None else signature
        fields = {"Content-Type": "application/atom+xml"} | ({"X-Hub-Signature": signed} if signed else {})
        return _send("POST", request.callback, body, fields)[0]


def _send(method: str, url: str, body: bytes | None = None, fields: dict[str, str] | None = None) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=300)
    try:
        connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, body, fields or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class _Handler(scripted_web._Handler):
    def do_POST(self) -> None:  # noqa: N802 - as the server calls it
        web = self.server.web  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = read_request(body)
        is_hub = self.path == HUB and isinstance(found, SubscriberRequest)
        self._answer(web.status if is_hub else 400, b"", "")
        if is_hub:
            web.requests.append(found)
            if web.status == 202:
                Thread(target=web.verify, args=(found,)).start()
