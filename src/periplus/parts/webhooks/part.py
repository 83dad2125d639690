"""Webhooks as a part: it takes what happened to a collection, and nothing of the crawl itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from periplus.engine.part import Part, Setup

from .outbox import Outbox
from .settings import WebhookTables

if TYPE_CHECKING:
    from .settings import WebhookSettings

log = logging.getLogger(__name__)

FOLDER = "webhooks"
"""In the collection: messages that wait."""


def _settings(setup: Setup) -> WebhookSettings:
    return setup.settings.some(WebhookTables).webhooks


class Webhooks(Part):
    """Reports what happened to a collection."""

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Raise `ConfigError` before the crawl if messages could not be signed at its end."""
        settings = _settings(setup)
        if settings.urls:
            from .delivery import check_urls, secret_of

            check_urls(settings)
            secret_of(settings)


def happened(setup: Setup, event: str, at: float, data: Mapping[str, object]) -> None:
    """Queue a message for every receiver, and send what waits. A receiver that fails ends nothing.

    `event` is `crawl.ended`, `pages.changed` or `audit.new_faults`; `data` are its facts, which JSON can hold.
    """
    settings = _settings(setup)
    if event not in settings.events:
        return
    from .delivery import deliver, post_of

    timestamp = datetime.fromtimestamp(at, UTC)
    body = msgspec.json.encode({"type": event, "timestamp": timestamp, "data": data}).decode()
    outbox = Outbox(setup.layout.folder / FOLDER)
    try:
        Webhooks.check(setup)
        for url in settings.urls:
            outbox.add(url, body, at)
        deliver(outbox, settings, post_of(setup))
    except Exception as error:  # the crawl is done, whatever becomes of its messages
        log.warning("webhooks were not sent: %s", error)
