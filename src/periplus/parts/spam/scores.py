"""The spam probabilities of hosts and domains as a crawl knows them: sorted tables of hashes.

12 bytes a host, so a million suspicious hosts take 12 MB; looked up by bisection. A job writes the table and every
shard reads it. A host that is not in it is not suspicious.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from periplus.engine.frontier import Discounts
from periplus.model import CollectionDamaged, Url
from periplus.urls import site_of

from .verdict import budget_multiplier, worth_multiplier

LEAST: Final = 0.05
"""Probability below which a host is left out: its multiplier would be 0.9 or more."""
MAX_RETIRED: Final = 100_000
"""Hosts that are named to be visited no more, at most."""


class _File(Struct, array_like=True):
    """The table on disk: hashes as bytes of uint64, ascending, and probabilities as bytes of float32."""

    version: int
    hosts: bytes
    host_scores: bytes
    domains: bytes
    domain_scores: bytes
    retired: list[str]


class _Table:
    """Probabilities by the hash of a name."""

    def __init__(self, hashes: bytes = b"", scores: bytes = b"") -> None:
        self._hashes, self._scores = np.frombuffer(hashes, np.uint64), np.frombuffer(scores, np.float32)
        if len(self._hashes) != len(self._scores):
            raise CollectionDamaged("the learnt table of spam has hashes without a score")

    def of(self, name: str) -> float:
        """The probability of a name; 0 if it is not there."""
        if not len(self._hashes):
            return 0.0
        key = np.uint64(xxh3_64_intdigest(name.encode()))
        at = int(np.searchsorted(self._hashes, key))
        return float(self._scores[at]) if at < len(self._hashes) and self._hashes[at] == key else 0.0


class SpamScores(Discounts):
    """What a crawl knows about spam, until it learns more."""

    def __init__(self) -> None:
        self._hosts, self._domains = _Table(), _Table()
        self.retired: tuple[str, ...] = ()
        self.is_empty = True

    def learn(self, content: bytes) -> None:
        """Take the table that a job has written."""
        try:
            file = msgspec.msgpack.decode(content, type=_File)
        except msgspec.MsgspecError as error:
            raise CollectionDamaged("the learnt table of spam cannot be read") from error
        self._hosts, self._domains = _Table(file.hosts, file.host_scores), _Table(file.domains, file.domain_scores)
        self.retired = tuple(file.retired)
        self.is_empty = False

    def of_host(self, host: str) -> float:
        """The probability of a host."""
        return self._hosts.of(host)

    def of_domain(self, domain: str) -> float:
        """The probability of a domain."""
        return self._domains.of(domain)

    def worth(self, url: Url) -> float:
        """The factor for the worth of a page."""
        return 1.0 if self.is_empty else worth_multiplier(self._hosts.of(site_of(url)))

    def budget(self, domain: str) -> float:
        """The factor for the budget of a domain."""
        return 1.0 if self.is_empty else budget_multiplier(self._domains.of(domain))


def written(hosts: Mapping[str, float], domains: Mapping[str, float], retired: tuple[str, ...] = ()) -> bytes:
    """The table of these probabilities as the bytes of a file."""
    return msgspec.msgpack.encode(_File(1, *_columns(hosts), *_columns(domains), list(retired[:MAX_RETIRED])))


def _columns(scores: Mapping[str, float]) -> tuple[bytes, bytes]:
    rows = sorted((xxh3_64_intdigest(name.encode()), score) for name, score in scores.items() if score >= LEAST)
    hashes = np.array([key for key, _ in rows], np.uint64)
    return hashes.tobytes(), np.array([score for _, score in rows], np.float32).tobytes()
