"""WebSub (W3C Recommendation, 2018): a hub sends the new content of a feed to its subscribers.

A subscriber asks the hub of a feed for messages (`write_request`), the hub asks back whether that was meant
(`read_intent`; the answer is the challenge), and then sends the feed whenever it changes, signed with the secret of the
subscription (`check_signature`). A publisher asks a hub to fetch its feed again (`write_publish`).

A signature proves that a message comes from a party that knows the secret. SHA-256 and longer are always accepted;
SHA-1, which many hubs still use, only if `accepts_sha1`.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct

from periplus.model import Problem
from periplus.urls import whatwg

MAX_BYTES: Final = 5 * 1024 * 1024
"""Bytes of one message from a hub: a feed with all its entries; larger ones are not read."""

LEASE: Final = 864_000
"""Seconds of a subscription that are asked for: ten days, the default of most hubs."""

MIN_LEASE, MAX_LEASE = 60, 366 * 86_400
"""Seconds of a lease as a hub grants it, within which it is believed: renewing must neither become a flood nor never
happen."""

MAX_CHALLENGE: Final = 4096
"""Characters of a challenge, which is sent back as it came."""

MAX_SECRET: Final = 199
"""Bytes of a secret: the specification wants fewer than 200."""

METHODS: Final = ("sha256", "sha384", "sha512", "sha1")
"""Digests of signatures, as the specification names them; `sha1` is weak."""

_MAX_FORM = 32_768
_MAX_URL = 8_192
_MAX_DETAIL = 200
_SIGNATURE = re.compile(r"\s*([A-Za-z0-9]{1,16})\s*=\s*([0-9A-Fa-f]{1,256})\s*")
_MODES = ("subscribe", "unsubscribe")


class SubscriberRequest(Struct, frozen=True):
    """A subscriber's request to a hub. `lease`: seconds, as asked for; 0: the hub's default."""

    mode: str
    topic: str
    callback: str
    secret: bytes = b""
    lease: int = 0


class Intent(Struct, frozen=True):
    """A hub's question whether a request was meant, or with mode `denied` its refusal, with a `reason`.

    `lease`: seconds that the hub grants, within `MIN_LEASE` and `MAX_LEASE`; 0 if it does not say.
    """

    mode: str
    topic: str
    challenge: str = ""
    lease: int = 0
    reason: str = ""


# subscriber to hub


def write_request(request: SubscriberRequest) -> bytes:
    """The body of a POST to a hub, as a form. Raises `ValueError` for a secret that is too long."""
    if len(request.secret) > MAX_SECRET:
        raise ValueError(f"a WebSub secret has at most {MAX_SECRET} bytes, got {len(request.secret)}")
    fields: dict[str, str | bytes | int] = {
        "hub.mode": request.mode,
        "hub.topic": request.topic,
        "hub.callback": request.callback,
    }
    if request.secret:
        fields["hub.secret"] = request.secret
    if request.lease:
        fields["hub.lease_seconds"] = request.lease
    return urlencode(fields).encode()


def write_publish(topic: str) -> bytes:
    """The body of a POST that asks a hub to fetch a feed again. Both names that hubs know for the feed are sent."""
    return urlencode({"hub.mode": "publish", "hub.url": topic, "hub.topic": topic}).encode()


# hub to subscriber


def read_intent(query: str) -> Intent | Problem:
    """Read a hub's question. Reasons: `too-large`, `bad-form`, `bad-mode`, `bad-topic`, `bad-challenge`."""
    fields = _form(query.removeprefix("?").encode("utf-8", "surrogatepass"))
    if isinstance(fields, Problem):
        return fields
    mode, topic, challenge = (fields.get(f"hub.{name}", "") for name in ("mode", "topic", "challenge"))
    if mode not in (*_MODES, "denied"):
        return Problem("bad-mode", mode[:_MAX_DETAIL])
    if not _is_web(topic):
        return Problem("bad-topic", topic[:_MAX_DETAIL])
    if mode != "denied" and not 0 < len(challenge) <= MAX_CHALLENGE:
        return Problem("bad-challenge", f"{len(challenge)} characters")
    return Intent(
        mode, topic, challenge, _lease(fields.get("hub.lease_seconds", "")), fields.get("hub.reason", "")[:_MAX_DETAIL]
    )


def check_signature(header: str | None, body: bytes, secret: bytes, *, accepts_sha1: bool = False) -> str | Problem:
    """The method of a valid signature. Digests are compared in constant time.

    Reasons: `no-signature`, `bad-signature` (not of the form `method=hex`), `unknown-method`, `weak-method` (SHA-1),
    `wrong-signature`.
    """
    if not header:
        return Problem("no-signature")
    found = _SIGNATURE.fullmatch(header)
    if found is None:
        return Problem("bad-signature", header[:_MAX_DETAIL])
    method = found[1].lower()
    if method not in METHODS:
        return Problem("unknown-method", method)
    if method == "sha1" and not accepts_sha1:
        return Problem("weak-method", method)
    expected = hmac.new(secret, body, method).hexdigest()
    return method if hmac.compare_digest(expected, found[2].lower()) else Problem("wrong-signature", method)


def _form(body: bytes) -> Mapping[str, str] | Problem:
    """The fields of a form; of repeated ones the first. A `;` does not separate fields."""
    if len(body) > _MAX_FORM:
        return Problem("too-large", f"{len(body)} bytes")
    try:
        fields = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=64, errors="surrogateescape")
    except ValueError as error:
        return Problem("bad-form", str(error)[:_MAX_DETAIL])
    return dict(reversed(fields))


def _lease(text: str) -> int:
    """Seconds, kept within what is believed; 0 for a text that is not a number."""
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 12 or not int(text):
        return 0
    return min(max(int(text), MIN_LEASE), MAX_LEASE)


def _is_web(url: str) -> bool:
    return len(url) <= _MAX_URL and url.startswith(("http://", "https://")) and whatwg(url) is not None
