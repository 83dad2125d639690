"""The duration of a crawl that many shards divide among themselves, with politeness by site and address.

Pages flow: a site gives a page every `delay` seconds at most; all sites of an address in a shard together one every
`ip_delay` times as many seconds as there are shares in the address; a shard takes `rate` pages a second, and divides
them evenly among the sites that could give one. Time goes on in steps of a fiftieth of what has passed; within a step
nothing changes but sites that end. Sites that are found late, latencies and retries are not here: what comes out is a
bound that a real crawl can come near to and not pass.

The share in an address is what each shard keeps to: `present`, as many as have a site there, as crawls do, whose shards
are told; or `all`, as many as there are, which shards would have to keep to that know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

SHARES = ("all", "present")
_STEP = 0.02
_MOST_STEPS = 100_000


class PaceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How fast shards are, and how gently sites are treated."""

    rate: float = 400.0
    """pages a second that a shard can fetch, read and store"""
    delay: float = 1.0
    """seconds between two visits of a site"""
    ip_delay: float = -1.0
    """seconds between two requests to an address; negative: a quarter of `delay`"""
    shares: str = "present"
    """Which shards share the rate of an address: `all`, or those with a site `present` there"""

    def check(self) -> None:
        """Raise a `ConfigError` where no crawl can be like this."""
        if self.rate <= 0 or self.delay <= 0:
            raise ConfigError("rate and delay must be above 0", hint="for example rate = 400, delay = 1.0")
        if self.shares not in SHARES:
            raise ConfigError(
                f"shares must be one of {', '.join(SHARES)}, got {self.shares[:40]!r}", hint='write "present"'
            )

    @property
    def between_requests_to_an_address(self) -> float:
        """`ip_delay`, or what it is by default."""
        return self.ip_delay if self.ip_delay >= 0 else self.delay / 4


class Pace(Struct, frozen=True):
    """After `at[i]` seconds `done[i]` pages were done; the first point is the beginning, the last the end."""

    at: NDArray[np.float64]
    done: NDArray[np.float64]

    def until(self, share: float) -> float:
        """Seconds until this share of the pages was there."""
        return float(np.interp(share * self.done[-1], self.done, self.at))


class _Flow:
    """Sites that still have pages, and how fast they give them."""

    def __init__(
        self,
        sizes: NDArray[np.int64],
        shard: NDArray[np.int32],
        address: NDArray[np.int32],
        shards: int,
        settings: PaceSettings,
    ) -> None:
        self.left = sizes.astype(np.float64)
        self._shard = shard
        self._shards = shards
        self._settings = settings
        meeting, self._group = np.unique(address.astype(np.int64) * shards + shard, return_inverse=True)
        self._group_address = meeting // shards
        self._addresses = int(address.max()) + 1

    def speeds(self) -> NDArray[np.float64]:
        """Pages a second of each site now."""
        settings = self._settings
        cap = np.full(len(self.left), 1.0 / settings.delay)
        if pause := settings.between_requests_to_an_address:
            together = np.bincount(self._group, minlength=len(self._group_address))
            shares = self._shares(together > 0)
            cap = np.minimum(cap, (1.0 / (pause * shares * np.maximum(together, 1)))[self._group])
        wanted = np.bincount(self._shard, weights=cap, minlength=self._shards)
        eased = np.minimum(1.0, settings.rate / np.maximum(wanted, 1e-300))
        speeds: NDArray[np.float64] = cap * eased[self._shard]
        return speeds

    def _shares(self, is_there: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self._settings.shares == "all":
            return np.full(len(is_there), float(self._shards))
        present = np.bincount(self._group_address[is_there], minlength=self._addresses).astype(np.float64)
        shares: NDArray[np.float64] = np.maximum(present[self._group_address], 1.0)
        return shares

    def drop(self, ended: NDArray[np.bool_]) -> None:
        """These have no more pages."""
        stays = ~ended
        self.left, self._shard, self._group = self.left[stays], self._shard[stays], self._group[stays]


def pace(
    sizes: NDArray[np.int64],
    shard: NDArray[np.int32],
    address: NDArray[np.int32],
    shards: int,
    settings: PaceSettings,
) -> Pace:
    """The course of a crawl in which site i has `sizes[i]` pages and is in `shard[i]`, at `address[i]`."""
    settings.check()
    flow = _Flow(sizes, shard, address, shards, settings)
    now, done, total = 0.0, 0.0, float(sizes.sum())
    at, had = [0.0], [0.0]
    for _ in range(_MOST_STEPS):
        speeds = flow.speeds()
        needed = flow.left / speeds
        step = max(float(needed.min()), _STEP * now)
        ended = needed <= step
        is_last = bool(ended.all())
        now += float(needed.max()) if is_last else step
        flow.left -= np.minimum(flow.left, speeds * step)
        flow.drop(ended)
        done = total - float(flow.left.sum())
        at.append(now)
        had.append(done)
        if is_last:
            break
    return Pace(np.array(at), np.array(had))


def bounds(
    sizes: NDArray[np.int64], shard: NDArray[np.int32], shards: int, settings: PaceSettings
) -> Sequence[tuple[float, str]]:
    """Seconds before which no crawl can end, whatever is visited first, and why; the longest first."""
    busiest = float(np.bincount(shard, weights=sizes).max()) / settings.rate
    largest = float(sizes.max())
    waits = settings.between_requests_to_an_address * (shards if settings.shares == "all" else 1)
    found = [(busiest, "busiest shard"), (largest * settings.delay, "largest site"), (largest * waits, "address share")]
    return sorted(found, reverse=True)
