"""What people are shown of comparisons of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.store import DiskState


def compared_pages(states: Sequence[DiskState]) -> int:
    """How many pages were compared."""
    from .policy import SiteProbes

    probes = (site.value(SiteProbes) for state in states for site in state.sites)
    return sum(each.compared for each in probes if each is not None)
