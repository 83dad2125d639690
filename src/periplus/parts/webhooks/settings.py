"""Settings of webhooks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from periplus.model.flags import PERSONAL


class WebhookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told when something happened to the collection."""

    urls: Annotated[tuple[str, ...], PERSONAL] = ()
    """Where a signed POST is sent to: `https://example.org/hook`. A private address must be in `wire.allow_private`."""
    secret_file: Annotated[str, PERSONAL] = ""
    """A file with the secret that signs; empty: the environment variable `PERIPLUS_WEBHOOK_SECRET` has it."""
    events: tuple[str, ...] = ("crawl.ended", "pages.changed", "audit.new_faults")
    """What is reported."""


class WebhookTables(Struct, frozen=True):
    """Its settings."""

    webhooks: WebhookSettings
