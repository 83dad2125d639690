"""Settings of `periplus watch`."""

from __future__ import annotations

from msgspec import Struct


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `periplus watch` may spend."""

    visits_a_day: int = 0
    """Requests a day, over all sites; 0: a seventh of the pages."""
    per_site: int = 0
    """Maximum requests a day to one site; 0: as many as politeness allows."""
