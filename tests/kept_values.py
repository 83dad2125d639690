"""Site records with what parts of the crawl have learnt."""

from __future__ import annotations

from msgspec import Struct

from periplus.store import SiteState


def with_values(site: SiteState, *values: Struct) -> SiteState:
    """The record, with these values."""
    for value in values:
        site.keep(value)
    return site
