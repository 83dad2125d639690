"""What people are shown of the scripts of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.store import DiskState, SiteState

from .templates import SiteRendering


def templates_with_scripts(states: Sequence[DiskState]) -> int:
    """How many templates seem to need scripts."""
    return sum(_needing(site) for state in states for site in state.sites)


def _needing(site: SiteState) -> int:
    known = None if site.traps is None else site.traps.value(SiteRendering)
    return 0 if known is None else known.needing
