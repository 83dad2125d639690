"""Webhooks as a part: it takes what happened to a collection, and nothing of the crawl itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

import msgspec

from periplus.engine.part import CollectionEvent, Desk, Part, Setup

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

    order: ClassVar[int] = 900

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> Iterable[Part]:  # noqa: ARG003 - a hook
        """None: the machine has nothing to do with it."""
        return ()

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Raise `ConfigError` before the crawl if messages could not be signed at its end."""
        settings = _settings(setup)
        if settings.urls:
            from .delivery import check_urls, secret_of

            check_urls(settings)
            secret_of(settings)

    @classmethod
    def happened(cls, setup: Setup, event: CollectionEvent) -> None:
        """Queue a message for every receiver, and send what waits. A receiver that fails ends nothing."""
        settings = _settings(setup)
        if not settings.urls or event.type not in settings.events:
            return
        from .delivery import deliver, post_of

        at = datetime.fromtimestamp(event.at, UTC)
        body = msgspec.json.encode({"type": event.type, "timestamp": at, "data": event.data}).decode()
        outbox = Outbox(setup.layout.folder / FOLDER)
        try:
            cls.check(setup)
            for url in settings.urls:
                outbox.add(url, body, event.at)
            deliver(outbox, settings, post_of(setup))
        except Exception as error:  # the crawl is done, whatever becomes of its messages
            log.warning("webhooks were not sent: %s", error)
