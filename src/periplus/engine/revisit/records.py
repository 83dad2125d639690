"""The records of sites that this package needs, and the state it commits."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from periplus.model import Site, Url
from periplus.store import SiteState

from .signals import SignalTrust


class SiteReader(Protocol):
    """Returns the records of sites."""

    def get(self, site: Site) -> SiteState:
        """The record of a site; a fresh one if the site is not known."""


class LiveSiteRecords(SiteReader, Protocol):
    """Returns the live records of sites and writes those that changed."""

    def changed(self, state: SiteState) -> None:
        """Mark a record, obtained from `get`, to be written by the next commit."""


class SampleRows(Struct, frozen=True, array_like=True):
    """The pages of both samples of the freshness estimator when they were last written in full."""

    measured: tuple[Url, ...] = ()
    explored: tuple[Url, ...] = ()


class RevisitState(Struct, frozen=True, array_like=True):
    """The state of revisits that is not in a row of its own. It belongs to every commit.

    `price` is that of `objective` with `total` visits a day of all shards; `granted` is how many of the
    `total` this shard may make, when there are `parts` shards. `weighting` names the weights whose mean is
    `mean_weight`. `idle_since` is when a slot was last used or offered, `is_idle` whether it was then left unused.
    `quota` are the counters of `RevisitQuota`. `waiting` is how many revisits were queued at the last call of `due`.
    `factor` chooses the sample of pages to explore (0: there is no sample), and `added` are the pages that were sampled
    since the `SampleRows` were written. `latest_at` is when requests were last granted, by any process: if a new one
    begins before, the clock was set back. `trust` is that in signals of all sites. A crawl that never watched has a
    `total` of 0.
    """

    objective: str = ""
    total: float = 0.0
    granted: float = 0.0
    parts: int = 1
    price: float = 1.0
    weighting: str = ""
    mean_weight: float = 1.0
    idle_since: float | None = None
    is_idle: bool = False
    quota: tuple[float, float] = (0.0, 0.0)
    waiting: int = 0
    factor: int = 0
    added: tuple[Url, ...] = ()
    latest_at: float = 0.0
    trust: SignalTrust = SignalTrust()
