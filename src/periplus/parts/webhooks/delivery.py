"""Signs messages and sends them, and reads the secret.

The signature is that of Standard Webhooks: HMAC-SHA256 of the id, the time and the body, in the header fields
`webhook-id`, `webhook-timestamp` and `webhook-signature`.
"""

from __future__ import annotations

import binascii
import hmac
import logging
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import RequestTables
from periplus.engine.fetch.reasons import PRIVATE_ADDRESS
from periplus.engine.fetch.single import SingleRequests
from periplus.engine.part import Setup
from periplus.model import ConfigError, Fetched, FetchOutcome, Url
from periplus.urls import canonical, host_of

from .outbox import Outbox, WaitingMessage
from .settings import WebhookSettings

log = logging.getLogger(__name__)

SECRET: Final = "PERIPLUS_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
PATIENCE: Final = 15.0
"""Seconds that the end of a crawl waits for receivers that do not answer; the next run goes on."""
TIMEOUT: Final = 10.0
"""Seconds for one attempt, at most."""
_PREFIX: Final = "whsec_"
_LEAST_SECRET: Final = 16
"""Bytes of a secret, at least."""
_JSON: Final = "application/json"


def secret_of(settings: WebhookSettings) -> bytes:
    """The secret, from its file or the environment. Raises `ConfigError` if there is none."""
    try:
        given = Path(settings.secret_file).read_text("utf-8") if settings.secret_file else os.environ.get(SECRET, "")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"webhooks.secret_file cannot be read: {type(error).__name__}", hint="give a file with the secret"
        ) from error
    text = given.strip()
    try:
        secret = b64decode(text.removeprefix(_PREFIX), validate=True) if text.startswith(_PREFIX) else text.encode()
    except binascii.Error as error:
        raise ConfigError(
            "the secret of webhooks is not base64 after whsec_", hint="write it without whsec_"
        ) from error
    if len(secret) < _LEAST_SECRET:
        raise ConfigError(
            f"webhooks.urls need a secret of at least {_LEAST_SECRET} characters to sign with",
            hint=f"webhooks.secret_file names a file with it, or {SECRET} in the environment has it",
        )
    return secret


def check_urls(settings: WebhookSettings) -> None:
    """Raise `ConfigError` for what is not a URL, or has a password."""
    for url in settings.urls:
        if canonical(url) is None or not url.startswith(("https://", "http://")):
            raise ConfigError("webhooks.urls: this is not a URL of a receiver", hint="write https://example.org/hook")
        if "@" in url.split("/", 3)[2]:
            raise ConfigError("webhooks.urls: a URL must not have a password", hint="messages are signed; leave it out")


def signed_fields(secret: bytes, identifier: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The header fields of a message."""
    content = f"{identifier}.{timestamp}.".encode() + body
    signature = b64encode(hmac.digest(secret, content, "sha256")).decode()
    return {"webhook-id": identifier, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signature}"}


Post = Callable[[str, bytes, Mapping[str, str]], FetchOutcome]
"""Sends a body with header fields to a URL."""


def post_of(setup: Setup) -> Post:
    """Sends with the settings of the crawl: its addresses, limits and identity. Redirects are not followed."""
    tables = setup.settings.some(RequestTables)
    wire = replace(tables.wire, timeout=min(tables.wire.timeout, TIMEOUT))
    requests = SingleRequests(wire, identity=setup.identity, clock=SystemClock(), dns=tables.dns, guard=tables.guard)

    def post(url: str, body: bytes, fields: Mapping[str, str]) -> FetchOutcome:
        return requests.post(canonical(url) or Url(url), body, _JSON, fields=fields, max_redirects=0)

    return post


def deliver(
    outbox: Outbox,
    settings: WebhookSettings,
    post: Post,
    *,
    patience: float = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Send what is due, and again what was not accepted, for at most `patience` seconds; how many were accepted.

    A receiver that did not accept a message gets no other one before the next attempt, and one whose address is not
    opened gets none in this run.
    """
    secret, until, accepted = secret_of(settings), time.time() + patience, 0
    closed: set[str] = set()
    while True:
        retries: dict[str, float] = {}
        for message in outbox.due(time.time()):
            if message.url not in settings.urls:
                outbox.remove(message)
            elif message.url in retries or message.url in closed:
                continue
            elif not (why := _refusal(post, secret, message)):
                outbox.remove(message)
                accepted += 1
            else:
                again_at = outbox.postpone(message, time.time())
                if why == PRIVATE_ADDRESS:
                    closed.add(message.url)
                else:
                    retries[message.url] = again_at or until + 1.0
            if time.time() > until:
                return accepted
        next_at = min(retries.values(), default=until + 1.0)
        if next_at > until:
            return accepted
        sleep(max(next_at - time.time(), 0.0))


def _refusal(post: Post, secret: bytes, message: WaitingMessage) -> str:
    """Why a message was not accepted; empty if it was."""
    body = message.body.encode()
    outcome = post(message.url, body, signed_fields(secret, message.id, int(time.time()), body))
    if isinstance(outcome, Fetched) and 200 <= outcome.status < 300:
        return ""
    why = str(getattr(outcome, "status", None) or getattr(outcome, "reason", "") or "no answer")
    step = f"; --allow-private {message.url.split('/', 3)[2]} opens it" if why == PRIVATE_ADDRESS else ""
    log.warning(
        "a webhook to %s was not accepted: %s%s", host_of(canonical(message.url) or Url(message.url)), why, step
    )
    return why
