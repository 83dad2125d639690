"""The table `[deltas]` of the settings."""

from __future__ import annotations

from msgspec import Struct


class DeltaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether pages that are visited again may be sent as differences."""

    offer: bool = False
    """Offer the stored version of a page to sites that can send the next one as a difference from it (RFC 9842)."""


class DeltaTables(Struct, frozen=True):
    """Its settings."""

    deltas: DeltaSettings
