"""Settings and guards of a crawl whose seeds a person typed, for tests that do not go through `planned`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from periplus.collection.config.settings import Config
from periplus.engine.fetch import AddressGuard, opened_by
from periplus.model import Url


def opened(config: Config, seeds: Iterable[Url]) -> Config:
    """The settings with the sites of the seeds opened, as far as typing them does that."""
    entries = opened_by(seeds, config.dns.hosts, config.wire.allow_private)
    return config.with_options({"wire.allow_private": entries})


def guard_of(
    seeds: Iterable[Url] = (), *, hosts: Mapping[str, str] | None = None, allow_private: Sequence[str] = ()
) -> AddressGuard:
    """The guard of a crawl from these seeds."""
    table = hosts or {}
    return AddressGuard(allow_private=opened_by(seeds, table, allow_private), hosts=table)
