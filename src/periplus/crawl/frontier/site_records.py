"""The records of sites: the only place that reads and writes them.

`get` returns the same object for a site until the next `flush`, so everything that learns something about a site
changes one record, and `changed` marks it for writing. Records of sites that are being crawled are pinned; the others
are dropped after each flush, so memory does not grow with the number of sites known.
"""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import Site
from periplus.store import Sites, SiteState


class SiteRecords:
    """Loads site records on demand and writes those that changed."""

    def __init__(self, store: Sites) -> None:
        self._store = store
        self._loaded: dict[Site, SiteState] = {}
        self._pinned: set[Site] = set()
        self._changed: dict[Site, SiteState] = {}

    def get(self, site: Site) -> SiteState:
        """The record of a site; a fresh one if the site is not known."""
        known = self._loaded.get(site)
        return self.get_all([site])[0] if known is None else known

    def get_all(self, sites: Sequence[Site]) -> list[SiteState]:
        """The record of each site, aligned with `sites`."""
        missing = [site for site in dict.fromkeys(sites) if site not in self._loaded]
        for site, state in zip(missing, self._store.get(missing) if missing else (), strict=True):
            self._loaded[site] = SiteState(site) if state is None else state
        return [self._loaded[site] for site in sites]

    def changed(self, state: SiteState) -> None:
        """Mark a record, obtained from `get`, to be written by the next `flush`."""
        self._changed[state.site] = state

    def pin(self, site: Site) -> SiteState:
        """Keep the record of a site loaded until it is unpinned."""
        self._pinned.add(site)
        return self.get(site)

    def unpin(self, site: Site) -> None:
        """Let the record of a site go after the next flush."""
        self._pinned.discard(site)

    def flush(self) -> None:
        """Write every changed record; the caller commits."""
        self._store.put(self._changed.values())
        self._changed.clear()
        if len(self._loaded) > len(self._pinned):
            self._loaded = {site: state for site, state in self._loaded.items() if site in self._pinned}

    def __len__(self) -> int:
        """How many records are loaded."""
        return len(self._loaded)
