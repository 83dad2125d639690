"""What people are shown of comparisons of a collection."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.engine.part import Setup
from periplus.store import DiskState

from .settings import CloakingTables


def collection_facts(setup: Setup, states: Sequence[DiskState], now: float) -> dict[str, object]:  # noqa: ARG001
    """How many pages were compared, if any should be."""
    if not setup.settings.some(CloakingTables).cloaking.enabled:
        return {}
    from .policy import SiteProbes

    probes = (site.value(SiteProbes) for state in states for site in state.sites)
    return {"compared": sum(each.compared for each in probes if each is not None)}
