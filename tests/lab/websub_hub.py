"""A WebSub hub as a process of its own: verifies intents, fetches the topic, and sends it signed to its subscribers.

    python -m tests.lab.websub_hub PORT

It shares no code with the product, so that each side is tried against another's reading of the recommendation.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

TIMEOUT = 10.0
LEASE = 86_400


def fetch(method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Send one request; status and body of its answer."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT)
    try:
        connection.request(method, f"{parts.path}?{parts.query}" if parts.query else parts.path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Subscriber(NamedTuple):
    """Where a topic is sent, and the secret that signs it."""

    callback: str
    secret: bytes


class Hub(ThreadingHTTPServer):
    """The hub: subscribers by topic."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.subscribers: dict[str, set[Subscriber]] = {}

    def verify(self, mode: str, topic: str, subscriber: Subscriber) -> None:
        """Ask a subscriber whether it meant this, and do it if it repeats the challenge."""
        challenge = secrets.token_urlsafe(16)
        query = {"hub.mode": mode, "hub.topic": topic, "hub.challenge": challenge, "hub.lease_seconds": LEASE}
        separator = "&" if urlsplit(subscriber.callback).query else "?"
        status, body = fetch("GET", f"{subscriber.callback}{separator}{urlencode(query)}")
        is_meant = status // 100 == 2 and body.decode() == challenge
        if is_meant and mode == "subscribe":
            self.subscribers.setdefault(topic, set()).add(subscriber)
        elif is_meant:
            self.subscribers.get(topic, set()).discard(subscriber)
        _report(f"{mode} {topic}: {'verified' if is_meant else 'refused'}")

    def publish(self, topic: str) -> None:
        """Fetch a topic and send it to all who subscribed."""
        _, body = fetch("GET", topic)
        own = f"http://127.0.0.1:{self.server_address[1]}/"
        for subscriber in self.subscribers.get(topic, set()):
            signature = f"sha256={hmac.new(subscriber.secret, body, 'sha256').hexdigest()}"
            links = f'<{own}>; rel="hub", <{topic}>; rel="self"'
            headers = {"Content-Type": "application/atom+xml", "Link": links, "X-Hub-Signature": signature}
            status, _ = fetch("POST", subscriber.callback, body, headers)
            _report(f"sent {topic}: {status}")


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        fields = {name: values[0] for name, values in parse_qs(body).items()}
        mode, topic = fields.get("hub.mode", ""), fields.get("hub.topic") or fields.get("hub.url", "")
        if mode == "publish":
            work = threading.Thread(target=self.server.publish, args=(topic,), daemon=True)
        elif mode in {"subscribe", "unsubscribe"} and fields.get("hub.callback"):
            subscriber = Subscriber(fields["hub.callback"], fields.get("hub.secret", "").encode())
            work = threading.Thread(target=self.server.verify, args=(mode, topic, subscriber), daemon=True)
        else:
            self.send_error(400)
            return
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        work.start()

    def log_message(self, *_: object) -> None:
        """What matters is printed."""


if __name__ == "__main__":
    Hub(int(sys.argv[1])).serve_forever()
