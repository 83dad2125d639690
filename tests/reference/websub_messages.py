"""The hub's half of WebSub: reads requests, writes questions, signs what it sends."""

from __future__ import annotations

import hmac
from urllib.parse import urlencode

from periplus.formats.websub import _MAX_DETAIL, _MODES, MAX_SECRET, Intent, SubscriberRequest, _form, _is_web, _lease
from periplus.model import Problem


def read_request(body: bytes) -> SubscriberRequest | Problem:
    """Read a request to a hub.

    Reasons: `too-large`, `bad-form`, `bad-mode`, `bad-topic`, `bad-callback`, `bad-secret`.
    """
    fields = _form(body)
    if isinstance(fields, Problem):
        return fields
    mode, topic, callback = (fields.get(f"hub.{name}", "") for name in ("mode", "topic", "callback"))
    if mode not in _MODES:
        return Problem("bad-mode", mode[:_MAX_DETAIL])
    if not _is_web(topic):
        return Problem("bad-topic", topic[:_MAX_DETAIL])
    if not _is_web(callback):
        return Problem("bad-callback", callback[:_MAX_DETAIL])
    secret = fields.get("hub.secret", "").encode("utf-8", "surrogateescape")
    if len(secret) > MAX_SECRET:
        return Problem("bad-secret", f"{len(secret)} bytes")
    return SubscriberRequest(mode, topic, callback, secret, _lease(fields.get("hub.lease_seconds", "")))


def write_intent(intent: Intent) -> str:
    """The query of a hub's question, to be added to the callback."""
    fields: dict[str, str | int] = {"hub.mode": intent.mode, "hub.topic": intent.topic}
    if intent.challenge:
        fields["hub.challenge"] = intent.challenge
    if intent.lease:
        fields["hub.lease_seconds"] = intent.lease
    if intent.reason:
        fields["hub.reason"] = intent.reason
    return urlencode(fields)


def sign(body: bytes, secret: bytes, method: str = "sha256") -> str:
    """The value of `X-Hub-Signature` for a body."""
    return f"{method}={hmac.new(secret, body, method).hexdigest()}"
